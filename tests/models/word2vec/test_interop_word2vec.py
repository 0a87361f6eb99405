# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Word vectors in cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_lecture_models.hub.card import render_card, write_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.registry import measure_file
from hf_lecture_models.tasks.word_vectors.task import WordVectors
from tests.hub.card_examples import examples

RECIPE = Path(__file__).parents[3] / "training" / "recipes" / "word2vec_tiny.yaml"


def test_the_card_of_a_trained_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its example prints what it promises; the file's measure is that of the training."""
    result = train_from_command(WordVectors(), [str(RECIPE), "--epochs", "4", "--output_dir", str(tmp_path)])[0]
    model, tokenizer = load_model(str(tmp_path))
    facts = facts_of(tmp_path, model, tokenizer)
    card = render_card(facts)
    assert card.data.pipeline_tag == "feature-extraction"
    assert f"| loss of a pair of words (nats) | {result.best_metric:#.4g} |" in card.text
    assert "pairs read" in card.text
    assert "hf-lecture train word_vectors recipe.yaml" in card.text
    monkeypatch.chdir(tmp_path)
    exec(compile(examples(write_card(tmp_path, facts))[0], "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("<s> [0.0, 0.0, 0.0]\n")
    (tmp_path / "texts.txt").write_text("the king of the land\nthe cat sleeps\n")
    measured = measure_file(tmp_path / "texts.txt", model, tokenizer, facts)["results"]
    assert measured["words"] == 8
    assert measured["pair_loss"] > 0
