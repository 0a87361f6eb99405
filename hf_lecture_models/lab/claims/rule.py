# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""From effects to verdicts: one rule, the same in both directions.

`least` is the smallest effect that counts. An interval of 95 % that is wholly above it, wholly below -least, or wholly
between the two decides; any other leaves the comparison undecided. Since the three are tested at once, each at the same
level, none needs a correction for the other two (Goeman, Solari and Stijnen 2010, three-sided hypothesis testing). The
p-value of a decision is the level at which the interval would just reach the border. All comparisons of all claims are
one family: a decision counts only if its p-value, corrected by Holm's method (1979), is below 5 %. Facts, such as
counts of operations, have no p-value and are outside the family.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.lab.claims.effect import LEVEL, Effect

CONFIRMED, REFUTED, EQUIVALENT = DECIDED = ("confirmed", "refuted", "equivalent")
UNDECIDED, DEPENDS = "undecided", "depends"
GREATER, NOT_GREATER, EQUAL = EXPECTATIONS = ("greater", "not greater", "equal")
ABOVE, BELOW, INSIDE, OPEN = "above", "below", "inside", "open"
_VERDICTS = {
    GREATER: {ABOVE: CONFIRMED, BELOW: REFUTED, INSIDE: EQUIVALENT},
    NOT_GREATER: {ABOVE: REFUTED, BELOW: CONFIRMED, INSIDE: CONFIRMED},
    EQUAL: {ABOVE: REFUTED, BELOW: REFUTED, INSIDE: CONFIRMED},
}


def outcome_of(effect: Effect, least: float) -> str:
    """Return where the interval is: "above" least, "below" -least, "inside" both, or "open".

    >>> outcome_of(Effect(2.0, 1.5, 2.5, error=0.2, freedom=4.0, seeds=5, items=1, clusters=1), least=1.0)
    'above'
    """
    if effect.low > least:
        return ABOVE
    if effect.high < -least:
        return BELOW
    return INSIDE if -least < effect.low and effect.high < least else OPEN


def p_value(effect: Effect, least: float) -> float:
    """Return the level at which the interval would just reach the border of `outcome_of`; 0.05 at 95 %.

    Differences that are all the same have no error that could be estimated, and decide nothing: 1.

    >>> p_value(Effect(2.0, 1.0, 3.0, error=0.5, freedom=1e9, seeds=5, items=1, clusters=1), least=1.0).__round__(3)
    0.046
    """
    from scipy.stats import t

    room = max(effect.mean - least, -least - effect.mean, least - abs(effect.mean))
    if effect.error == 0:
        return 1.0
    return float(min(1.0, 2 * t.sf(room / effect.error, effect.freedom)))


def verdict_of(effect: Effect, least: float, expected: str = GREATER, corrected: float | None = None) -> str:
    """Return the verdict on one comparison.

    >>> effect = Effect(2.0, 1.5, 2.5, error=0.2, freedom=4.0, seeds=5, items=1, clusters=1)
    >>> verdict_of(effect, least=1.0), verdict_of(effect, least=1.0, expected="equal")
    ('confirmed', 'refuted')
    >>> verdict_of(effect, least=3.0), verdict_of(effect, least=1.0, corrected=0.2)
    ('equivalent', 'undecided')

    Args:
        least: the smallest effect that counts.
        expected: "greater": above confirms, below refutes, between is "equivalent". "not greater": above refutes, all
            else that is decided confirms. "equal": between confirms, all else that is decided refutes.
        corrected: the p-value after `holm`; None for a fact.
    """
    if corrected is not None and corrected >= 1 - LEVEL - 1e-12:
        return UNDECIDED
    return _VERDICTS[expected].get(outcome_of(effect, least), UNDECIDED)


def joint_verdict(verdicts: Sequence[str], every: bool = False) -> str:
    """Return the verdict on a claim from those of its cases.

    A case that confirms beside one that does not makes it "depends"; without such a pair, one undecided case leaves the
    claim undecided.

    >>> joint_verdict(["confirmed", "equivalent"]), joint_verdict(["confirmed", "undecided"])
    ('depends', 'undecided')
    >>> joint_verdict(["confirmed", "refuted"], every=True)
    'refuted'

    Args:
        every: whether the claim is about every case, as "always" and "across the board" are, so that one case
            refutes it.
    """
    found = set(verdicts)
    against = found & {REFUTED, EQUIVALENT}
    if every and against:
        return REFUTED
    if CONFIRMED in found and against:
        return DEPENDS
    if UNDECIDED in found:
        return UNDECIDED
    return found.pop() if len(found) == 1 else REFUTED


def holm(p_values: Mapping[Any, float]) -> dict[Any, float]:
    """Return the p-values corrected for their number (Holm 1979).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    corrected: dict[Any, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        corrected[name] = largest
    return corrected
