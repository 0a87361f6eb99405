# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Compare each measure of a task with that of a trivial baseline, with an interval of the difference.

A baseline gives an answer to each row as a model does, but from a few facts of the training data: always the most
frequent class, each word's most frequent tag, the mean. Its answers are measured by the same code as the model's.

The 95 % interval of a difference is a paired bootstrap over rows (Efron 1979; Koehn 2004): as many rows as there are
are drawn with replacement, model and baseline are measured on the same drawn rows, and the interval holds the middle
95 % of 1,000 such differences. Each measure is a function of sums over rows (`tasks.metrics.sums`), so that no row is
measured again.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.runs import BASELINE_FILE
from hf_lecture_models.io.saved_json import read_fields
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.tasks.metrics.sums import Sums

RESAMPLES = 1000
_DRAWN_TOGETHER = 10
_MOST_GROUPS = 10_000


class Baseline(ABC):
    """A trivial baseline: answers to a task's rows that need no model.

    `encoded` is an `Encoded`, and answers have the form of the task's own `Task.answers`.
    """

    @abstractmethod
    def learn(self, processor: Any, data: Any, settings: Any) -> dict[str, Any] | None:
        """Return the facts of labelled data that the answers follow from, as JSON has them, with their `name`.

        None: such data have no baseline.
        """

    @abstractmethod
    def answers(self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any) -> Any:
        """Return answers in the form of `Task.answers`; None if the facts do not fit the model."""

    @abstractmethod
    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return the measures of answers as sums over rows, by their keys, without those that have no such form."""

    def only_answer(self, model: Any, encoded: Any, answers: Any) -> str:
        """Return the answer that all rows get, as a message shows it; "" if answers differ, or right ones do not."""
        return ""


@dataclass(frozen=True)
class Comparison:
    """The comparison of a model with a baseline on the same rows.

    Attributes:
        name: the name of the baseline, such as "most frequent class".
        measures: the measures of the baseline.
        differences: the measures of the model minus those of the baseline, each with the ends `low` and `high` of its
            95 % interval.
        only_answer: the model's answer to all rows; "" if its answers differ.
    """

    name: str
    measures: dict[str, float]
    differences: dict[str, dict[str, float]]
    only_answer: str = ""

    def warnings(self, measures: Sequence[Any]) -> list[str]:
        """Return a line for each reason why the model may be useless.

        Args:
            measures: the task's measures; the first one with a difference decides.
        """
        lines = [f"warning: all predictions are {self.only_answer}"] if self.only_answer else []
        measure = next((own for own in measures if own.key in self.differences), None)
        if measure is None:
            return lines
        found = self.differences[measure.key]
        low, high = (-found["high"], -found["low"]) if measure.lower_is_better else (found["low"], found["high"])
        said = f"the baseline ({self.name}) in {measure.key}, difference {shown_difference(found)}"
        if high < 0:
            lines.append(f"warning: the model is worse than {said}")
        elif low <= 0:
            lines.append(f"warning: the model is not better than {said}: the interval includes 0")
        return lines

    def shown(self, key: str) -> str:
        """Return the baseline's value of a measure, with the difference if it has one; "" for other numbers."""
        if key not in self.measures:
            return ""
        value, found = f"{self.measures[key]:.6g}", self.differences.get(key)
        return value if found is None else f"{value:<10}  {shown_difference(found)}"

    def as_facts(self) -> dict[str, Any]:
        """Return the name, measures and differences for programs and cards."""
        return {"name": self.name, "measures": self.measures, "differences": self.differences}

    def lines(self, part: str, measures: Sequence[Any]) -> list[str]:
        """Return a line with the first measure of model and baseline, and the warnings.

        Args:
            part: the name of the measured data.
            measures: the task's measures.
        """
        key = next((own.key for own in measures if own.key in self.differences), None)
        if key is None:
            return self.warnings(measures)
        found, other = self.differences[key], self.measures[key]
        value = f"{part} {key} {other + found['difference']:.4g}, {self.name} {other:.4g}"
        return [f"{value}, difference {shown_difference(found)} (95 % interval)", *self.warnings(measures)]


def shown_difference(found: Mapping[str, float]) -> str:
    """Return a difference with its interval as messages show it.

    >>> shown_difference({"difference": 0.1012, "low": 0.0713, "high": 0.1311})
    '+0.101 [0.0713, 0.131]'
    """
    return f"{found['difference']:+.3g} [{found['low']:.3g}, {found['high']:.3g}]"


