# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.scripts import SCRIPTS, Script


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """The script of this name, in a current folder with its files; see `of`."""
    monkeypatch.chdir(tmp_path)
    SCRIPTS[request.param].write()
    return SCRIPTS[request.param]
