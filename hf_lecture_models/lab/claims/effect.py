# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a comparison of two arms found, and the verdict that follows from it.

An arm is one side of a comparison, such as an LSTM beside a plain network. It is measured with each seed on each item,
such as a test sentence. The effect is the mean of the differences of the two arms, seed by seed and item by item. It
has an interval of 95 %:

- several seeds: Student's t with one degree of freedom less than seeds. The variance is that of the seeds' means over
  the number of seeds, plus, if there are several items, that of the items' means over the number of items. What a seed
  does to one item alone is in both, so the interval is a little too wide rather than too narrow.
- one seed, several items: percentiles of 10,000 bootstrap samples of the items (Efron 1979), and the p-value of 10,000
  random choices of the differences' signs; the signs that were found are one choice more, so that p is never 0 (Phipson
  and Smyth 2010).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

LEVEL, SAMPLES = 0.95, 10_000
CONFIRMED, REFUTED, UNDECIDED, DEPENDS = "confirmed", "refuted", "undecided", "depends"
GREATER, NOT_GREATER, EQUAL = EXPECTATIONS = ("greater", "not greater", "equal")


@dataclass(frozen=True)
class Effect:
    """The mean difference of two arms, its interval, and the probability of one as large if the arms were equal.

    Attributes:
        seeds, items: over how many of each the mean was taken.
    """

    mean: float
    low: float
    high: float
    p: float
    seeds: int
    items: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, as records hold them."""
        return asdict(self)


def effect_of(differences: np.ndarray) -> Effect:
    """Return the effect that paired differences show.

    >>> effect_of(np.array([[1.0], [2.0], [3.0]])).mean
    2.0

    Args:
        differences: (seeds, items), the first arm minus the second.

    Raises:
        ValueError: there is only one number, or one that is not finite.
    """
    differences = np.asarray(differences, dtype=np.float64)
    seeds, items = differences.shape
    if not np.isfinite(differences).all():
        raise ValueError("a difference is not finite; one of the arms has diverged")
    if seeds * items < 2:
        raise ValueError("one difference has no interval; give at least two seeds or items")
    low, high, p = _over_seeds(differences) if seeds > 1 else _over_items(differences[0])
    return Effect(float(differences.mean()), float(low), float(high), float(p), seeds, items)


def _over_seeds(differences: np.ndarray) -> tuple[float, float, float]:
    from scipy.stats import t

    seeds, items = differences.shape
    mean, variance = differences.mean(), differences.mean(1).var(ddof=1) / seeds
    if items > 1:
        variance += differences.mean(0).var(ddof=1) / items
    if variance == 0:
        return mean, mean, float(mean == 0)
    error = np.sqrt(variance)
    half = t.ppf((1 + LEVEL) / 2, seeds - 1) * error
    return mean - half, mean + half, 2 * t.sf(abs(mean) / error, seeds - 1)


def _over_items(differences: np.ndarray) -> tuple[float, float, float]:
    random = np.random.default_rng(0)
    means, by_chance = np.empty(SAMPLES), np.empty(SAMPLES)
    for sample in range(SAMPLES):
        means[sample] = differences[random.integers(len(differences), size=len(differences))].mean()
        by_chance[sample] = (differences * random.choice((-1.0, 1.0), len(differences))).mean()
    low, high = np.quantile(means, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    # Sums of the same numbers in another order may differ in their last digits.
    as_large = np.abs(by_chance) >= abs(differences.mean()) * (1 - 1e-12)
    return low, high, (1 + as_large.sum()) / (1 + SAMPLES)


def verdict_of(effect: Effect, least: float, expected: str = GREATER) -> str:
    """Return the verdict on one comparison.

    "greater": confirmed where the interval is above 0 and the effect at least `least`; refuted where the whole interval
    is below `least`. "not greater" is the opposite. "equal": confirmed where the interval is between -least and least;
    refuted where it leaves out 0 and the effect is at least `least` in size. Otherwise undecided.

    >>> verdict_of(Effect(2.0, 1.5, 2.5, p=0.001, seeds=5, items=1), least=1.0)
    'confirmed'
    >>> verdict_of(Effect(0.2, -0.1, 0.5, p=0.1, seeds=5, items=1), least=1.0, expected="equal")
    'confirmed'
    """
    if expected == EQUAL:
        confirmed = -least < effect.low and effect.high < least
        refuted = (effect.low > 0 or effect.high < 0) and abs(effect.mean) >= least
    else:
        confirmed = effect.low > 0 and effect.mean >= least
        refuted = effect.high < least
        if expected == NOT_GREATER:
            confirmed, refuted = refuted, confirmed
    return CONFIRMED if confirmed else REFUTED if refuted else UNDECIDED


def joint_verdict(verdicts: Sequence[str]) -> str:
    """Return the verdict on a claim from those of its cases: "depends" where one is confirmed and another refuted.

    Without such a pair, one undecided case leaves the claim undecided.

    >>> joint_verdict(["confirmed", "refuted"]), joint_verdict(["confirmed", "undecided"])
    ('depends', 'undecided')
    """
    found = set(verdicts)
    if {CONFIRMED, REFUTED} <= found:
        return DEPENDS
    return UNDECIDED if UNDECIDED in found else found.pop()


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
