# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe gives the number that it promises, and the lecture page's example what stands beneath it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "training" / "train_causal_lm.py"
RECIPE = SCRIPT.parent / "recipes" / "self_attention_tiny.yaml"
PAGE = SCRIPT.parents[1] / "hf_lecture_models" / "models" / "self_attention" / "README.md"


def test_the_recipe_gives_the_promised_number(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("train_causal_lm", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    result = script.main([str(RECIPE), "--output_dir", str(tmp_path / "run")])
    assert (result.step, result.items) == (75, 2835)
    assert result.best_metric == pytest.approx(7.2, rel=0.02)


def test_the_example_of_the_lecture_page(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    exec(code, {})
    assert f"# {capsys.readouterr().out.strip()}" == code.strip().splitlines()[-1]
