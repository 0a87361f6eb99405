# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Studies of models: BLiMP, stereotypes, exposure, reading times, adaptation, rescoring, prompting, filtering."""
