# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a comparison of two arms found: the mean difference, and its interval by seed and by cluster.

An arm is one side of a comparison, such as an LSTM beside a plain network. It is measured with each seed on each item,
such as a test sentence. Items of one cluster, such as the paragraphs of an article, resemble each other, so clusters
are counted, not items. The effect is the weighted mean of the differences, seed by seed and item by item.

Seeds and clusters are crossed random effects: z_sc, what the cluster c adds to the mean m_s of the seed s, is

    z_sc = m_s + (C - 1) / (1 - w_c) * sum of w_i (d_si - m_s) over the items i of c,

where C is the number of clusters, w_i an item's share of all weights and w_c that of its cluster. The factor is that of
the jackknife over clusters (Efron 1982, chapter 3); it is C for clusters of equal weight. A two-way analysis of
variance gives mean squares of seeds, of clusters and of their interaction. The variance of the effect is the sum of the
first two less the third, which both hold, over the number of values. A mean square that exceeds the interaction's by no
more than chance does in 70 % of all cases is pooled with it. The interval is Student's t with Satterthwaite's (1946)
degrees of freedom; C counts as 1 / sum of w_c² there, the number of equal clusters that would be as informative
(Carter, Schnepel and Steigerwald 2017). Its coverage is between 93 and 97 % in simulations
(tests/lab/claims/test_effect.py); of a few clusters, if one has nearly all weight, and of three seeds that vary much,
it is about 90 %. Answers that are right or wrong need so many that ten or more of them differ between the arms.
"""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

LEVEL = 0.95
_POOLED = 0.7


@dataclass(frozen=True)
class Effect:
    """The mean difference of two arms with its interval of 95 %.

    Attributes:
        mean: in the claim's unit.
        low, high: the ends of the interval; of a fact, the smallest and the largest difference.
        error: the standard error of the mean; 0 for a fact.
        freedom: the degrees of freedom of the t distribution; 0 for a fact.
        seeds, items, clusters: over how many of each the mean was taken.
        seed_variance, cluster_variance, rest_variance: those of one seed, of one cluster, and of one cluster with one
            seed: error² is about seed_variance / seeds + cluster_variance / clusters + rest_variance / (seeds *
            clusters).
    """

    mean: float
    low: float
    high: float
    error: float
    freedom: float
    seeds: int
    items: int
    clusters: int
    seed_variance: float = 0.0
    cluster_variance: float = 0.0
    rest_variance: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, as records hold them."""
        return asdict(self)


def fact_of(differences: np.ndarray) -> Effect:
    """Return what differences that no chance can change show: all of them are between `low` and `high`.

    Args:
        differences: (seeds, items), the first arm minus the second.

    Raises:
        ValueError: a number is not finite.
    """
    differences = _finite(differences)
    seeds, items = differences.shape
    low, high = float(differences.min()), float(differences.max())
    return Effect(
        float(differences.mean()), low, high, error=0.0, freedom=0.0, seeds=seeds, items=items, clusters=items
    )


def effect_of(differences: np.ndarray, weights: Sequence[float] = (), clusters: Sequence[Hashable] = ()) -> Effect:
    """Return the effect that paired differences show.

    >>> found = effect_of(np.array([[1.0], [2.0], [3.0]]))
    >>> found.mean, round(found.low, 3), found.freedom
    (2.0, -0.484, 2.0)

    Args:
        differences: (seeds, items), the first arm minus the second.
        weights: (items,), what each item counts; empty: all count the same.
        clusters: (items,), which items are from the same article, document, person or passage; empty: none.

    Raises:
        ValueError: there is only one seed and one cluster, or a number is not finite.
    """
    differences = _finite(differences)
    seeds, items = differences.shape
    shares = np.ones(items) if len(weights) == 0 else np.asarray(weights, dtype=np.float64)
    shares = shares / shares.sum()
    names = list(clusters) if len(clusters) else list(range(items))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    member = np.array([numbers[name] for name in names])
    count = len(numbers)
    if seeds * count < 2:
        raise ValueError("one difference has no interval; give at least two seeds or clusters of items")
    means = differences @ shares
    of_cluster = np.bincount(member, shares, count)
    added = np.stack([np.bincount(member, shares * row, count) for row in differences - means[:, None]])
    factor = np.ones(count) if count == 1 else (count - 1) / (1 - of_cluster)
    mean, table = float(means.mean()), means[:, None] + added * factor
    return _interval(mean, table, 1 / float((of_cluster**2).sum()), items)


def _finite(differences: np.ndarray) -> np.ndarray:
    differences = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise ValueError("a difference is not finite; one of the arms has diverged")
    return differences


def _interval(mean: float, table: np.ndarray, equal_clusters: float, items: int) -> Effect:
    """Return the effect with its interval.

    Args:
        table: z of the module's docstring, (seeds, clusters).
        equal_clusters: how many clusters of equal weight would be as informative.
    """
    from scipy.stats import f, t

    seeds, clusters = table.shape
    by_seed, by_cluster = table.mean(1), table.mean(0)
    rest, freedom = 0.0, float(seeds * clusters - 1)  # the mean square of the interaction
    own = {}  # those of seeds and of clusters, with their degrees of freedom
    if seeds > 1:
        own["seeds"] = (clusters * float(by_seed.var(ddof=1)), seeds - 1.0)
    if clusters > 1:
        own["clusters"] = (seeds * float(by_cluster.var(ddof=1)), equal_clusters - 1)
    if len(own) == 2:
        left = table - by_seed[:, None] - by_cluster + table.mean()
        chance = rest = float((left**2).sum() / ((seeds - 1) * (clusters - 1)))
        free = freedom = (seeds - 1) * (equal_clusters - 1)
        for name, (square, degrees) in list(own.items()):
            if square <= chance * f.ppf(_POOLED, degrees, free):
                rest, freedom = (rest * freedom + square * degrees) / (freedom + degrees), freedom + degrees
                del own[name]
    variance = max(rest + sum(square - rest for square, _ in own.values()), 0.0)
    terms = list(own.values()) if len(own) == 1 else [*own.values(), (rest, freedom)]
    if variance:
        freedom = max(1.0, variance**2 / sum(square**2 / degrees for square, degrees in terms))
    error = float(np.sqrt(variance / (seeds * clusters)))
    half = float(t.ppf((1 + LEVEL) / 2, freedom)) * error
    found = {name: max(square - rest, 0.0) for name, (square, _) in own.items()}
    variances = (found.get("seeds", 0.0) / clusters, found.get("clusters", 0.0) / seeds, rest)
    return Effect(mean, mean - half, mean + half, error, freedom, seeds, items, clusters, *variances)
