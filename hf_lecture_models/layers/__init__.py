# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One file per idea on the slides: modules and functions of numbers and tensors, never of a config."""
