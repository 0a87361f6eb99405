# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""docs/claims.md is what the records say, and the lecture map leads to it."""

import json
import re

import pytest

pytest.importorskip("scipy")

from benchmarks import claims as benchmark
from benchmarks.common import ROOT, is_committed
from hf_lecture_models.lab.claims.claim import load_claims
from hf_lecture_models.lab.claims.report import RECORDS, read_record

MAP = (ROOT / "docs" / "lecture_map.md").read_text(encoding="utf-8")


def test_the_page_follows_from_the_records():
    assert benchmark.PAGE.read_text(encoding="utf-8") == benchmark.page()


def test_a_changed_record_changes_the_page(monkeypatch):
    claim = next(iter(benchmark.measured().values()))
    changed = json.loads(json.dumps(read_record(claim)))
    for case in changed["results"]["cases"].values():
        case["effect"] |= {"mean": -5.0, "low": -6.0, "high": -4.0}
    monkeypatch.setattr(benchmark, "read_record", lambda one: changed if one.id == claim.id else read_record(one))
    assert benchmark.page() != benchmark.PAGE.read_text(encoding="utf-8")


def test_each_record_is_of_a_claim_as_it_is_and_of_committed_code():
    claims = load_claims()
    for path in RECORDS.glob("*.json"):
        record, claim = json.loads(path.read_text(encoding="utf-8")), claims[path.stem]
        assert is_committed(record["commit"])
        cases = record["results"]["cases"]
        assert list(cases) == list(claim.experiment.cases)
        for name, case in claim.experiment.cases.items():
            assert list(cases[name]["arms"]) == list(case.arms)
            assert cases[name]["effect"]["seeds"] == len(claim.experiment.seeds)


@pytest.mark.parametrize("name", load_claims())
def test_a_row_of_the_map_leads_to_the_claim(name):
    rows = [line for line in MAP.splitlines() if f"(claims.md#{name})" in line]
    assert rows
    first, last = (int(number) for number in (re.findall(r"\d+", load_claims()[name].slides[0]) * 2)[:2])
    begin, end = (int(number) for number in (re.findall(r"\d+", rows[0].split("|")[1].partition("<!--")[0]) * 2)[:2])
    assert begin <= first <= last <= end
