# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which rows of the training data are held out for validation.

The choice depends on the rows alone: it has a seed of its own, so that runs with several seeds validate on the same
rows, and it is the same on every machine.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.saved_json import read_json

SPLIT_FILE = "split.json"
"""The file in `output_dir` with the numbers of the rows that were held out."""
SHARE = 0.1
"""The share of the training rows that is held out where a recipe names neither validation data nor a share."""
FEWEST_ROWS = 20
"""With fewer rows nothing is held out, unless the recipe names a share."""
SPLIT_SEED = 0
_STRETCHES, _LINES_OF_STRETCH = 100, 10


@dataclass(frozen=True)
class SplitKeys:
    """The rules for a split of rows.

    Attributes:
        together: by the name of a rule, a value of each row; rows with the same value stay on one side. None: the row
            may be on either side.
        strata: a value of each row; of the rows with the same value, the same share is held out. (): all rows are
            alike.
        stratified_by: the name of the strata.
        labels: the labels of each row; each label keeps at least one row to train on. (): rows without labels.
        to_train: rows that are never held out.
    """

    together: Mapping[str, Sequence[Hashable]] = field(default_factory=dict)
    strata: Sequence[Hashable] = ()
    stratified_by: str = ""
    labels: Sequence[Collection[Hashable]] = ()
    to_train: Collection[int] = ()


