# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`torch.compile(fullgraph=True)` of the models of keys and values: whatever masks they are given, in training too."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from tests.models.test_packed_texts import KINDS, build, gradients, packed, same_text

QUICK = {("gpt1", True, "packed"), ("relative", True, "padded")}


def inputs(how: str) -> dict[str, Any]:
    given = packed()
    if how == "packed":
        return given
    del given["position_ids"]
    if how == "prepared":
        return given | {"attention_mask": same_text()}
    if how == "padded":
        mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 0, 0]])
        return given | {"attention_mask": mask, "labels": given["input_ids"].masked_fill(mask == 0, -100)}
    return given | {"labels": given["input_ids"]}


SELDOM = ((pytest.mark.slow, pytest.mark.nightly), (pytest.mark.slow,))
CASES = [
    # Each takes seconds: these two stand for all in the default run, and those of GPT-1 in CI.
    pytest.param(kind, training, how, marks=() if case in QUICK else SELDOM[kind == "gpt1"])
    for case in product(KINDS, (False, True), ("plain", "padded", "packed", "prepared"))
    for kind, training, how in [case]
]


@pytest.mark.parametrize(("kind", "training", "how"), CASES)
def test_one_graph(kind: str, training: bool, how: str) -> None:
    rates = ("dropout", "embedding_dropout", "attention_dropout") if kind == "gpt1" else ("dropout",)
    model, given = build(kind, **dict.fromkeys(rates, 0.0)).train(training), inputs(how)
    real = given.get("attention_mask", torch.ones(2, 9))
    real = real.bool() if real.dim() == 2 else torch.ones(2, 9).bool()
    expected = model(**given, use_cache=False)
    torch._dynamo.reset()
    found = torch.compile(model, fullgraph=True, backend="eager")(**given, use_cache=False)
    assert_close(found.loss, expected.loss)
    assert_close(found.logits[real], expected.logits[real], rtol=0, atol=1e-5)
    if training:
        ours, theirs = gradients(model, found.loss), gradients(model, expected.loss)
        assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.cases(1, 2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_one_graph_with_a_cache(kind: str) -> None:
    """A cache that grows, prompt and next token."""
    model, ids = build(kind), packed()["input_ids"]
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    outputs = [each(ids[:, :8], use_cache=True) for each in (compiled, model)]
    more = [
        each(ids[:, 8:], past_key_values=o.past_key_values) for each, o in zip((compiled, model), outputs, strict=True)
    ]
    for found, expected in (outputs, more):
        assert_close(found.logits, expected.logits, rtol=0, atol=1e-5)
