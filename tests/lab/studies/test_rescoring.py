# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-best lists: totals, word errors beside a plain recursion, the best weight beside a fine grid."""

import math
import random
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations

import pytest

from hf_lecture_models.lab.studies.rescoring import (
    Hypothesis,
    Rescoring,
    best_of,
    parse_hypothesis,
    tune_weight,
    word_error_rates,
    word_errors,
)


def errors_by_definition(left, right):
    @cache
    def errors(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(errors(i - 1, j) + 1, errors(i, j - 1) + 1, errors(i - 1, j - 1) + (left[i - 1] != right[j - 1]))

    return errors(len(left), len(right))


def test_word_errors_are_levenshteins():
    random.seed(1)
    for _ in range(200):
        one, other = ([random.choice("abc") for _ in range(random.randrange(7))] for _ in range(2))
        assert word_errors(" ".join(one), "  ".join(other)) == errors_by_definition(tuple(one), tuple(other))


def test_totals():
    assert Rescoring(2.0, 0.5).total(-1.0, -3.0, "a b c") == -1.0 - 6.0 + 1.5
    assert Rescoring(0.0).total(-1.0, -math.inf, "a") == -1.0
    assert Rescoring(0.1).total(-1.0, -math.inf, "a") == -math.inf
    for name in ("weight", "length_bonus"):
        with pytest.raises(ValueError, match=f"{name} is nan"):
            Rescoring(**{"weight": 1.0, name: math.nan})
    equals = [Hypothesis("b", -1.0, -2.0), Hypothesis("a", -2.0, -1.0)]
    assert best_of(equals, Rescoring(1.0)).sentence == "b"


def exact_errors(groups, references, weight, length_bonus):
    """Word errors at a rational weight, of the numbers as they are written; the first of equal totals wins."""
    errors = 0
    for group, reference in zip(groups, references, strict=True):
        totals = [
            Fraction(str(h.score)) + weight * Fraction(str(h.log_prob)) + length_bonus * len(h.sentence.split())
            for h in group
        ]
        errors += word_errors(group[totals.index(max(totals))].sentence, reference)
    return errors


@pytest.mark.parametrize("seed", range(6))
def test_no_weight_at_all_is_better(seed):
    """With scores of one decimal, hypotheses tie at many weights, and some at every weight."""
    random.seed(seed)
    bonus = Fraction(seed % 3, 10)
    references = [" ".join(random.choices("abc", k=3)) for _ in range(5)]
    groups = [
        [
            Hypothesis(
                " ".join(random.choices("abc", k=random.choice((2, 3, 4)))),
                -random.randrange(12) / 10,
                -random.randrange(1, 9) / 10,
            )
            for _ in range(7)
        ]
        for _ in references
    ]
    lines = [
        [(Fraction(str(h.score)) + bonus * len(h.sentence.split()), Fraction(str(h.log_prob))) for h in group]
        for group in groups
    ]
    pairs = [pair for group in lines for pair in permutations(group, 2)]
    crossings = sorted({(a - b) / (m - k) for (a, k), (b, m) in pairs if m > k and a > b})
    edges = [Fraction(0), *crossings, 3 * crossings[-1]]
    middles = [(begin + end) / 2 for begin, end in pairwise(edges)]
    tuned = tune_weight(groups, references, float(bonus))
    found = exact_errors(groups, references, Fraction(str(tuned.weight)), bonus)
    assert found == min(exact_errors(groups, references, weight, bonus) for weight in middles)
    # The ranking that is measured is the one that was tuned.
    rates = word_error_rates(groups, references, tuned)
    assert rates["word_error_rate"] == 100 * found / 15


def test_ties_are_those_on_paper():
    # 0.2 and a bonus of 0.1 for one word, and 0.3 for none: equal on paper, not in binary.
    equals = [Hypothesis("a", 0.2, -1.0), Hypothesis("", 0.3, -1.0)]
    assert 0.2 + 0.1 != 0.3
    for group in (equals, equals[::-1]):
        assert best_of(group, Rescoring(0.7, 0.1)) is group[0]
    assert Rescoring(0.7, 0.1).total(0.2, -1.0, "a") == Rescoring(0.7, 0.1).total(0.3, -1.0, "") == Fraction(-2, 5)
    # The second is best between 1 and 1.0000000001 alone.
    narrow = [Hypothesis("x", 0.0, -3.0), Hypothesis("y", -1.0, -2.0), Hypothesis("z", -2.0000000001, -1.0)]
    weight = tune_weight([narrow], ["y"]).weight
    assert 1 < weight < 1.0000000001
    assert best_of(narrow, Rescoring(weight)).sentence == "y"
    # No number of a computer lies between these crossings, so what it holds is out of reach.
    narrow = [Hypothesis("x", 0.0, -3000.0), Hypothesis("y", -1000.0, -2000.0)]
    narrow.append(Hypothesis("z", -2000.0000000000002, -1000.0))
    weight = tune_weight([narrow], ["y"]).weight
    assert best_of(narrow, Rescoring(weight)).sentence != "y"


def test_rates_by_hand():
    groups = [
        [Hypothesis("great ape", -1.0, -9.0), Hypothesis("grey tape", -2.0, -5.0)],
        [Hypothesis("the the cat", -1.0, -8.0), Hypothesis("a cat", -3.0, -3.0)],
    ]
    references = ["grey tape", "the cat"]
    # The first turns right at 1/4; the second turns from one error (of two words) to another one at 2/5.
    rates = word_error_rates(groups, references, Rescoring(0.3))
    assert rates == {"word_error_rate": 25.0, "word_error_rate_without_model": 75.0, "lowest_word_error_rate": 25.0}
    assert tune_weight(groups, references).weight == 0.5
    with_impossible = [[*group, Hypothesis("x", 9.0, -math.inf)] for group in groups]
    assert tune_weight(with_impossible, references).weight == 0.5
    longer = [*groups, [Hypothesis("x", 0.0, -3.0), Hypothesis("y", -3.0, -1.0)]]
    assert tune_weight(longer, [*references, "x"]).weight == pytest.approx((1 / 4 + 3 / 2) / 2)
    assert tune_weight([[Hypothesis("a", 0.0, 0.0)]], ["a"]).weight == 1.0


def test_references_must_fit():
    groups = [[Hypothesis("a", 0.0, 0.0)]]
    with pytest.raises(ValueError, match="2 references for 1 groups"):
        tune_weight(groups, ["a", "b"])
    with pytest.raises(ValueError, match="no word"):
        word_error_rates(groups, [""], Rescoring(1.0))


def test_lines():
    assert parse_hypothesis("-1e3\ta\tb") == (-1000.0, "a\tb")
    assert parse_hypothesis("-inf\t") == (-math.inf, "")
    for line, message in [
        ("-1 the cat", "no tab"),
        ("nan\ta", "'nan' is no number below infinity"),
        ("inf\ta", "'inf' is no number"),
        ("a\tb", "'a' is no number"),
        ("\tb", "'' is no number"),
    ]:
        with pytest.raises(ValueError, match=message):
            parse_hypothesis(line)
