# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The one reading of a corpus: its ids go into a file, and a sample says what the estimation will take."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.io.system import resident_bytes
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import Stream, check_longest, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import CHUNK_CHARACTERS
from hf_lecture_models.models.ngram.out_of_core.packed_windows import Packing, sort
from hf_lecture_models.tokenization.corpus import EncodedCorpus, encode_corpus
from hf_lecture_models.tokenization.splitting import chunk_texts

_SECONDS = {"numpy": 1e-7, "duckdb": 1e-6, "spark": 1e-6}  # about, of a token and an order


class Spool:
    """An encoded corpus in a file without a name: the system deletes it when it is closed, or the process dies.

    >>> with Spool() as spool:
    ...     _ = spool.add(np.array([7, 8, 9]), np.array([2, 1]))
    ...     _ = spool.add(np.array([5]), np.array([1]))
    ...     [ids.tolist() for ids, lengths in spool], spool.read().lengths.tolist()
    ([[7, 8, 9], [5]], [2, 1, 1])

    Args:
        folder: on whose disk; None: that of temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed by the caller's block)
        self._sizes: list[tuple[int, int]] = []  # ids and texts of each part

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def add(self, ids: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Write the ids of some texts, text after text, and the lengths of the texts; return both as written.

        Raises:
            OSError: the disk is full.
        """
        ids, lengths = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(lengths, np.int64)
        self._sizes.append((len(ids), len(lengths)))
        for array in (ids, lengths):
            self._file.write(array.data)
        self._file.flush()
        return ids, lengths

    @property
    def bytes(self) -> int:
        """Size of the file."""
        return sum(4 * ids + 8 * texts for ids, texts in self._sizes)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the parts as they were added, (ids,) int32 and (texts,) int64."""
        self._file.seek(0)
        for ids, texts in self._sizes:
            yield np.frombuffer(self._file.read(4 * ids), np.int32), np.frombuffer(self._file.read(8 * texts), np.int64)

    def read(self) -> EncodedCorpus:
        """Read all."""
        tokens, texts = np.sum(self._sizes, axis=0)
        corpus = EncodedCorpus(np.empty(tokens, np.int32), np.empty(texts, np.int64))
        tokens = texts = 0
        for ids, lengths in self:
            corpus.ids[tokens : tokens + len(ids)] = ids
            corpus.lengths[texts : texts + len(lengths)] = lengths
            tokens, texts = tokens + len(ids), texts + len(lengths)
        return corpus


@dataclass(frozen=True)
class Survey:
    """The size of a corpus, and what its estimation will take."""

    digest: str  # hash of the ids and lengths of all texts
    texts: int
    tokens: int  # `<s>` and `</s>` included
    memory: int  # bytes, if all is counted in memory
    disk: int  # bytes at most, out of core
    seconds: float  # about, out of core

    def __str__(self) -> str:
        return (
            f"{self.texts:,} texts, {self.tokens:,} tokens: in memory {size(self.memory)}; out of core "
            f"{size(self.disk)} of disk at most, about {max(self.seconds / 60, 0.1):.1f} minutes"
        )


def survey_texts(
    texts: Iterable[str],
    tokenizer: Any,
    config: NGramConfig,
    spool: Spool,
    engine: str = "numpy",
    progress: bool = False,
) -> Survey:
    """Read and encode all texts into a spool, and estimate what the estimation by an engine will take.

    Raises:
        ValueError: the corpus is empty, its texts are shorter than the order, or as `encode_corpus` and `make_stream`.
        OSError: the disk is full.
    """
    digests, begin = (hashlib.blake2b(), hashlib.blake2b()), time.perf_counter()
    count, tokens, longest, sampled, distinct = 0, 0, 0, 0, np.zeros(config.order)
    packing = Packing(config.order, config.vocab_size)
    for number, chunk in enumerate(chunk_texts(texts, progress, "reading", CHUNK_CHARACTERS), 1):
        corpus = encode_corpus(tokenizer, chunk, progress=False)
        for digest, array in zip(digests, spool.add(corpus.ids, corpus.lengths), strict=True):
            digest.update(array.data)
        count, tokens = count + len(chunk), tokens + len(corpus.ids) + 2 * len(chunk)
        longest = max(longest, int(corpus.lengths.max()) + 2)
        if number & (number - 1) == 0:  # 1, 2, 4, 8 ... only: sorting windows takes longer than encoding
            stream = make_stream(corpus.ids, corpus.lengths, config)
            sampled += len(stream.words)
            distinct += _distinct(stream, packing)
    if not count:
        make_stream(np.zeros(0, np.int64), np.zeros(0, np.int64), config)  # raises the error
    check_longest(longest, config.order)
    memory = tokens * (80 + 40 * config.order) + resident_bytes()
    disk = _disk(tokens, distinct / sampled, config, spool, engine)
    seconds = time.perf_counter() - begin + _SECONDS[engine] * tokens * config.order
    return Survey("".join(digest.hexdigest() for digest in digests), count, tokens, memory, disk, seconds)


def _disk(tokens: int, distinct: np.ndarray, config: NGramConfig, spool: Spool, engine: str) -> int:
    """Return the most bytes that are on disk at a time; `distinct` are the n-grams of each order by token."""
    numbered = 24 * distinct[1:].sum()
    if engine == "numpy":
        runs = 8 * Packing(config.order, config.vocab_size).columns
        windows, counted = runs, runs + numbered
    else:
        row = 4 * config.order + 8  # of a window with its count
        windows, counted = 4 * config.order, 4 * config.order + 2.5 * distinct[-1] * row
        numbered += distinct[-1] * row
    most = max(spool.bytes + windows * tokens, counted * tokens, numbered * tokens, 56 * distinct[1:].sum() * tokens)
    return int(most) + 64 * config.vocab_size + 10**6


def _distinct(stream: Stream, packing: Packing) -> np.ndarray:
    """Return how many different words begin the windows of a stream, then different two words, and so on: (order,)."""
    windows = packing.pack(stream)
    sort(windows)
    before = np.zeros(packing.columns, np.int64)
    return np.array([float(new.sum()) for new in packing.differences(before, windows)])


def size(count: float) -> str:
    """Format bytes.

    >>> size(1.5e9), size(2e6)
    ('1.5 GB', '2 MB')
    """
    return f"{count / 10**9:.1f} GB" if count >= 10**9 else f"{count / 10**6:.0f} MB"
