# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-gram models as files of other programs: ARPA, KenLM's binaries and OpenFst."""
