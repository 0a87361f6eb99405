# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture claim`: the list of claims, one claim with its record, and what is refused."""

import json

import pytest

pytest.importorskip("scipy")

from hf_lecture_models.lab.claims import report
from hf_lecture_models.lab.claims.claim import find_claim, load_claims


def test_all_claims_are_listed_with_their_verdicts(run, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RECORDS", tmp_path)
    effect = {"mean": 100.0, "low": 100.0, "high": 100.0, "p": 0.0, "seeds": 3, "items": 500}
    case = {"effect": effect, "arms": {}}
    record = {"results": {"cases": dict.fromkeys(find_claim("word_order").experiment.cases, case)}}
    (tmp_path / "word_order.json").write_text(json.dumps(record), encoding="utf-8")
    status, out, _ = run("claim")
    assert status == 0
    first, *lines = out.splitlines()
    assert "hf-lecture claim NAME" in first
    assert [line.split()[0] for line in lines] == list(load_claims())
    verdicts = {line.split()[0]: "confirmed" in line for line in lines}
    assert [name for name, confirmed in verdicts.items() if confirmed] == ["word_order"]
    assert sum("not measured yet" in line for line in lines) == len(lines) - 1


@pytest.mark.slow
def test_one_claim_is_shown_and_tried(run):
    pytest.importorskip("accelerate")
    status, out, _ = run("claim", "word_order")
    assert status == 0
    claim = find_claim("word_order")
    assert out.startswith(claim.sentence)
    for text in ("Confirmed if", "Refuted if", "Verdict: ", "LSTM 100.0; bag of words 0.0", "CPU seconds"):
        assert text in out
    # The small experiment gives figures and no verdict.
    assert not out.partition("decides nothing")[2].count("confirmed")


def test_an_unknown_claim_is_refused(run):
    status, _, err = run("claim", "word_odrer")
    assert status == 1
    assert "did you mean word_order" in err
