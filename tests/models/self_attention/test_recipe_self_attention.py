# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe that stands in the checkout gives the number that it promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "training" / "train_causal_lm.py"
RECIPE = SCRIPT.parent / "recipes" / "self_attention_tiny.yaml"


def test_the_recipe_gives_the_promised_number(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("train_causal_lm", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    result = script.main([str(RECIPE), "--output_dir", str(tmp_path / "run")])
    assert (result.step, result.tokens) == (75, 2835)
    assert result.best_metric == pytest.approx(7.2, rel=0.02)
