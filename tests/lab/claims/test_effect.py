# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Effects, their intervals and p-values beside scipy's, and the rule of the verdicts."""

import numpy as np
import pytest

from hf_lecture_models.lab.claims.effect import Effect, effect_of, holm, joint_verdict, verdict_of

stats = pytest.importorskip("scipy.stats")


def test_seeds_alone_are_students_paired_test():
    first, second = np.array([[5.1], [4.8], [5.6], [5.0]]), np.array([[4.0], [4.4], [4.9], [4.6]])
    found = effect_of(first - second)
    expected = stats.ttest_rel(first[:, 0], second[:, 0])
    interval = expected.confidence_interval(0.95)
    assert (found.p, found.low, found.high) == pytest.approx((expected.pvalue, interval.low, interval.high))
    assert (found.seeds, found.items) == (4, 1)


def test_the_variance_of_items_counts_beside_that_of_seeds():
    random = np.random.default_rng(0)
    items = random.normal(size=(1, 50))
    equal = np.repeat(items, 3, axis=0)  # every seed has the same mean: only the items vary
    found = effect_of(equal)
    half = stats.t.ppf(0.975, 2) * items.std(ddof=1) / 50**0.5
    assert (found.high - found.low) / 2 == pytest.approx(half)


def test_items_alone_have_a_bootstrap_interval_and_a_permutation_test():
    differences = np.random.default_rng(1).normal(0.3, 1.0, size=(1, 200))
    found = effect_of(differences)
    expected = stats.bootstrap((differences[0],), np.mean, method="percentile", rng=2)
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=0.02)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=0.02)
    permuted = stats.permutation_test((differences[0],), np.mean, permutation_type="samples", rng=2)
    assert found.p == pytest.approx(permuted.pvalue, abs=0.003)


def test_a_difference_that_is_always_the_same_has_no_width_and_p_is_never_zero():
    found = effect_of(np.ones((1, 20)))
    assert (found.low, found.mean, found.high) == (1, 1, 1)
    assert 0 < found.p <= 2 / 10_001
    assert effect_of(np.zeros((3, 1))).p == 1
    assert effect_of(np.zeros((1, 20))).p == 1


@pytest.mark.parametrize("differences", [[[1.0]], [[1.0, float("nan")]], [[1.0], [float("-inf")]]])
def test_what_has_no_interval_is_refused(differences):
    with pytest.raises(ValueError, match="interval|finite"):
        effect_of(np.array(differences))


@pytest.mark.parametrize(
    ("mean", "low", "high", "expected", "verdict"),
    [
        (2.0, 0.5, 3.5, "greater", "confirmed"),
        (0.9, 0.5, 1.3, "greater", "undecided"),  # above 0, but perhaps too small to count
        (2.0, -0.5, 4.5, "greater", "undecided"),
        (0.5, 0.1, 0.9, "greater", "refuted"),
        (-2.0, -3.0, -1.0, "greater", "refuted"),
        (0.5, 0.1, 0.9, "not greater", "confirmed"),
        (2.0, 0.5, 3.5, "not greater", "refuted"),
        (0.2, -0.5, 0.9, "equal", "confirmed"),
        (-2.0, -3.0, -1.0, "equal", "refuted"),
        (0.9, 0.5, 1.3, "equal", "undecided"),
        (0.2, -1.5, 1.9, "equal", "undecided"),
    ],
)
def test_the_rule_of_verdicts(mean, low, high, expected, verdict):
    assert verdict_of(Effect(mean, low, high, p=0.5, seeds=3, items=1), 1.0, expected) == verdict


def test_the_verdict_on_several_cases():
    assert joint_verdict(["confirmed", "confirmed"]) == "confirmed"
    assert joint_verdict(["refuted", "refuted"]) == "refuted"
    assert joint_verdict(["confirmed", "undecided", "refuted"]) == "depends"
    assert joint_verdict(["refuted", "undecided"]) == "undecided"


def test_holm_multiplies_by_the_tests_that_are_left():
    assert holm({"a": 0.02, "b": 0.5, "c": 0.4, "d": 0.01}) == {"d": 0.04, "a": 0.06, "c": 0.8, "b": 0.8}
