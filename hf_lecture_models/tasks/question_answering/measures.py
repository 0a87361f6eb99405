# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exact match and F1 of answers, as SQuAD 1.1 and 2.0 define them (Rajpurkar et al. 2016 and 2018).

They are shares like all measures here; SQuAD's own script prints them in percent.
"""

import collections
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad(
    predictions: Sequence[Mapping[str, Any]], references: Sequence[Sequence[str]], no_answer_threshold: float = 0.0
) -> dict[str, float]:
    """Return means over questions, each against the right answer that is nearest; see `exact_match` and `f1`.

    For a question without an answer only the empty prediction is right. If there are such questions, HasAns and NoAns
    are the means over those with and without an answer; best_exact and best_f1 are the highest values that a threshold
    for `no_answer_score` can give, and best_exact_thresh and best_f1_thresh these thresholds.

    >>> squad([{"text": "the cats", "no_answer_score": -1.0}], [["A cat.", "Two cats"]])
    {'f1': 0.6666666666666666, 'exact_match': 0.0}

    Args:
        predictions: the best answer, and how much it speaks for there being none.
        references: all right answers; none where the text has none.
        no_answer_threshold: a score above it leaves the question unanswered.
    """
    texts, odds = ([prediction[name] for prediction in predictions] for name in ("text", "no_answer_score"))
    raw = [best_scores(text, right) for text, right in zip(texts, references, strict=True)]
    scores = _left_unanswered(raw, odds, references, no_answer_threshold)
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


def scores_of_questions(
    predictions: Sequence[Mapping[str, Any]], references: Sequence[Sequence[str]]
) -> list[tuple[float, float]]:
    """Return F1 and exact match of each question, whose means are `squad`'s, with the threshold 0.

    >>> scores_of_questions([{"text": "the cats", "no_answer_score": 1.0}] * 2, [["A cat.", "Two cats"], []])
    [(0.0, 0.0), (1.0, 1.0)]
    """
    texts, odds = ([prediction[name] for prediction in predictions] for name in ("text", "no_answer_score"))
    raw = [best_scores(text, right) for text, right in zip(texts, references, strict=True)]
    return _left_unanswered(raw, odds, references, 0.0)


def _left_unanswered(
    raw: Sequence[tuple[float, float]], odds: Sequence[float], references: Sequence[Sequence[str]], threshold: float
) -> list[tuple[float, float]]:
    """Return the scores, those of the empty answer where the score of no answer is above the threshold."""
    return [
        (float(not right),) * 2 if score > threshold else own
        for own, score, right in zip(raw, odds, references, strict=True)
    ]


def _means(scores: list[tuple[float, float]], names: tuple[str, str]) -> dict[str, float]:
    columns = zip(*scores, strict=True)
    return {name: sum(column) / len(scores) for name, column in zip(names, columns, strict=True)}


def best_scores(prediction: str, answers: Sequence[str]) -> tuple[float, float]:
    """Return F1 and exact match with the nearest of the right answers.

    As in SQuAD 2.0's definition, right answers that are empty after `normalize` are ignored; if no answer is left, the
    empty text is right.

    >>> best_scores("the cats", ["A cat.", "Two cats"])
    (0.6666666666666666, 0.0)
    >>> best_scores("", []), best_scores("a cat", [])
    ((1.0, 1.0), (0.0, 0.0))
    """
    right = [answer for answer in answers if normalize(answer)] or [""]
    return max(f1(prediction, answer) for answer in right), max(exact_match(prediction, answer) for answer in right)


def normalize(text: str) -> str:
    """Return a text in small letters, without ASCII punctuation, articles (a, an, the) and repeated spaces.

    >>> normalize("The U.S. Army's  band")
    'us armys band'
    """
    without_articles = re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(_PUNCTUATION))
    return " ".join(without_articles.split())


def exact_match(prediction: str, answer: str) -> float:
    """Return 1 if both texts are the same when normalized, else 0.

    >>> exact_match("the 1990s.", "1990s"), exact_match("1990", "1990s")
    (1.0, 0.0)
    """
    return float(normalize(prediction) == normalize(answer))


def f1(prediction: str, answer: str) -> float:
    """Return 2 · common / (words of one + words of the other), common words counted as often as both have them.

    If a normalized text is empty, F1 is 1 if both are empty, else 0.

    >>> f1("in the old old town", "the old town hall")
    0.5714285714285714
    """
    ours, theirs = normalize(prediction).split(), normalize(answer).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = collections.Counter(ours) & collections.Counter(theirs)
    return 2 * sum(common.values()) / (len(ours) + len(theirs))


def best_threshold(scores: list[float], odds: list[float], has_answer: list[bool]) -> tuple[float, float]:
    """Return the highest mean score of answering only if the odds are at most a threshold, and this threshold.

    >>> best_threshold([1.0, 0.5, 0.0], odds=[-2.0, -1.0, 3.0], has_answer=[True, True, False])
    (0.8333333333333334, -1.0)

    Args:
        scores: the score of answering each question.
        odds: the score of no answer to each question; higher odds make no answer more likely.
        has_answer: whether each question has an answer; if not, leaving it unanswered has the score 1.
    """
    order = sorted(range(len(odds)), key=odds.__getitem__)
    total = best = float(has_answer.count(False))
    threshold = odds[order[0]] - 1.0  # no question is answered
    for place, index in enumerate(order):
        total += scores[index] - (not has_answer[index])
        # Equal odds are answered together.
        is_last = place + 1 == len(order) or odds[order[place + 1]] > odds[index]
        if is_last and total > best:
            best, threshold = total, odds[index]
    return best / len(odds), threshold
