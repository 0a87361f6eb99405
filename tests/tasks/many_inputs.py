# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The forms in which transformers' own pipelines take many inputs, and that their answers are read one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from torch.utils.data import Dataset, IterableDataset
from transformers.pipelines.pt_utils import KeyDataset


class Numbered(Dataset):
    """Items by number; unlike a list it has no end that an iterator would see."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index % len(self.items)]


class Streamed(IterableDataset):
    """Items in their order, without a length."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


def forms_of(items: Sequence[Any], columns: bool = True) -> dict[str, Any]:
    """The items in each form."""
    forms = {
        "data set of torch": Numbered(items),
        "streamed data set of torch": Streamed(items),
        "KeyDataset": KeyDataset(Numbered([{"key": item} for item in items]), "key"),  # type: ignore[arg-type]
        "generator": (item for item in items),
        "iterator": iter(items),
    }
    if columns:
        datasets = pytest.importorskip("datasets")
        rows = datasets.Dataset.from_dict({"key": list(items)})
        forms["column"] = rows["key"]
        forms["column of a stream"] = rows.to_iterable_dataset()["key"]
        forms["KeyDataset of rows"] = KeyDataset(rows, "key")
    return forms


def check_forms(answers: Callable[..., Any], items: Sequence[Any], expected: list[Any], columns: bool = True) -> None:
    """Every form gives the answers to the list, in batches of any size, with their number where it is known."""
    for name in forms_of(items, columns):
        for size in (1, 2, 64):
            given = forms_of(items, columns)[name]
            found = answers(given, batch_size=size)
            if hasattr(given, "__len__"):
                assert len(found) == len(items), name
            assert list(found) == expected, (name, size)


def check_laziness(answers: Callable[..., Any], item: Any) -> None:
    """An endless stream is read batch by batch, as far as answers are asked for."""
    read = []

    def endless() -> Iterator[Any]:
        while True:
            read.append(item)
            yield item

    found = iter(answers(endless(), batch_size=2))
    first = next(found)
    assert len(read) <= 4
    assert [next(found) for _ in range(4)] == [first] * 4
    assert len(read) <= 8
