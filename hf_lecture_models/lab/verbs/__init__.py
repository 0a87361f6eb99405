# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The verbs of `hf-lecture` that run studies, claims, comparison, demo and exercises; `cli` has the others."""
