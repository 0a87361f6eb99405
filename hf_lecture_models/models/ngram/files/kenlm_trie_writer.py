# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Writing KenLM's trie files; `kenlm_tries.py` has the layout.

Codebooks: a column of logarithms is sorted and cut into as many bins as there are numbers, of equally many values; each
stands for its mean (M. Federico and N. Bertoldi, How Many Bits Are Needed to Store Probabilities for Phrase-Based
Translation?, 2006). Back-off weights of 0 have the first two numbers, one for each sign, and are in no bin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import BinaryIO

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.files.kenlm_ends import MISSING_UNKNOWN, KenlmTables
from hf_lecture_models.models.ngram.files.kenlm_format import word_hashes
from hf_lecture_models.models.ngram.files.kenlm_tries import BACKOFF_BITS, CODEBOOKS, PROB_BITS, UNIGRAM, chopped_bits
from hf_lecture_models.models.ngram.tools.suffixes import ROWS

_NO_WEIGHT = np.float32(-0.0)
_Field = tuple[np.ndarray, int]  # a column of numbers, and the bits of each


@dataclass
class _Level:
    """The n-grams of an order from 2: their rows as the file has them, and the number of the first word of each row.

    The children of each record of the level above begin at `begins`; the last number is where those of the last end.
    """

    rows: np.ndarray
    first_words: np.ndarray
    begins: np.ndarray


@dataclass
class _Codes:
    """How the logarithms of an order become numbers: with codebooks, or as float32."""

    prob_bits: int = PROB_BITS
    backoff_bits: int = BACKOFF_BITS
    prob_book: np.ndarray | None = None
    backoff_book: np.ndarray | None = None  # none at the highest order

    def of_probs(self, values: np.ndarray) -> np.ndarray:
        if self.prob_book is None:
            return np.abs(values).view(np.uint32)
        return _nearest(self.prob_book, values)

    def of_backoffs(self, values: np.ndarray) -> np.ndarray:
        if self.backoff_book is None:
            return values.view(np.uint32)
        return np.where(values == 0, ~np.signbit(values), 2 + _nearest(self.backoff_book[2:], values))


def write_trie(tables: KenlmTables, bits: tuple[int, int] | None, array_bits: int | None, file: BinaryIO) -> None:
    """Write what follows the header.

    Args:
        tables: the n-grams.
        bits: of a number in the codebooks of log10 p, and of back-off weights; None writes the float32 values.
        array_bits: the most bits of "next" in an array; None leaves all with the records.
        file: to write to, at the end of the header.
    """
    hashes = word_hashes(tables.names[1:])
    order = np.argsort(hashes)  # KenLM numbers the words by their hashes, from 1 on
    numbers = np.zeros(tables.vocab_size, np.int32)
    numbers[tables.word_ids[1:][order]] = np.arange(1, len(tables.names))
    for part in (np.uint64(len(hashes)), hashes[order], np.uint64(0)):
        file.write(part.astype("<u8").tobytes())
    order = np.concatenate([[0], 1 + order])
    codes = _write_codebooks(tables, bits, file)
    levels = ProgressBar(
        pairwise(chain(_levels(tables, numbers), [None])), total=tables.order - 1, desc="writing orders"
    )
    for n, (level, below) in enumerate(levels, 2):
        if n == 2:
            _write_unigrams(tables, order, level.begins, file)
        next_field = None if below is None else _write_array(below.begins, array_bits, file)
        _write_level(tables, n, level, codes[n - 2], next_field, file)
    file.write(b"".join(tables.names[place] + b"\0" for place in order.tolist()))


def _write_unigrams(tables: KenlmTables, order: np.ndarray, begins: np.ndarray, file: BinaryIO) -> None:
    unigrams = np.zeros(len(order) + 2, UNIGRAM)
    unigrams["prob"][:-2] = tables.of_words(tables.log10_probs[0], MISSING_UNKNOWN)[order]
    unigrams["backoff"][:-2] = tables.of_words(tables.signed_backoffs(1), 0)[order]
    unigrams["next"][:-1] = begins
    file.write(unigrams.tobytes())


