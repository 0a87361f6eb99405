# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Twelve functions of the lectures to write yourself, checked against the package's own code."""
