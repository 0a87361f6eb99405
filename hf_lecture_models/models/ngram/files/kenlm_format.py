# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""KenLM's binary files: the header, the sections that follow from it, and the words.

K. Heafield, KenLM: Faster and Smaller Language Model Queries, 2011. `build_binary TYPE lm.arpa lm.bin` writes them;
numbers are little-endian. The layout is that of format version 5 (github.com/kpu/kenlm, lm/binary_format.cc):

    magic            52 bytes and 4 zeros, "mmap lm http://kheafield.com/code format version 5\\n"
    test values      float32 0, 1, -0.5; uint32 1, 2^32 - 1, 0; uint64 1
    parameters       uint8 order, float32 multiplier of hash tables, int32 type, uint8 "the words are there", uint32
                     version of the type's layout: each at the next multiple of its size
    counts           uint64 for each order; then zeros up to a multiple of 8
    vocabulary       hashes of the words
    n-grams          `kenlm_hashes.py` for type 0, `kenlm_tries.py` for types 2 to 5
    words            in the order of their numbers, a NUL after each; the first is ``<unk>``

A word's hash is A. Appleby's MurmurHash64A with seed 0. All sizes follow from the header, and are compared with the
file's size before anything is read; sections are read in blocks.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from hf_lecture_models.models.ngram.files.arpa_format import (
    BEGIN,
    END,
    MAX_LINE_BYTES,
    PADDING,
    UNKNOWN,
    quote,
)
from hf_lecture_models.models.ngram.files.arpa_format import KENLM_MAGIC as MAGIC
from hf_lecture_models.models.ngram.files.arpa_reader import MAX_ORDER

TYPES = (
    "probing",
    "probing with rest costs",
    "trie",
    "quantised trie",
    "array-compressed trie",
    "quantised and array-compressed trie",
)
PROBING, REST_COSTS = 0, 1
BLOCK = 1 << 20  # records that are in memory at a time, beside the tables
# Sums of a few of them are finite in float32.
LARGEST_LOGARITHM = 1e30

