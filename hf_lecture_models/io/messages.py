# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Messages for the person who runs a program."""

import os
import sys


def log_once(message: str) -> None:
    """Print a line to standard error, once where several processes run."""
    if os.environ.get("RANK", "0") == "0":
        print(message, file=sys.stderr)
