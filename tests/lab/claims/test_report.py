# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a small experiment shows beside the record."""

import dataclasses

import pytest

from hf_lecture_models.lab.claims.claim import Case, Claim, find_claim
from hf_lecture_models.lab.claims.report import same_direction
from tests.claim_records import record_of, use_claims, write_record

pytest.importorskip("scipy")


def claim_of(expected: str = "greater", **fields) -> Claim:
    """Return a claim whose smallest effect that counts is 2."""
    cases = {name: Case(arms={"deep": {}, "flat": {}}, expected=expected) for name in ("first", "second")}
    claim = find_claim("depth")
    return dataclasses.replace(
        claim,
        experiment=dataclasses.replace(claim.experiment, cases=cases),
        embedded=dataclasses.replace(claim.embedded, cases={**cases, "small": cases["first"]}),
        **fields,
    )


@pytest.mark.parametrize(
    ("claim", "recorded", "small", "same"),
    [
        (claim_of(), 9.0, 0.1, True),  # by the sign
        (claim_of(), 9.0, -0.1, False),
        (claim_of(), -9.0, -0.1, True),
        (claim_of(), 0.5, -1.0, True),  # equivalent: both are too small to count
        (claim_of(), 0.5, 3.0, False),
        (claim_of("equal"), 9.0, 0.1, False),
        (claim_of("equal"), 9.0, 3.0, True),
        (claim_of("equal"), 9.0, -3.0, False),
        (claim_of(fact=True), 9.0, 1.0, False),
        (claim_of(fact=True), 0.0, -1.0, True),
    ],
)
def test_the_small_experiment_points_in_the_direction_of_the_record(
    monkeypatch, tmp_path, claim, recorded, small, same
):
    use_claims(monkeypatch, tmp_path, claim)
    assert same_direction(claim, {"first": {"effect": {"mean": small}}}) == {}
    write_record(tmp_path, claim, record_of(claim, {"first": recorded, "second": -recorded}))
    found = {
        name: {"effect": {"mean": mean}} for name, mean in (("first", small), ("second", -small), ("small", small))
    }
    assert same_direction(claim, found) == {"first": same, "second": same, "small": same}
