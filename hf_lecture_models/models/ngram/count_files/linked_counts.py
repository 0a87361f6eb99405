# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Count n-grams of words linked to their parts, and what counts of texts fulfil.

In a corpus with counts c, every n-gram but those at the bounds of texts is followed and preceded by a word:

    c(h) = sum_w c(h w)    where h does not end in `</s>`
    c(g) = sum_w c(w g)    where g does not begin with `<s>`

Larger sums mean that the orders are of different texts. Smaller ones mean that n-grams are missing, as those that occur
less than 40 times in Google's tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts, add_rows
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END


@dataclass(frozen=True)
class LinkedCounts:
    """Counts of all orders with the places of each n-gram's parts among the shorter ones.

    Attributes:
        counts: the counts.
        prefixes: [n-1], (n-grams of order n,) the place of the n-gram without its last word; zeros for order 1.
        suffixes: [n-1], the same without its first word.
        missing: how many n-grams, of all orders, occur more often than longer ones tell.
    """

    counts: NGramWordCounts
    prefixes: list[np.ndarray]
    suffixes: list[np.ndarray]
    missing: int


def link_counts(counts: NGramWordCounts) -> LinkedCounts:
    """Link counts of texts; where `<s>` or `</s>` has no count of its own, it is that of the 2-grams with it.

    Raises:
        ValueError: an order is missing, the counts lack where texts begin or end, an n-gram lacks a part, or the orders
            are of different texts. What to mend is named.
    """
    _check_orders(counts)
    counts = _with_marks(counts)
    _check_marks(counts)
    place = np.full(len(counts.words), -1)
    place[counts.ngrams[0][:, 0]] = np.arange(counts.sizes[0])
    zeros = np.zeros(counts.sizes[0], np.int64)
    prefixes, suffixes, tables, missing = [zeros], [zeros], [torch.zeros(0, dtype=torch.int64)], 0
    for n, rows in enumerate(counts.ngrams[1:], 2):
        prefix = place[rows[:, 0]]
        for shorter in range(2, n):
            prefix = _find(tables[shorter - 1], prefix, rows[:, shorter - 1], len(place))
        _refuse_missing(counts, n, prefix, "first")
        suffix = place[rows[:, 1]] if n == 2 else suffixes[-1][prefix]
        suffix = suffix if n == 2 else _find(tables[n - 2], suffix, rows[:, -1], len(place))
        _refuse_missing(counts, n, suffix, "last")
        prefixes.append(prefix)
        suffixes.append(suffix)
        tables.append(torch.from_numpy(prefix * len(place) + rows[:, -1]))
        missing += _check_sums(counts, n, prefix, at_end=True) + _check_sums(counts, n, suffix, at_end=False)
    return LinkedCounts(counts, prefixes, suffixes, missing)


def _find(table: torch.Tensor, prefixes: np.ndarray, words: np.ndarray, vocab_size: int) -> np.ndarray:
    """Return the places of n-grams, given as place of the prefix (-1 where it is missing) and last word."""
    return find(table, torch.from_numpy(np.where(prefixes < 0, -1, prefixes * vocab_size + words))).numpy()


def _check_orders(counts: NGramWordCounts) -> None:
    empty = next((n for n, size in enumerate(counts.sizes, 1) if not size), None)
    if empty is not None:
        rule = f"the counts have no {empty}-grams, but n-grams of up to {counts.order} words"
        raise ValueError(
            f"{rule}; every order is needed, since longer n-grams alone lack the beginnings of texts: give the counts "
            "of all orders (ngram-count -write without -write-order), or a lower order"
        )


def _with_marks(counts: NGramWordCounts) -> NGramWordCounts:
    """Count `<s>` and `</s>` by the 2-grams with it, where it lacks a count of its own."""
    if counts.order == 1:
        return counts
    rows, occurrences, pairs = counts.ngrams[0], counts.occurrences[0], counts.ngrams[1]
    for mark, place in ((BEGIN, 0), (END, 1)):
        number = counts.number(mark)
        with_it = pairs[:, place] == number
        if number >= 0 and with_it.any() and not (rows[:, 0] == number).any():
            rows = np.concatenate([rows, np.full((1, 1), number, rows.dtype)])
            occurrences = np.append(occurrences, counts.occurrences[1][with_it].sum())
    rows, occurrences = add_rows(rows, occurrences, len(counts.words))
    return NGramWordCounts(counts.words, [rows, *counts.ngrams[1:]], [occurrences, *counts.occurrences[1:]])


def _check_marks(counts: NGramWordCounts) -> None:
    """Refuse counts without the bounds of texts, or with n-grams across them."""
    begin, end = counts.number(BEGIN), counts.number(END)
    begun = counts.order == 1 or any((rows[:, 0] == begin).any() for rows in counts.ngrams[1:])
    if not begun or not (counts.ngrams[0] == end).any():
        lacking, what = (END, "end") if begun else (BEGIN, "begin")
        raise ValueError(
            f"no n-gram has {lacking}, so that the counts do not say where texts {what}; count whole texts with their "
            "marks (ngram-count -text without -no-sos and -no-eos)"
        )
    for n, rows in enumerate(counts.ngrams[1:], 2):
        across = np.flatnonzero((rows[:, 1:] == begin).any(1) | (rows[:, :-1] == end).any(1))
        if len(across):
            raise ValueError(
                f"the n-gram {counts.spell(n, int(across[0]))!r} has the mark of a text's bound inside; count each "
                "text by itself"
            )


def _refuse_missing(counts: NGramWordCounts, n: int, places: np.ndarray, which: str) -> None:
    lost = np.flatnonzero(places < 0)
    if len(lost):
        ngram, words = counts.spell(n, int(lost[0])), "word is" if n == 2 else f"{n - 1} words are"
        raise ValueError(
            f"the n-gram {ngram!r} is counted, but its {which} {words} not (as for {len(lost)} of {len(places)} "
            f"{n}-grams); give the counts of all orders of the same texts"
        )


def _check_sums(counts: NGramWordCounts, n: int, places: np.ndarray, at_end: bool) -> int:
    """Compare counts of order n - 1 with the sums over one more word; return how many are larger than these."""
    shorter, own = counts.ngrams[n - 2], counts.occurrences[n - 2]
    sums = np.zeros_like(own)
    np.add.at(sums, places, counts.occurrences[n - 1])
    over = np.flatnonzero(sums > own)
    if len(over):
        ngram, where = counts.spell(n - 1, int(over[0])), "after" if at_end else "before"
        raise ValueError(
            f"{ngram!r} occurs {own[over[0]]} times, but the {n}-grams with a word {where} it occur {sums[over[0]]} "
            "times; give the counts of all orders of the same texts"
        )
    bound = shorter[:, -1] == counts.number(END) if at_end else shorter[:, 0] == counts.number(BEGIN)
    return int((~bound & (sums < own)).sum())
