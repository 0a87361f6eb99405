# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Claims, results and verdicts in words."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.lab.claims.claim import Claim, Trial
from hf_lecture_models.lab.claims.effect import Effect
from hf_lecture_models.lab.claims.trial import verdict, verdicts

RECORDS = Path(__file__).with_name("records")
NOT_MEASURED = "not measured yet"


def read_record(claim: Claim) -> dict[str, Any] | None:
    """Return the record of a claim's experiment, with its commit, date, machine and results; None if there is none."""
    path = RECORDS / f"{claim.id}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def recorded_verdict(claim: Claim) -> str:
    """Return the verdict that follows from the claim's record, or "not measured yet"."""
    record = read_record(claim)
    return NOT_MEASURED if record is None else verdict(claim, record["results"]["cases"], claim.experiment)


def interval(effect: Effect) -> str:
    """Return an effect with its interval and its p-value.

    >>> interval(Effect(mean=1.25, low=0.5, high=2.0, p=0.004, seeds=5, items=1))
    '+1.2 [0.5, 2.0], p = 0.004'
    """
    p = "p < 0.001" if effect.p < 0.001 else f"p = {effect.p:.3f}"
    mean, low, high = (rounded(value) for value in (effect.mean, effect.low, effect.high))
    return f"{'+' if effect.mean > 0 else ''}{mean} [{low}, {high}], {p}"


def rounded(value: float) -> str:
    """Return a number with a decimal, a small one with three significant digits.

    >>> rounded(12.345), rounded(-0.01234), rounded(0.0)
    ('12.3', '-0.0123', '0.0')
    """
    return f"{value:.1f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"


def describe_cases(claim: Claim, cases: Mapping[str, Mapping[str, Any]], trial: Trial) -> list[str]:
    """Return a line for each case: its arms' means over the seeds, the effect, and the verdict on it."""
    found, lines = verdicts(claim, cases, trial), []
    for name, case in cases.items():
        plain = perplexities(trial, name, case)
        arms = "; ".join(
            f"{arm} {_mean(one)}" + (f" (perplexity {plain[arm]:.1f})" if plain else "")
            for arm, one in case["arms"].items()
        )
        effect = Effect(**case["effect"])
        lines.append(f"{name}: {arms}; difference {interval(effect)}, {_counted(effect)}: {found[name]}")
    return lines


def perplexities(trial: Trial, name: str, case: Mapping[str, Any]) -> dict[str, float]:
    """Return the perplexity of each arm of a case, empty if the case measures something else.

    Arms are measured by minus 100 ln of the perplexity, so this is the geometric mean over seeds and texts.

    Args:
        trial: the experiment, which says what is measured.
        name: that of the case.
        case: what was found in it, with the arms' means.
    """
    one = trial.cases[name]
    method = one.method or trial.method
    measure = {**trial.settings, **one.settings}.get("measure")
    if method != "ngram_log_prob" and (method, measure) != ("train_and_measure", "perplexity"):
        return {}
    return {arm: math.exp(-sum(found["means"]) / len(found["means"]) / 100) for arm, found in case["arms"].items()}


def _mean(arm: Mapping[str, Any]) -> str:
    return rounded(arm["given"]) if "given" in arm else rounded(sum(arm["means"]) / len(arm["means"]))


def _counted(effect: Effect) -> str:
    """Return how many seeds and items an effect was taken over.

    >>> _counted(Effect(1.0, 0.0, 2.0, p=0.1, seeds=3, items=1))
    '3 seeds'
    """
    counts = ((effect.seeds, "seeds"), (effect.items, "items"))
    return " and ".join(f"{number:,} {name}" for number, name in counts if number > 1)
