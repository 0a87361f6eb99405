# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Beside `generate()`: prompts and continuations as text, fusion with a second model, suggestions of next words."""