_SIGNATURE = MAGIC + b" format version 5\n\0\0"
_SANITY, _TEST_VALUES = "56s3f3IQ", (0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
_PARAMETERS = "<B3xfiB3xI"
_LAYOUT_VERSIONS = {PROBING: 0, 2: 1, 3: 1, 4: 1, 5: 1}
_MOST_WORDS = 2**31 - 2
_REBUILD = "build the file again with KenLM's build_binary"


def is_kenlm_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as KenLM's binary files do, whatever its name.

    >>> is_kenlm_file(__file__)
    False
    """
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class KenlmFile:
    """An open file, its header checked: type, counts of n-grams (n-grams of order n: `counts[n - 1]`), and sections."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = open(path, "rb")  # noqa: SIM115 (closed by __exit__)
        try:
            status = os.fstat(self._file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise self.error("it is not a regular file; copy it to one")
            self.size = status.st_size
            self._check_sanity()
            self._read_parameters()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> KenlmFile:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    @property
    def order(self) -> int:
        """Words in the longest n-gram."""
        return len(self.counts)

    def error(self, rule: str) -> ValueError:
        """Return a ValueError about the file."""
        return ValueError(f"{self.path}: {rule}")

    def damaged(self, rule: str) -> ValueError:
        """Return a ValueError about a file that KenLM did not write so."""
        return self.error(f"{rule}; the file is damaged, so copy or build it again")

    def read(self, start: int, count: int, kind: Any = np.uint8) -> np.ndarray:
        """Read `count` items of a numpy type from the byte `start` on."""
        width = np.dtype(kind).itemsize
        if start + count * width > self.size:
            raise self.damaged(f"{self.size} bytes are too few for what its header counts")
        self._file.seek(start)
        data = self._file.read(count * width)
        if len(data) < count * width:
            raise self.damaged("it became shorter while it was read")
        return np.frombuffer(data, kind)

    def blocks(self, start: int, count: int, kind: Any) -> Iterator[tuple[int, np.ndarray]]:
        """Read as `read` does, at most `BLOCK` items at a time: yield the number of the first one, and the items."""
        width = np.dtype(kind).itemsize
        for first in range(0, count, BLOCK):
            yield first, self.read(start + first * width, min(BLOCK, count - first), kind)

    def read_words(self, start: int, count: int) -> list[bytes]:
        """Read the words, which fill the file from the byte `start` on."""
        text = self.read(start, self.size - start).tobytes()
        if not text.startswith(UNKNOWN.encode() + b"\0"):
            raise self.damaged(f"{quote(text)} is where the words should begin with {UNKNOWN}")
        if text.count(b"\0") != count or not text.endswith(b"\0"):
            raise self.damaged(f"it holds {text.count(bytes(1))} words, but its vocabulary has {count}")
        words = text.split(b"\0")[:-1]
        longest = max(words, key=len)
        if len(longest) > MAX_LINE_BYTES:
            raise self.damaged(f"the word {quote(longest)} is longer than {MAX_LINE_BYTES} bytes")
        return words

    def check_logarithms(self, n: int, probs: np.ndarray, backoffs: np.ndarray | None = None) -> None:
        """Raise a ValueError for a logarithm of order n that is NaN, infinite, or a probability over 1."""
        if not ((probs <= 0) & (probs >= -LARGEST_LOGARITHM)).all():
            raise self.damaged(f"a log-probability of a {n}-gram is positive, infinite or NaN")
        if backoffs is not None and not (np.abs(backoffs) <= LARGEST_LOGARITHM).all():
            raise self.damaged(f"a back-off weight of a {n}-gram is infinite or NaN")

    def _check_sanity(self) -> None:
        head = self._file.read(struct.calcsize("<" + _SANITY))
        if head == struct.pack("<" + _SANITY, _SIGNATURE, *_TEST_VALUES):
            return
        if head.startswith(gzip.compress(b"")[:2]):
            raise self.error("the file is compressed with gzip; unpack it with gunzip")
        if not head.startswith(MAGIC):
            raise self.error(f"{quote(head)} is where {quote(MAGIC)} was expected; this is not KenLM's binary file")
        if head.startswith(MAGIC + b" incomplete"):
            raise self.error(f"build_binary stopped before the file was complete; {_REBUILD}")
        if not head.startswith(_SIGNATURE):
            version = head[len(MAGIC) :].split(b"\n")[0].strip()
            raise self.error(f"the file has {quote(version)}, and only format version 5 is read; {_REBUILD}")
        if head == struct.pack(">" + _SANITY, _SIGNATURE, *_TEST_VALUES):
            raise self.error(f"the file is from a big-endian machine, whose numbers are reversed; {_REBUILD} here")
        if len(head) < struct.calcsize("<" + _SANITY):
            raise self.damaged("it ends within its header")
        raise self.error(f"the test values of its header are of another machine or program; {_REBUILD}")

    def _read_parameters(self) -> None:
        start = struct.calcsize("<" + _SANITY)
        width = struct.calcsize(_PARAMETERS)
        order, multiplier, self.type, has_words, version = struct.unpack(_PARAMETERS, self.read(start, width).tobytes())
        if not 2 <= order <= MAX_ORDER:
            raise self.damaged(f"its order is {order}, and must be from 2 to {MAX_ORDER}")
        if self.type == REST_COSTS:
            raise self.error(f"the file has rest costs (type 1), which are not read; {_REBUILD}, without -r")
        if self.type not in _LAYOUT_VERSIONS:
            raise self.damaged(f"its type is {self.type}, and must be one of {', '.join(map(str, _LAYOUT_VERSIONS))}")
        if version != _LAYOUT_VERSIONS[self.type]:
            rule = f"its {TYPES[self.type]} has version {version}, and only {_LAYOUT_VERSIONS[self.type]} is read"
            raise self.error(f"{rule}; {_REBUILD}")
        if has_words != 1:
            raise self.error(f"the file lacks the words of its vocabulary; {_REBUILD}, without -v")
        self.multiplier = np.float32(multiplier)
        self.counts = self.read(start + width, order, "<u8").tolist()
        self.start = -(-(start + width + 8 * order) // 8) * 8  # where the vocabulary begins
        self._check_counts()

    def _check_counts(self) -> None:
        if not 1 <= self.multiplier < np.inf:
            raise self.damaged(f"its hash tables are {self.multiplier} times as large as what they hold")
        if not 1 <= self.counts[0] <= _MOST_WORDS:
            raise self.damaged(f"it counts {self.counts[0]} words")
        if max(self.counts) > 8 * self.size:  # a bit for each
            raise self.damaged(f"{self.size} bytes are too few for {max(self.counts)} n-grams")


def header(kind: int, counts: list[int], multiplier: float) -> bytes:
    """Return what is before the vocabulary of a file of a type, with these counts of n-grams."""
    text = struct.pack("<" + _SANITY, _SIGNATURE, *_TEST_VALUES)
    text += struct.pack(_PARAMETERS, len(counts), multiplier, kind, 1, _LAYOUT_VERSIONS[kind])
    text += struct.pack(f"<{len(counts)}Q", *counts)
    return text + bytes(-len(text) % 8)


def without_negative_zeros(values: np.ndarray) -> np.ndarray:
    """Return float32 values, with 0 for -0, which KenLM's search uses as flags.

    >>> without_negative_zeros(np.float32([-0.0, -1])).tolist()
    [0.0, -1.0]
    """
    with np.errstate(invalid="ignore"):  # damaged values are refused elsewhere
        return values + np.float32(0)


def word_hashes(words: list[bytes]) -> np.ndarray:
    """Return KenLM's hash of each word, (words,) uint64.

    >>> [hex(number) for number in word_hashes([b"<unk>", b"the"]).tolist()]
    ['0xea91e7561f5b392b', '0xa43b27ac1ae5a22b']
    """
    factor, shift = np.uint64(0xC6A4A7935BD1E995), np.uint64(47)
    hashes = np.empty(len(words), np.uint64)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    for length in np.unique(lengths).tolist():
        at = np.flatnonzero(lengths == length)
        rows = np.zeros((len(at), -(-length // 8) * 8), np.uint8)
        rows[:, :length] = np.frombuffer(b"".join(words[i] for i in at.tolist()), np.uint8).reshape(-1, length)
        found = np.full(len(at), length, np.uint64) * factor
        for number, block in enumerate(rows.view("<u8").T):
            if number < length // 8:
                block = block * factor
                block = (block ^ (block >> shift)) * factor
            found = (found ^ block) * factor
        found = (found ^ (found >> shift)) * factor
        hashes[at] = found ^ (found >> shift)
    return hashes


@dataclass
class KenlmWords:
    """The words by our ids, ``<s>``, ``</s>`` and ``<pad>`` last, and the id of each of KenLM's numbers."""

    words: list[str]
    ids: np.ndarray  # (KenLM's words,) int64


def words_by_id(file: KenlmFile, names: list[bytes], hashes: np.ndarray) -> KenlmWords:
    """Give ids to KenLM's words, whose vocabulary has these hashes from the second word on, (words - 1,) uint64.

    Raises:
        ValueError: the words are not those of the vocabulary, not UTF-8, or lack ``<s>`` or ``</s>``; or ``<pad>`` is
            one of them.
    """
    if not np.array_equal(word_hashes(names[1:]), hashes):
        raise file.damaged("its words do not have the hashes of its vocabulary")
    if len(set(names)) < len(names):
        raise file.damaged("a word occurs twice in its vocabulary")
    for mark in (BEGIN, END):
        if mark.encode() not in names:
            raise file.error(f"the vocabulary lacks {mark}, without which no text has a probability; {_REBUILD}")
    if PADDING.encode() in names:
        raise file.error(f"the word {PADDING} has the name that the tokenizer gives to padding; rename it")
    try:
        words = [name.decode() for name in names]
    except UnicodeDecodeError as error:
        rule = f"the word {quote(error.object)} is not UTF-8"
        raise file.error(f"{rule}; convert the ARPA file, for example with iconv -f latin1 -t utf-8") from None
    marks = [words.index(BEGIN), words.index(END)]
    order = np.concatenate([np.delete(np.arange(len(words)), marks), marks])
    ids = np.empty(len(words), np.int64)
    ids[order] = np.arange(len(words))
    return KenlmWords([words[i] for i in order.tolist()] + [PADDING], ids)
