# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture claim`: the list of claims, one claim with its record, and what is refused."""

import dataclasses

import pytest

pytest.importorskip("scipy")

from hf_lecture_models.lab.claims import report
from hf_lecture_models.lab.claims.claim import Lesson, find_claim, load_claims
from hf_lecture_models.lab.verbs import claim as verb
from tests.claim_records import record_of, use_claims, write_record


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """The only record is that of the order of words, where every text is changed."""
    claim = find_claim("word_order")
    monkeypatch.setattr(report, "RECORDS", tmp_path)
    write_record(tmp_path, claim, record_of(claim, dict.fromkeys(claim.experiment.cases, 100.0), spread=0.0))


def test_all_claims_are_listed_with_their_verdicts(run, recorded):
    status, out, _ = run("claim")
    assert status == 0
    first, *lines = out.splitlines()
    assert "hf-lecture claim NAME" in first
    assert [line.split()[0] for line in lines] == list(load_claims())
    verdicts = {line.split()[0]: "confirmed" in line for line in lines}
    assert [name for name, confirmed in verdicts.items() if confirmed] == ["word_order"]
    assert sum("not measured yet" in line for line in lines) == len(lines) - 1


def test_the_sentence_for_the_classroom_comes_first(monkeypatch, tmp_path):
    lesson = Lesson("confirmed", "It gains {1.effect} points.")
    claim = dataclasses.replace(find_claim("pooling"), lesson=lesson, quote="a few words", mind="Other data.")
    use_claims(monkeypatch, tmp_path, claim)
    write_record(tmp_path, claim, record_of(claim, dict.fromkeys(claim.experiment.cases, 7.0)))
    first, *rest = verb.shown(claim)
    assert first == "It gains 7.0 points."
    text = " ".join(" ".join(rest).split())
    parts = [
        'The lecture (R:588): "a few words". In our',
        "Verdict: confirmed",
        "LSTM: maximum -493.0, last state -500.0",
    ]
    parts += ["difference +7.0 [6.9, 7.1]", "What would change our mind: Other data.", "Confirmed if", "Refuted if"]
    parts.append("2 or more counts. A first version of this test, which was measured before, had 0.5, with which this")
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_the_p_value_beside_a_verdict_is_the_one_that_decided(monkeypatch, tmp_path):
    claim = find_claim("pooling")
    use_claims(monkeypatch, tmp_path, claim)
    write_record(tmp_path, claim, record_of(claim, dict.fromkeys(claim.experiment.cases, 7.0), spread=4.0))
    found = report.recorded_cases(claim)
    text = " ".join(" ".join(verb.shown(claim)).split())
    for name, corrected in report.corrected_p_values().items():
        own = report.p_value(report.Effect(**found[name[1]]["effect"]), claim.least)
        assert own < corrected  # eight tests, so Holm's correction changes each
        assert f"{report.p_in_words(corrected)} after Holm's correction" in text
        assert report.p_in_words(own) not in text


def test_a_line_says_whether_the_small_experiment_points_in_the_same_direction(monkeypatch, tmp_path):
    claim = dataclasses.replace(find_claim("pooling"), unlike="")
    cells = {name: claim.experiment.cases[name] for name in ("LSTM", "plain network")}
    claim = dataclasses.replace(claim, experiment=dataclasses.replace(claim.experiment, cases=cells))
    use_claims(monkeypatch, tmp_path, claim)
    cases = {name: {"effect": {"mean": 3.0}} for name in claim.experiment.cases}
    assert "no record" in verb.compared(claim, cases)
    write_record(tmp_path, claim, record_of(claim, {"LSTM": 7.0, "plain network": 7.0}))
    assert verb.compared(claim, cases) == "It points in the same direction as the record."
    write_record(tmp_path, claim, record_of(claim, {"LSTM": 7.0, "plain network": -7.0}))
    assert verb.compared(claim, cases).endswith("as the record in 1 of 2 cases: plain network.")
    unlike = dataclasses.replace(claim, unlike="it has too few texts.")
    assert verb.compared(unlike, cases) == "It cannot show the direction of the record: it has too few texts."


@pytest.mark.slow
def test_one_claim_is_shown_and_tried(run, recorded):
    pytest.importorskip("accelerate")
    status, out, _ = run("claim", "word_order")
    assert status == 0
    for text in ("Confirmed if", "Refuted if", "Verdict: ", "LSTM 100.0, bag of words 0.0", "CPU seconds"):
        assert text in out
    # The small experiment gives figures and no verdict.
    small = out.partition("decides nothing")[2]
    assert "confirmed" not in small
    assert small.strip().endswith("It points in the same direction as the record.")


def test_an_unknown_claim_is_refused(run):
    status, _, err = run("claim", "word_odrer")
    assert status == 1
    assert "did you mean word_order" in err
