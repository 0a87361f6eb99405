# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exact match and F1 of answers, as SQuAD 1.1 and 2.0 define them (Rajpurkar et al. 2016 and 2018), in percent."""

import collections
import re
import string

import datasets
import evaluate

_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Squad(evaluate.Metric):
    """Means over questions, each against the right answer that is nearest; see `exact_match` and `f1`.

    A question without a right answer has none in its text: only the empty prediction is right. Where there are such
    questions, HasAns and NoAns are the means over those with and without an answer; best_exact and best_f1 are the
    highest ones that a threshold for `no_answer_score` gives, and the thresholds stand beside them.
    """

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        prediction = {"text": text, "no_answer_score": datasets.Value("float64")}
        return evaluate.MetricInfo(
            description="Exact match and F1 of answers, in percent.",
            citation="",
            inputs_description=(
                "predictions: the best answer, and how much it speaks for there being none, where this is above "
                "no_answer_threshold. references: all right answers; none where the text has none."
            ),
            features=datasets.Features({"predictions": prediction, "references": datasets.List(text)}),
        )

    def _compute(
        self, predictions: list[dict], references: list[list[str]], no_answer_threshold: float = 0.0
    ) -> dict[str, float]:
        texts, odds = ([prediction[name] for prediction in predictions] for name in ("text", "no_answer_score"))
        raw = [best_scores(text, right) for text, right in zip(texts, references, strict=True)]
        scores = [
            (float(not right),) * 2 if score > no_answer_threshold else own
            for own, score, right in zip(raw, odds, references, strict=True)
        ]
        found = _means(scores, ("f1", "exact_match"))
        if all(references):
            return found
        for kind, wanted in (("HasAns", True), ("NoAns", False)):
            part = [score for score, right in zip(scores, references, strict=True) if bool(right) == wanted]
            found |= _means(part, (f"{kind}_f1", f"{kind}_exact")) if part else {}
        for index, name in enumerate(("best_f1", "best_exact")):
            own = [score[index] for score in raw]
            found[name], found[f"{name}_thresh"] = best_threshold(own, odds, [bool(right) for right in references])
        return found


def _means(scores: list[tuple[float, float]], names: tuple[str, str]) -> dict[str, float]:
    columns = zip(*scores, strict=True)
    return {name: 100 * sum(column) / len(scores) for name, column in zip(names, columns, strict=True)}


def best_scores(prediction: str, answers: list[str]) -> tuple[float, float]:
    """F1 and exact match with the nearest of the right answers.

    As in SQuAD 2.0's definition, right answers of which nothing is left by `normalize` are no answers; where there are
    none, the empty text is right.

    >>> best_scores("the cats", ["A cat.", "Two cats"])
    (0.6666666666666666, 0.0)
    >>> best_scores("", []), best_scores("a cat", [])
    ((1.0, 1.0), (0.0, 0.0))
    """
    right = [answer for answer in answers if normalize(answer)] or [""]
    return max(f1(prediction, answer) for answer in right), max(exact_match(prediction, answer) for answer in right)


def normalize(text: str) -> str:
    """Small letters, without punctuation (ASCII), articles (a, an, the) and more than one space.

    >>> normalize("The U.S. Army's  band")
    'us armys band'
    """
    without_articles = re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(_PUNCTUATION))
    return " ".join(without_articles.split())


def exact_match(prediction: str, answer: str) -> float:
    """1 if both are the same when normalized, else 0.

    >>> exact_match("the 1990s.", "1990s"), exact_match("1990", "1990s")
    (1.0, 0.0)
    """
    return float(normalize(prediction) == normalize(answer))


def f1(prediction: str, answer: str) -> float:
    """2 · common / (words of one + words of the other), common words counted as often as both have them.

    If nothing is left of one of them when normalized, 1 if nothing is left of both, else 0.

    >>> f1("in the old old town", "the old town hall")
    0.5714285714285714
    """
    ours, theirs = normalize(prediction).split(), normalize(answer).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = collections.Counter(ours) & collections.Counter(theirs)
    return 2 * sum(common.values()) / (len(ours) + len(theirs))


def best_threshold(scores: list[float], odds: list[float], has_answer: list[bool]) -> tuple[float, float]:
    """The highest mean, in percent, that answering where odds are at most a threshold gives, and this threshold.

    >>> best_threshold([1.0, 0.5, 0.0], odds=[-2.0, -1.0, 3.0], has_answer=[True, True, False])
    (83.33333333333333, -1.0)

    Args:
        scores: of each question, if it is answered.
        odds: how much speaks for there being no answer.
        has_answer: whether there is one; not to answer is right where there is none.
    """
    order = sorted(range(len(odds)), key=odds.__getitem__)
    total = best = float(has_answer.count(False))
    threshold = odds[order[0]] - 1.0  # nothing is answered
    for place, index in enumerate(order):
        total += scores[index] - (not has_answer[index])
        # Equal odds are answered together.
        is_last = place + 1 == len(order) or odds[order[place + 1]] > odds[index]
        if is_last and total > best:
            best, threshold = total, odds[index]
    return 100 * best / len(odds), threshold
