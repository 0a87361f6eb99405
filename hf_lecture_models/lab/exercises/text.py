# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exercises on text: a merge of byte-pair encoding, the best unigram segmentation, Kneser-Ney's discounts."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
import torch

from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.draws import integers, string, uniform
from hf_lecture_models.lab.exercises.exercise import Case, Exercise, Slip
from hf_lecture_models.tokenization.lattices import Lattices

Words = dict[tuple[str, ...], int]
Symbols = tuple[str, ...]
Counts = Counter[tuple[str, str]]
_LEAST_DIFFERENCE = 1e-3


def bpe_merge(
    words: dict[tuple[str, ...], int],
) -> tuple[tuple[str, str], dict[tuple[str, ...], int]]:
    """Return the most frequent pair of neighbouring symbols, and the words with this pair merged.

    This is one step of byte-pair encoding (slide Y:371-393; Sennrich, Haddow & Birch 2016, section 3.2).

    - A pair counts once for each place in a word, times the word's count. Places may overlap: the word ("a", "a", "a")
      has two places of ("a", "a").
    - Of pairs with equal counts, the first in alphabetical order is merged; Python compares tuples so.
    - In each word the pair is merged in all its places, from left to right: ("a", "a", "a") becomes ("aa", "a").

    Args:
        words: each distinct word as its symbols, and how often it occurs. One word at least has two symbols.

    Returns:
        The pair, and the words after the merge with their counts.

    For example, bpe_merge({("l", "o", "w"): 2, ("l", "o"): 1}) is (("l", "o"), {("lo", "w"): 2, ("lo",): 1}).
    """
    raise NotImplementedError


def _merge_cases(generator: torch.Generator) -> list[Case]:
    slide = ("lower", "lowest", "newer", "wider", "wide")
    cases: list[Words] = [
        {("l", "o", "w"): 2, ("l", "o"): 1},
        {("m", "n"): 3, ("z", "y"): 3, ("b", "a"): 3, ("c", "b"): 2},
        {("a", "a", "a"): 4, ("b", "a"): 5},
        {(*word[:-1], word[-1] + "#"): 1 for word in slide},
    ]
    for letters in ("ab", "abc", "abcde"):
        spellings = [string(generator, letters, 2 + length) for length in integers(generator, 0, 6, 12).tolist()]
        counts = integers(generator, 1, 9, len(spellings)).tolist()
        cases.append({tuple(spelling): count for spelling, count in zip(spellings, counts, strict=True)})
    return [{"words": case} for case in cases]


def _alphabetically(counts: Counts) -> tuple[str, str]:
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _join(symbols: Symbols, pair: tuple[str, str]) -> Symbols:
    joined: list[str] = []
    for symbol in symbols:
        # A merged symbol is no left half again.
        if joined and (joined[-1], symbol) == pair:
            joined[-1] += symbol
        else:
            joined.append(symbol)
    return tuple(joined)


def _join_from_right(symbols: Symbols, pair: tuple[str, str]) -> Symbols:
    joined = _join(symbols[::-1], (pair[1], pair[0]))
    return tuple("".join(pair) if symbol == pair[1] + pair[0] else symbol for symbol in joined[::-1])


def _join_once(symbols: Symbols, pair: tuple[str, str]) -> Symbols:
    for place, found in enumerate(pairwise(symbols)):
        if found == pair:
            return (*symbols[:place], "".join(pair), *symbols[place + 2 :])
    return symbols


def _wrong_merge(
    choose: Callable[[Counts], tuple[str, str]] = _alphabetically,
    join: Callable[[Symbols, tuple[str, str]], Symbols] = _join,
    weighted: bool = True,
    counted: bool = True,
) -> Callable[[Words], tuple[tuple[str, str], Words]]:
    """Return a step of byte-pair encoding that differs in one of these from the right one."""

    def step(words: Words) -> tuple[tuple[str, str], Words]:
        counts: Counts = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count if weighted else 1
        best = choose(counts)
        return best, {join(word, best): count if counted else 1 for word, count in words.items()}

    return step


