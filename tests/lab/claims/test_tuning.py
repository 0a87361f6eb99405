# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Grids that are widened until the best settings are inside for both arms."""

import math

import pytest

from hf_lecture_models.lab.claims.tuning import best_of, tune


def near(best):
    return lambda settings: -abs(math.log10(settings["rate"] / best))


def test_a_grid_is_widened_for_both_arms_until_both_are_inside():
    tried = tune({"rate": [0.003, 0.01]}, {"one": near(0.0011), "other": near(0.03)})
    rates = [[one["settings"]["rate"] for one in arm] for arm in tried.values()]
    assert rates[0] == rates[1]
    assert sorted(rates[0]) == [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]
    assert [best_of(arm)["rate"] for arm in tried.values()] == [0.001, 0.03]


def test_no_settings_are_tried_twice_and_names_are_not_widened():
    calls = []
    tune({"rate": [1, 3], "kind": ["a", "b"]}, {"one": lambda one: calls.append(dict(one)) or near(1)(one)})
    assert len(calls) == len({str(one) for one in calls})
    assert {one["kind"] for one in calls} == {"a", "b"}


def test_equally_good_settings_need_one_inside():
    def flat(settings):
        return 100.0 if 0.001 <= settings["rate"] <= 0.03 else 50.0

    tried = tune({"rate": [0.001, 0.003, 0.01, 0.03]}, {"one": flat})["one"]
    assert len(tried) == 4
    assert best_of(tried)["rate"] == 0.003


def test_what_has_no_best_setting_is_an_error():
    with pytest.raises(ValueError, match="rate from 1 to 10000"):
        tune({"rate": [1, 3]}, {"one": lambda settings: settings["rate"]})
