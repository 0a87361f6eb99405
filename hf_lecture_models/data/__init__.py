# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The rows of a run: the data fields of recipes, readers of every format, benchmarks, checksums."""
