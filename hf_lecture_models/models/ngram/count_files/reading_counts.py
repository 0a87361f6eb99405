# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Read count files: SRILM's, and Google's tables of n-grams (`google_tables.py`).

SRILM (`ngram-count -write`): one n-gram on each line, its words, and last its count, between white space. All orders
may be in one file, in any order of the lines; n-grams that occur again are added. Blank lines are skipped.

Deviations:
    - A line that is not an n-gram with a count is an error. SRILM takes the lines before it, and no others.
    - A line that begins with `##` is an n-gram. SRILM takes it for a comment.
    - A count must be a whole number; SRILM reads 3.5 as 3.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import compress
from pathlib import Path

import numpy as np

from hf_lecture_models.io.packing import file_suffix, is_damage, packing_of, unpacked
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.count_files.google_tables import (
    BOOKS_MARKS,
    WEB_MARKS,
    BadLine,
    folder_files,
    is_books,
    without_years,
)
from hf_lecture_models.models.ngram.count_files.word_counts import LARGEST_COUNT, NGramWordCounts, add_rows, from_rows
from hf_lecture_models.models.ngram.files.arpa_format import quote

SUFFIXES = (".counts", ".count")
"""Of count files."""
BLOCK_BYTES, MAX_LINE_BYTES = 1 << 22, 1 << 22
LONGEST = 64
"""Words in an n-gram: a longer line is a text."""
_BINARY = b"SRILM_BINARY_COUNTS_"
_CONTROLS = b"\0\v\f"
_Path = str | os.PathLike[str]


def is_counts_name(path: _Path) -> bool:
    """Return whether a path is that of counts: a file NAME.counts, packed or not, or a folder, as Google's are.

    >>> is_counts_name("texts.counts.gz"), is_counts_name("texts.txt")
    (True, False)
    """
    return file_suffix(os.fspath(path)) in SUFFIXES or os.path.isdir(path)


def read_counts(paths: _Path | Iterable[_Path], order: int | None = None, progress: bool = True) -> NGramWordCounts:
    r"""Return the counts of one or several count files together.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.counts").write_text("the\t2\nthe cat\t2\ncat\t1\n")
    ...     _ = Path(folder, "b.counts").write_text("cat\t3\n")
    ...     counts = read_counts([f"{folder}/a.counts", f"{folder}/b.counts"])
    >>> counts.count("the cat"), counts.count("cat")
    (2, 4)

    Args:
        paths: SRILM's count files; Google Books' files of 2012 or 2020; or Google's Web 1T folders. Files may be packed
            (gzip, bzip2, xz, zstd), and may hold some orders or words each.
        order: longer n-grams are left out; None: none are.

    Raises:
        OSError: a file cannot be read.
        ValueError: a line is not an n-gram with its count, or the file is of a kind that is not read; both are named.
    """
    if order is not None and order < 1:
        raise ValueError(f"order is {order}; n-grams have at least 1 word")
    reader = _Reader(LONGEST if order is None else order)
    with ProgressBar(desc="reading counts", unit=" lines", unit_scale=True, shown=progress) as bar:
        for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
            if Path(path).is_dir():
                for file in folder_files(Path(path), order):
                    reader.read(file, bar, is_web=True)
            else:
                reader.read(Path(path), bar)
    return reader.counts()


class _Numbers(dict[bytes, int]):
    """Numbers words when they are first looked up; a mark has the number of its usual spelling in `shared`."""

    def __init__(self, shared: _Numbers | None = None, marks: dict[bytes, bytes] | None = None) -> None:
        super().__init__()
        self.shared, self.marks = shared, marks or {}

    def __missing__(self, word: bytes) -> int:
        number = len(self) if self.shared is None else self.shared[self.marks.get(word, word)]
        self[word] = number
        return number


