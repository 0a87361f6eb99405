# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Effects and their intervals: beside scipy's and a jackknife, and how often they hold the true effect."""

import re

import numpy as np
import pytest

from hf_lecture_models.lab.claims.effect import Effect, effect_of, fact_of
from hf_lecture_models.lab.claims.power import needed_clusters, needed_seeds, needs_in_words
from hf_lecture_models.lab.claims.rule import p_value

stats = pytest.importorskip("scipy.stats")


def coverage(make, samples=1500):
    """Return in what percentage of samples the interval holds 0, the true effect."""
    random, held = np.random.default_rng(0), 0
    for _ in range(samples):
        effect = effect_of(*make(random))
        held += effect.low <= 0 <= effect.high
    return 100 * held / samples


def crossed(seeds, sizes, of_seed, of_cluster, of_item):
    """Return a function that draws differences; each part gets its share of the standard error of the mean."""
    items, member = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)

    def make(random):
        by_seed = of_seed * seeds**0.5 * random.normal(size=(seeds, 1))
        by_cluster = of_cluster * len(sizes) ** 0.5 * random.normal(size=len(sizes))[member]
        noise = of_item * (seeds * items) ** 0.5 * random.normal(size=(seeds, items))
        return by_seed + by_cluster + noise, (), member

    return make


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([1], (1, 0, 0)),
        ([1] * 4, (0, 1, 0)),
        ([1] * 4, (1, 1, 0.1)),
        ([1] * 300, (0, 1, 1)),
        ([5] * 20, (1, 1, 1)),
        ([10] * 62, (0.3, 1, 0.7)),
        ([1, 2, 3, 4, 5, 6, 7, 8] * 3, (1, 1, 0.5)),
    ],
)
def test_intervals_hold_the_effect_in_95_percent_of_all_samples(seeds, sizes, parts):
    assert 93 <= coverage(crossed(seeds, sizes, *parts)) <= 97


@pytest.mark.parametrize("items", [4, 8, 62, 3000])
def test_intervals_of_one_seed_hold_it_too(items):
    assert 93 <= coverage(lambda random: (random.normal(size=(1, items)),)) <= 97


def test_right_and_wrong_answers_of_many_sentences_and_tokens_of_uneven_articles():
    def answers(random):  # 100 points where only one arm is right, which happens as often for both
        return (100 * random.choice([-1, 0, 0, 0, 1], size=(1, 400)),)

    def articles(random):
        sizes = random.integers(1, 40, 62)
        member = np.repeat(np.arange(62), sizes)
        return random.normal(size=62)[member] + random.normal(size=(1, sizes.sum())), (), member

    assert 93 <= coverage(answers) <= 97
    assert 93 <= coverage(articles) <= 97


def test_items_as_if_they_were_independent_would_be_wrong():
    differences, _, member = crossed(1, [50] * 62, 0, 1, 0.1)(np.random.default_rng(0))
    by_article, by_item = effect_of(differences, (), member), effect_of(differences)
    assert by_article.error > 4 * by_item.error
    assert (by_article.items, by_article.clusters, by_item.clusters) == (3100, 62, 3100)


def test_seeds_alone_are_students_paired_test():
    first, second = np.array([[5.1], [4.8], [5.6], [5.0]]), np.array([[4.0], [4.4], [4.9], [4.6]])
    found = effect_of(first - second)
    expected = stats.ttest_rel(first[:, 0], second[:, 0])
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high, found.freedom) == pytest.approx((interval.low, interval.high, 3))
    assert p_value(found, 1e-12) == pytest.approx(expected.pvalue)


def test_clusters_of_one_seed_have_the_error_of_the_jackknife():
    random = np.random.default_rng(0)
    sizes = np.array([1, 5, 9, 2, 7, 7, 30])
    member = np.repeat(np.arange(7), sizes)
    weights, values = random.integers(1, 9, len(member)), random.normal(size=len(member))
    left = [np.average(values[member != one], weights=weights[member != one]) for one in range(7)]
    found = effect_of(values[None], weights, member)
    assert found.mean == pytest.approx(np.average(values, weights=weights))
    assert found.error == pytest.approx((6 / 7 * np.sum((np.array(left) - np.mean(left)) ** 2)) ** 0.5)


def test_weights_are_items_that_occur_so_often():
    random = np.random.default_rng(0)
    values, weights = random.normal(size=(3, 4)), [1, 2, 1, 3]
    names = ["a", "b", "a", "c"]
    repeated = effect_of(np.repeat(values, weights, axis=1), (), np.repeat(names, weights))
    weighted = effect_of(values, weights, names)
    assert (weighted.mean, weighted.low, weighted.high) == pytest.approx((repeated.mean, repeated.low, repeated.high))


@pytest.mark.parametrize("differences", [[[1.0]], [[1.0, float("nan")]], [[1.0], [float("-inf")]]])
def test_what_has_no_interval_is_refused(differences):
    with pytest.raises(ValueError, match="interval|finite"):
        effect_of(np.array(differences))


def test_a_fact_has_all_its_differences():
    found = fact_of(np.array([[1.0, 3.0], [2.0, 2.0]]))
    assert (found.low, found.mean, found.high, found.error) == (1, 2, 3, 0)


def test_as_many_seeds_as_the_pilot_asks_for_decide_in_80_percent_of_all_trials():
    pilot = Effect(0, 0, 0, 0, 2, seeds=3, items=1, clusters=1, seed_variance=4.0)
    seeds, random = needed_seeds(pilot, least=2.0), np.random.default_rng(0)
    decided = [effect_of(random.normal(4, 2, (seeds, 1))).low > 2 for _ in range(1000)]
    assert 77 <= 100 * np.mean(decided) <= 90
    equal = [effect_of(random.normal(0, 2, (seeds, 1))) for _ in range(1000)]
    assert 55 <= 100 * np.mean([max(-one.low, one.high) < 2 for one in equal]) <= 67
    # No number of seeds makes up for few items.
    assert needed_seeds(Effect(0, 0, 0, 0, 2, 3, 9, 9, cluster_variance=90.0), least=2.0) is None
    assert needed_clusters(Effect(0, 0, 0, 0, 2, 3, 9, 9, cluster_variance=90.0), least=2.0, seeds=3) > 100


def test_seeds_and_items_are_asked_for_together_where_neither_is_enough():
    pilot = Effect(0, 0, 0, 0, 2, seeds=3, items=9, clusters=9, seed_variance=40.0, cluster_variance=100.0)
    words = needs_in_words(pilot, 2.0, seeds=5, clusters=9, level=0.05, cpu_seconds_of_a_seed=1.0)
    shape = r"(\d+) seeds \(5 are run\) on (\d+) clusters of items \(there are 9\)"
    seeds, clusters = re.fullmatch(shape, words).groups()
    assert needed_clusters(pilot, 2.0, int(seeds)) == int(clusters) > 9
    assert needed_clusters(pilot, 2.0, seeds=5) is None
    assert needed_seeds(pilot, 2.0) is None
    more_items = needs_in_words(pilot, 2.0, seeds=5, clusters=10**6, level=0.05, cpu_seconds_of_a_seed=1.0)
    assert more_items == f"{int(seeds) // 2} seeds, {int(seeds) // 2 - 5} more than are run"