BPE_MERGE = Exercise(
    bpe_merge,
    "the most frequent pair of symbols becomes one symbol",
    "Y:371-393",
    adapter.bpe_merge,
    _merge_cases,
    ("the pair", "the words"),
    (
        Slip(
            _wrong_merge(choose=lambda counts: counts.most_common(1)[0][0]),
            "of pairs with equal counts you take the one that comes first in the words, as Counter.most_common and max "
            "do; the first in alphabetical order is asked for",
        ),
        Slip(
            _wrong_merge(choose=lambda counts: max(counts, key=lambda pair: (counts[pair], pair))),
            "of pairs with equal counts you take the last in alphabetical order, not the first: max over (count, pair) "
            "does this; use min over (-count, pair)",
        ),
        Slip(
            _wrong_merge(weighted=False),
            "you count each distinct word once; a pair counts as often as its word occurs",
        ),
        Slip(_wrong_merge(join=_join_once), "you merge only the first place of the pair in each word, not all places"),
        Slip(
            _wrong_merge(join=_join_from_right),
            "you merge from right to left: (a, a, a) becomes (a, aa); from left to right it is (aa, a)",
        ),
        Slip(_wrong_merge(counted=False), "the words are right, but each has the count 1; a word keeps its count"),
    ),
)


def unigram_viterbi(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    """Return the most probable segmentation of a text into pieces, and its log-probability.

    Pieces are independent of each other (slide Y:395-405; Kudo 2018), so a segmentation x_1 ... x_m has

        ln P(x_1 ... x_m) = ln p(x_1) + ... + ln p(x_m).

    There are up to 2^(L-1) segmentations of L characters. The Viterbi algorithm needs about L² steps: the best way to
    each place in the text is the best of (the best way to an earlier place, and one piece from there to here).

    Args:
        text: a string of one character or more; each of its characters is a piece.
        scores: ln p(x) of each piece x.

    Returns:
        The pieces from left to right, and ln P. No other segmentation of the texts to check is as probable.

    For example, unigram_viterbi("aab", {"a": -1.0, "b": -2.0, "ab": -2.5}) is (["a", "ab"], -3.5).
    """
    raise NotImplementedError


def _segmentation_cases(generator: torch.Generator) -> list[Case]:
    cases: list[Case] = [{"text": "aab", "scores": {"a": -1.0, "b": -2.0, "ab": -2.5}}]
    while len(cases) < 5:
        text = string(generator, "abcdefgh", 4 * 2 ** (len(cases) - 1))
        begins = integers(generator, 0, len(text) - 1, 2 * len(text)).tolist()
        longer = {text[begin : begin + 2 + number % 4] for number, begin in enumerate(begins)}
        pieces = sorted({*text} | longer)
        draws = uniform(generator, len(pieces)).tolist()
        # A long piece may be worse or better than its parts.
        scores = {x: -2.0 - (1 + 2 * len(x)) * draw for x, draw in zip(pieces, draws, strict=True)}
        if _has_one_best(text, scores):
            cases.append({"text": text, "scores": scores})
    return cases


def _has_one_best(text: str, scores: dict[str, float]) -> bool:
    """Return False where two segmentations are equally probable, such as (a, aa) and (aa, a)."""
    lattice = Lattices.of([text], {piece: number for number, piece in enumerate(scores)})
    best, second = (score for score, _ in lattice.nbest(np.array(list(scores.values())), 2)[0])
    return best - second > _LEAST_DIFFERENCE


def _ways(text: str, scores: dict[str, float], end: int) -> Iterator[tuple[int, float]]:
    return ((begin, scores[text[begin:end]]) for begin in range(end) if text[begin:end] in scores)


def _best(text: str, scores: dict[str, float], cost: Callable[[float], tuple[float, float]]) -> list[str]:
    """Return the segmentation with the smallest sum of costs, from right to left."""
    best: list[tuple[tuple[float, float], list[str]]] = [((0.0, 0.0), [])]
    for end in range(1, len(text) + 1):
        ways = [
            ((best[begin][0][0] + one[0], best[begin][0][1] + one[1]), [text[begin:end], *best[begin][1]])
            for begin, score in _ways(text, scores, end)
            for one in [cost(score)]
        ]
        best.append(min(ways))
    return best[-1][1]


def _with_sum(pieces: Iterable[str], scores: dict[str, float]) -> tuple[list[str], float]:
    found = list(pieces)
    return found, sum(scores[piece] for piece in found)


def _longest_first(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    pieces, begin = [], 0
    while begin < len(text):
        end = next(end for end in range(len(text), begin, -1) if text[begin:end] in scores)
        pieces.append(text[begin:end])
        begin = end
    return _with_sum(pieces, scores)


def _likeliest_first(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    pieces, begin = [], 0
    while begin < len(text):
        pieces.append(max((piece for piece in scores if text.startswith(piece, begin)), key=scores.__getitem__))
        begin += len(pieces[-1])
    return _with_sum(pieces, scores)


def _probability(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    pieces, log_prob = _with_sum(_best(text, scores, lambda score: (-score, 0.0))[::-1], scores)
    return pieces, math.exp(log_prob)


def _fewest(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    return _with_sum(_best(text, scores, lambda score: (1.0, -score))[::-1], scores)


def _reversed(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    return _with_sum(_best(text, scores, lambda score: (-score, 0.0)), scores)


def _sum_of_all(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    sums = [0.0]
    for end in range(1, len(text) + 1):
        sums.append(math.log(sum(math.exp(sums[begin] + score) for begin, score in _ways(text, scores, end))))
    return _best(text, scores, lambda score: (-score, 0.0))[::-1], sums[-1]


UNIGRAM_VITERBI = Exercise(
    unigram_viterbi,
    "the most probable segmentation into pieces, by Viterbi",
    "Y:395-405",
    adapter.unigram_viterbi,
    _segmentation_cases,
    ("the pieces", "ln P"),
    (
        Slip(_longest_first, "you take the longest piece at each place, as WordPiece does; the sum of scores decides"),
        Slip(
            _likeliest_first,
            "you take the most probable piece at each place; a less probable one may leave a better rest, so keep the "
            "best way to each place",
        ),
        Slip(_fewest, "you look for the fewest pieces; the sum of their scores decides, not their number"),
        Slip(_reversed, "the pieces are right, but from right to left: turn them round after following the way back"),
        Slip(
            _sum_of_all,
            "the pieces are right, but ln P is that of all segmentations together (the forward algorithm): take the "
            "largest of the ways to a place, not their sum",
        ),
        Slip(_probability, "the pieces are right, but P is returned; ln P is asked for, the sum of the scores"),
    ),
)


def kneser_ney_discounts(bigrams: dict[tuple[str, str], int]) -> tuple[list[float], list[float]]:
    """Return the discounts D_1, D_2 and D_3+ of modified Kneser-Ney smoothing, of unigrams and of bigrams.

    Kneser-Ney takes a discount from each count, and gives what it took to the words that were not seen after a context
    (slide Y:179-225). The modified form has three discounts, for counts of 1, of 2, and of 3 or more. They follow from
    the numbers n_k of n-grams whose count is exactly k (Chen & Goodman 1999):

        Y = n_1 / (n_1 + 2 n_2)
        D_1 = 1 - 2 Y n_2 / n_1,   D_2 = 2 - 3 Y n_3 / n_2,   D_3+ = 3 - 4 Y n_4 / n_3

    The count of a bigram (v, w) is how often it occurs. The count of the unigram w, because it is below the highest
    order, is the number of different words v before it.

    Args:
        bigrams: each bigram (v, w), v before w, and how often it occurs.

    Returns:
        [D_1, D_2, D_3+] of unigrams, and of bigrams.
    """
    raise NotImplementedError


def _bigram_cases(generator: torch.Generator) -> list[Case]:
    cases: list[Case] = []
    while len(cases) < 2:
        # Few words are frequent and many rare, as in texts, so that the numbers n_k fall with k.
        words = (400 * uniform(generator, 1000 + 500 * len(cases)) ** 3).long().tolist()
        before = (60 * uniform(generator, len(words)) ** 2).long().tolist()
        bigrams = dict(Counter((f"v{v}", f"w{w}") for v, w in zip(before, words, strict=True)))
        if all(_are_discounts(found) for found in (_discounts(_words_before(bigrams)), _discounts(bigrams.values()))):
            cases.append({"bigrams": bigrams})
    return cases


def _numbers(counts: Iterable[int]) -> list[int]:
    """Return n_0 ... n_4."""
    found = Counter(counts)
    return [found[k] for k in range(5)]


def _are_discounts(found: list[float]) -> bool:
    return all(0 < discount < k for k, discount in enumerate(found, 1))


def _formula(n: list[int], factor: int = 1, power: int = 1) -> list[float]:
    if not all(n[1:]):
        return [0.0]
    Y = n[1] / (n[1] + 2 * n[2])
    return [k - (k + factor) * Y * (n[k + 1] / n[k]) ** power for k in (1, 2, 3)]


def _discounts(counts: Iterable[int]) -> list[float]:
    return _formula(_numbers(counts))


def _words_before(bigrams: dict[tuple[str, str], int]) -> Iterable[int]:
    return Counter(w for _, w in bigrams).values()


def _occurrences(bigrams: dict[tuple[str, str], int]) -> tuple[list[float], list[float]]:
    counts: Counter[str] = Counter()
    for (_, w), count in bigrams.items():
        counts[w] += count
    return _discounts(counts.values()), _discounts(bigrams.values())


def _words_after(bigrams: dict[tuple[str, str], int]) -> tuple[list[float], list[float]]:
    return _discounts(Counter(v for v, _ in bigrams).values()), _discounts(bigrams.values())


def _on_both(
    formula: Callable[[Iterable[int]], list[float]],
) -> Callable[[dict[tuple[str, str], int]], tuple[list[float], list[float]]]:
    return lambda bigrams: (formula(_words_before(bigrams)), formula(bigrams.values()))


def _numbers_from(counts: Iterable[int]) -> list[int]:
    found = list(counts)
    return [sum(count >= k for count in found) for k in range(5)]


def _one_discount(counts: Iterable[int]) -> list[float]:
    n = _numbers(counts)
    return [n[1] / (n[1] + 2 * n[2])] * 3


KNESER_NEY_DISCOUNTS = Exercise(
    kneser_ney_discounts,
    "the three discounts of modified Kneser-Ney, of both orders",
    "Y:179-225",
    adapter.kneser_ney_discounts,
    _bigram_cases,
    ("the discounts of unigrams", "the discounts of bigrams"),
    (
        Slip(
            _occurrences,
            "the discounts of unigrams come from how often each word occurs; below the highest order Kneser-Ney counts "
            "the different words before it",
        ),
        Slip(_words_after, "you count the different words after a unigram; those before it are asked for"),
        Slip(
            _on_both(_one_discount),
            "all three are n_1 / (n_1 + 2 n_2), the one discount of Kneser-Ney 1995; the modified form has three",
        ),
        Slip(
            _on_both(lambda counts: _formula(_numbers_from(counts))),
            "your n_k is the number of n-grams that occur k times or more; it is of those that occur exactly k times",
        ),
        Slip(
            _on_both(lambda counts: _formula(_numbers(counts), factor=0)),
            "the factor of Y n_{k+1} / n_k is k + 1: 2, 3, 4; you have 1, 2, 3",
        ),
        Slip(
            _on_both(lambda counts: _formula(_numbers(counts), power=-1)),
            "you divide n_k by n_{k+1}; it is n_{k+1} / n_k",
        ),
    ),
)
