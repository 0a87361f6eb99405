# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How many seeds and items a comparison needs, from the variances of a pilot.

The effect that shall be found is twice the smallest one that counts, whose interval has to stay above the smallest one.
As many show with a probability of about 60 % that an effect of 0 is equivalent, since both ends of the interval have to
be inside; a third more do with 80 %.

The numbers are those of one comparison: after a correction for 60 of them, as many seeds as `needed_seeds` asks for
decide with a probability between 15 and 30 %, and 2.3 times as many with 80 %, if no other comparison is decided. The
pilot's variances are taken as if they were the true ones. Those of three seeds vary by so much that the probability is
about 60 % on average.
"""

import math
from collections.abc import Callable

from hf_lecture_models.lab.claims.effect import LEVEL, Effect

POWER = 0.8
CPU_HOURS = 2.0
"""One claim may take so many."""
CORES_OF_A_GPU = 30
"""Assumed, not measured: one GPU trains models of this size in the time in which so many CPU cores do."""
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


def gpu_minutes(seeds: int, cpu_seconds_of_a_seed: float) -> float | None:
    """Return the minutes of one GPU that so many seeds would take, by `CORES_OF_A_GPU`; None: two CPU hours are enough.

    >>> gpu_minutes(10, 900.0), gpu_minutes(8, 900.0)
    (5.0, None)
    """
    seconds = seeds * cpu_seconds_of_a_seed
    return None if seconds <= CPU_HOURS * 3600 else seconds / 60 / CORES_OF_A_GPU


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
