# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The wrong predictions of a classifier of texts or images, and the largest errors of a regression."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from hf_lecture_models.tasks.classification.classes import class_scores
from hf_lecture_models.tasks.core.errors import Errors, errors_of_classes
from hf_lecture_models.tasks.core.labels import classes_of


def class_errors(config: Any, inputs: Mapping[str, Sequence[Any]], logits: Tensor, labels: Sequence[float]) -> Errors:
    """Return the rows with a wrong class: the input, the right class, the predicted one, and its probability.

    >>> import torch
    >>> from transformers import BertConfig
    >>> config = BertConfig(id2label={0: "bad", 1: "good"})
    >>> class_errors(config, {"text": ["a", "b"]}, torch.zeros(2, 2), [1, 0]).rows
    [{'text': 'a', 'gold': 'good', 'predicted': 'bad', 'score': 0.5}]

    Args:
        config: the model's, with the names of its classes.
        inputs: the columns that are shown, such as `text`; a column `where` comes last.
        logits: (rows, classes).
        labels: the ids of the right classes.
    """
    names, (scores, found) = classes_of(config), class_scores(logits, config).max(1)
    answers = [
        {"gold": names[int(label)], "predicted": names[own], "score": score}
        for label, own, score in zip(labels, found.tolist(), scores.tolist(), strict=True)
    ]
    return errors_of_classes(_rows(inputs, answers))


def number_errors(inputs: Mapping[str, Sequence[Any]], predictions: Sequence[float], labels: Sequence[float]) -> Errors:
    """Return all rows, largest absolute error first: the input, the right number, the predicted one, the error.

    >>> number_errors({"text": ["a", "b"], "where": ["x, row 1", "x, row 2"]}, [1.0, 4.0], [1.5, 2.0]).rows[0]
    {'text': 'b', 'gold': 2.0, 'predicted': 4.0, 'error': 2.0, 'where': 'x, row 2'}
    """
    answers = [
        {"gold": float(label), "predicted": own, "error": abs(own - label)}
        for label, own in zip(labels, predictions, strict=True)
    ]
    rows = sorted(_rows(inputs, answers), key=lambda row: -row["error"])
    return Errors(rows, len(rows), by="largest errors")


def set_errors(
    names: Sequence[str], inputs: Mapping[str, Sequence[Any]], scores: Any, chosen: Any, truths: Any
) -> Errors:
    """Return the rows with other classes than the right ones: the input, both lists of classes, and a score.

    The score is how sure the model was of its surest wrong decision: the probability of a class that the row does not
    have, or 1 minus that of a class that it has.

    >>> scores, chosen = [[0.75, 0.5], [0.5, 0.25]], [[True, True], [True, False]]
    >>> set_errors(["a", "b"], {"text": ["x", "y"]}, scores, chosen, [[1, 1], [0, 1]]).rows
    [{'text': 'y', 'gold': ['b'], 'predicted': ['a'], 'score': 0.75}]

    Args:
        names: the names of the classes.
        scores, chosen, truths: (rows, classes): probabilities, whether a class is predicted, and whether it is right.
    """
    answers = []
    for probabilities, own, right in zip(scores, chosen, truths, strict=True):
        wrong = [
            probability if predicted else 1 - probability
            for probability, predicted, true in zip(probabilities, own, right, strict=True)
            if bool(predicted) != bool(true)
        ]
        gold, predicted = ([name for name, is_in in zip(names, row, strict=True) if is_in] for row in (right, own))
        answers.append({"gold": gold, "predicted": predicted, "score": float(max(wrong, default=0.0))})
    return replace(errors_of_classes(_rows(inputs, answers)), pairs=None)


def _rows(inputs: Mapping[str, Sequence[Any]], answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of the inputs, then the answers, then the place in the data."""
    first = {name: values for name, values in inputs.items() if name != "where"}
    last = {name: values for name, values in inputs.items() if name == "where"}
    return [
        {name: values[row] for name, values in first.items()}
        | own
        | {name: values[row] for name, values in last.items()}
        for row, own in enumerate(answers)
    ]
