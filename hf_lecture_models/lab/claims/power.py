# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How many seeds and items a comparison needs, from the variances of a pilot.

The effect that shall be found is twice the smallest one that counts, whose interval has to stay above the smallest one.
As many show with a probability of about 60 % that an effect of 0 is equivalent, since both ends of the interval have to
be inside; a third more do with 80 %.

A decision has to hold at a level, the probability of a wrong one. Holm's correction asks the first of m comparisons for
0.05 / m and the others for less, so at that level a claim is decided whatever the others find. The pilot's variances
are taken as if they were the true ones. Those of three seeds vary by so much that the probability is about 60 % on
average.
"""

import math
from collections.abc import Callable
from dataclasses import replace

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
        level: the probability of a wrong decision, 0.05 for a single comparison, 0.05 / m for one of m.
    """
    if _power(pilot, least, _MOST, pilot.clusters, level) < POWER:
        return None
    return _smallest(lambda seeds: _power(pilot, least, seeds, pilot.clusters, level))


def needed_clusters(pilot: Effect, least: float, seeds: int, level: float = 1 - LEVEL) -> int | None:
    """Return how many clusters of items decide with a probability of 80 % with so many seeds; None: no number."""
    if _power(pilot, least, seeds, _MOST**2, level) < POWER:
        return None
    return _smallest(lambda clusters: _power(pilot, least, seeds, clusters, level))


def needs_in_words(
    pilot: Effect, least: float, seeds: int, clusters: int, level: float, cpu_seconds_of_a_seed: float
) -> str:
    """Return how many seeds or clusters of items decide, beside those that are run.

    What a CPU cannot do within `CPU_HOURS` is given in minutes of a GPU, by `CORES_OF_A_GPU`.

    >>> pilot = Effect(0.0, 0.0, 0.0, 0.5, 2.0, seeds=3, items=1, clusters=1, seed_variance=1.0)
    >>> needs_in_words(pilot, 2.0, seeds=8, clusters=1, level=0.05, cpu_seconds_of_a_seed=60.0)
    '5 seeds (8 are run)'
    >>> needs_in_words(pilot, 0.5, seeds=8, clusters=1, level=0.05, cpu_seconds_of_a_seed=60.0)
    '34 seeds, 26 more than are run'

    Args:
        seeds, clusters: how many are run, in place of the pilot's; the other arguments are those of `needed_seeds`.
        cpu_seconds_of_a_seed: what both arms take.
    """
    pilot = replace(pilot, clusters=clusters)
    needed = needed_seeds(pilot, least, level)
    if needed is not None and needed <= seeds:
        return f"{needed:,} seeds ({seeds:,} are run)"
    if needed is not None:
        words = f"{needed:,} seeds, {needed - seeds:,} more than are run"
        return words + _beyond_a_cpu(needed, cpu_seconds_of_a_seed)
    enough = needed_clusters(pilot, least, seeds, level)
    if enough is not None:
        return f"no number of seeds, but {enough:,} clusters of items (there are {clusters:,})"
    more = 2 * _smallest(lambda number: _power(pilot, least, number, _MOST**2, level))
    enough = needed_clusters(pilot, least, more, level)
    words = f"{more:,} seeds ({seeds:,} are run) on {enough:,} clusters of items (there are {clusters:,})"
    return words + _beyond_a_cpu(more, cpu_seconds_of_a_seed)


def _beyond_a_cpu(seeds: int, cpu_seconds_of_a_seed: float) -> str:
    """Return what so many seeds take, if that is too much for a CPU."""
    hours = seeds * cpu_seconds_of_a_seed / 3600
    if hours <= CPU_HOURS:
        return ""
    return (
        f"; they take {hours:,.1f} CPU hours, more than a claim's {CPU_HOURS:g}, or"
        f" {60 * hours / CORES_OF_A_GPU:,.0f} GPU minutes if a GPU is as fast as {CORES_OF_A_GPU} cores (assumed)"
    )


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
