# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How many seeds and items a comparison needs, from the variances of a pilot.

The effect that shall be found is twice the smallest one that counts, whose interval has to stay above the smallest one.
By symmetry an effect of 0 needs about as many to be shown to be equivalent.
"""

import math
from collections.abc import Callable

from hf_lecture_models.lab.claims.effect import LEVEL, Effect

POWER = 0.8
_MOST = 10_000


def needed_seeds(pilot: Effect, least: float, level: float = 1 - LEVEL) -> int | None:
    """Return how many seeds decide with a probability of 80 %, on as many clusters as the pilot has; None: no number.

    >>> pilot = Effect(0.0, 0.0, 0.0, 0.5, 2.0, seeds=3, items=1, clusters=1, seed_variance=1.0)
    >>> needed_seeds(pilot, least=2.0), needed_seeds(pilot, least=0.5)
    (5, 34)

    Args:
        pilot: its variances are used, its mean is not.
        least: the smallest effect that counts.
        level: the probability of a wrong decision, 0.05 for a single comparison.
    """
    if _power(pilot, least, _MOST, pilot.clusters, level) < POWER:
        return None
    return _smallest(lambda seeds: _power(pilot, least, seeds, pilot.clusters, level))


def needed_clusters(pilot: Effect, least: float, seeds: int, level: float = 1 - LEVEL) -> int | None:
    """Return how many clusters of items decide with a probability of 80 % with so many seeds; None: no number."""
    if _power(pilot, least, seeds, _MOST**2, level) < POWER:
        return None
    return _smallest(lambda clusters: _power(pilot, least, seeds, clusters, level))


def _power(pilot: Effect, least: float, seeds: int, clusters: int, level: float) -> float:
    """Return the probability that an effect of twice `least` is found to be above it."""
    from scipy.stats import nct, t

    parts = [
        (pilot.seed_variance / seeds, seeds - 1),
        (pilot.cluster_variance / clusters, clusters - 1),
        (pilot.rest_variance / (seeds * clusters), max(seeds - 1, 1) * max(clusters - 1, 1)),
    ]
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return 1.0
    freedom = max(1.0, variance**2 / sum(part**2 / own for part, own in parts if part))
    return float(nct.sf(t.ppf(1 - level / 2, freedom), freedom, least / math.sqrt(variance)))


def _smallest(power: Callable[[int], float]) -> int:
    """Return the smallest number, at least 2, whose power is large enough."""
    low, high = 2, 2
    while power(high) < POWER:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle + 1, high)
    return low
