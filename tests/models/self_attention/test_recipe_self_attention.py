# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe gives the number that it promises, and the lecture page's example what stands beneath it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hf_lecture_models.tasks.causal_lm import CausalLM
from hf_lecture_models.tasks.main import train_from_command

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / "training" / "recipes" / "self_attention_tiny.yaml"
PAGE = ROOT / "hf_lecture_models" / "models" / "self_attention" / "README.md"


def test_the_recipe_gives_the_promised_number(tmp_path: Path) -> None:
    result = train_from_command(CausalLM(), [str(RECIPE), "--output_dir", str(tmp_path / "run")])[0]
    assert (result.step, result.items) == (75, 2835)
    assert result.best_metric == pytest.approx(7.2, rel=0.02)


def test_the_example_of_the_lecture_page(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    exec(code, {})
    assert f"# {capsys.readouterr().out.strip()}" == code.strip().splitlines()[-1]
