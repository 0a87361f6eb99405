# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-grams of KenLM's "probing" files: hash tables, in which an n-gram is a number and nothing else.

    vocabulary   uint32 version 0, uint32 words; buckets(words counted) x {uint64 hash, uint32 number}
    1-grams      (words counted + 1) x {float32 log10 p, float32 back-off}, by number
    n-grams      buckets(n-grams counted) x {uint64 key, float32 log10 p, float32 back-off}
    the longest  the same without back-offs

    buckets(count) = max(count + 1, multiplier x count, in float32)

An n-gram is in the bucket that is the rest of its key / buckets, or where this one is taken, in the next free one after
it; 0 is the key of an empty bucket. `layers/ngram_hashed.py` has the key. The sign of log10 p is a flag of the search.
An n-gram's last words may be stored although the ARPA file lacks them, with the probability that backing off gives.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hf_lecture_models.layers.ngram_tables import HashedNGramTables
from hf_lecture_models.models.ngram.files.kenlm_format import KenlmFile, KenlmWords, without_negative_zeros, words_by_id

WORD = np.dtype([("hash", "<u8"), ("number", "<u4")])
WEIGHTS = np.dtype([("prob", "<f4"), ("backoff", "<f4")])
MIDDLE = np.dtype([("key", "<u8"), ("prob", "<f4"), ("backoff", "<f4")])
LONGEST = np.dtype([("key", "<u8"), ("prob", "<f4")])
_PARTS = 256


def read_hashes(file: KenlmFile) -> tuple[list[str], HashedNGramTables]:
    """Read a probing file: its words by our ids, and the tables.

    Raises:
        ValueError: the file is damaged.
    """
    counts = file.counts
    starts = _section_starts(file)
    words = _read_vocabulary(file, starts[0], starts[-1])
    size = len(words.words)
    table = file.read(starts[1], len(words.ids), WEIGHTS)
    probs, backoffs = _unsigned(table["prob"]), without_negative_zeros(table["backoff"])
    file.check_logarithms(1, probs, backoffs)
    tables = HashedNGramTables(
        size, [], [np.full(size, -np.inf, np.float32)], [np.zeros(size, np.float32)], np.full(size, len(words.ids))
    )
    tables.log10_probs[0][words.ids] = probs
    tables.log10_probs[0][size - 3] = -np.inf  # <s>
    tables.log10_backoffs[0][words.ids] = backoffs
    tables.hash_numbers[words.ids] = np.arange(len(words.ids))
    for n, (start, count) in enumerate(zip(starts[2:-1], counts[1:], strict=True), 2):
        _read_order(file, n, start, count, tables)
    return words.words, tables


def buckets(multiplier: float | np.floating, count: int) -> int:
    """Return how many buckets the hash table of `count` n-grams has; the multiplier is a float32.

    >>> buckets(1.5, 5), buckets(1.5, 1)
    (7, 2)
    """
    return max(count + 1, int(np.float32(multiplier) * np.float32(count)))


def _section_starts(file: KenlmFile) -> list[int]:
    """Return where the vocabulary, the n-grams of each order and the words begin; the file is large enough for them."""
    counts = file.counts
    sizes = [8 + buckets(file.multiplier, counts[0]) * WORD.itemsize, (counts[0] + 1) * WEIGHTS.itemsize]
    sizes += [buckets(file.multiplier, count) * MIDDLE.itemsize for count in counts[1:-1]]
    sizes.append(buckets(file.multiplier, counts[-1]) * LONGEST.itemsize)
    starts = [file.start]
    for size in sizes:
        starts.append(starts[-1] + size)
    if starts[-1] > file.size:
        raise file.damaged(f"it has {file.size} bytes, but its header counts n-grams for {starts[-1]}")
    return starts


