# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Verbs of language models refuse a model with another head by one line that names it, and write nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models import BagOfWordsConfig, BagOfWordsForSequenceClassification, WordTokenizer
from tests.stand_in import (
    EncoderConfig,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForTokenClassification,
    EncoderModel,
    encoder_tokenizer,
)

HEADS = [
    EncoderModel,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForTokenClassification,
]


@pytest.fixture(params=HEADS, ids=lambda model_class: model_class.__name__)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    request.param(EncoderConfig(num_labels=3)).save_pretrained(tmp_path / "model")
    encoder_tokenizer().save_pretrained(tmp_path / "model")
    (tmp_path / "texts").write_text("w1 w2\nw2 w1\n", encoding="utf-8")
    return tmp_path / "model"


def test_what_needs_a_language_model(run: Any, other: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    commands = [
        ("score", other, texts),
        ("rank", other, texts),
        ("rank", other, texts, "--scores", texts, "--weight", "1"),
        ("generate", other, "--prompt", "w1"),
        ("convert", other, tmp_path / "model.arpa"),
    ]
    for command in commands:
        status, out, err = run(*command)
        assert (status, out) == (1, "")
        (line,) = err.splitlines()
        assert line.startswith(f"hf-lecture {command[0]}: {other} holds Encoder")
        assert "AutoModelForCausalLM cannot load" in line or "only n-grams are written as ARPA files" in line
    assert not (tmp_path / "model.arpa").exists()


def test_numbers_for_words_have_no_neighbours(run: Any, tmp_path: Path) -> None:
    tokenizer = WordTokenizer.train(["a fine film"], progress=False)
    config = BagOfWordsConfig(vocab_size=len(tokenizer), input_coding="integer")
    BagOfWordsForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    status, _, err = run("neighbours", tmp_path, "fine")
    assert (status, len(err.splitlines())) == (1, 1)
    assert "BagOfWordsForSequenceClassification has no input embeddings" in err
