# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Counts of n-grams, from texts and count files, and back into files."""
