# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Precision, recall and F1 of entities, counted as the CoNLL shared tasks count them."""

from collections.abc import Sequence
from itertools import chain

from hf_lecture_models.tasks.metrics import say_undefined
from hf_lecture_models.tasks.tagging.entities import find_entities


def entities(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return f1, precision and recall of entities; one is found if its first and last words and its kind are right.

    precision = found / predicted, recall = found / there, f1 = 2 · found / (predicted + there), all kinds together; 0
    where they would divide by 0, and if no entities are there, a line says so.

    Entities are counted in seqeval's default mode, as the script conlleval does: B and S begin an entity, E and S end
    it, and a change of kind does both. I or E after O also begins an entity, so that a wrong first tag alone does not
    lose it. seqeval's mode "strict" would not count such entities.

    >>> entities([["B-X", "O"]], [["B-X", "B-Y"]])
    {'f1': 0.6666666666666666, 'precision': 1.0, 'recall': 0.5}

    Args:
        predictions, references: the tags of each sentence's words, O or B-X, I-X, E-X, S-X; L, U, M and W, which
            seqeval does not know, mean E, S, I and S.

    Raises:
        ValueError: a word has no prediction, or a prediction no word.
    """
    _check_lengths(predictions, references)
    if {*chain(*references)} <= {"O"}:
        say_undefined("entities", "there are no entities among the right answers")
    ours, theirs = (
        {(row, entity) for row, tags in enumerate(side) for entity in find_entities(tags)}
        for side in (predictions, references)
    )
    found = len(ours & theirs)
    precision, recall = (found / max(1, len(side)) for side in (ours, theirs))
    # The harmonic mean, as seqeval rounds it.
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    return {"f1": f1, "precision": precision, "recall": recall}


def _check_lengths(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    if len(predictions) != len(references):
        raise ValueError(
            f"`predictions` has {len(predictions)} sentences and `references` {len(references)}; give one for each"
        )
    for row, (ours, theirs) in enumerate(zip(predictions, references, strict=True)):
        if len(ours) != len(theirs):
            raise ValueError(
                f"sentence {row + 1} has {len(ours)} tags in `predictions` and {len(theirs)} in `references`; give "
                "each word one in both"
            )
