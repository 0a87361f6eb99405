# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Trials: who is measured with which seeds and settings, what is kept, and how claims are read."""

import json
import math
from dataclasses import replace

import pytest
import yaml

pytest.importorskip("scipy")

from hf_lecture_models.io.runs import log_once
from hf_lecture_models.lab.claims import report
from hf_lecture_models.lab.claims.claim import LEDGER, Case, Lesson, Trial, find_claim, load_claims, read_claim
from hf_lecture_models.lab.claims.effect import effect_of
from hf_lecture_models.lab.claims.report import (
    case_verdicts,
    corrected_p_values,
    lesson,
    perplexities,
    read_record,
    recorded_verdict,
)
from hf_lecture_models.lab.claims.trial import PILOT_SEEDS, TUNING_SEED, run_pilot, run_trial
from hf_lecture_models.lab.claims.values import Values


class Recorder:
    """A method whose values follow from settings and seed, and a list of its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, settings, seed, folder, part):
        assert folder.is_dir()
        self.calls.append((dict(settings), seed, part))
        log_once("what a training logs")
        best = -abs(settings.get("rate", 0) - settings.get("best", 0))
        values = [settings["level"] + best + 0.1 * (seed % 3) * settings.get("noise", 0) + item for item in range(4)]
        return Values(values, [1, 1, 2, 2], ["a", "a", "b", "b"])


ARMS = {"first": {"level": 3.0, "best": 3}, "second": {"level": 1.0, "best": 1}}


def test_both_arms_are_tuned_on_the_same_validation_data_before_the_test_part_is_read(tmp_path):
    method = Recorder()
    trial = Trial("x", {"case": Case(ARMS, {"common": 1})}, {"general": 1}, seeds=(3, 4), grid={"rate": (1, 3)})
    found = run_trial(trial, {"x": method}, tmp_path)
    tuned = [settings["rate"] for settings, seed, part in method.calls if seed == TUNING_SEED]
    # Widened to both sides, since the second arm is best at 1 and the first at 3; both arms have the same trials.
    assert sorted(tuned) == sorted([0.3, 1, 3, 10] * 2)
    assert [part for *_, part in method.calls] == ["validation"] * 8 + ["test"] * 4
    measured = [(settings["level"], settings["rate"], seed) for settings, seed, part in method.calls if part == "test"]
    assert measured == [(3.0, 3, 3), (3.0, 3, 4), (1.0, 1, 3), (1.0, 1, 4)]
    assert all(settings["common"] == settings["general"] == 1 for settings, *_ in method.calls)
    case = found["cases"]["case"]
    assert [case["effect"][name] for name in ("mean", "low", "high")] == pytest.approx([2.0, 2.0, 2.0])
    assert [case["effect"][name] for name in ("seeds", "items", "clusters")] == [2, 4, 2]
    assert case["arms"]["first"]["chosen"] == {"rate": 3}
    assert case["arms"]["first"]["means"] == pytest.approx([3 + 11 / 6] * 2)


def test_a_pilot_has_other_seeds_and_reads_no_test_part(tmp_path):
    method = Recorder()
    trial = Trial("x", {"case": Case(ARMS, {"noise": 1})}, seeds=(3, 4), grid={"rate": (1, 3)})
    found = run_pilot(trial, {"x": method}, tmp_path)["case"]
    assert {part for *_, part in method.calls} == {"validation"}
    assert {seed for _, seed, _ in method.calls} == set(PILOT_SEEDS)
    assert found["effect"]["seeds"] == 3
    assert len(method.calls) == 4 * 2 + 2 * 2  # the seed of the tuning is one of the three
    before = len(method.calls)
    run_trial(trial, {"x": method}, tmp_path)
    assert {part for *_, part in method.calls[before:]} == {"test"}  # the tuning is shared


def test_a_fact_has_its_extremes_in_place_of_an_interval(tmp_path):
    trial = Trial("x", {"case": Case({"first": {"level": 3.0}, "given": 1})})
    effect = run_trial(trial, {"x": Recorder()}, tmp_path, fact=True)["cases"]["case"]["effect"]
    assert (effect["low"], effect["high"], effect["error"]) == (2.0, 5.0, 0.0)


def test_items_of_other_weights_are_refused(tmp_path):
    def method(settings, seed, folder, part):
        return Values([1.0, 2.0], [1, settings["weight"]])

    arms = {"first": {"weight": 1}, "second": {"weight": 2}}
    with pytest.raises(ValueError, match="other weights or clusters"):
        run_trial(Trial("x", {"case": Case(arms)}), {"x": method}, tmp_path)


def test_a_trial_reports_each_measurement_in_place_of_what_trainings_log(tmp_path, capsys):
    trial, lines = Trial("x", {"case": Case(ARMS, {"kind": "a"})}, seeds=(3,), grid={"kind": ("a",)}), []
    run_trial(trial, {"x": Recorder()}, tmp_path, report=lines.append)
    assert lines == [
        *("tuning first, kind a: 1.83", "tuning second, kind a: 1.83"),
        *("first, seed 3: 1.83", "second, seed 3: 1.83"),
    ]
    assert capsys.readouterr() == ("", "")
    log_once("heard again")
    assert capsys.readouterr().err == "heard again\n"


def test_a_trial_goes_on_after_what_was_measured_by_the_same_code(tmp_path):
    method, trial = Recorder(), Trial("x", {"case": Case(ARMS)})
    before = run_trial(trial, {"x": method}, tmp_path, "code")
    assert run_trial(trial, {"x": method}, tmp_path, "code")["cases"] == before["cases"]
    assert len(method.calls) == 2
    run_trial(trial, {"x": method}, tmp_path, "other code")
    assert len(method.calls) == 4


def test_seconds_of_a_measurement_count_once_however_many_cases_use_it(tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("time.process_time", lambda: float(next(clock)))
    trial = Trial("x", {"one": Case(ARMS), "two": Case(ARMS)}, seeds=(0, 1))
    found = [run_trial(trial, {"x": Recorder()}, tmp_path) for _ in range(2)]
    assert [one["cpu_seconds"] for one in found] == [40.0, 40.0]
    assert found[0]["cases"]["two"]["arms"]["first"]["cpu_seconds_of_a_seed"] == 10.0


def test_an_arm_may_be_a_number(tmp_path):
    case = Case({"first": {"level": 3.0}, "given": 1})
    effect = run_trial(Trial("x", {"case": case}), {"x": Recorder()}, tmp_path)["cases"]["case"]["effect"]
    assert effect["mean"] == pytest.approx(3.0 + 11 / 6 - 1)


def test_every_claim_can_be_read_and_is_complete():
    claims = load_claims()
    assert len(claims) == len(list(LEDGER.glob("*.yaml")))
    for claim in claims.values():
        assert claim.embedded.cases
        assert claim.experiment.cases
        assert claim.sentence.endswith(".")
        assert claim.design.strip().endswith(".")
        for text in (claim.confirmed, claim.refuted, claim.unit, claim.variable, claim.quote):
            assert not text.rstrip().endswith("."), claim.id
        assert len(claim.experiment.seeds) != 2  # one, where nothing is random, or at least three


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"least": 0}, "least is 0; it must be above 0"),
        ({"slides": ["page 3"]}, "'page 3' is no slide"),
        ({"colour": "red"}, "colour"),
        ({"experiment": {"method": "x", "cases": {"a": {"arms": {"one": {}}}}}}, "a case compares two arms, not one"),
        ({"experiment": {"method": "x", "cases": {"a": {"arms": {"one": 1, "two": 2}}}}}, "must be measured"),
        ({"experiment": {"method": "x", "cases": {}, "colour": 1}}, "a trial has no field colour"),
        (
            {"experiment": {"method": "x", "cases": {"a": {"arms": {"one": {}, "two": {}}, "expected": "more"}}}},
            "expected is 'more'; it must be one of greater, not greater, equal",
        ),
    ],
)
def test_a_wrong_claim_is_refused_by_name(tmp_path, changes, message):
    values = yaml.safe_load((LEDGER / "word_order.yaml").read_text(encoding="utf-8"))
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(values | changes), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        read_claim(path)
    assert str(error.value).startswith("own.yaml")


def test_an_unknown_claim_brings_the_most_similar_names():
    with pytest.raises(ValueError, match="did you mean pooling"):
        find_claim("poling")


def test_a_lesson_has_the_figures_of_the_record(monkeypatch):
    claim = replace(
        find_claim("discounting"), lesson=Lesson("confirmed", "{1.effect}, and {2.first} beside {2.second}.")
    )
    cases = (read_record(claim) or {})["results"]["cases"]
    first, second = cases.values()
    plain = perplexities(claim.experiment, "beside linear interpolation", second)
    assert (
        lesson(claim)
        == f"{first['effect']['mean']:.1f}, and {plain['discounts']:.1f} beside {plain['interpolation']:.1f}."
    )


def test_only_logarithms_of_perplexities_have_perplexities_beside_them():
    arms = {"one": {"means": [-100 * math.log(50)] * 2}, "other": {"means": [-100 * math.log(2000)]}}
    shown = {
        name: [
            perplexities(find_claim(name).experiment, case, {"arms": arms})
            for case in find_claim(name).experiment.cases
        ]
        for name in ("discounting", "clipping", "lstm_beats_plain", "pre_norm", "pooling")
    }
    for name in ("discounting", "clipping"):
        assert all(one == pytest.approx({"one": 50, "other": 2000}) for one in shown[name])
    assert [bool(one) for one in shown["lstm_beats_plain"]] == [False, True]
    # pre_norm measures by how much perplexities differ between settings.
    assert not any(shown["pre_norm"] + shown["pooling"])


def test_verdicts_need_the_corrected_p_value_and_the_deciding_cases(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RECORDS", tmp_path)
    claim = find_claim("reversed_source")

    def write(without, beside):
        effects = [
            effect_of([[mean], [mean + 0.1], [mean - 0.1], [mean + 0.05]]).to_dict() for mean in (without, beside)
        ]
        cases = {name: {"effect": effect} for name, effect in zip(claim.experiment.cases, effects, strict=True)}
        (tmp_path / "reversed_source.json").write_text(json.dumps({"results": {"cases": cases}}), encoding="utf-8")

    assert recorded_verdict(claim) == "not measured yet"
    write(9.0, 0.0)
    assert case_verdicts(claim) == {"without attention": "confirmed", "with attention": "equivalent"}
    assert recorded_verdict(claim) == "confirmed"  # the second case does not decide
    corrected = dict.fromkeys(corrected_p_values(), 0.2)
    assert recorded_verdict(claim, corrected) == "undecided"
