# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches by tokens: each pair once an epoch, within the limit, however a step is shared; and the smoothed loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers.modeling_outputs import Seq2SeqLMOutput

from hf_lecture_models.tasks.language_models.label_smoothing import smoothed_loss
from hf_lecture_models.tasks.translation.batches import BatchesByTokens, PairCollator
from hf_lecture_models.trainer.batches import Batch
from hf_lecture_models.trainer.optimization import Schedule
from hf_lecture_models.trainer.recipe import TrainingRecipe

LENGTHS = np.random.default_rng(0).integers(1, 5, (60, 2))
MOST = 20


def keep_rows(rows: np.ndarray) -> Batch:
    return Batch({"rows": torch.from_numpy(rows.copy())}, int((rows >= 0).sum()))


def steps(batches: Any, number: int) -> list[list[int]]:
    """The real rows of each step, over all of its micro-batches."""
    found = []
    for _ in range(number):
        found.append(sorted(int(row) for batch in batches.next_step() for row in batch.inputs["rows"] if row >= 0))
    return found


def test_an_epoch_has_each_pair_once_and_no_step_more_tokens() -> None:
    batches = BatchesByTokens(LENGTHS, keep_rows, MOST, seed=3)
    first, second = (steps(batches, batches.steps_per_epoch) for _ in range(2))
    for epoch in (first, second):
        assert sorted(row for step in epoch for row in step) == list(range(len(LENGTHS)))
        for step in epoch:
            assert len(step) * LENGTHS[step].max() <= MOST
    assert first != second
    # As many steps as rows of one length each would need, and a few: like lengths are together.
    assert len(first) < 1.5 * LENGTHS.max(1).sum() / MOST
    assert {tuple(step) for step in first} != {tuple(step) for step in second}, "equal lengths are mixed anew"


def test_the_collator_pads_and_shifts() -> None:
    sources, targets = ([np.array(row) for row in rows] for rows in ([[5, 6, 2], [7, 2]], [[8, 2], [9, 8, 2]]))
    collate = PairCollator(sources, targets, (0, 1), start_id=3, label_smoothing=0.1)
    batch = collate(np.array([1, 0, -1]))
    assert batch.inputs["input_ids"].tolist() == [[7, 2, 0], [5, 6, 2], [0, 0, 0]]
    assert batch.inputs["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0]]
    assert batch.inputs["decoder_input_ids"].tolist() == [[3, 9, 8], [3, 8, 2], [3, 1, 1]]
    assert batch.num_items == 5
    plain = PairCollator(sources, targets, (0, 1), start_id=3)(np.array([0]))
    assert {name: ids.tolist() for name, ids in plain.inputs.items()} == {"input_ids": [[5, 6, 2]], "labels": [[8, 2]]}
    assert plain.loss is None


def test_the_smoothed_loss_and_its_gradient_are_its_definition() -> None:
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels, share = torch.tensor([[1, 2, -100], [6, -100, -100]]), 0.3
    log_probs = logits.log_softmax(-1)
    expected = [
        -((1 - share) * log_probs[row, place, labels[row, place]] + share * log_probs[row, place].mean())
        for row, place in ((0, 0), (0, 1), (1, 0))
    ]
    loss = smoothed_loss(Seq2SeqLMOutput(logits=logits), labels, share)
    torch.testing.assert_close(loss, torch.stack(expected).mean())
    gradients = [torch.autograd.grad(value, logits)[0] for value in (loss, torch.stack(expected).mean())]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4), (torch.bfloat16, 1e-2)]
)
def test_the_smoothed_loss_and_its_gradient_are_torchs(dtype: torch.dtype, tolerance: float) -> None:
    """A vocabulary of which two rows are worked on at a time, of five; the gradient comes times 3."""
    generator = torch.Generator().manual_seed(0)
    logits = (20 * torch.randn(1, 5, 2**19, generator=generator)).to(dtype).requires_grad_()
    labels = torch.tensor([[7, -100, 0, 2**19 - 1, -100]])
    expected = F.cross_entropy(logits.flatten(0, 1).double(), labels.flatten(), label_smoothing=0.1)
    found = smoothed_loss(Seq2SeqLMOutput(logits=logits), labels, 0.1)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)
    gradients = [torch.autograd.grad(3 * loss, logits)[0] for loss in (found, expected)]
    assert gradients[0].dtype == dtype
    torch.testing.assert_close(*gradients, rtol=tolerance, atol=tolerance * 1e-2)


def test_the_smoothed_loss_of_labels_of_which_none_counts_is_0() -> None:
    logits = torch.randn(1, 2, 7, requires_grad=True)
    loss = smoothed_loss(Seq2SeqLMOutput(logits=logits), torch.tensor([[-100, -100]]), 0.1)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (float(loss.detach()), float(gradient.abs().max())) == (0, 0)


@pytest.mark.parametrize("warmup", [4000, 1])
def test_the_inverse_square_root_is_the_papers_schedule(warmup: int) -> None:
    width = 512
    peak = (width * warmup) ** -0.5
    schedule = Schedule(TrainingRecipe(schedule="inverse_square_root", warmup_steps=warmup), 100_000)
    for step in (1, 2, warmup, warmup + 1, 50_000):
        paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert peak * schedule.factor(step - 1) == pytest.approx(paper)