def compare(ours: Mapping[str, Sums], theirs: Mapping[str, Sums]) -> dict[str, dict[str, float]]:
    """Return the difference of each measure, with the ends of its 95 % interval by a paired bootstrap over rows.

    Measures that are not finite are left out, also for some drawn rows; a single row has no interval.

    Args:
        ours, theirs: the measures of two systems as sums over the same rows.
    """
    keys = [key for key in ours if key in theirs and np.isfinite([ours[key].measure(), theirs[key].measure()]).all()]
    if not keys or len(ours[keys[0]].rows) < 2:
        return {}
    parts = [side[key] for key in keys for side in (ours, theirs)]
    ends = np.cumsum([part.rows.shape[1] for part in parts])[:-1]
    drawn = np.split(resampled_sums(np.concatenate([_in_groups(part.rows) for part in parts], axis=1)), ends, axis=1)
    values = [part.value(sums) for part, sums in zip(parts, drawn, strict=True)]
    found = {}
    for key, own, other in zip(keys, values[::2], values[1::2], strict=True):
        if np.isinf([own, other]).any():
            continue
        low, high = np.nanpercentile(own - other, [2.5, 97.5]).tolist()
        found[key] = {"difference": ours[key].measure() - theirs[key].measure(), "low": low, "high": high}
    return found


def resampled_sums(rows: np.ndarray, resamples: int = RESAMPLES) -> np.ndarray:
    """Return the sums over as many rows as there are, drawn with replacement, always the same ones.

    Of more than 10,000 rows, neighbours are added up to at most 10,000 groups of one size, which are drawn like rows.

    >>> resampled_sums(np.ones((5, 1)), resamples=2).tolist()
    [[5.0], [5.0]]

    Args:
        rows: (rows, numbers).

    Returns:
        (resamples, numbers)
    """
    rows = _in_groups(rows)
    random, count = np.random.default_rng(0), len(rows)
    sums = []
    for start in range(0, resamples, _DRAWN_TOGETHER):
        number = min(_DRAWN_TOGETHER, resamples - start)
        drawn = random.integers(0, count, (number, count)) + count * np.arange(number)[:, None]
        times = np.bincount(drawn.ravel(), minlength=number * count).reshape(number, count)
        sums.append(times.astype(float) @ rows)
    return np.concatenate(sums)


