# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`tokenizer.sampling` in a recipe: fresh segmentations in each epoch of any task, the same ones after a resume."""

from __future__ import annotations

import functools
import operator
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.sampled import sampled_batches
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tasks.language_models.masked import MaskedLM, MaskedLMRecipe
from hf_lecture_models.tasks.language_models.spans import SpanCorruption, SpanCorruptionRecipe
from hf_lecture_models.tasks.translation.task import Translation
from hf_lecture_models.tokenization import CharTokenizer, UnigramTokenizer
from tests.tasks.small_classifier import ROWS as SENTENCES
from tests.tasks.small_translator import rows, small_recipe

TEXTS = ["the cats saw the dogs", "then the dog saw a cat", "a cat and a dog", "the dogs and the cats"] * 4
UNIGRAM: dict[str, Any] = {"type": "unigram", "vocab_size": 40}
RECURRENT = {"model_type": "lecture_recurrent", "hidden_size": 8}
BAG = {"model_type": "lecture_bag_of_words"}
BERT = {"model_type": "lecture_bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def setup(kind: str, **fields: Any) -> tuple[Any, Any, Any]:
    """A task, its recipe and its data."""
    sampling = UNIGRAM | {"sampling": 0.0}
    if kind in ("translation", "separate vocabularies"):
        fields = {"joint_vocabulary": kind == "translation"} | fields
        pairs = {"batch_tokens": 0, "batch_size": 4, "max_length": 60}
        return Translation(), small_recipe("ours", tokenizer=sampling | {"vocab_size": 60}, **pairs, **fields), rows()
    common: dict[str, Any] = {"tokenizer": sampling, "batch_size": 4, "epochs": 3, "log_every": 1} | fields
    if kind == "span_corruption":
        model = BERT | {"model_type": "lecture_transformer"}
        return SpanCorruption(), SpanCorruptionRecipe(model=model, sequence_length=16, sentinels=10, **common), TEXTS
    if kind == "classification":
        data = Rows({name: [row[name] for row in SENTENCES] for name in ("text", "label")}, [("films", len(SENTENCES))])
        return TextClassification(), TextClassificationRecipe(**{"model": BAG} | common), data
    if kind == "masked_lm":
        common["tokenizer"] = common["tokenizer"] | {"template": "bert"}
        return MaskedLM(), MaskedLMRecipe(model=BERT, sequence_length=16, next_sentence=False, **common), TEXTS
    return CausalLM(), CausalLMRecipe(model=RECURRENT, layout=kind, sequence_length=8, **common), TEXTS


def built(kind: str, **fields: Any) -> tuple[Any, Any, Any, Any, Any]:
    task, recipe, data = setup(kind, **fields)
    tokenizer = task.processor(recipe, data)
    return task, recipe, data, tokenizer, task.model(recipe, tokenizer, data)


def inputs(step: list[Any]) -> list[torch.Tensor]:
    names = ("input_ids", "decoder_input_ids", "labels")
    return [batch.inputs[name] for batch in step for name in names if name in batch.inputs]


KINDS = ("stream", "texts", "masked_lm", "span_corruption", "separate vocabularies")
SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("kind", ["blocks", "classification", "translation", *SLOW])
def test_each_epoch_has_segmentations_of_its_own(kind: str) -> None:
    task, recipe, data, tokenizer, model = built(kind)

    def make() -> Any:
        return sampled_batches(lambda: task.batches(model, tokenizer, data, recipe), model, tokenizer, recipe)

    batches, states, steps = make(), [], []
    while batches.epoch < 2:
        states.append(batches.state_dict())
        steps.append(inputs(batches.next_step()))
        if kind == "stream":
            # What a model would carry; here nothing.
            states[-1]["inner"]["carried"] = [None]
    per_epoch = [[step for step, state in zip(steps, states, strict=True) if state["epoch"] == n] for n in (0, 1)]
    counts = [sum(x.numel() for step in epoch for x in step) for epoch in per_epoch]
    assert counts[0] != counts[1] or any(not torch.equal(a[0], b[0]) for a, b in zip(*per_epoch, strict=False))
    sides = [tokenizer.source, tokenizer.target] if kind == "separate vocabularies" else [tokenizer]
    assert not any(side.is_sampling for side in sides)
    # A position of either epoch is found again, by batches that begin anew.
    for number in (1, len(steps) - 2):
        again = make()
        again.load_state_dict(states[number])
        for expected in steps[number : number + 2]:
            found = inputs(again.next_step())
            assert all(map(torch.equal, found, expected))


@pytest.mark.slow
def test_a_run_resumes_to_the_same_bits_and_validates_without_samples(tmp_path: Path) -> None:
    weights, histories = [], []
    for name in ("straight", "cut"):
        task, recipe, data, tokenizer, model = built("blocks", save_every=3, keep_checkpoints=9)
        folder = tmp_path / name
        if name == "cut":
            shutil.copytree(tmp_path / "straight", folder)
            for checkpoint in sorted((folder / "checkpoints").iterdir())[2:]:
                shutil.rmtree(checkpoint)
        result = task.train(
            model, tokenizer, data, TEXTS[:2], recipe, output_dir=folder, resume=name == "cut", quiet=True
        )
        weights.append(model.state_dict())
        histories.append([row for row in result.history if "validation_perplexity" in row])
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert histories[0] == histories[1]
    # The best segmentation of the two texts has as many tokens in every epoch.
    tokens = {row["validation_tokens"] for row in histories[0]}
    assert tokens == {
        len(ids)
        for ids in [
            [*functools.reduce(operator.iadd, tokenizer(TEXTS[:2], add_special_tokens=False).input_ids, []), 0, 0]
        ]
    }
    saved = AutoTokenizer.from_pretrained(tmp_path / "cut")
    assert type(saved) is UnigramTokenizer
    assert not saved.is_sampling


def test_a_checkpoint_is_trained_on_with_samples(tmp_path: Path) -> None:
    task, recipe, data, tokenizer, model = built("blocks", max_steps=1)
    task.train(model, tokenizer, data, None, recipe, output_dir=tmp_path / "first", quiet=True)
    fields = {"from_pretrained": str(tmp_path / "first"), "tokenizer": {"sampling": 0.0}, "max_steps": 2}
    recipe = CausalLMRecipe(layout="blocks", **fields)
    loaded = task.processor(recipe, data)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    task.train(task.model(recipe, loaded, data), loaded, data, None, recipe, output_dir=tmp_path / "on", quiet=True)
    with pytest.raises(ValueError, match="from_pretrained brings its own tokenizer"):
        CausalLMRecipe(**fields | {"tokenizer": {"sampling": 0.1, "type": "unigram"}})


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("blocks", {"tokenizer": UNIGRAM | {"sampling": -0.1}}, "sampling must be a finite number of at least 0"),
        ("blocks", {"tokenizer": UNIGRAM | {"sampling": "much"}}, "tokenizer.sampling must be float"),
        ("blocks", {"tokenizer": {"type": "char", "sampling": 0.1}}, "for the type unigram, and CharTokenizer has one"),
        ("blocks", {"streaming": True, "max_steps": 2}, "encodes all texts in each epoch, streaming once"),
        (
            "classification",
            {"model": {"model_type": "lecture_bert", "hidden_size": 8, "num_attention_heads": 2}},
            "`max_length` 512",
        ),
    ],
)
def test_what_cannot_be_sampled(kind: str, fields: dict[str, Any], message: str) -> None:
    task, recipe, data, tokenizer, model = built(kind, **{name: fields[name] for name in ("model",) if name in fields})
    if fields.get("tokenizer", {}).get("type") == "char":
        tokenizer = CharTokenizer.train(TEXTS, progress=False)
    recipe = type(recipe)(**recipe.to_dict() | fields)
    with pytest.raises(ValueError, match=message):
        sampled_batches(lambda: task.batches(model, tokenizer, data, recipe), model, tokenizer, recipe)
