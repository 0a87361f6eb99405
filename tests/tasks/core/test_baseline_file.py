# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The file of a baseline in a model's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_lecture_models.tasks.core.baselines import comparison_of


def test_a_damaged_comparison_is_named(tmp_path: Path) -> None:
    (tmp_path / "baseline.json").write_text('{"validation": {"nme": "x"}}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"baseline\.json is damaged: validation is not a comparison"):
        comparison_of(tmp_path, "validation")
    assert comparison_of(tmp_path, "test") is None
