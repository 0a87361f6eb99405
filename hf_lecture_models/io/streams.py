# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Many inputs of a pipeline, read as they are needed. This file travels with exported models."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any


def each_input(inputs: Any) -> Iterator[Any] | None:
    """Return an iterator over a generator, a data set, or anything else of several inputs; None for one input.

    A data set of torch (`KeyDataset` of transformers, too) has a length and numbered items, and is not iterable.

    >>> from torch.utils.data import TensorDataset
    >>> list(each_input(["a", "b"])), each_input("a"), each_input({"text": "a"})
    (['a', 'b'], None, None)
    """
    if isinstance(inputs, str | bytes | Mapping):
        return None
    if isinstance(inputs, Iterable):
        return iter(inputs)
    if hasattr(inputs, "__getitem__") and hasattr(inputs, "__len__"):
        return (inputs[number] for number in range(len(inputs)))
    return None


class Answers(Iterator[Any]):
    """The answers to many inputs; a group of inputs is read when its first answer is asked for.

    >>> found = Answers("abc", iter("abc"), 2, lambda letters: [letter.upper() for letter in letters])
    >>> len(found), list(found)
    (3, ['A', 'B', 'C'])

    Args:
        inputs: the inputs as they were given; there are as many answers.
        each: the inputs one by one.
        size: the inputs of a group.
        run: returns the answers to a group.
    """

    def __init__(self, inputs: Any, each: Iterator[Any], size: int, run: Callable[[list[Any]], list[Any]]) -> None:
        self._inputs = inputs
        groups = iter(lambda: list(islice(each, size)), [])
        self._answers = (answer for group in groups for answer in run(group))

    def __next__(self) -> Any:
        """Return the next answer."""
        return next(self._answers)

    def __len__(self) -> int:
        """Return the number of all answers.

        Raises:
            TypeError: the inputs have no length.
        """
        return len(self._inputs)
