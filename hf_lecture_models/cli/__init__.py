# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The verbs of `hf-lecture`, one file each, with a function `run`. `hf_lecture_cli.py` parses their options."""
