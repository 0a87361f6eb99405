# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Learn the pieces of a unigram language model of segmentations (Kudo 2018, section 3.2).

1. Begin with all single symbols and the most frequent strings within words.
2. Expectation-maximization: p(x) is the share of x among all pieces, where each segmentation of a word counts as much
   as its probability under the previous p.
3. Keep all symbols, and of the other pieces the share `shrinking_factor` whose loss would lower the likelihood most.
4. Repeat from 2, until there are no more pieces than wanted.

The lattice shows how much the log-likelihood of a word falls without a piece: if its segmentation takes the piece with
probability q, all other segmentations make up 1 - q of the sum, so it falls by -ln(1 - q). A piece that occurs in
several places of a word counts as a different piece in each.

More strings at the beginning are not better. With all that occur twice in WikiText-2's training part (300,000, against
ten for each of 8,000 tokens), the remaining pieces need more bits for a character: whole words then explain the text
alone, and expectation-maximization takes the probability of their parts away long before words are removed.

sentencepiece and the trainer of `tokenizers` differ: they begin with up to a million strings of a suffix array; they
lower p by the digamma function, more for rarer pieces, and drop pieces with an expected count below one half; they
estimate the worth of a piece from the best segmentation alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tokenization.lattices import Lattices

# The least expected count of a symbol, so that no p is 0.
_LEAST_COUNT = 0.5
_SUB_ITERATIONS = 2
_LAST_ITERATIONS = 4


@dataclass(frozen=True)
class _Seeds:
    """The first pieces, symbols before longer ones, their counts and all their places."""

    pieces: list[str]
    counts: np.ndarray
    lattices: Lattices


def learn_pieces(
    counts: Counter[str],
    symbols: Sequence[str],
    size: int,
    forbidden: Collection[str] = (),
    longest: int = 16,
    seed_size: int = 80_000,
    shrinking_factor: float = 0.75,
    min_count: int = 2,
    progress: bool = False,
) -> dict[str, float]:
    """Learn pieces and their probabilities.

    >>> pieces = learn_pieces(Counter({"abc": 9, "ab": 5, "cab": 2}), "abc", 5)
    >>> [(piece, round(p, 3)) for piece, p in pieces.items()]
    [('a', 0.025), ('b', 0.025), ('c', 0.161), ('ab', 0.407), ('abc', 0.383)]

    Args:
        counts: how often each word occurs; no piece crosses the border of a word.
        symbols: the symbols that are kept, among them all of the words.
        size: the number of pieces at the end, symbols included; there are fewer if too few strings are frequent.
        forbidden: strings that must not become pieces.
        longest: the longest piece, in symbols.
        seed_size: the number of strings at the beginning, those of the greatest count times length.
        shrinking_factor: the share of pieces that is left after each cut.
        min_count: a string that occurs less often does not become a piece, unless it is a symbol.
        progress: whether to show the progress of more than five seconds.

    Returns:
        Pieces with p: the symbols first, then the others, the most probable first. The score of a piece is ln p.
    """
    words = sorted(counts)
    weights = np.array([counts[word] for word in words], float)
    seeds = _seed(words, weights, forbidden, longest, seed_size, min_count)
    unseen = len(symbols) - sum(len(piece) == 1 for piece in seeds.pieces)
    pieces, probabilities = _prune(seeds, weights, size - unseen, shrinking_factor, progress)
    # Symbols that no word has are as improbable as the rarest symbol of the words.
    least = min(p for piece, p in zip(pieces, probabilities, strict=True) if len(piece) == 1)
    order = np.argsort(-probabilities, kind="stable")
    learned = dict.fromkeys(symbols, float(least)) | {pieces[number]: float(probabilities[number]) for number in order}
    return {piece: p / sum(learned.values()) for piece, p in learned.items()}


def _prune(
    seeds: _Seeds, weights: np.ndarray, size: int, shrinking_factor: float, progress: bool
) -> tuple[list[str], np.ndarray]:
    """Return the pieces that are left, and their probabilities."""
    lattices, pieces = seeds.lattices, seeds.pieces
    is_symbol = np.array([len(piece) == 1 for piece in pieces])
    probabilities = seeds.counts / seeds.counts.sum()
    with ProgressBar(total=len(pieces) - size, desc="pruning pieces", shown=progress) as bar:
        while True:
            is_last = len(pieces) <= size
            for _ in range(_LAST_ITERATIONS if is_last else _SUB_ITERATIONS):
                probabilities, losses = _iterate(lattices, weights, probabilities, is_symbol)
            if is_last:
                return pieces, probabilities
            kept = _worth_keeping(losses, is_symbol, max(size, int(len(pieces) * shrinking_factor)))
            bar.update(len(pieces) - len(kept))
            lattices, pieces = lattices.keep(kept), [pieces[number] for number in kept]
            is_symbol, probabilities = is_symbol[kept], probabilities[kept] / probabilities[kept].sum()


