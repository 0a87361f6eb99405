# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the package checks beyond a published copy of a model: sizes, saved files, saves, loads, servers, trainers."""
