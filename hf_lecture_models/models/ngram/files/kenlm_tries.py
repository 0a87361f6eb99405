# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-grams of KenLM's trie files; all come back.

An n-gram is a record below that of its last n-1 words; so the first level has the last words, and a record of level n
names the first word of its n-gram. Records are in the order of their parents and words, packed in bits without gaps:

    vocabulary     uint64 words - 1; their hashes, increasing, uint64: word 0 is ``<unk>``
    codebooks      quantised: uint8 version 2, bits of p, bits of the weight, 5 more bytes; for each order from 2 the
                   float32 values of p and, but for the longest, of the weight
    level 1        (words + 2) x {float32 log10 p, float32 back-off, uint64 next}
    level n        records + 1 of {word, weights, next}, uint64 of zeros
    the longest    the same without next

    word           bits(words) bits
    weights        31 bits of log10 p (its sign is -) and 32 of the back-off, if any; quantised: numbers in the
                   codebooks, that of the back-off first
    next           the record's first child in level n + 1; its children end where those of the next record begin.
                   bits(records of level n + 1) bits, bits(k) being those of the number k

The "array-compressed" types drop the highest bits of next, as many as make the level smallest, at most 'chop': the
level begins with uint8 version 0, uint8 chop; at the next byte that is a multiple of 8, plus 8, there are uint64
numbers: of the first record whose highest bits are 0, 1, 2, ... (B. Raj and E. Whittaker, Lossless Compression of
Language Model Structure and Word Identifiers, 2003).

The last words of an n-gram are stored even where the ARPA file lacks them, with the probability that backing off gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.kenlm_format import BLOCK, KenlmFile, without_negative_zeros, words_by_id

_ARRAY, _QUANTISED = (4, 5), (3, 5)
CODEBOOKS = 2  # their version
UNIGRAM = np.dtype([("prob", "<f4"), ("backoff", "<f4"), ("next", "<u8")])
MOST_BITS = 25  # of a number in a codebook
PROB_BITS, BACKOFF_BITS = 31, 32


@dataclass
class _Level:
    """The place of the records of order n >= 2, and the width of their fields."""

    n: int
    count: int
    word_bits: int
    prob_bits: int
    backoff_bits: int = 0  # 0 at the highest order
    next_bits: int = 0  # without those of the array
    has_next: bool = True
    is_quantised: bool = False
    prob_book: int = 0  # where the codebooks begin
    backoff_book: int = 0
    array: int = 0  # where the array begins
    array_size: int = 0
    start: int = 0  # of the records

    @property
    def width(self) -> int:
        return self.word_bits + self.prob_bits + self.backoff_bits + self.next_bits

    @property
    def end(self) -> int:
        return self.start + ((1 + self.count) * self.width + 7) // 8 + 8


def read_tries(file: KenlmFile) -> tuple[list[str], NGramTables]:
    """Read a trie file of any type: its words by our ids, and the tables of these ids.

    Raises:
        ValueError: the file is damaged.
    """
    start, levels = _layout(file)
    count, end = file.counts[0], levels[-1].end
    if end > file.size:
        raise file.damaged(f"it has {file.size} bytes, but its header counts n-grams for {end}")
    if file.read(file.start, 1, "<u8")[0] != count - 1:
        raise file.damaged("its vocabulary and its header count different numbers of words")
    hashes = file.read(file.start + 8, count - 1, "<u8")
    words = words_by_id(file, file.read_words(end, count), hashes)
    size = len(words.words)
    unigrams = file.read(start, count + 1, UNIGRAM)
    probs, backoffs = (without_negative_zeros(unigrams[name][:-1]) for name in ("prob", "backoff"))
    file.check_logarithms(1, probs, backoffs)
    tables = NGramTables(size, [], [np.full(size, -np.inf, np.float32)], [np.zeros(size, np.float32)])
    tables.log10_probs[0][words.ids] = probs
    tables.log10_probs[0][size - 3] = -np.inf  # <s>
    tables.log10_backoffs[0][words.ids] = backoffs
    nodes = _Nodes(words.ids, np.arange(count), np.arange(count), np.arange(count), unigrams["next"].astype(np.int64))
    for level in levels:
        nodes = _read_level(file, level, nodes, tables, words.ids)
    return words.words, tables


