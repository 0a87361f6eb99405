# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The rule of the verdicts, and the corrected p-values."""

import pytest

from hf_lecture_models.lab.claims.effect import Effect, effect_of
from hf_lecture_models.lab.claims.rule import holm, joint_verdict, outcome_of, p_value, verdict_of

pytest.importorskip("scipy")


@pytest.mark.parametrize(
    ("low", "high", "greater", "not_greater", "equal"),
    [
        (1.1, 3.0, "confirmed", "refuted", "refuted"),
        (-3.0, -1.1, "refuted", "confirmed", "refuted"),
        (-0.9, 0.9, "equivalent", "confirmed", "confirmed"),
        (0.1, 0.9, "equivalent", "confirmed", "confirmed"),  # above 0, and too small to count
        (0.5, 3.5, "undecided", "undecided", "undecided"),
        (-3.5, -0.5, "undecided", "undecided", "undecided"),
        (-9.0, 9.0, "undecided", "undecided", "undecided"),
    ],
)
def test_confirming_and_refuting_need_the_same(low, high, greater, not_greater, equal):
    effect = Effect((low + high) / 2, low, high, error=0.1, freedom=4, seeds=5, items=1, clusters=1)
    found = [verdict_of(effect, 1.0, expected) for expected in ("greater", "not greater", "equal")]
    assert found == [greater, not_greater, equal]
    mirrored = Effect(-effect.mean, -high, -low, error=0.1, freedom=4, seeds=5, items=1, clusters=1)
    opposite = {"above": "below", "below": "above", "inside": "inside", "open": "open"}
    assert outcome_of(mirrored, 1.0) == opposite[outcome_of(effect, 1.0)]
    assert {verdict_of(effect, 1.0, one, corrected=0.05) for one in ("greater", "equal")} == {"undecided"}


@pytest.mark.parametrize("mean", [-3.0, -1.0, 0.0, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("spread", [0.1, 0.5, 2.0])
def test_an_interval_decides_where_its_p_value_is_below_5_percent(mean, spread):
    effect = effect_of([[mean - spread], [mean], [mean + spread], [mean + spread / 2]])
    assert (outcome_of(effect, 1.0) != "open") == (p_value(effect, 1.0) < 0.05)


def test_the_verdict_on_several_cases():
    assert joint_verdict(["confirmed", "confirmed"]) == "confirmed"
    assert joint_verdict(["refuted", "refuted"]) == "refuted"
    assert joint_verdict(["equivalent", "equivalent"]) == "equivalent"
    assert joint_verdict(["confirmed", "undecided", "refuted"]) == "depends"
    assert joint_verdict(["confirmed", "equivalent"]) == "depends"
    assert joint_verdict(["refuted", "equivalent"]) == "refuted"  # confirmed nowhere
    assert joint_verdict(["refuted", "undecided"]) == "undecided"
    assert joint_verdict(["confirmed", "undecided", "equivalent"], every=True) == "refuted"
    assert joint_verdict(["confirmed", "undecided"], every=True) == "undecided"


def test_holm_multiplies_by_the_tests_that_are_left():
    assert holm({"a": 0.02, "b": 0.5, "c": 0.4, "d": 0.01}) == {"d": 0.04, "a": 0.06, "c": 0.8, "b": 0.8}


def test_differences_that_are_all_the_same_decide_nothing():
    effect = effect_of([[100.0] * 20] * 3)
    assert (effect.low, effect.high, p_value(effect, 1.0)) == (100.0, 100.0, 1.0)
    assert verdict_of(effect, 1.0, corrected=p_value(effect, 1.0)) == "undecided"
