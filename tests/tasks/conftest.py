# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from tests.quick_runs import quick_runs  # noqa: F401