@dataclass(frozen=True)
class HeldOut:
    """The rows that were held out, which `split.json` names.

    Attributes:
        rows: the number of rows before the split.
        validation: the numbers of the rows held out, counted from 0 over all files of the training data.
        sources: the files and their numbers of rows.
        stratified_by: what has the same share on both sides, or "".
        together_by: what rows have in common that stay on one side.
        seed: the seed of the choice.
    """

    rows: int
    validation: list[int]
    sources: list[tuple[str, int]]
    stratified_by: str = ""
    together_by: list[str] = field(default_factory=list)
    seed: int = SPLIT_SEED

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write `split.json` into a folder."""
        content = asdict(self) | {"share": len(self.validation) / self.rows}
        write_file(Path(folder) / SPLIT_FILE, json.dumps(content) + "\n")


def read_split(folder: str | os.PathLike[str]) -> HeldOut:
    """Return the split that a run has saved in its folder.

    Raises:
        FileNotFoundError: the folder has no such file.
        ValueError: it is damaged.
    """
    path = Path(folder) / SPLIT_FILE
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}: the run held no rows out")
    content: Any = read_json(path)
    try:
        sources = [(str(name), int(rows)) for name, rows in content["sources"]]
        numbers = [int(number) for number in content["validation"]]
        return HeldOut(int(content["rows"]), numbers, sources, content["stratified_by"], content["together_by"])
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error}); restore it") from error


def draw_rows(number: int, length: int, keys: SplitKeys | None = None) -> list[int]:
    """Return the numbers of about `number` of `length` rows, in rising order.

    Rows are drawn without looking at their order. Where rows stay together, the nearest number that can be reached is
    drawn, but at least one group where a group is at most half of all rows.

    >>> labels = ["good"] * 30 + ["bad"] * 10
    >>> chosen = draw_rows(4, 40, SplitKeys(strata=labels))
    >>> [labels[row] for row in chosen]
    ['good', 'good', 'good', 'bad']

    Returns:
        [] if the rules allow no row.
    """
    keys = keys or SplitKeys()
    generator = random.Random(SPLIT_SEED)
    groups = rows_together(length, keys.together.values())
    if keys.to_train:
        groups = [group for group in groups if not any(row in keys.to_train for row in group)]
    # `random()` alone is the same for a seed in every version of Python; `shuffle` need not be.
    places = [generator.random() for _ in groups]
    groups = [groups[place] for place in sorted(range(len(groups)), key=places.__getitem__)]
    draw = _Draw(number, length, keys)
    alike: Sequence[Hashable] = [""] * length
    for strata in (keys.strata, alike) if keys.strata else (alike,):
        draw.fill(groups, strata, _quotas(number, strata, generator))
    if not draw.chosen and number:
        for group in sorted(groups, key=len):
            if 2 * len(group) <= length and draw.keeps_labels(group):
                return group
    return sorted(draw.chosen)


class _Draw:
    """Rows that are drawn group by group, as long as a group brings the numbers of rows nearer to those wanted."""

    def __init__(self, number: int, length: int, keys: SplitKeys) -> None:
        self.number, self.labels = number, keys.labels
        self.chosen: set[int] = set()
        self.left = Counter(label for labels in keys.labels for label in {*labels})

    def fill(self, groups: Sequence[Sequence[int]], strata: Sequence[Hashable], quotas: Counter[Hashable]) -> None:
        """Draw groups in their order until each stratum has its quota."""
        missing = quotas.copy()
        missing.subtract(Counter(strata[row] for row in self.chosen))
        for group in groups:
            if len(self.chosen) >= self.number:
                return
            if group[0] in self.chosen:
                continue
            rows = _counts([strata[row] for row in group])
            is_nearer = sum(own * (2 * missing[stratum] - own) for stratum, own in rows.items()) > 0
            is_nearer &= 2 * (self.number - len(self.chosen)) > len(group)
            if is_nearer and self.keeps_labels(group):
                self.chosen.update(group)
                for counter, counts in ((missing, rows), (self.left, self._labels_of(group))):
                    for value, count in counts.items():
                        counter[value] -= count

    def keeps_labels(self, group: Sequence[int]) -> bool:
        """Return whether each label of the group is still on another row to train on."""
        return all(self.left[label] > rows for label, rows in self._labels_of(group).items())

    def _labels_of(self, group: Sequence[int]) -> Mapping[Hashable, int]:
        return _counts([label for row in group for label in {*self.labels[row]}]) if self.labels else {}


def _counts(values: Sequence[Hashable]) -> Mapping[Hashable, int]:
    """Return how often each value occurs, at once for the single value that most groups have."""
    return {values[0]: 1} if len(values) == 1 else Counter(values)


def rows_together(length: int, rules: Iterable[Sequence[Hashable]]) -> list[list[int]]:
    """Return the groups of rows that stay together, because they have a value in common, directly or through others.

    >>> rows_together(4, [["a", "b", "a", None], [None, 7, 8, None]])
    [[0, 2], [1], [3]]
    """
    parents = list(range(length))

    def first_of(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    for values in rules:
        seen: dict[Hashable, int] = {}
        for row, value in enumerate(values):
            if value is not None:
                one, other = first_of(seen.setdefault(value, row)), first_of(row)
                parents[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = {}
    for row in range(length):
        groups.setdefault(first_of(row), []).append(row)
    return list(groups.values())


def _quotas(number: int, strata: Sequence[Hashable], generator: random.Random) -> Counter[Hashable]:
    """Return how many rows of each stratum are drawn: the same share of each, rounded so that the sum is `number`."""
    rows = Counter(strata)
    quotas = Counter({stratum: number * own // len(strata) for stratum, own in rows.items()})
    rests = {stratum: (-(number * own % len(strata)), generator.random()) for stratum, own in rows.items()}
    for stratum in sorted(rests, key=rests.__getitem__)[: number - quotas.total()]:
        quotas[stratum] += 1
    return quotas


def draw_lines(share: float, length: int) -> list[int]:
    """Return the numbers of a share of the lines of running text, in stretches of neighbouring lines.

    The lines are cut into at most a hundred stretches of equal length, ten lines or more where the share allows.

    >>> draw_lines(0.1, 40)
    [12, 13, 14, 15]
    """
    number = min(length, max(10, -int(-1 // share), min(_STRETCHES, length // _LINES_OF_STRETCH)))
    ends = [length * place // number for place in range(number + 1)]
    generator = random.Random(SPLIT_SEED)
    places = [generator.random() for _ in range(number)]
    chosen = sorted(range(number), key=places.__getitem__)[: max(1, round(share * number))]
    return [line for place in sorted(chosen) for line in range(ends[place], ends[place + 1])]


def in_tenths(numbers: Sequence[float]) -> list[int]:
    """Return for each number the tenth of the sorted numbers that it is in, as strata of labels that are numbers.

    >>> in_tenths([0.5, 3.0, 1.0])
    [0, 6, 3]
    """
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    ranks = {row: rank for rank, row in enumerate(order)}
    return [10 * ranks[row] // len(numbers) for row in range(len(numbers))]


def as_key(value: Any) -> Hashable:
    """Return a key that equal texts, lists of texts or other values share; blanks at both ends are ignored.

    >>> as_key(" a cat "), as_key(["a", "cat "])
    ('a cat', ('a', 'cat'))
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list | tuple):
        return tuple(map(as_key, value))
    return value if isinstance(value, int | float | None) else repr(value)


def shared_values(values: Sequence[Hashable], training: Iterable[Hashable]) -> Iterator[int]:
    """Yield the rows whose value is also in the training data.

    >>> list(shared_values(["a", "b", None], ["b", "c", None]))
    [1]
    """
    found = {*values} & {*training} - {None}
    return (row for row, value in enumerate(values) if value in found)
