# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Beside `generate()`: fusion with a second language model, and suggestions of the next words."""