def _read_vocabulary(file: KenlmFile, start: int, start_of_words: int) -> KenlmWords:
    version, count = file.read(start, 2, "<u4").tolist()
    if version != 0:
        raise file.error(f"its vocabulary has version {version}, and only 0 is read; build the file again")
    if not 1 <= count <= file.counts[0] + 1:
        raise file.damaged(f"its vocabulary has {count} words, and its header counts {file.counts[0]}")
    hashes, seen = np.zeros(count, np.uint64), np.zeros(count, bool)
    for _, block in file.blocks(start + 8, buckets(file.multiplier, file.counts[0]), WORD):
        block = block[block["hash"] != 0]
        numbers = block["number"]
        if len(numbers) and (numbers.max() >= count or seen[numbers].any()):
            raise file.damaged("a word's number is too high, or given to two words")
        seen[numbers] = True
        hashes[numbers] = block["hash"]
    return words_by_id(file, file.read_words(start_of_words, count), hashes[1:])


def _unsigned(probs: np.ndarray) -> np.ndarray:
    """Return -|log10 p|, and 0 for -0: KenLM's sign says whether a longer n-gram ends with this one."""
    return without_negative_zeros(-np.abs(probs))


def _entries(file: KenlmFile, n: int, start: int, count: int) -> Iterator[np.ndarray]:
    """Yield the full buckets of order n, block by block; one that a search would not reach is an error."""
    size = buckets(file.multiplier, count)
    last_empty = None
    for first, block in file.blocks(start, size, LONGEST if n == file.order else MIDDLE):
        places = np.arange(first, first + len(block))
        full = block["key"] != 0
        emptied = np.maximum.accumulate(np.where(full, -1 if last_empty is None else last_empty, places))
        ideal = (block["key"] % np.uint64(size)).astype(np.int64)
        # Before the first empty bucket, an entry may come from the end of the table.
        if (full & (emptied >= 0) & ((ideal <= emptied) | (ideal > places))).any():
            raise file.damaged(f"a {n}-gram is not in the place that its key says")
        if len(emptied) and emptied[-1] >= 0:
            last_empty = int(emptied[-1])
        yield block[full]


def _read_order(file: KenlmFile, n: int, start: int, count: int, tables: HashedNGramTables) -> None:
    """Append the n-grams of order n, sorted by key.

    Two passes, so that memory holds the tables and few blocks: one counts the keys by their highest byte, one puts
    each entry into its part; then each part is sorted.
    """
    sizes = np.zeros(_PARTS, np.int64)
    for entries in _entries(file, n, start, count):
        sizes += np.bincount(_part(entries["key"]), minlength=_PARTS)
    total = int(sizes.sum())
    # Beside the n-grams that the file counts, a table may hold last words of longer ones.
    if not count <= total <= (count if n == file.order else buckets(file.multiplier, count) - 1):
        raise file.damaged(f"its header counts {count} {n}-grams, but {total} are stored")
    keys, probs = np.empty(total, np.int64), np.empty(total, np.float32)
    backoffs = None if n == file.order else np.empty(total, np.float32)
    ends = np.cumsum(sizes)
    following = ends - sizes
    for entries in _entries(file, n, start, count):
        parts = _part(entries["key"])
        order = np.argsort(parts, kind="stable")
        found = np.bincount(parts, minlength=_PARTS)
        places = np.arange(len(parts)) + np.repeat(following - (np.cumsum(found) - found), found)
        following += found
        keys[places] = entries["key"][order].view(np.int64)
        probs[places] = _unsigned(entries["prob"][order])
        if backoffs is not None:
            backoffs[places] = without_negative_zeros(entries["backoff"][order])
    for end, size in zip(ends.tolist(), sizes.tolist(), strict=True):
        part = slice(end - size, end)
        order = np.argsort(keys[part])
        for column in (keys, probs) if backoffs is None else (keys, probs, backoffs):
            column[part] = column[part][order]
        file.check_logarithms(n, probs[part], None if backoffs is None else backoffs[part])
    tables.keys.append(keys)
    tables.log10_probs.append(probs)
    if backoffs is not None:
        tables.log10_backoffs.append(backoffs)


def _part(keys: np.ndarray) -> np.ndarray:
    """Return the highest byte of each key, in the order of the keys as signed numbers."""
    return (keys >> np.uint64(56)).astype(np.int64) ^ 128
