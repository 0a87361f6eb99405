# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Writing KenLM's "probing" files; `kenlm_hashes.py` has the layout.

An n-gram goes to the bucket that is the rest of its key / buckets, or to the next one that no earlier n-gram has taken:
so the order of insertion decides where one is. It is that of the ARPA file; an end that the file lacks comes when the
first n-gram with this end is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.files.kenlm_ends import MISSING_UNKNOWN, KenlmTables
from hf_lecture_models.models.ngram.files.kenlm_format import word_hashes
from hf_lecture_models.models.ngram.files.kenlm_hashes import LONGEST, MIDDLE, WEIGHTS, WORD, buckets
from hf_lecture_models.models.ngram.tools.suffixes import ROWS

_OF_KEY, _OF_WORD = np.uint64(8978948897894561157), np.uint64(17894857484156487943)


def check_room(tables: KenlmTables, multiplier: float) -> None:
    """Raise a ValueError if a hash table has too few buckets for the ends that KenLM adds."""
    for n, (size, stored) in enumerate(zip(tables.arpa_sizes, tables.sizes, strict=True), 1):
        if 1 < n < tables.order and stored >= buckets(multiplier, size):
            least = math.ceil(100 * (stored + 1) / max(size, 1)) / 100
            raise ValueError(
                f"the model has {size} {n}-grams and lacks {stored - size} others, with which longer ones end; KenLM "
                f"adds them, and its hash table of {buckets(multiplier, size)} places, of which one stays free, is too "
                f"small: give a `probing_multiplier` of {least} or more, or write a trie"
            )


def write_probing(tables: KenlmTables, multiplier: float, file: BinaryIO) -> None:
    """Write what follows the header."""
    sizes, count = tables.arpa_sizes, len(tables.names)
    file.write(np.array([0, count], "<u4").tobytes())
    columns = {"hash": word_hashes(tables.names[1:]), "number": np.arange(1, count)}
    _write_table(columns, buckets(multiplier, sizes[0]), WORD, file)
    unigrams = np.zeros(sizes[0] + 1, WEIGHTS)
    probs = np.where(tables.ends(1), np.abs(tables.log10_probs[0]), tables.log10_probs[0])
    unigrams["prob"][:count] = tables.of_words(probs, MISSING_UNKNOWN)
    unigrams["backoff"][:count] = tables.of_words(tables.signed_backoffs(1), 0)
    file.write(unigrams.tobytes())
    turns = _turns(tables)
    for n, keys in ProgressBar(_keys(tables), total=tables.order - 1, desc="writing orders"):
        columns = {"key": keys, "prob": -np.abs(tables.log10_probs[n - 1])}
        if n < tables.order:  # the sign of log10 p says that nothing longer ends with the n-gram
            np.negative(columns["prob"], out=columns["prob"], where=tables.ends(n))
            columns["backoff"] = tables.signed_backoffs(n)
        if turns[n - 1] is not None:
            columns = {name: column[turns[n - 1]] for name, column in columns.items()}
        _write_table(columns, buckets(multiplier, sizes[n - 1]), MIDDLE if n < tables.order else LONGEST, file)
    file.write(b"".join(name + b"\0" for name in tables.names))


def _keys(tables: KenlmTables) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each order from 2, and the keys of its n-grams, (n-grams,) uint64; `layers/ngram_hashed.py` has them."""
    words = [np.zeros(tables.vocab_size, np.uint32)]  # the numbers of the words of each n-gram, from first to last
    words[0][tables.word_ids[1:]] = np.arange(1, len(tables.names))
    last_words = words[0]
    for n, rows in enumerate(tables.keys, 2):
        keys = np.empty(len(rows), np.uint64)
        longer = [np.empty(len(rows), np.uint32) for _ in range(n)] if n < tables.order else []
        for first in range(0, len(rows), ROWS):
            part = slice(first, first + ROWS)
            prefixes, last = np.divmod(rows[part], tables.vocab_size)
            numbers = [*(column[prefixes] for column in words), last_words[last]]
            found = numbers[-1].astype(np.uint64)
            for column in reversed(numbers[:-1]):
                found = (found * _OF_KEY) ^ ((column + np.uint64(1)) * _OF_WORD)
            keys[part] = found
            for whole, column in zip(longer, numbers, strict=False):
                whole[part] = column
        words = longer
        yield n, keys


def _turns(tables: KenlmTables) -> list[np.ndarray | None]:
    """Return [n-1], the n-grams of order n in the order of insertion; None where it is that of the tables."""
    turns: list[np.ndarray | None] = [None] * tables.order
    for n in range(tables.order - 1, 1, -1):
        added = tables.added[n - 1]
        if len(added):
            longer, above = tables.suffixes[n - 1], turns[n]
            ends = longer if above is None else longer[above]
            first = np.empty(tables.sizes[n - 1], np.int64)
            first[ends[::-1]] = np.arange(len(ends))[::-1]  # numpy keeps what is assigned last
            own = np.delete(np.arange(tables.sizes[n - 1]), added)
            turns[n - 1] = np.concatenate([own, added[np.argsort(first[added])]])
    return turns


def _write_table(columns: dict[str, np.ndarray], size: int, kind: np.dtype, file: BinaryIO) -> None:
    """Write a hash table whose keys are in the first column."""
    rows = _rows(next(iter(columns.values())), size)
    for first in range(0, size, ROWS):
        some = rows[first : first + ROWS]
        taken = np.flatnonzero(some >= 0)
        table = np.zeros(len(some), kind)
        for name, column in columns.items():
            table[name][taken] = column[some[taken]]
        file.write(table.data)


def _rows(keys: np.ndarray, size: int) -> np.ndarray:
    """Return the index of the key in each bucket, or -1; they are inserted one after another.

    >>> _rows(np.array([2, 7, 2, 4, 5], np.uint64), 6)  # 7 mod 6 is 1, and the second 2 moves on
    array([-1,  1,  0,  2,  3,  4], dtype=int32)
    >>> _rows(np.array([5, 5, 0], np.uint64), 6)
    array([ 1,  2, -1, -1, -1,  0], dtype=int32)
    """
    number, nobody = (np.int32 if size < 2**31 else np.int64), len(keys)
    rows = np.full(size, nobody, number)
    for first in range(0, nobody, ROWS):
        places = (keys[first : first + ROWS] % np.uint64(size)).astype(np.int64)
        waiting = np.arange(len(places))
        while len(waiting):
            # An earlier key takes the place of a later one, which moves on: this ends where insertion one by one does.
            sought, indices = places[waiting], first + waiting
            before: np.ndarray = rows[sought]
            rows[sought[::-1]] = np.minimum(before, indices)[::-1]  # of several, numpy keeps the first, assigned last
            won = rows[sought] == indices
            displaced = before[won & (before < nobody)] - first
            waiting = np.sort(np.concatenate([waiting[~won], displaced]))
            places[waiting] = (places[waiting] + 1) % size
    rows[rows == nobody] = -1
    return rows
