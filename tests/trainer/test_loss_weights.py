# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every item of an optimizer step weighs the same, however the step is cut into micro-batches and processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models.trainer.batches import RowShard
from hf_lecture_models.trainer.loop import zero_loss
from hf_lecture_models.trainer.recipe import TrainingRecipe
from tests.trainer.small_runs import KINDS, make_batches, small_run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a run whose steps are not cut."""
    root = tmp_path_factory.mktemp("whole")

    def find(kind: str) -> Path:
        if not (root / kind).exists():
            small_run(kind, root / kind)
        return root / kind

    return find


def assert_same_training(folder: Path, expected: Path) -> None:
    weights, wanted = load_file(folder / "model.safetensors"), load_file(expected / "model.safetensors")
    assert weights.keys() == wanted.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(weights[name], tensor, rtol=1e-5, atol=5e-7, msg=lambda text: f"{name}: {text}")  # noqa: B023
    found = [json.loads((path / "training.json").read_text()) for path in (folder, expected)]
    assert found[0]["items"] == found[1]["items"]
    losses = [[row["loss"] for row in facts["history"]] for facts in found]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.cases(4, 4)
@pytest.mark.parametrize("parts", [pytest.param(2, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("kind", KINDS)
def test_accumulated_micro_batches_are_one_batch(
    kind: str, parts: int, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    small_run(kind, tmp_path, parts)
    assert_same_training(tmp_path, whole(kind))


def test_micro_batches_hold_unequal_numbers_of_items_and_some_none() -> None:
    """Else the tests above would prove little."""
    for kind in KINDS:
        batches = make_batches(kind, TrainingRecipe(batch_size=8))
        batches.set_shard(RowShard(8, accumulation_steps=4))
        steps = [[batch.num_items for batch in batches.next_step()] for _ in range(2 * batches.steps_per_epoch)]
        assert any(len(set(step)) > 1 for step in steps), kind
        assert any(0 in step for step in steps), kind


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("processes", ["copied", pytest.param("sharded_small", marks=pytest.mark.slow)])
def test_two_processes_are_one(
    processes: str, kind: str, whole: Callable[[str], Path], request: pytest.FixtureRequest
) -> None:
    for parts in (1, 2):
        folder = request.getfixturevalue(processes) / f"{kind}_{parts}"
        facts = json.loads((folder / "training.json").read_text())
        assert (facts["num_processes"], facts["sharded"]) == (2, processes == "sharded_small")
        assert_same_training(folder, whole(kind))


def test_a_mean_over_nothing_moves_no_weight() -> None:
    weight = torch.ones(3, requires_grad=True)
    logits, counted = weight * 2, torch.zeros(3)
    loss = (logits * counted).sum() / counted.sum()
    (gradient,) = torch.autograd.grad(loss * 0, weight, retain_graph=True)
    assert gradient.isnan().all(), "else there would be nothing to avoid"
    for outputs in (SimpleNamespace(loss=loss, logits=logits), SimpleNamespace(loss=logits.sum(), logits=None)):
        zero = zero_loss(outputs.loss, outputs)
        assert zero.item() == 0
        assert torch.equal(*torch.autograd.grad(zero, weight, retain_graph=True), torch.zeros(3))
