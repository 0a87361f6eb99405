# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipes of the feed-forward model: the tiny one as a user runs it, the large one as far as it can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM

from hf_lecture_models.models.feed_forward import FeedForwardConfig, FeedForwardForCausalLM
from hf_lecture_models.tasks.causal_lm import CausalLM, CausalLMRecipe
from hf_lecture_models.tasks.main import train_from_command
from hf_lecture_models.trainer.recipe import load_recipe

TRAINING = Path(__file__).parents[3] / "training"


def test_the_tiny_recipe_gives_the_promised_number(tmp_path: Path) -> None:
    recipe, folder = str(TRAINING / "recipes" / "feed_forward_tiny.yaml"), str(tmp_path / "run")
    result, _ = train_from_command(CausalLM(), [recipe, "--output_dir", folder])
    assert (result.step, result.items) == (75, 2835)
    assert result.best_metric == pytest.approx(6.0, rel=0.02)
    assert isinstance(AutoModelForCausalLM.from_pretrained(folder), FeedForwardForCausalLM)


def test_the_large_recipe_names_fields_that_exist() -> None:
    recipe = load_recipe(TRAINING / "recipes" / "feed_forward_wikitext2.yaml", {}, recipe_class=CausalLMRecipe)
    config = FeedForwardConfig(**{name: value for name, value in recipe.model.items() if name != "model_type"})
    assert recipe.model["model_type"] == config.model_type
    assert all(hasattr(config, name) for name in recipe.model)
    assert recipe.layout == "stream"
