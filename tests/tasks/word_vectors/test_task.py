# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The task of word vectors, and its script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoModelForPreTraining, AutoTokenizer, pipeline

from hf_lecture_models import Word2VecForPreTraining, Word2VecModel
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.registry import task_of
from hf_lecture_models.tasks.word_vectors.task import WordVectors
from tests.interrupted import check_stopped_and_resumed

ROOT = Path(__file__).parents[3]
SCRIPT, RECIPE = ROOT / "training" / "train_word2vec.py", ROOT / "training" / "recipes" / "word2vec_tiny.yaml"


def train(*arguments: Any) -> Any:
    return train_from_command(WordVectors(), [str(argument) for argument in arguments])[0]


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize("architecture", ["skip_gram", "cbow"])
@pytest.mark.parametrize("output_layer", ["negative_sampling", "hierarchical_softmax"])
def test_every_kind_learns(architecture: str, output_layer: str, tmp_path: Path) -> None:
    options = ["--model.architecture", architecture, "--model.output_layer", output_layer, "--output_dir", tmp_path]
    result = train(RECIPE, "--epochs", 20, "--evaluate_every", 1, *options)
    losses = [row["validation_pair_loss"] for row in result.history if "validation_pair_loss" in row]
    assert min(losses) < 0.95 * losses[0]
    model, tokenizer = AutoModelForPreTraining.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(model, Word2VecForPreTraining)
    assert task_of(model).name == "word_vectors"
    counts = model.output.token_counts
    assert counts[tokenizer.convert_tokens_to_ids("the")] == counts.max() > 40
    assert not counts[tokenizer.all_special_ids].any()
    vectors = model.get_input_embeddings().weight
    assert not vectors[tokenizer.all_special_ids].any()
    assert torch.equal(AutoModel.from_pretrained(tmp_path).embed_tokens.weight, vectors)
    assert isinstance(AutoModel.from_pretrained(tmp_path), Word2VecModel)
    features = pipeline("feature-extraction", model=str(tmp_path))("the cat")
    assert torch.equal(torch.tensor(features[0][1]), vectors[tokenizer.convert_tokens_to_ids("the")])


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_stopped_and_resumed(SCRIPT, [str(RECIPE)], train)


def test_training_goes_on_from_a_folder(tmp_path: Path) -> None:
    train(RECIPE, "--epochs", 10, "--output_dir", tmp_path / "first")
    first = AutoModelForPreTraining.from_pretrained(tmp_path / "first")
    options = ["--from_pretrained", tmp_path / "first", "--tokenizer", "{}", "--model", "{}", "--learning_rate", 1e-6]
    train(RECIPE, "--epochs", 1, *options, "--output_dir", tmp_path / "second")
    second = AutoModelForPreTraining.from_pretrained(tmp_path / "second")
    assert torch.equal(second.output.token_counts, first.output.token_counts)
    difference = (second.model.embed_tokens.weight - first.model.embed_tokens.weight).abs().max()
    assert 0 < difference < 1e-4
    first.model.save_pretrained(tmp_path / "vectors")
    AutoTokenizer.from_pretrained(tmp_path / "first").save_pretrained(tmp_path / "vectors")
    options[1] = tmp_path / "vectors"
    with pytest.raises(ValueError, match="lacks weights .*both matrices are needed"):
        train(RECIPE, *options, "--output_dir", tmp_path / "third")


def test_texts_without_two_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no text has two words"):
        train(RECIPE, "--validation_texts", "[zebra]", "--epochs", 1, "--output_dir", tmp_path)
