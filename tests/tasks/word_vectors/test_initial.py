# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models whose words start with vectors from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    FeedForwardConfig,
    FeedForwardForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    RecurrentForSequenceClassification,
    Word2VecModel,
    WordTokenizer,
)
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tasks.word_vectors.initial import start_from_word_vectors


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.vec"
    path.write_text("3 4\ncat 1 2 3 4\nlion 5 6 7 8\ndog 0.5 0 0 -1\n")
    return path


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize(
    "model_class", [RecurrentForCausalLM, RecurrentForSequenceClassification, FeedForwardForCausalLM]
)
def test_words_start_with_given_vectors(kind: str, model_class: Any, vectors: Path, tmp_path: Path) -> None:
    source = vectors
    if kind == "folder":
        source = tmp_path / "folder"
        for part in Word2VecModel.from_word2vec_format(vectors, binary=False):
            part.save_pretrained(source)
    tokenizer = WordTokenizer.from_words(["dog", "sat", "cat"])
    config_class = FeedForwardConfig if model_class is FeedForwardForCausalLM else RecurrentConfig
    model = model_class(config_class(vocab_size=len(tokenizer), hidden_size=4))
    before = model.get_input_embeddings().weight.detach().clone()
    assert start_from_word_vectors(model, tokenizer, str(source)) == 2
    after = model.get_input_embeddings().weight
    assert after[3].tolist() == [1, 2, 3, 4]
    assert after[1].tolist() == [0.5, 0, 0, -1]
    others = [0, 2, 4, 5, 6]  # <unk>, sat, <s>, </s>, <pad>
    assert torch.equal(after[others], before[others])


def test_what_does_not_fit_is_refused(vectors: Path, tmp_path: Path) -> None:
    tokenizer = WordTokenizer.from_words(["dog", "cat"])
    config = RecurrentConfig(vocab_size=len(tokenizer), hidden_size=6)
    with pytest.raises(ValueError, match=r"of width 4, those of the model of width 6; .*`model.hidden_size`"):
        start_from_word_vectors(RecurrentForCausalLM(config), tokenizer, str(vectors))
    other = WordTokenizer.from_words(["horse"])
    model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(other), hidden_size=4))
    with pytest.raises(ValueError, match="no word of the model's vocabulary"):
        start_from_word_vectors(model, other, str(vectors))
    with pytest.raises(OSError, match="nowhere"):
        start_from_word_vectors(model, other, str(tmp_path / "nowhere"))
    numbers = BagOfWordsConfig(vocab_size=len(tokenizer), input_coding="integer")
    with pytest.raises(ValueError, match="has no vector for each word"):
        start_from_word_vectors(BagOfWordsForSequenceClassification(numbers), tokenizer, str(vectors))
    with pytest.raises(ValueError, match="leave word_vectors out"):
        CausalLMRecipe(from_pretrained="somewhere", word_vectors=str(vectors))


def test_a_recipe_starts_from_vectors(vectors: Path, tmp_path: Path, capsys: Any) -> None:
    options = {
        "train_texts": "[the cat sat, the dog sat]",
        "model.model_type": "lecture_recurrent",
        "model.hidden_size": 4,
        "layout": "texts",
        "learning_rate": 1e-9,
        "word_vectors": vectors,
        "output_dir": tmp_path / "run",
    }
    arguments = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    train_from_command(CausalLM(), arguments)
    assert "2 of 8 tokens start with the vectors of " in capsys.readouterr().err
    model = RecurrentForCausalLM.from_pretrained(tmp_path / "run")
    tokenizer = WordTokenizer.from_pretrained(tmp_path / "run")
    cat = model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids("cat")]
    torch.testing.assert_close(cat, torch.tensor([1.0, 2, 3, 4]))
