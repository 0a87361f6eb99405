# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The version of the package, readable without importing anything else."""

__version__ = "0.1.0"
