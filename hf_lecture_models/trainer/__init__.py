# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The one training loop. It knows no task and no file format, and needs the extra `train` (accelerate)."""
