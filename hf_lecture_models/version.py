# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The version of the package, readable without importing anything else."""

__version__ = "0.1.0"
# The address of the package's repository, for cards and pyproject.toml's [project.urls]; empty while there is none.
REPOSITORY_URL = ""
