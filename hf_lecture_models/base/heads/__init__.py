# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Heads: for each task, the one `forward` that all models of that task share."""