def _levels(tables: KenlmTables, numbers: np.ndarray) -> Iterator[_Level]:
    """Yield the levels from order 2 on: below the record of its last n-1 words, an n-gram is sorted by its first."""
    places, first_words, above = numbers, numbers, len(tables.names)
    for keys in tables.keys:
        own = places[tables.suffixes.pop(0)].astype(np.int64)  # they are read once, and large
        first_words = first_words[keys // tables.vocab_size]
        small = np.int32 if len(keys) < 2**31 else np.int64
        begins = np.zeros(above + 1, small)
        np.cumsum(np.bincount(own, minlength=above), out=begins[1:])
        own *= len(tables.names)
        own += first_words
        rows, above = np.argsort(own).astype(small), len(keys)
        del own
        places = np.empty(above, small)
        places[rows] = np.arange(above, dtype=small)
        yield _Level(rows, first_words, begins)


def _write_level(
    tables: KenlmTables, n: int, level: _Level, codes: _Codes, next_field: _Field | None, file: BinaryIO
) -> None:
    """Write the records of order n; `next_field` has one more number, and the highest order has none."""
    count, word_bits = len(level.rows), len(tables.names).bit_length()
    is_own = np.ones(count, bool)
    is_own[tables.added[n - 1]] = False
    own = np.flatnonzero(is_own[level.rows])
    # KenLM stops looking for added contexts of added n-grams behind the last n-gram of the ARPA file.
    last_own = own[-1] if len(own) else -1
    signed = tables.signed_backoffs(n) if next_field is not None else None
    for first in range(0, count + 1, ROWS):
        rows = level.rows[first : first + ROWS]
        records = min(ROWS, count + 1 - first)
        fields = [(level.first_words[rows], word_bits)]
        weights = [(codes.of_probs(tables.log10_probs[n - 1][rows]), codes.prob_bits)]
        if next_field is not None and signed is not None:
            backoffs = signed[rows]
            backoffs[max(last_own + 1 - first, 0) :] = _NO_WEIGHT
            weights.append((codes.of_backoffs(backoffs), codes.backoff_bits))
            if codes.prob_book is not None:
                weights.reverse()
            fields += [*weights, (next_field[0][first : first + ROWS], next_field[1])]
        else:
            fields += weights
        width = sum(bits for _, bits in fields)
        packed = _pack(fields, records)
        file.write(packed.data if first + records <= count else packed.tobytes()[: (records * width + 7) // 8])
    file.write(bytes(8))


def _pack(fields: list[_Field], records: int) -> np.ndarray:
    """Return records of fields, packed without gaps, the first one lowest; columns may be shorter than `records`.

    >>> [hex(number) for number in _pack([(np.array([1, 2]), 4), (np.array([10, 11]), 4)], 2)[0, :1].tolist()]
    ['0xb2a1']
    """
    fields = [(values, bits) for values, bits in fields if bits]
    width = sum(bits for _, bits in fields)
    # 64 records fill as many numbers of 64 bits as a record has bits.
    packed = np.zeros((-(-records // 64), width), "<u8")
    for place in range(64):
        bit = place * width
        for values, bits in fields:
            part = values[place::64].astype(np.uint64)
            column, shift = divmod(bit, 64)
            packed[: len(part), column] |= part << np.uint64(shift)
            if shift + bits > 64:
                packed[: len(part), column + 1] |= part >> np.uint64(64 - shift)
            bit += bits
    return packed


def _write_array(begins: np.ndarray, most: int | None, file: BinaryIO) -> _Field:
    """Return the field "next" of a level whose children begin there; of at most `most` bits, an array has the highest.

    The array is written before the records.
    """
    children = int(begins[-1])
    bits = children.bit_length()
    if most is None:
        return begins, bits
    bits -= chopped_bits(len(begins), children, most)
    firsts = np.searchsorted(begins >> bits, np.arange((children >> bits) + 1))
    start = file.tell()
    file.write(bytes([0, most]).ljust(-(-start // 8) * 8 + 8 - start, b"\0"))
    file.write(firsts.astype("<u8").tobytes())
    file.write(bytes(start + 8 * (len(firsts) + 1) + 7 - file.tell()))
    return begins & ((1 << bits) - 1), bits


def _write_codebooks(tables: KenlmTables, bits: tuple[int, int] | None, file: BinaryIO) -> list[_Codes]:
    """Return how logarithms become numbers, for each order from 2 on; write the codebooks, if there are any."""
    if bits is None:
        return [_Codes()] * (tables.order - 1)
    file.write(bytes([CODEBOOKS, *bits]).ljust(8, b"\0"))
    found = []
    for n in range(2, tables.order + 1):
        codes = _Codes(*bits, _means(tables.log10_probs[n - 1], 1 << bits[0]))
        if n < tables.order:
            own = np.delete(tables.log10_backoffs[n - 1], tables.added[n - 1])
            means = _means(own[own != 0], (1 << bits[1]) - 2)
            codes.backoff_book = np.concatenate([np.array([-0.0, 0.0], np.float32), means])
        found.append(codes)
        file.write(b"".join(book.tobytes() for book in (codes.prob_book, codes.backoff_book) if book is not None))
    return found


def _means(values: np.ndarray, bins: int) -> np.ndarray:
    """Return the mean of each bin of sorted values; that of an empty one is the mean before it, or -inf.

    >>> _means(np.float32([-3, -1, -2, -5]), 2).tolist(), _means(np.float32([-1]), 2).tolist()
    ([-4.0, -1.5], [-inf, -1.0])
    """
    ordered = np.sort(values).astype(np.float64)
    ends = len(ordered) * np.arange(bins + 1) // bins
    sizes = np.diff(ends)
    # One value after another, as KenLM adds them: sums in another order are rounded otherwise.
    sums = np.zeros(bins)
    if bins <= sizes.max():
        for number in np.flatnonzero(sizes).tolist():
            sums[number] = np.cumsum(ordered[ends[number] : ends[number + 1]])[-1] + 0.0
    else:
        for place in range(int(sizes.max())):
            some = np.flatnonzero(sizes > place)
            sums[some] += ordered[ends[some] + place]
    full = np.maximum.accumulate(np.where(sizes > 0, np.arange(bins), -1))
    divisors = sizes.astype(np.float32)  # as KenLM has them
    means = np.divide(sums, divisors, out=np.zeros(bins), where=sizes > 0).astype(np.float32)
    return np.where(full < 0, np.float32(-np.inf), means[full])


def _nearest(book: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the index of the codebook's value that is nearest to each, the higher one of two as near."""
    above = np.searchsorted(book, values)
    low, high = book[np.maximum(above - 1, 0)], book[np.minimum(above, len(book) - 1)]
    with np.errstate(invalid="ignore"):
        lower = (above > 0) & (values - low < high - values)
    return np.where(above == len(book), len(book) - 1, above - lower)
