# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of all other folders: files written whole, checks of saved ones, and registration with transformers."""
