# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The small ARPA file, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.ngram.arpa_ngram import SMALL


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    path = tmp_path / "small.arpa"
    path.write_text(SMALL, encoding="utf-8")
    return path
