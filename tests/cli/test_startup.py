# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What processes under `hf-lecture exec` run first: nothing is imported early, and the environment's own still runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hf_lecture_models

STARTUP = Path(hf_lecture_models.__file__).parent / "cli" / "startup"


def python(code: str, *folders: Path) -> str:
    root = STARTUP.parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (STARTUP, *folders, root)))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_imported_before_transformers() -> None:
    """Looking for transformers is not importing it."""
    code = "import sys, importlib.util; importlib.util.find_spec('transformers'); print(*sys.modules)"
    loaded = python(code).split()
    assert "sitecustomize" in loaded
    assert not {"torch", "transformers", "hf_lecture_models"} & set(loaded)


def test_the_environments_own_runs_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')\n", encoding="utf-8")
    assert python("import sitecustomize; print(sitecustomize.__file__)", tmp_path).splitlines() == [
        "theirs",
        str(tmp_path / "sitecustomize.py"),
    ]


@pytest.mark.slow
def test_the_models_are_known_with_transformers() -> None:
    code = "import importlib.util as i; i.find_spec('transformers'); import transformers as t; print(t.Gpt1ForCausalLM)"
    assert "modeling_gpt1.Gpt1ForCausalLM" in python(code)
