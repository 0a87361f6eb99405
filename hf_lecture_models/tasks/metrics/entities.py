# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Precision, recall and F1 of entities, counted as the CoNLL shared tasks count them."""

import datasets
import evaluate


class Entities(evaluate.Metric):
    """An entity is found if its first word, its last word and its kind are right.

    precision = found / predicted, recall = found / there, f1 = 2 · found / (predicted + there), all kinds together; 0
    where they would divide by 0.
    """

    def _info(self) -> evaluate.MetricInfo:
        tags = datasets.List(datasets.Value("string"))
        return evaluate.MetricInfo(
            description="Precision, recall and F1 of entities.",
            citation="",
            inputs_description="predictions, references: the tags of each sentence's words, O or B-X, I-X, E-X, S-X.",
            features=datasets.Features({"predictions": tags, "references": tags}),
        )

    def _compute(self, predictions: list[list[str]], references: list[list[str]]) -> dict[str, float]:
        found = predicted = there = 0
        for ours, theirs in zip(predictions, references, strict=True):
            one, other = entities(ours), entities(theirs)
            found, predicted, there = found + len(one & other), predicted + len(one), there + len(other)
        return {
            "f1": 2 * found / max(predicted + there, 1),
            "precision": found / max(predicted, 1),
            "recall": found / max(there, 1),
        }


def entities(tags: list[str]) -> set[tuple[str, int, int]]:
    """Kind, first word and the word behind the last one of each entity.

    B and S begin an entity, E and S end one. So does a change of kind, and I or E behind O begins one: a wrong first
    tag need not cost the entity.

    >>> sorted(entities(["B-place", "I-place", "O", "I-person", "B-person"]))
    [('person', 3, 4), ('person', 4, 5), ('place', 0, 2)]
    """
    found, first, before, kind_before = set(), 0, "O", ""
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        begins = prefix != "O" and (prefix in "BS" or before in "OES" or kind != kind_before)
        if before != "O" and (begins or prefix == "O"):
            found.add((kind_before, first, place))
        if begins:
            first = place
        before, kind_before = prefix, kind
    return found