def _layout(file: KenlmFile) -> tuple[int, list[_Level]]:
    """Return where level 1 begins, and the other levels."""
    counts, word_bits = file.counts, file.counts[0].bit_length()
    place = file.start + 8 * (counts[0] + 1)
    levels = [_Level(n, count, word_bits, PROB_BITS, BACKOFF_BITS) for n, count in enumerate(counts[1:], 2)]
    if file.type in _QUANTISED:
        place = _lay_codebooks(file, place, levels)
    levels[-1].backoff_bits, levels[-1].has_next = 0, False
    start = place
    place += (counts[0] + 2) * UNIGRAM.itemsize
    chop = None
    if file.type in _ARRAY and file.order > 2:
        version, chop = file.read(place, 2).tolist()
        if version != 0:
            raise file.error(f"its arrays have version {version}, and only 0 is read; build the file again")
    for level, count in zip(levels, [*counts[2:], None], strict=True):
        if count is not None:
            level.next_bits = count.bit_length()
            if chop is not None:
                level.next_bits -= chopped_bits(level.count + 1, count, chop)
                level.array, level.array_size = -(-place // 8) * 8 + 8, (count >> level.next_bits) + 1
                place += 8 * (level.array_size + 1) + 7
        level.start = place
        place = level.end
    return start, levels


def _lay_codebooks(file: KenlmFile, place: int, levels: list[_Level]) -> int:
    """Set where the codebooks of each level are; return where the last one ends."""
    version, prob_bits, backoff_bits = file.read(place, 3).tolist()
    if version != CODEBOOKS:
        raise file.error(f"its codebooks have version {version}, and only {CODEBOOKS} is read; build the file again")
    if not (1 <= prob_bits <= MOST_BITS and 1 <= backoff_bits <= MOST_BITS):
        raise file.damaged(f"its codebooks have {prob_bits} and {backoff_bits} bits, and have 1 to {MOST_BITS}")
    place += 8
    for level in levels:
        level.is_quantised = True
        level.prob_bits, level.prob_book = prob_bits, place
        place += 4 << prob_bits
        if level is not levels[-1]:
            level.backoff_bits, level.backoff_book = backoff_bits, place
            place += 4 << backoff_bits
    return place


def chopped_bits(records: int, children: int, most: int) -> int:
    """Return how many of the highest bits of next are in the array: those that make records and array smallest."""
    bits = children.bit_length()
    return min(range(min(bits, most) + 1), key=lambda chop: (children >> (bits - chop)) * 64 - records * chop)


@dataclass
class _Nodes:
    """The records of a level by their place in the file."""

    ours: np.ndarray  # the index of each in our table
    last_words: np.ndarray  # KenLM's number of each n-gram's last word
    prefixes: np.ndarray  # the place, in the level above, of its first n-1 words
    keys: np.ndarray  # (place of the parent) x words + number of the first word: increasing
    children: np.ndarray  # where the children of each begin, and where those of the last one end


def _read_level(file: KenlmFile, level: _Level, above: _Nodes, tables: NGramTables, ids: np.ndarray) -> _Nodes:
    """Append the n-grams of a level to the tables; return its nodes, empty at the highest order."""
    n, count, words = level.n, level.count, len(ids)
    begins = above.children
    if begins[0] != 0 or begins[-1] != count or (begins[1:] < begins[:-1]).any():
        raise file.damaged(f"the {n}-grams do not belong to {n - 1}-grams one after another")
    inner = count if level.has_next else 0
    small = np.int32 if count < 2**31 else np.int64
    nodes = _Nodes(
        np.empty(inner, small), np.empty(inner, np.int32), np.empty(inner, small), np.empty(inner, np.int64),
        np.empty(inner + 1, small),
    )  # fmt: skip
    keys, probs = np.empty(count, np.int64), np.empty(count, np.float32)
    backoffs = np.empty(inner, np.float32) if level.has_next else None
    last_own = -1
    for first, fields in _records(file, level):
        part = slice(first, first + len(fields.words))
        places, last_words, own = _read_block(file, n, part, fields.words, above, words)
        if len(own) and (own[0] <= last_own or (own[1:] <= own[:-1]).any()):
            raise file.damaged(f"the words of {n}-grams are unsorted or repeated")
        last_own = own[-1] if len(own) else last_own
        file.check_logarithms(n, fields.probs, fields.backoffs)
        keys[part] = above.ours[places].astype(np.int64) * tables.vocab_size + ids[last_words]
        probs[part] = np.where(ids[last_words] == tables.vocab_size - 3, -np.inf, fields.probs)  # <s>
        if backoffs is not None:
            nodes.last_words[part], nodes.prefixes[part], nodes.keys[part] = last_words, places, own
            backoffs[part] = fields.backoffs
            nodes.children[first : first + len(fields.children)] = fields.children
    order = np.argsort(keys)
    tables.keys.append(keys[order])
    tables.log10_probs.append(probs[order])
    if backoffs is not None:
        tables.log10_backoffs.append(backoffs[order])
        nodes.ours[order] = np.arange(count)
    return nodes


def _read_block(
    file: KenlmFile, n: int, part: slice, first_words: np.ndarray, above: _Nodes, words: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for some records of level n, the places of their first n-1 words, their last words, and their own keys.

    Raises:
        ValueError: a word is not in the vocabulary, or the first n-1 words are not stored.
    """
    parents = np.searchsorted(above.children, np.arange(part.start, part.stop), side="right") - 1
    if len(parents) and first_words.max() >= words:
        raise file.damaged(f"a {n}-gram has a word that is not in the vocabulary")
    places = first_words
    if n > 2:
        sought = above.prefixes[parents].astype(np.int64) * words + first_words
        places = find(torch.from_numpy(above.keys), torch.from_numpy(sought)).numpy()
        if (places < 0).any():
            raise file.damaged(f"the first {n - 1} words of a {n}-gram are not stored")
    return places, above.last_words[parents], parents * words + first_words


@dataclass
class _Fields:
    """The fields of some records; there is one more of ``children`` at the end of a level."""

    words: np.ndarray
    probs: np.ndarray
    backoffs: np.ndarray  # none at the highest order
    children: np.ndarray


def _records(file: KenlmFile, level: _Level) -> Iterator[tuple[int, _Fields]]:
    """Yield the records of a level in blocks, and the number of the first one of each."""
    books = []
    if level.is_quantised:
        books = [file.read(level.prob_book, 1 << level.prob_bits, "<f4")]
        books += [file.read(level.backoff_book, 1 << level.backoff_bits, "<f4")] if level.has_next else []
    array = file.read(level.array, level.array_size, "<u8")
    if len(array) and (array[0] != 0 or array[-1] > level.count or (array[1:] < array[:-1]).any()):
        raise file.damaged(f"the array of {level.n}-grams is unsorted")
    total = level.count + level.has_next
    for first in range(0, total, BLOCK):
        rows = np.arange(first, min(first + BLOCK, total))
        begin = first * level.width // 8
        size = (int(rows[-1] + 1) * level.width + 7) // 8 + 8 - begin
        # Eight bytes from each byte on.
        packed = np.ndarray((size - 7,), "<u8", file.read(level.start + begin, size), strides=(1,))
        bits = rows * level.width - 8 * begin
        words = _numbers(packed, bits, level.word_bits)
        probs, backoffs = _weights(packed, bits + level.word_bits, level, books)
        children = rows[:0]
        if level.has_next:
            children = _numbers(packed, bits + (level.width - level.next_bits), level.next_bits)
            if len(array):
                children |= (np.searchsorted(array, rows.astype(np.uint64), side="right") - 1) << level.next_bits
        inner = level.count - first
        yield first, _Fields(words[:inner], probs[:inner], backoffs[:inner], children)


def _weights(
    packed: np.ndarray, bits: np.ndarray, level: _Level, books: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return log10 p and back-offs of records whose weights begin at each bit; none of these at the highest order."""
    if books:
        probs = books[0][_numbers(packed, bits + level.backoff_bits, level.prob_bits)]
        backoffs = books[1][_numbers(packed, bits, level.backoff_bits)] if level.has_next else probs[:0]
    else:
        unsigned = _numbers(packed, bits, PROB_BITS).astype(np.uint32)
        probs = (unsigned | np.uint32(1 << PROB_BITS)).view(np.float32)
        backoffs = probs[:0]
        if level.has_next:
            backoffs = _numbers(packed, bits + PROB_BITS, BACKOFF_BITS).astype(np.uint32).view(np.float32)
    return without_negative_zeros(probs), without_negative_zeros(backoffs)


def _numbers(packed: np.ndarray, bits: np.ndarray, width: int) -> np.ndarray:
    """Return the numbers of `width` bits, at most 57, that begin at each bit; int64."""
    shifted = packed[bits >> 3] >> (bits & 7).astype(np.uint64)
    return (shifted & np.uint64((1 << width) - 1)).astype(np.int64)
