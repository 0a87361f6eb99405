# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of classes, their most frequent one, and of numbers, their mean."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.kinds import MULTI_LABEL, REGRESSION
from hf_lecture_models.tasks.classification.labels import as_number, ids_by_name, read_labels
from hf_lecture_models.tasks.classification.mnli import MISMATCHED, parts_of_accuracy
from hf_lecture_models.tasks.classification.several_labels import read_label_lists
from hf_lecture_models.tasks.classification.several_measures import ClassSets, only_set, sums_of_sets
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.core.labels import classes_of
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums


class MostFrequentClass(Baseline):
    """The most frequent class of the training data (of several, the first one), or the mean of numbers."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any] | None:
        """Return the name of the class, or the mean; None for labels of another kind."""
        if settings.problem_type == REGRESSION:
            numbers = [as_number(label, data.where(index)) for index, label in enumerate(data.columns["label"])]
            return {"name": "mean", "mean": float(np.mean(numbers))}
        if settings.problem_type == MULTI_LABEL:
            labels = [label for own in read_label_lists(data) for label in own]
        else:
            labels = read_labels(data)
        if not labels:
            return None
        names = Counter(settings.label_names.get(label, label) for label in labels)
        return {"name": "most frequent class", "class": most_frequent(names)}

    def answers(self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any) -> Any:
        """Return the class's id, or the mean, for each row, or the `ClassSets` with this class alone."""
        if settings.problem_type == REGRESSION:
            return [facts["mean"]] * len(encoded.inputs) if "mean" in facts else None
        ids, name = ids_by_name(model.config, settings.label_names), str(facts.get("class"))
        found = ids.get(name, ids.get(name.casefold()))
        if found is not None and settings.problem_type == MULTI_LABEL:
            return ClassSets(np.eye(len(classes_of(model.config)), dtype=bool)[[found] * len(encoded.inputs)])
        return None if found is None else [found] * len(encoded.inputs)

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return the measures of text classification that are asked for."""
        if settings.problem_type == MULTI_LABEL:
            return sums_of_sets(answers, encoded.labels)
        references, official = encoded.labels, getattr(settings, "official", None)
        if settings.problem_type == REGRESSION:
            found = {"pearson": sums.pearson(answers, references), "spearmanr": sums.spearmanr(answers, references)}
            return {key: found[key] for key in (("pearson",) if official is None else official.measures)}
        if official is None:
            return _of_classes(answers, references, len(classes_of(model.config)), ("accuracy", "macro_f1"))
        if f"accuracy_{MISMATCHED}" in official.measures:
            numbers = np.arange(len(references))
            return {
                key: sums.accuracy(answers, references, np.isin(numbers, rows))
                for key, rows in parts_of_accuracy(encoded.data).items()
            }
        found = _of_classes(answers, references, len(classes_of(model.config)), official.measures)
        if "f1" in official.measures:
            positive = ids_by_name(model.config, settings.label_names)[settings.label_names["1"]]
            sides = ([int(value == positive) for value in side] for side in (answers, references))
            found["f1"] = sums.f1(*sides)
        return found

    def only_answer(self, model: Any, encoded: Any, answers: Any) -> str:
        """Return the only class that is predicted, or the only set of classes, though there are others."""
        if isinstance(answers, ClassSets):
            return only_set(answers, encoded.labels, classes_of(model.config))
        if len(set(encoded.labels)) < 2 or len(set(answers)) > 1:
            return ""
        number = len(classes_of(model.config)) == 1
        return f"{answers[0]:.4g}" if number else f"the class {classes_of(model.config)[int(answers[0])]!r}"


def _of_classes(answers: Any, references: Any, classes: int, keys: Sequence[str]) -> dict[str, Sums]:
    """Return measures of classes; of very many classes, only the accuracy."""
    found = {"accuracy": sums.accuracy(answers, references)}
    if classes <= sums.MOST_CLASSES:
        found["macro_f1"] = sums.macro_f1(answers, references, classes)
        found["matthews_correlation"] = sums.matthews_correlation(answers, references, classes)
    return {key: own for key, own in found.items() if key in keys}


def most_frequent(counts: Counter[str]) -> str:
    """Return the most frequent name; of several, the first one by the alphabet.

    >>> most_frequent(Counter(["b", "a", "b", "a", "c"]))
    'a'
    """
    return min(counts, key=lambda name: (-counts[name], name))
