# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Language models of both directions as a task: rows, perplexities, resuming, and what starts from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, pipeline

from hf_lecture_models import ElmoForPreTraining, ElmoForTokenClassification, ElmoModel, ElmoTokenizer
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.tasks.language_models.bidirectional import (
    BidirectionalLM,
    BidirectionalLMRecipe,
    NumberedRows,
    measure_directions,
)
from hf_lecture_models.tasks.registry import measure_file, task_of
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe

TASK = BidirectionalLM()
TEXTS = ["the cat sat on the mat", "a dog sat", "the dog and the cat sat on a mat and sat and sat"] * 2
SHAPE = {"model_type": "lecture_elmo", "char_embedding_size": 4, "char_filters": [[1, 4], [2, 6]], "hidden_size": 12}
SHAPE |= {"projection_size": 6, "num_highway_layers": 1, "word_vector_size": 6, "task_hidden_size": 5}


def recipe(**fields: Any) -> BidirectionalLMRecipe:
    small = {"sequence_length": 6, "batch_size": 4, "learning_rate": 0.02, "log_every": 1, "epochs": 2}
    tokenizer = {"type": "elmo", "max_characters_per_token": 8, "vocab_size": 10}
    return BidirectionalLMRecipe(**{**small, "tokenizer": tokenizer, "model": SHAPE, **fields})