def _in_groups(rows: np.ndarray) -> np.ndarray:
    """Return the rows, or the sums of neighbours if there are very many, as float64."""
    together = max(1, -(-len(rows) // _MOST_GROUPS))
    sums = np.zeros((-(-len(rows) // together), rows.shape[1]))
    for place in range(together):
        own = rows[place::together]
        sums[: len(own)] += own
    return sums


@dataclass
class LearnedBaseline:
    """A baseline with its facts, and the model that was last compared with it.

    Attributes:
        baseline: the baseline of the task.
        facts: those of the training data; None: those of the rows that are measured.
        part: the name of the measured data in the file.
        comparisons: the results of other parts, from the file.
    """

    baseline: Baseline
    facts: dict[str, Any] | None = None
    part: str = "validation"
    comparisons: dict[str, dict[str, Any]] = field(default_factory=dict)
    _last: tuple["Measuring", Any, Any] | None = None

    @classmethod
    def read(cls, baseline: Baseline, folder: str | os.PathLike[str], part: str = "validation") -> "LearnedBaseline":
        """Return what a model's folder holds of the baseline; without a file, the baseline of the measured rows.

        Raises:
            ValueError: the file is damaged.
        """
        path = Path(folder) / BASELINE_FILE
        content = read_fields(path) if path.is_file() else {}
        return cls(baseline, content.pop("facts", None), part, content)

    def keep(self, measuring: "Measuring", model: Any, answers: Any) -> None:
        """Keep the answers of a model, for the comparison."""
        self._last = measuring, model, answers

    def comparison(self) -> Comparison | None:
        """Return the comparison of the model that was last measured; None without a model or a baseline."""
        return None if self._last is None else self._last[0].compare(*self._last[1:])

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the facts and the comparison of the model that was last measured into a folder."""
        found = self.comparison()
        content = {"facts": self.facts} | self.comparisons | ({} if found is None else {self.part: asdict(found)})
        write_file(Path(folder) / BASELINE_FILE, strict_json(content, indent=1) + "\n")


class Measuring:
    """Measures models on encoded data, and compares them with a baseline.

    Attributes:
        baseline: the name and the measures of the baseline; None without one.
    """

    def __init__(
        self,
        task: Any,
        model: Any,
        processor: Any,
        encoded: Any,
        settings: Any,
        learned: LearnedBaseline | None = None,
    ) -> None:
        self.task, self.processor, self.encoded, self.settings = task, processor, encoded, settings
        self.learned = learned
        self.baseline: tuple[str, dict[str, float]] | None = None
        self._answers: Any = None
        self._sums: dict[str, Sums] | None = None
        if learned is not None:
            name, self._answers = self._baseline_answers(model, learned)
            self.baseline = (name, self._measures(model, self._answers)) if name else None

    def __call__(self, model: Any) -> dict[str, Any]:
        """Return the measures of a model."""
        if self.learned is None:
            return self.task.measure(model, self.processor, self.encoded, self.settings)
        answers = self.task.answers(model, self.processor, self.encoded, self.settings)
        self.learned.keep(self, model, answers)
        return self.task.measure_answers(model, self.processor, self.encoded, answers, self.settings)

    def compare(self, model: Any, answers: Any) -> Comparison | None:
        """Return the comparison of a model's answers with the baseline's."""
        if self.baseline is None or self.learned is None:
            return None
        own = self.learned.baseline
        place = model, self.processor, self.encoded
        if self._sums is None:
            self._sums = own.sums(*place, self._answers, self.settings)
        differences = compare(own.sums(*place, answers, self.settings), self._sums)
        return Comparison(*self.baseline, differences, own.only_answer(model, self.encoded, answers))

    def _baseline_answers(self, model: Any, learned: LearnedBaseline) -> tuple[str, Any]:
        """Return the name and the answers, by the learned facts or else by those of the measured rows; or ""."""
        place = model, self.processor, self.encoded, self.settings
        own = learned.baseline
        if learned.facts is not None and (found := own.answers(learned.facts, *place)) is not None:
            return learned.facts["name"], found
        facts = own.learn(self.processor, self.encoded.data, self.settings)
        found = None if facts is None else own.answers(facts, *place)
        if facts is None or found is None:
            return "", None
        return facts["name"] + (" of these rows" if len(facts) > 1 else ""), found

    def _measures(self, model: Any, answers: Any) -> dict[str, float]:
        found = self.task.measure_answers(model, self.processor, self.encoded, answers, self.settings)
        keys = [measure.key for measure in self.task.measures(self.settings)]
        return {key: float(found[key]) for key in keys if found.get(key) is not None}


def baseline_of(task: Any) -> Baseline | None:
    """Return the baseline of a task; None also for a subclass that measures by a `measure` of its own."""
    order = type(task).__mro__
    own, of_answers = (
        next(place for place, one in enumerate(order) if name in vars(one)) for name in ("measure", "measure_answers")
    )
    return None if own < of_answers else task.baseline


def learn_baseline(task: Any, processor: Any, data: Any, recipe: Any) -> LearnedBaseline | None:
    """Return the baseline with the facts of training data; None for a task or data without one."""
    baseline = baseline_of(task)
    facts = None if baseline is None else baseline.learn(processor, data, recipe)
    return None if baseline is None or facts is None else LearnedBaseline(baseline, facts)


def evaluate_beside(
    task: Any, model: Any, processor: Any, data: Any, settings: Any, folder: str | os.PathLike[str], part: str
) -> tuple[dict[str, Any], Comparison | None]:
    """Return the results of `Task.evaluate` and the comparison with the baseline, which is None for a task without one.

    Args:
        folder: the model's folder; what it holds of the baseline is used.
        part: the name of the data in the folder's file; "": nothing is written.

    Raises:
        ValueError: as `Task.evaluate`; or the folder's file is damaged.
    """
    baseline = baseline_of(task)
    if baseline is None:
        return task.evaluate(model, processor, data, settings), None
    beside = LearnedBaseline.read(baseline, folder, part)
    measured = task.evaluate(model, processor, data, settings, beside)
    found = beside.comparison()
    if part and found is not None:
        beside.save_pretrained(folder)
    return measured, found


def comparison_of(folder: str | os.PathLike[str], part: str) -> Comparison | None:
    """Return the comparison on a part of the data that a model's folder has, or None.

    Raises:
        ValueError: the file is damaged.
    """
    path = Path(folder) / BASELINE_FILE
    found = read_fields(path).get(part) if path.is_file() else None
    try:
        return None if found is None else Comparison(**found)
    except TypeError:
        raise ValueError(f"{path} is damaged: {part} is not a comparison; restore the file, or remove it") from None
