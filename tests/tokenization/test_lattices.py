# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sums, posteriors, draws and n-best lists of lattices equal those over all segmentations, written out."""

from collections import Counter
from itertools import accumulate, combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_lecture_models.tokenization.lattices import Lattices

PIECES = {piece: number for number, piece in enumerate(["a", "b", "c", "ab", "ba", "abc", "aa", "aab", "cab"])}
SCORES = np.log(np.random.default_rng(0).dirichlet(np.ones(len(PIECES))))


def cuts(string):
    """All ways to cut a string into parts."""
    for number in range(max(1, len(string))):
        for places in combinations(range(1, len(string)), number):
            yield [string[b:e] for b, e in pairwise((0, *places, len(string)))] if string else []


def segmentations(string, pieces=PIECES):
    """All segmentations by their numbers of pieces, with their scores."""
    rows = [[pieces[part] for part in parts] for parts in cuts(string) if all(part in pieces for part in parts)]
    return {tuple(row): float(SCORES[row].sum()) for row in rows}


STRINGS = st.lists(st.text("abc", max_size=12), min_size=1, max_size=4)


@settings(max_examples=30)
@given(strings=STRINGS)
def test_sums_and_posteriors(strings):
    lattices = Lattices.of(strings, PIECES)
    expected = [segmentations(string) for string in strings]
    assert lattices.count().tolist() == [len(found) for found in expected]
    posteriors, totals = lattices.posteriors(SCORES)
    np.testing.assert_allclose(totals, [np.logaddexp.reduce(list(found.values())) for found in expected], rtol=1e-12)
    for first, found, total in zip(lattices.first, expected, totals, strict=True):
        shares = Counter()
        for row, score in found.items():
            ends = accumulate(len(list(PIECES)[piece]) for piece in row)
            for piece, end in zip(row, ends, strict=True):
                shares[int(first) + end, piece] += np.exp(score - total)
        own = (lattices.end >= first) & (lattices.end <= first + 12)
        edges = zip(lattices.end[own].tolist(), lattices.piece[own].tolist(), posteriors[own], strict=True)
        by_edge = {(end, piece): share for end, piece, share in edges}
        for edge, share in shares.items():
            assert by_edge[edge] == pytest.approx(share, rel=1e-9)


@settings(max_examples=30)
@given(string=st.text("abc", max_size=9), n=st.integers(1, 40))
def test_the_best_segmentations(string, n):
    (found,) = Lattices.of([string], PIECES).nbest(SCORES, n)
    expected = sorted(segmentations(string).values(), reverse=True)[:n]
    assert [score for score, _ in found] == pytest.approx(expected)
    rows = [tuple(pieces) for _, pieces in found]
    assert len(set(rows)) == len(rows)
    for score, row in zip(expected, rows, strict=True):
        assert segmentations(string)[row] == pytest.approx(score)


def test_draws_are_as_frequent_as_they_are_probable():
    strings, places = ["aabab", "c", "cabc", ""], np.array([0, 1, 2, 3] * 20_000)
    ids, sizes = Lattices.of(strings, PIECES).draw(places, 0.5 * SCORES, np.random.default_rng(0))
    rows = np.split(ids, np.cumsum(sizes)[:-1])
    for number, string in enumerate(strings):
        drawn = Counter(tuple(row.tolist()) for row in rows[number::4])
        weights = {row: np.exp(0.5 * score) for row, score in segmentations(string).items()}
        for row, weight in weights.items():
            share = weight / sum(weights.values())
            assert drawn[row] / 20_000 == pytest.approx(share, abs=4 * (share / 20_000) ** 0.5)


def test_runs_of_unknown_symbols_are_one_piece():
    lattices = Lattices.of(["axyb", "xx"], PIECES, unknown=99)
    assert sorted(zip(lattices.begin.tolist(), lattices.end.tolist(), lattices.piece.tolist(), strict=True)) == [
        (0, 1, 0),
        (1, 3, 99),
        (3, 4, 1),
        (5, 7, 99),
    ]
    assert Lattices.of(["axb"], PIECES).count().tolist() == [0.0]
    with pytest.raises(ValueError, match="no segmentation"):
        Lattices.of(["x"], PIECES).draw(np.array([0]), SCORES, np.random.default_rng(0))


def test_texts_are_joined_words():
    words, sizes = ["ab", "cab", "aab", "c"], np.array([2, 0, 1, 1, 0])
    joined = Lattices.of(words, PIECES).join(sizes)
    apart = Lattices.of(words, PIECES).log_sum(SCORES)
    assert joined.log_sum(SCORES) == pytest.approx([apart[0] + apart[1], 0.0, apart[2], apart[3], 0.0])
    assert (joined.first[1:] == joined.last[:-1] + 1).all()
    assert Lattices.of([], PIECES).join(np.array([0])).log_sum(SCORES).tolist() == [0.0]


def test_long_strings_do_not_underflow():
    assert np.isfinite(Lattices.of(["ab" * 2_000], PIECES).log_sum(SCORES)).all()
