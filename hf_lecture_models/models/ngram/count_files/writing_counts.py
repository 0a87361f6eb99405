# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write count files as SRILM's `ngram-count -sort -write` does: `w_1 w_2 <tab> count`, each n-gram before longer ones.

    a       3
    a b     2
    a b c   1
    a d     1
    b       2

Lines are sorted by the bytes of the words, which `ngram-merge` needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.packing import packed as packing
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts, packed
from hf_lecture_models.models.ngram.files.arpa_format import check_spellings

LINES_PER_WRITE = 1 << 16


def write_counts(counts: NGramWordCounts, path: str | os.PathLike[str], progress: bool = False) -> None:
    r"""Write a count file, packed if the name ends in `.gz`, `.bz2`, `.xz` or `.zst`.

    >>> import tempfile
    >>> from hf_lecture_models.models.ngram.count_files.counting_texts import count_texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(count_texts(["a b"], order=2), f"{folder}/a.counts")
    ...     print(open(f"{folder}/a.counts").read().replace("\t", " "))
    </s> 1
    <s> 1
    <s> a 1
    a 1
    a b 1
    b 1
    b </s> 1
    <BLANKLINE>

    Raises:
        OSError: the file cannot be written; an older file of this name is untouched.
        ValueError: a word is empty or has white space, which separates words in the file.
    """
    check_spellings(counts.words, "a count file")
    spellings = np.array([word.encode() for word in counts.words], object)
    total = sum(counts.sizes)
    bar = ProgressBar(total=total, desc="writing", unit=" n-grams", unit_scale=True, shown=progress)
    with staged_file(path) as stage, open(stage, "wb") as raw, packing(raw, path) as file, bar:
        for parts in _parts(counts):
            lines = _lines(counts, parts, spellings)
            file.write(b"".join(lines))
            bar.update(len(lines))


def _parts(counts: NGramWordCounts) -> Iterator[list[slice]]:
    """Yield the rows of each order that begin with the next few first words."""
    first_words = [np.ascontiguousarray(rows[:, 0]) for rows in counts.ngrams]
    words = np.arange(len(counts.words) + 1)
    bounds = np.array([np.searchsorted(column, words) for column in first_words])  # (order, words + 1)
    ends = bounds.sum(0)
    first = 0
    while first < len(counts.words):
        last = max(int(np.searchsorted(ends, ends[first] + LINES_PER_WRITE, side="right")) - 1, first + 1)
        yield [slice(*pair) for pair in zip(bounds[:, first].tolist(), bounds[:, last].tolist(), strict=True)]
        first = last


def _lines(counts: NGramWordCounts, parts: list[slice], spellings: np.ndarray) -> list[bytes]:
    """Return the lines of some rows of each order, sorted."""
    lines: list[bytes] = []
    padded = []
    for n, part in enumerate(parts, 1):
        rows = counts.ngrams[n - 1][part]
        texts = map(b" ".join, zip(*(spellings[column] for column in rows.T), strict=True))
        lines += map(b"%b\t%d\n".__mod__, zip(texts, counts.occurrences[n - 1][part].tolist(), strict=True))
        padded.append(np.pad(rows + 1, ((0, 0), (0, counts.order - n))))  # 0 sorts before all words
    columns = packed(np.concatenate(padded), len(counts.words) + 1)
    return list(map(lines.__getitem__, np.lexsort(columns[::-1]).tolist()))
