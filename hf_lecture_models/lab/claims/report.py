# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Claims, results and verdicts in words."""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hf_lecture_models.lab.claims.claim import Claim, Trial, load_claims
from hf_lecture_models.lab.claims.effect import LEVEL, Effect
from hf_lecture_models.lab.claims.power import needs_in_words
from hf_lecture_models.lab.claims.rule import EQUAL, INSIDE, holm, joint_verdict, outcome_of, p_value, verdict_of

RECORDS = Path(__file__).with_name("records")
NOT_MEASURED = "not measured yet"


def read_record(claim: Claim) -> dict[str, Any] | None:
    """Return the record of a claim's experiment, with its commit, date, machine and results; None without a record."""
    path = RECORDS / f"{claim.id}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def recorded_cases(claim: Claim) -> dict[str, Any]:
    """Return what the record found in each case; nothing without a record."""
    record = read_record(claim)
    return {} if record is None else record["results"]["cases"]


def least_of(claim: Claim, case: str) -> float:
    """Return the smallest effect that counts in a case of the experiment or of the embedded trial."""
    one = {**claim.embedded.cases, **claim.experiment.cases}[case]
    return claim.least if one.least is None else one.least


def corrected_p_values(instead: Claim | None = None) -> dict[tuple[str, str], float]:
    """Return the p-value of each recorded case by claim and case, corrected for their number; facts have none.

    Args:
        instead: a claim that takes the place of the one of its name.
    """
    claims = load_claims() | ({} if instead is None else {instead.id: instead})
    return holm(
        {
            (claim.id, case): p_value(Effect(**found["effect"]), least_of(claim, case))
            for claim in claims.values()
            if not claim.fact
            for case, found in recorded_cases(claim).items()
        }
    )


def case_verdicts(claim: Claim, p_values: Mapping[tuple[str, str], float] | None = None) -> dict[str, str]:
    """Return the verdict on each recorded case of a claim.

    Args:
        p_values: those of `corrected_p_values`, which are computed if they are not given.
    """
    p_values = corrected_p_values() if p_values is None and not claim.fact else p_values or {}
    return {
        name: verdict_of(
            Effect(**found["effect"]),
            least_of(claim, name),
            claim.experiment.cases[name].expected,
            p_values.get((claim.id, name)),
        )
        for name, found in recorded_cases(claim).items()
    }


def recorded_verdict(claim: Claim, p_values: Mapping[tuple[str, str], float] | None = None) -> str:
    """Return the verdict that follows from the claim's record, or "not measured yet"."""
    found = case_verdicts(claim, p_values)
    deciding = [verdict for name, verdict in found.items() if claim.experiment.cases[name].decides]
    return joint_verdict(deciding, claim.every) if deciding else NOT_MEASURED


def first_verdict(claim: Claim) -> str:
    """Return the verdict that the claim's record would give with the first smallest effects that counted."""
    cases = {name: dataclasses.replace(case, least=case.first_least) for name, case in claim.experiment.cases.items()}
    least = claim.least if claim.first_least is None else claim.first_least
    first = dataclasses.replace(claim, least=least, experiment=dataclasses.replace(claim.experiment, cases=cases))
    return recorded_verdict(first, corrected_p_values(first))


def first_in_words(claim: Claim) -> str:
    """Return a sentence on what the first smallest effect of a measured claim gives; nothing if it is the same."""
    if claim.first_least is None or read_record(claim) is None:
        return ""
    return (
        f" A first version of this test, which was measured before, had {claim.first_least:g}, with which this record"
        f" gives: {first_verdict(claim)}."
    )


class _CaseInWords(NamedTuple):
    effect: str
    first: str
    second: str


def lesson(claim: Claim) -> str:
    """Return the sentence for the classroom with the figures of the record; the lecture's without a record."""
    found = recorded_cases(claim)
    if not found:
        return claim.sentence
    figures = [_CaseInWords("", "", "")]  # cases are counted from 1
    for name, case in found.items():
        plain = perplexities(claim.experiment, name, case)
        arms = [f"{plain[arm]:.1f}" if plain else _mean(one) for arm, one in case["arms"].items()]
        figures.append(_CaseInWords(rounded(abs(case["effect"]["mean"])), *arms))
    return " ".join(claim.lesson.sentence.format(*figures).split())


