# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The one training loop, its data and its recipes. Needs the extra `train` (accelerate; datasets for files)."""
