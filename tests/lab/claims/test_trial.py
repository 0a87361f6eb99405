# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Trials: who is measured with which seeds and settings, what is kept, and how claims are read."""

import pytest
import yaml

pytest.importorskip("scipy")

from hf_lecture_models.io.runs import log_once
from hf_lecture_models.lab.claims.claim import LEDGER, Case, Trial, find_claim, load_claims, read_claim
from hf_lecture_models.lab.claims.report import describe_cases, perplexities, read_record
from hf_lecture_models.lab.claims.trial import TUNING_SEED, run_trial


class Recorder:
    """A method whose values follow from settings and seed, and a list of its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, settings, seed, folder, part):
        assert folder.is_dir()
        self.calls.append((dict(settings), seed, part))
        log_once("what a training logs")
        best = -abs(settings.get("rate", 0) - settings.get("best", 0))
        return [settings["level"] + best + 0.1 * (seed % 3) + item for item in range(4)]


ARMS = {"first": {"level": 3.0, "best": 2}, "second": {"level": 1.0, "best": 1}}


def test_each_arm_is_tuned_on_validation_data_and_measured_with_the_same_seeds(tmp_path):
    method = Recorder()
    trial = Trial("x", {"case": Case(ARMS, {"common": 1})}, {"general": 1}, seeds=(3, 4), grid={"rate": (1, 2)})
    found = run_trial(trial, {"x": method}, tmp_path)
    tuned = [(settings["level"], settings["rate"]) for settings, seed, part in method.calls if seed == TUNING_SEED]
    assert tuned == [(3.0, 1), (3.0, 2), (1.0, 1), (1.0, 2)]
    assert all((part == "validation") == (seed == TUNING_SEED) for _, seed, part in method.calls)
    measured = [(settings["level"], settings["rate"], seed) for settings, seed, part in method.calls if part == "test"]
    assert measured == [(3.0, 2, 3), (3.0, 2, 4), (1.0, 1, 3), (1.0, 1, 4)]
    assert all(settings["common"] == settings["general"] == 1 for settings, *_ in method.calls)
    case = found["cases"]["case"]
    assert [case["effect"][name] for name in ("mean", "low", "high")] == pytest.approx([2.0, 2.0, 2.0])
    assert (case["effect"]["seeds"], case["effect"]["items"]) == (2, 4)
    assert case["arms"]["first"]["chosen"] == {"rate": 2}
    assert case["arms"]["first"]["means"] == pytest.approx([4.5, 4.6])


def test_a_trial_reports_each_measurement_in_place_of_what_trainings_log(tmp_path, capsys):
    trial, lines = Trial("x", {"case": Case(ARMS, {"rate": 1})}, seeds=(3,), grid={"rate": (1,)}), []
    run_trial(trial, {"x": Recorder()}, tmp_path, report=lines.append)
    assert lines == ["tuning, rate 1: 3.6", "first, seed 3: 3.5", "tuning, rate 1: 2.6", "second, seed 3: 2.5"]
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
    assert [run_trial(trial, {"x": Recorder()}, tmp_path)["cpu_seconds"] for _ in range(2)] == [40.0, 40.0]


def test_an_arm_may_be_a_number(tmp_path):
    case = Case({"first": {"level": 3.0}, "given": 1})
    effect = run_trial(Trial("x", {"case": case}), {"x": Recorder()}, tmp_path)["cases"]["case"]["effect"]
    assert effect["mean"] == pytest.approx(3.0 + 1.5 - 1)


def test_every_claim_can_be_read_and_is_complete():
    claims = load_claims()
    assert len(claims) == len(list(LEDGER.glob("*.yaml")))
    for claim in claims.values():
        assert claim.embedded.cases
        assert claim.experiment.cases
        assert claim.sentence.endswith(".")
        assert claim.design.strip().endswith(".")
        for text in (claim.confirmed, claim.refuted, claim.unit):
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


def test_perplexities_are_beside_the_logarithms_of_those_cases_that_measure_them():
    shown = {}
    for name in ("discounting", "clipping", "lstm_beats_plain", "pre_norm", "pooling"):
        claim = find_claim(name)
        cases = (read_record(claim) or {})["results"]["cases"]
        for case, found in cases.items():
            shown[name, case] = perplexities(claim.experiment, case, found)
        lines = describe_cases(claim, cases, claim.experiment)
        assert ["(perplexity " in line for line in lines] == [bool(shown[name, case]) for case in cases]
    # A run that failed counts as 2,000, the size of the vocabulary.
    assert shown["clipping", "learning rate 1 for both"]["not clipped"] == pytest.approx(2000, rel=1e-4)
    assert shown["lstm_beats_plain", "three-way SST"] == {}
    # It measures by how much perplexities differ between settings.
    assert shown["pre_norm", "six blocks"] == {}
    assert sum(map(bool, shown.values())) == 2 + 2 + 1
