# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Span corruption as a task: ours and transformers' own T5, from fresh weights to a card."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from hf_lecture_models.base.heads.seq2seq_lm import shift_right
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.language_models.documents import encode_documents
from hf_lecture_models.tasks.language_models.span_batches import CorruptedTexts
from hf_lecture_models.tasks.language_models.spans import NOISE_SEED, SpanCorruption, SpanCorruptionRecipe
from hf_lecture_models.tokenization.sentinels import sentinel_ids

TASK = SpanCorruption()
LINE = "the keeper reads a letter in town while one ship passes light and night falls on garden"
WORDS = LINE.split(" ") * 6
TEXTS = [" ".join(WORDS[n % 7 : n % 7 + 20 + n * 5 % 40]) for n in range(12)]
OURS = {"model_type": "lecture_transformer", "position_encoding": "relative_buckets", "norm_position": "pre"}
OURS |= {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
MODELS: dict[str, dict[str, Any]] = {
    "ours": OURS,
    "stock": {"model_type": "t5", "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2},
}


def recipe(kind: str = "ours", **fields: Any) -> SpanCorruptionRecipe:
    small: dict[str, Any] = {"train_texts": TEXTS, "validation_texts": TEXTS[:4], "documents": "texts", "epochs": 4}
    small |= {"sequence_length": 40, "sentinels": 6, "batch_size": 4, "learning_rate": 0.01, "log_every": 1}
    small |= {"tokenizer": {"type": "word"}, "model": MODELS[kind], "data": {"name": "Short Texts", "language": "en"}}
    return SpanCorruptionRecipe(**{**small, **fields})


def make(kind: str = "ours", **fields: Any) -> tuple[Any, Any, SpanCorruptionRecipe]:
    chosen = recipe(kind, **fields)
    processor = TASK.processor(chosen, TEXTS)
    return TASK.model(chosen, processor, TEXTS).eval(), processor, chosen


@pytest.fixture(scope="module", params=["ours", pytest.param("stock", marks=pytest.mark.slow)])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("trained") / "run"
    train_and_test(TASK, recipe(request.param, output_dir=str(folder)))
    return request.param, folder


def test_it_learns_and_says_so(trained: tuple[str, Path]) -> None:
    folder = trained[1]
    history = json.loads((folder / "training.json").read_text())["history"]
    losses = [row["loss"] for row in history if "loss" in row]
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.3
    found = [row["validation_span_perplexity"] for row in history if "validation_span_perplexity" in row]
    assert found[-1] < found[0]
    model, tokenizer = load_model(str(folder))
    assert len(sentinel_ids(tokenizer)) == 6
    ids = tokenizer("the <extra_id_0> reads", return_tensors="pt").input_ids
    assert ids[0, -1] == tokenizer.eos_token_id
    assert model.generate(ids, max_new_tokens=8).shape[0] == 1


def test_its_card(trained: tuple[str, Path]) -> None:
    folder = trained[1]
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    card = render_card(facts)
    assert card.data.pipeline_tag == "text-generation", "the nearest task that the Hub has"
    assert "15 % of the tokens of each text left out, in spans of 3 on average" in card.text


@pytest.mark.cases(1, 2)
@torch.no_grad()
@pytest.mark.parametrize("kind", MODELS)
def test_measures_equal_their_definition(kind: str) -> None:
    """Row by row, token by token: sentinels and ends of text are not counted."""
    model, tokenizer, chosen = make(kind)
    measured = TASK.evaluate(model, tokenizer, TEXTS[:5], chosen)
    texts = CorruptedTexts(encode_documents(tokenizer, TEXTS[:5], "texts"), tokenizer, 40, chosen.noise)
    special = {*sentinel_ids(tokenizer), tokenizer.eos_token_id}
    nats, right, count = 0.0, 0, 0
    for row in range(len(texts)):
        source, target = texts.draw(row, np.random.default_rng((NOISE_SEED, row + 1)))
        labels = torch.tensor(target)[None].long()
        start = shift_right(labels, model.config.decoder_start_token_id, tokenizer.pad_token_id)
        logits = model(input_ids=torch.tensor(source)[None].long(), decoder_input_ids=start).logits[0]
        for place, token in enumerate(target.tolist()):
            if token not in special:
                nats += F.cross_entropy(logits[place], labels[0, place]).item()
                right += int(logits[place].argmax()) == token
                count += 1
    assert measured["targets"] == count
    assert measured["span_perplexity"] == pytest.approx(math.exp(nats / count), rel=1e-4)
    assert measured["span_accuracy"] == pytest.approx(right / count)


def test_word_pieces_end_their_texts() -> None:
    """In the place of BERT's template; one that the recipe names stays, and is refused where a text has no end."""
    tokenizer = TASK.processor(recipe(tokenizer={"type": "wordpiece"}), TEXTS)
    assert tokenizer("the keeper").tokens() == ["the", "keeper", "</s>"]
    model, processor, chosen = make(tokenizer={"type": "word", "template": "bert"})
    with pytest.raises(ValueError, match="training data: the tokenizer puts no end of text behind a text"):
        TASK.batches(model, processor, TEXTS, chosen)


def test_a_tokenizer_without_sentinels_is_refused(tmp_path: Path) -> None:
    model, tokenizer, _ = make(sentinels=1)
    tokenizer.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    fields: dict[str, Any] = {"from_pretrained": str(tmp_path), "tokenizer": {}, "model": {}}
    with pytest.raises(ValueError, match=re.escape("has 1 sentinel(s), <extra_id_0> and so on; give it 2")):
        train_and_test(TASK, recipe(output_dir=str(tmp_path / "run"), **fields))
