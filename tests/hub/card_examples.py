# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The examples that a card prints, and what they print where the package is not installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.forked_python import PATIENCE


def examples(card: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", card.read_text(encoding="utf-8"), flags=re.DOTALL)


def output_without_package(code: str, folder: Path, modules: Path, **environment: str) -> str:
    """What the code prints in `folder`, run by itself; transformers puts the models' own code into `modules`."""
    return output_of("import sys; sys.modules['hf_lecture_models'] = None\n" + code, folder, modules, **environment)


def output_of(code: str, folder: Path, modules: Path, **environment: str) -> str:
    """What the code prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "HF_MODULES_CACHE": str(modules), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
