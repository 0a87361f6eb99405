# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""SQuAD's measures beside numbers worked out by hand, and thresholds beside a search over all of them."""

from __future__ import annotations

import numpy as np
import pytest

from hf_lecture_models.tasks.question_answering.measures import (
    best_scores,
    best_threshold,
    exact_match,
    f1,
    normalize,
    squad,
)

# Prediction, right answers, F1, exact match.
BY_HAND: dict[str, tuple[str, list[str], float, float]] = {
    "the same": ("Denver Broncos", ["Denver Broncos"], 1, 1),
    "case": ("denver BRONCOS", ["Denver Broncos"], 1, 1),
    "articles": ("the Broncos", ["A Broncos", "an Broncos"], 1, 1),
    "articles are whole words": ("another theme", ["other me"], 0, 0),
    "punctuation": ("U.S.", ["US"], 1, 1),
    "punctuation joins words": ("well-known", ["well known"], 0, 0),
    "other scripts' punctuation stays": ("«yes»", ["yes"], 0, 0),
    "white space": (" in\t1066\n", ["in 1066"], 1, 1),
    "part": ("in October 1066", ["1066"], 0.5, 0),
    "the nearest of several": ("October 1066", ["1066", "in October 1066", "the 11th century"], 0.8, 0),
    "best F1 and match of different answers": ("big cat", ["cat", "a big, cat!"], 1, 1),
    "repeated words count as often as both have them": ("to be or not to be", ["to be to"], 2 * 3 / 9, 0),
    "nothing in common": ("1067", ["1066"], 0, 0),
    "none, and none is right": ("", [], 1, 1),
    "none, and there is one": ("", ["1066"], 0, 0),
    "one, and there is none": ("1066", [], 0, 0),
    "only an article, and there is none": ("The", [], 1, 1),
    "only articles are left of both": ("a", ["the"], 1, 1),
    "of one right answer nothing is left": ("", ["the", "1066"], 0, 0),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_cases_by_hand(name: str) -> None:
    prediction, answers, expected_f1, expected_match = BY_HAND[name]
    assert best_scores(prediction, answers) == (pytest.approx(expected_f1), expected_match)
    for no_answer_score in (-3.0, 0.0):  # both answer
        measured = squad([{"text": prediction, "no_answer_score": no_answer_score}], [answers])
        assert (measured["f1"], measured["exact_match"]) == pytest.approx((expected_f1, expected_match))
        assert ("NoAns_f1" in measured) == (answers == [])


def test_parts_of_the_definition() -> None:
    assert normalize("  The-\tquick (brown) fox: a 'fox'? An") == "the quick brown fox fox".replace("the ", "", 1)
    assert normalize("An apple a day, the doctor's away") == "apple day doctors away"
    assert exact_match("", "the") == 1.0
    assert f1("", "the cat") == f1("the cat", "") == 0.0


def test_means_over_questions_with_and_without_an_answer() -> None:
    """Four questions: answered right, answered half right, rightly without an answer, wrongly answered."""
    texts, odds = ["1066", "October 1066", "noise", "noise"], [-2.0, -1.0, 3.0, -0.5]
    references = [["1066"], ["1066"], [], []]
    predictions = [{"text": text, "no_answer_score": score} for text, score in zip(texts, odds, strict=True)]
    measured = squad(predictions, references)
    half = 2 / 3
    assert measured == pytest.approx(
        {
            "f1": (1 + half + 1 + 0) / 4,
            "exact_match": (1 + 0 + 1 + 0) / 4,
            "HasAns_f1": (1 + half) / 2,
            "HasAns_exact": 0.5,
            "NoAns_f1": 0.5,
            "NoAns_exact": 0.5,
            # Only the first two are answered: both others are right.
            "best_f1": (1 + half + 2) / 4,
            "best_f1_thresh": -1,
            # The second one is better left out.
            "best_exact": 0.75,
            "best_exact_thresh": -2,
        }
    )
    assert set(squad(predictions[:2], references[:2])) == {"f1", "exact_match"}
    none = squad(predictions[2:], references[2:])
    assert none["best_f1"] == 1
    assert none["best_f1_thresh"] < -0.5
    assert not {"HasAns_f1", "HasAns_exact"} & none.keys()


def test_the_best_threshold_is_that_of_a_search_over_all() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        size = int(rng.integers(1, 12))
        odds = rng.integers(-3, 4, size).astype(float)  # some are equal
        has_answer = rng.random(size) < 0.6
        scores = np.where(has_answer, rng.random(size), rng.random(size) < 0.2)
        means = {
            float(threshold): np.where(odds > threshold, ~has_answer, scores).mean()
            for threshold in (odds.min() - 1, *odds)
        }
        best, threshold = best_threshold(scores.tolist(), odds.tolist(), has_answer.tolist())
        assert best == pytest.approx(max(means.values()))
        assert means[threshold] == pytest.approx(best)