def _iterate(
    lattices: Lattices, weights: np.ndarray, probabilities: np.ndarray, is_symbol: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities after one step of expectation-maximization, and the loss of likelihood by each piece."""
    with np.errstate(divide="ignore"):
        scores = np.log(probabilities)
    posteriors, _ = lattices.posteriors(scores)
    string = np.searchsorted(lattices.first, lattices.begin, side="right") - 1
    weight = weights[string]
    expected = np.bincount(lattices.piece, weight * posteriors, len(probabilities))
    expected[is_symbol] = np.maximum(expected[is_symbol], _LEAST_COUNT)
    rest = np.maximum(1 - posteriors, np.finfo(float).eps)
    losses = np.bincount(lattices.piece, weight * -np.log(rest), len(probabilities))
    return expected / expected.sum(), losses


def _worth_keeping(losses: np.ndarray, is_symbol: np.ndarray, size: int) -> np.ndarray:
    """Return the numbers of the symbols and of the pieces with the greatest losses, in ascending order."""
    others = np.flatnonzero(~is_symbol)
    best = others[np.argsort(-losses[others], kind="stable")]
    symbols = np.flatnonzero(is_symbol)
    return np.sort(np.concatenate([symbols, best[: max(0, size - len(symbols))]]))


def _seed(
    words: list[str], weights: np.ndarray, forbidden: Collection[str], longest: int, seed_size: int, min_count: int
) -> _Seeds:
    text = "".join(words)
    sizes = np.array([len(word) for word in words])
    ends = np.repeat(np.cumsum(sizes), sizes)
    weight = np.repeat(weights, sizes)
    found = list(_frequent_strings(text, ends, weight, longest, min_count))
    # The strings of all lengths: how often they occur, how long they are, where they occur first.
    counts = np.concatenate([level.counts for level in found])
    lengths = np.repeat([level.length for level in found], [len(level.counts) for level in found])
    places = np.concatenate([level.first for level in found])
    names = [text[place : place + length] for place, length in zip(places.tolist(), lengths.tolist(), strict=True)]
    allowed = np.array([length == 1 or name not in forbidden for name, length in zip(names, lengths, strict=True)])
    chosen = _worth_keeping(np.where(allowed, counts * lengths, -1.0), lengths == 1, len(found[0].counts) + seed_size)
    chosen = chosen[allowed[chosen]]
    numbers = np.full(len(names), -1)
    numbers[chosen] = np.arange(len(chosen))
    # A word of n symbols has n + 1 nodes.
    node = np.arange(len(text)) + np.repeat(np.arange(len(words)), sizes)
    edges, start = [], 0
    for level in found:
        piece = numbers[start + level.codes]
        start += len(level.counts)
        begin = node[level.places[piece >= 0]]
        edges.append((begin, begin + level.length, piece[piece >= 0]))
    last = np.cumsum(sizes) + np.arange(len(words))
    begin, end, piece = map(np.concatenate, zip(*edges, strict=True))
    lattices = Lattices(last - sizes, last, begin, end, piece)
    return _Seeds([names[number] for number in chosen], counts[chosen], lattices)


@dataclass(frozen=True)
class _Level:
    """The strings of one length: counts, first places, and for places in the text the string that begins there."""

    length: int
    counts: np.ndarray
    first: np.ndarray
    places: np.ndarray
    codes: np.ndarray


def _frequent_strings(
    text: str, ends: np.ndarray, weight: np.ndarray, longest: int, min_count: int
) -> Iterator[_Level]:
    """Yield the frequent strings within words, length by length: a frequent string begins with a frequent one."""
    symbols = np.unique(np.frombuffer(text.encode("utf-32-le"), np.uint32), return_inverse=True)[1].astype(np.int64)
    number_of_symbols = int(symbols.max()) + 1
    places, keys = np.arange(len(text)), symbols
    for length in range(1, longest + 1):
        _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        counts = np.bincount(codes, weight[places])
        is_frequent = counts >= (1 if length == 1 else min_count)
        numbers = np.cumsum(is_frequent) - 1
        kept = is_frequent[codes]
        first_places = places[first][is_frequent]
        places, codes = places[kept], numbers[codes[kept]]
        if not len(places):
            return
        yield _Level(length, counts[is_frequent], first_places, places, codes)
        goes_on = places + length < ends[places]
        places = places[goes_on]
        keys = codes[goes_on] * number_of_symbols + symbols[places + length]
