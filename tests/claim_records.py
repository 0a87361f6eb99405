# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Records of claims with chosen effects, in a folder of their own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.lab.claims import report
from hf_lecture_models.lab.claims.claim import Claim
from hf_lecture_models.lab.claims.effect import effect_of, fact_of


def record_of(claim: Claim, means: Mapping[str, float], spread: float = 0.1) -> dict[str, Any]:
    """Return a record of a claim.

    Args:
        means: the mean effect of each case; 0 for cases that are not named.
        spread: the seeds differ by so much from the mean.
    """
    cases, pilot = {}, {}
    for name, case in claim.experiment.cases.items():
        mean = means.get(name, 0.0)
        differences = mean + np.array([[-spread], [0.0], [spread], [spread], [-spread]])
        effect = (fact_of if claim.fact else effect_of)(differences).to_dict()
        arms: dict[str, Any] = {}
        for arm, settings in case.arms.items():
            level = -500.0 + (mean if not arms else 0.0)
            arms[arm] = {"given": settings}
            if not isinstance(settings, int | float):
                arms[arm] = {"means": [level] * 5, "tuned": [], "chosen": {}, "cpu_seconds_of_a_seed": 2.0}
        cases[name] = {"effect": effect, "arms": arms}
        pilot[name] = {"effect": effect, "cpu_seconds_of_a_seed": 36.0}
    results = {"cases": cases, "pilot": {} if claim.fact else pilot, "cpu_seconds": 90.0}
    return {"results": results, "commit": "4be37d21c0aa", "date": "2026-12-01T00:00:00+00:00", "machine": {}}


def write_record(folder: Path, claim: Claim, record: Mapping[str, Any]) -> None:
    """Write it where `read_record` finds it, if `report.RECORDS` is the folder."""
    (folder / f"{claim.id}.json").write_text(json.dumps(record, allow_nan=False), encoding="utf-8")


def use_claims(monkeypatch: Any, folder: Path, *claims: Claim) -> None:
    """Let these be all claims, with their records in a folder."""
    found = {claim.id: claim for claim in claims}
    monkeypatch.setattr(report, "RECORDS", folder)
    for module in ("hf_lecture_models.lab.claims.report", "benchmarks.claims_page"):
        monkeypatch.setattr(f"{module}.load_claims", lambda: found)