def run(folder: Path, resume: bool = False, **fields: Any) -> Any:
    own = recipe(**fields)
    tokenizer = TASK.processor(own, TEXTS)
    model = TASK.model(own, tokenizer, TEXTS)
    return TASK.train(model, tokenizer, TEXTS, TEXTS[:3], own, output_dir=folder, resume=resume, quiet=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elmo")
    run(folder)
    return folder


def test_every_word_is_predicted_once_from_each_side() -> None:
    """Also where rows are cut; and what a row does not see changes nothing in it."""
    own = recipe()
    tokenizer = TASK.processor(own, TEXTS)
    model = TASK.model(own, tokenizer, TEXTS).eval()
    rows = NumberedRows(model, tokenizer, TEXTS[2:3], own.sequence_length)
    words = ["<S>", *TEXTS[2].split(), "</S>"]
    batch = rows(np.arange(len(rows)))
    assert batch.num_items == 2 * (len(words) - 1)
    labels = [row[row != -100].tolist() for row in batch.inputs["labels"]]
    numbers = tokenizer.word_numbers(words)
    assert [number for row in labels for number in row[1:]] == numbers[1:]
    assert [number for row in labels for number in row[:-1]] == numbers[:-1]
    assert tokenizer.word_numbers(["mat", "zebra"])[1] == 2
    decoded = [
        tokenizer.decode(row[mask.bool()])
        for row, mask in zip(batch.inputs["input_ids"], batch.inputs["attention_mask"], strict=True)
    ]
    assert decoded[0] == "<S> the dog and the cat"
    assert decoded[1].startswith("cat sat")
    empty = rows(np.array([-1, -1]))
    assert empty.num_items == 0
    assert (empty.inputs["labels"] == -100).all()


@torch.no_grad()
def test_perplexities_are_those_of_the_whole_softmax() -> None:
    own = recipe(model={**SHAPE, "softmax_samples": 3})
    tokenizer = TASK.processor(own, TEXTS)
    model = TASK.model(own, tokenizer, TEXTS)
    TASK.batches(model, tokenizer, TEXTS, own)  # gives it counts
    assert not model.needs_token_counts
    rows = NumberedRows(model, tokenizer, TEXTS, own.sequence_length)
    found = measure_directions(model.train(), rows)
    assert model.training
    model.eval()
    nats: list[list[float]] = [[], []]
    for row in range(len(rows)):
        inputs = rows(np.array([row])).inputs
        labels = inputs.pop("labels")[0]
        outputs = model(**inputs)
        ahead, back = (logits[0].log_softmax(-1) for logits in (outputs.forward_logits, outputs.backward_logits))
        nats[0] += [-float(ahead[t, labels[t + 1]]) for t in range(len(labels) - 1)]
        nats[1] += [-float(back[t, labels[t - 1]]) for t in range(1, len(labels))]
    means = [sum(own) / len(own) for own in nats]
    assert math.isclose(found["forward_perplexity"], math.exp(means[0]), rel_tol=1e-4)
    assert math.isclose(found["backward_perplexity"], math.exp(means[1]), rel_tol=1e-4)
    assert math.isclose(found["perplexity"], math.exp(sum(means) / 2), rel_tol=1e-4)
    assert found["predictions"] == len(nats[0])
    assert found["unknown"] == sum(word not in tokenizer.words for text in TEXTS for word in text.split())


def test_a_folder_says_what_it_is(trained: Path, tmp_path: Path) -> None:
    model, tokenizer = ElmoForPreTraining.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    assert type(tokenizer) is ElmoTokenizer
    assert len(tokenizer.words) == model.config.num_words == 10
    assert task_of(model).name == "bidirectional_lm"
    facts = facts_of(trained, model, tokenizer)
    (tmp_path / "new.txt").write_text("the cat sat\na zebra\n", encoding="utf-8")
    measured = measure_file(tmp_path / "new.txt", model, tokenizer, facts)["results"]
    assert (measured["predictions"], measured["unknown"]) == (7, 1)


@pytest.mark.slow
def test_a_tagger_starts_from_it_and_freezes_it(trained: Path, tmp_path: Path) -> None:
    words = [text.split() for text in TEXTS[:3]]
    tags = [["DET" if word in ("the", "a") else "OTHER" for word in row] for row in words]
    data = Rows({"tokens": words, "tags": tags}, [("here", 1)] * 3)
    fields = {"from_pretrained": str(trained), "freeze_backbone": True, "epochs": 30, "learning_rate": 0.05}
    own, task = TokenClassificationRecipe(batch_size=3, **fields), TokenClassification()
    tokenizer = task.processor(own, data)
    model = task.model(own, tokenizer, data)
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    task.train(model, tokenizer, data, data, own, output_dir=tmp_path, quiet=True)
    best = ElmoForTokenClassification.from_pretrained(tmp_path)
    for name, value in best.model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert bool(best.reader.mix.w.any())
    assert task.evaluate(best, tokenizer, data, own)["accuracy"] == 1
    sentence = " ".join(words[0])
    logits = best(**tokenizer(sentence, return_tensors="pt")).logits[0, 1:-1]
    assert [best.config.id2label[tag] for tag in logits.argmax(-1).tolist()] == tags[0]
    vectors = pipeline("feature-extraction", model=str(tmp_path))(sentence)
    assert np.shape(vectors) == (1, 8, 12)


def test_weights_that_a_checkpoint_lacks_are_named(trained: Path, tmp_path: Path, capsys: Any) -> None:
    ElmoModel.from_pretrained(trained).save_pretrained(tmp_path)
    own = BidirectionalLMRecipe(from_pretrained=str(tmp_path), train_texts=TEXTS)
    TASK.model(own, AutoTokenizer.from_pretrained(trained), TEXTS)
    assert "start anew: " in capsys.readouterr().err


def test_what_does_not_belong_together_is_refused(trained: Path) -> None:
    own = recipe()
    tokenizer = TASK.processor(own, TEXTS)
    with pytest.raises(ValueError, match="needs an ElmoTokenizer"):
        TASK.model(own, ElmoTokenizer(), TEXTS)
    model = ElmoForPreTraining.from_pretrained(trained)
    with pytest.raises(ValueError, match="11 words to predict, but the model num_words=10"):
        NumberedRows(model, ElmoTokenizer.train(TEXTS, vocab_size=11), TEXTS, 6)
    with pytest.raises(ValueError, match="there is no text"):
        NumberedRows(model, tokenizer, [], 6)
