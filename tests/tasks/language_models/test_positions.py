# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""All batches: a step is the same however it is shared, a position is gone back to, and a seed determines all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.language_models.blocks import StreamBatches
from hf_lecture_models.tasks.language_models.masked_batches import MaskedBatches
from hf_lecture_models.tasks.language_models.span_batches import SpanBatches
from hf_lecture_models.tasks.translation.batches import BatchesByTokens
from hf_lecture_models.trainer.batches import Batch, RowShard
from tests.tasks.language_models.test_masked_batches import LENGTHS as DOCUMENTS
from tests.tasks.language_models.test_span_batches import corrupted
from tests.tasks.small_pretraining import numbered_texts
from tests.tasks.translation.test_batches import LENGTHS, keep_rows

STREAM = np.array([9, *range(1, 8), 0] * 9, dtype=np.int32)
MAKERS: dict[str, Callable[[int], Any]] = {
    "stream": lambda seed: StreamBatches(STREAM, 8, 3, bos_id=9),
    "rows": lambda seed: ShuffledBatches(50, keep_rows, 8, seed),
    "tokens": lambda seed: BatchesByTokens(LENGTHS, keep_rows, 20, seed),
    "masked": lambda seed: MaskedBatches(numbered_texts(DOCUMENTS), 8, seed),
    "spans": lambda seed: SpanBatches(
        corrupted([33, 9, 60, 2, 28, 17, 3]), start_id=402, pad_id=401, batch_size=8, seed=seed
    ),
}


def make(kind: str, seed: int = 0, accumulation: int = 1, process: int = 0, processes: int = 1) -> Any:
    batches = MAKERS[kind](seed)
    batches.set_shard(RowShard(8, accumulation, process, processes))
    return batches


def rows_of(step: list[Batch]) -> list[str]:
    """Each row as it is without padding on the right; places without a row are left out."""
    found = []
    for batch in step:
        tensors = {name: value for name, value in batch.inputs.items() if isinstance(value, torch.Tensor)}
        mask = tensors.pop("attention_mask", None)
        for row in range(len(next(iter(tensors.values())))):
            values = {name: tensor[row].tolist() for name, tensor in tensors.items()}
            for name in values.keys() - {"rows", "next_sentence_label"}:
                # Labels end with the last one that counts, and all else with the mask.
                fill = -100 if "labels" in name else None
                while values[name] and values[name][-1] == fill:
                    values[name].pop()
                if fill is None and mask is not None:
                    values[name] = values[name][: int(mask[row].sum())]
            if values != {"rows": -1}:
                found.append(str(values))
    return sorted(found)


def items_of(step: list[Batch]) -> tuple[int, int]:
    """The items of both terms of the loss."""
    terms = [batch.second_term for batch in step]
    return sum(batch.num_items for batch in step), sum(term.num_items for term in terms if term is not None)


@pytest.mark.parametrize(("accumulation", "processes"), [(2, 1), (4, 1), (1, 2), (2, 4)])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_step_is_the_same_however_it_is_shared(kind: str, accumulation: int, processes: int) -> None:
    whole = make(kind)
    parts = [make(kind, 0, accumulation, process, processes) for process in range(processes)]
    for _ in range(2 * whole.steps_per_epoch):
        expected, found = whole.next_step(), [part.next_step() for part in parts]
        assert {len(step) for step in found} == {accumulation}
        assert len({len(next(iter(batch.inputs.values()))) for step in found for batch in step}) == 1
        together = [batch for step in found for batch in step]
        assert rows_of(together) == rows_of(expected)
        assert items_of(together) == items_of(expected)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_position_is_gone_back_to(kind: str) -> None:
    source = make(kind)
    for _ in range(source.steps_per_epoch + 2):
        source.next_step()
    other = make(kind)
    other.load_state_dict(source.state_dict())
    for _ in range(4):
        assert rows_of(other.next_step()) == rows_of(source.next_step())


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "stream"])
def test_a_seed_determines_each_epoch_and_epochs_differ(kind: str) -> None:
    def epochs(seed: int) -> list[list[list[str]]]:
        source = make(kind, seed)
        return [[rows_of(source.next_step()) for _ in range(source.steps_per_epoch)] for _ in range(2)]

    first, second = epochs(0)
    np.random.rand(3)
    torch.manual_seed(5)  # the global generators have no part in it
    assert epochs(0) == [first, second]
    assert epochs(1)[0] != first != second
    if kind != "spans":
        assert make(kind).step_generator().random() != make(kind, seed=1).step_generator().random()
    rows = [{row for step in epoch for row in step} for epoch in (first, second)]
    assert (rows[0] == rows[1]) == (kind in ("rows", "tokens")), "masks and spans are drawn again"