def describe_needs(claim: Claim, pilot: Mapping[str, Mapping[str, Any]], clusters: Mapping[str, int]) -> dict[str, str]:
    """Return for each case of a pilot how many seeds or clusters of items a decision needs.

    The level is that of the first comparison in Holm's correction, for as many comparisons as are recorded.

    Args:
        pilot: what `run_pilot` found.
        clusters: how many clusters each case has.
    """
    level, seeds = (1 - LEVEL) / max(1, len(corrected_p_values())), len(claim.experiment.seeds)
    return {
        case: needs_in_words(
            Effect(**one["effect"]), least_of(claim, case), seeds, clusters[case], level, one["cpu_seconds_of_a_seed"]
        )
        for case, one in pilot.items()
    }


def interval(effect: Effect) -> str:
    """Return an effect with its interval of 95 %; a fact whose differences are all the same has none.

    >>> interval(Effect(mean=1.25, low=0.5, high=2.0, error=0.3, freedom=4, seeds=5, items=1, clusters=1))
    '+1.2 [0.5, 2.0]'
    """
    mean, low, high = (rounded(value) for value in (effect.mean, effect.low, effect.high))
    return f"{'+' if effect.mean > 0 else ''}{mean}" + (f" [{low}, {high}]" if effect.low < effect.high else "")


def p_in_words(p: float) -> str:
    """Return a p-value as it is printed.

    >>> p_in_words(0.0123), p_in_words(1e-5)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def rounded(value: float) -> str:
    """Return a number with a decimal, a small one with three significant digits.

    >>> rounded(12.345), rounded(-0.01234), rounded(0.0)
    ('12.3', '-0.0123', '0.0')
    """
    return f"{value:.1f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"


def same_direction(claim: Claim, cases: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    """Return whether each case of the small experiment points in the direction of the record; nothing without a record.

    It is compared with the recorded case of its name, or else with the first one, by the sign of the mean. Where the
    claim is a fact or expects equality, and where the record found that both arms are equivalent, means that are too
    small to count have the same direction.

    Args:
        cases: what the claim's embedded trial found.
    """
    recorded, directions = recorded_cases(claim), {}
    for name, found in cases.items() if recorded else ():
        other = name if name in recorded else next(iter(recorded))
        effect, least = Effect(**recorded[other]["effect"]), least_of(claim, other)
        case = claim.experiment.cases[other]
        by_size = claim.fact or case.expected == EQUAL or outcome_of(effect, least) == INSIDE
        here = _direction(found["effect"]["mean"], least_of(claim, name) if by_size else 0.0)
        directions[name] = here == _direction(effect.mean, least if by_size else 0.0)
    return directions


def _direction(mean: float, least: float) -> int:
    """Return 1, -1, or 0 for a mean that is too small to count."""
    return 0 if abs(mean) < least or mean == 0 else 1 if mean > 0 else -1


def describe_cases(
    claim: Claim,
    cases: Mapping[str, Mapping[str, Any]],
    trial: Trial,
    p_values: Mapping[tuple[str, str], float] | None = None,
) -> list[str]:
    """Return a line for each case: its arms' means over the seeds, the effect, and over what it was taken.

    Args:
        p_values: those of `corrected_p_values`, on which the verdicts rest; without them each case has its own p-value,
            corrected for nothing.
    """
    lines = []
    for name, case in cases.items():
        arms, effect = arms_in_words(trial, name, case), Effect(**case["effect"])
        if claim.fact:
            p = ""
        elif p_values is None:
            p = f", {p_in_words(p_value(effect, least_of(claim, name)))}"
        else:
            p = f", {p_in_words(p_values[claim.id, name])} after Holm's correction"
        lines.append(f"{name}: {arms}; difference {interval(effect)}{p}, {counted(effect)}")
    return lines


def arms_in_words(trial: Trial, name: str, case: Mapping[str, Any]) -> str:
    """Return what the arms of a case reach, as means over the seeds; of language models the perplexity.

    The arguments are those of `perplexities`.
    """
    plain = perplexities(trial, name, case)
    if plain:
        return ", ".join(f"{arm} {value:.1f}" for arm, value in plain.items()) + " (perplexity)"
    return ", ".join(f"{arm} {_mean(one)}" for arm, one in case["arms"].items())


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


def counted(effect: Effect) -> str:
    """Return how many seeds, items and clusters an effect was taken over.

    >>> counted(Effect(1.0, 0.0, 2.0, error=0.1, freedom=2, seeds=3, items=90, clusters=9))
    '3 seeds, 90 items in 9 clusters'
    """
    items = f"{effect.items:,} items" if effect.items > 1 else ""
    items += f" in {effect.clusters:,} clusters" if 1 < effect.clusters < effect.items else ""
    return ", ".join(part for part in (f"{effect.seeds} seeds" if effect.seeds > 1 else "", items) if part)