class _Reader:
    """The n-grams of several files, in the order of their lines; words are numbered over all files."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.numbers = _Numbers()
        self.web, self.books = _Numbers(self.numbers, WEB_MARKS), _Numbers(self.numbers, BOOKS_MARKS)
        self.rows: list[list[np.ndarray]] = []  # [n-1], blocks of (n-grams, n)
        self.occurrences: list[list[np.ndarray]] = []

    def read(self, path: Path, bar: ProgressBar, is_web: bool = False) -> None:
        """Read one file; with `is_web`, one of Google's Web 1T."""
        numbers, has_years = self.web if is_web else self.numbers, False
        for first, block in _blocks(path):
            if first == 1 and not is_web:
                has_years = _has_years(path, block)
                numbers = self.books if has_years else numbers
            before = len(self.numbers)
            try:
                self._take(without_years(block) if has_years else block, numbers, has_years)
            except BadLine as error:
                raise ValueError(f"{path}, line {first + error.line}: {error}") from None
            self._check_words(path, before)
            bar.update(block.count(b"\n"))

    def _take(self, block: bytes, numbers: _Numbers, adds: bool) -> None:
        """Take the n-grams of whole lines; with `adds`, those that occur again are added at once."""
        cells, (lines, sizes) = block.split(), _cells_per_line(block)
        _check_sizes(cells, lines, sizes)
        is_count = np.zeros(len(cells), np.uint8)
        is_count[np.cumsum(sizes) - 1] = 1
        counts = _whole_numbers([*compress(cells, is_count.tobytes())], lines)
        words = compress(cells, (1 - is_count).tobytes())
        ids = np.fromiter(map(numbers.__getitem__, words), np.int32, len(cells) - len(sizes))
        sizes = sizes - 1
        starts = np.cumsum(sizes) - sizes
        for n in np.unique(sizes[sizes <= self.longest]).tolist():
            some = np.flatnonzero(sizes == n)
            rows, found = ids[starts[some, None] + np.arange(n)], counts[some]
            self._append(n, *(add_rows(rows, found, len(self.numbers)) if adds else (rows, found)))

    def _append(self, n: int, rows: np.ndarray, counts: np.ndarray) -> None:
        while len(self.rows) < n:
            self.rows.append([np.zeros((0, len(self.rows) + 1), np.int32)])
            self.occurrences.append([np.zeros(0, np.int64)])
        self.rows[n - 1].append(rows)
        self.occurrences[n - 1].append(counts)

    def _check_words(self, path: Path, before: int) -> None:
        """Refuse words since number `before` that are not UTF-8."""
        new = [*self.numbers][before:] if len(self.numbers) > before else []
        try:
            b" ".join(new).decode()
        except UnicodeDecodeError:
            word = next(word for word in new if word.decode(errors="ignore").encode() != word)
            rule = f"{path}: the word {quote(word)} is not UTF-8"
            raise ValueError(f"{rule}; convert the file, for example with iconv -f latin1 -t utf-8") from None

    def counts(self) -> NGramWordCounts:
        """Return all counts; the reader is empty afterwards."""
        if not any(len(block) for blocks in self.rows for block in blocks):
            raise ValueError("the count files are empty: there is no n-gram in them")
        rows = [np.concatenate(self.rows.pop(0)) for _ in range(len(self.rows))]
        occurrences = [np.concatenate(self.occurrences.pop(0)) for _ in range(len(self.occurrences))]
        return from_rows([word.decode() for word in self.numbers], rows, occurrences)


def _has_years(path: Path, block: bytes) -> bool:
    try:
        return is_books(block.partition(b"\n")[0])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _cells_per_line(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the lines that are not blank, by number from 0, and how many cells each has: (lines,) both."""
    characters = np.frombuffer(block, np.uint8)
    is_space = (characters == 32) | (characters - np.uint8(9) <= 4)
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    cells = np.diff(np.cumsum(begins)[characters == 10], prepend=0)
    lines = np.flatnonzero(cells)
    return lines, cells[lines]


def _check_sizes(cells: list[bytes], lines: np.ndarray, sizes: np.ndarray) -> None:
    bad = np.flatnonzero((sizes < 2) | (sizes > LONGEST + 1))
    if len(bad):
        size, line = int(sizes[bad[0]]), int(lines[bad[0]])
        first = quote(cells[int(sizes[: bad[0]].sum())])
        rule = f"{first} stands alone" if size == 1 else f"the line has {size} words from {first} on"
        raise BadLine(f"{rule}, where a count file has an n-gram and its count; is this a text?", line)


def _whole_numbers(texts: list[bytes], lines: np.ndarray) -> np.ndarray:
    try:
        if b"".join(texts).isdigit() or not texts:
            counts = np.array([*map(int, texts)], np.int64)
            if counts.max(initial=0) <= LARGEST_COUNT:
                return counts
    except OverflowError:
        pass
    place = next(i for i, text in enumerate(texts) if not text.isdigit() or int(text) > LARGEST_COUNT)
    rule = f"the count is {quote(texts[place])}; it must be a whole number up to {LARGEST_COUNT}"
    raise BadLine(f"{rule} (fractions, as ngram-count -float-counts writes them, are not read)", int(lines[place]))


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines of a file, packed or not, in blocks, each with the number of its first line."""
    number, rest = 1, b""
    with open(path, "rb") as file:
        packing = packing_of(file.peek(8))
        try:
            with unpacked(file, packing) as text:
                while block := text.read(BLOCK_BYTES):
                    lines, end, begun = block.rpartition(b"\n")
                    if len(rest) + len(block) > BLOCK_BYTES + MAX_LINE_BYTES:
                        raise ValueError(
                            f"{path}, line {number}: longer than {MAX_LINE_BYTES} bytes; is this a count file?"
                        )
                    if end:
                        yield number, (found := _checked(path, number, rest + lines + end))
                        number += found.count(b"\n")
                    rest = begun if end else rest + block
        except Exception as error:
            if packing is None or not is_damage(error):
                raise
            raise OSError(f"{path}, after line {number - 1}: damaged {packing} file ({error}); copy it again") from None
    if rest:
        yield number, _checked(path, number, rest + b"\n")


def _checked(path: Path, number: int, block: bytes) -> bytes:
    """Return a block without a byte order mark, or refuse one that is not of text."""
    if number == 1:
        if block.startswith(_BINARY):
            rule = f"{path} is one of SRILM's binary count files, which are not read"
            raise ValueError(f"{rule}; write text: ngram-count -read {path.name} -write NAME")
        block = block.removeprefix(b"\xef\xbb\xbf")
    if any(byte in block for byte in _CONTROLS) or block.count(b"\r") != block.count(b"\r\n"):
        rule = "a NUL, vertical tab, form feed or bare carriage return stands in the lines"
        raise ValueError(f"{path}, line {number} and after: {rule}; is this a count file, in UTF-8?")
    return block
