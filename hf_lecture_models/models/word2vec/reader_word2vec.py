# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
r"""Reading word2vec files. Both kinds begin with a line of two numbers: of words, and of numbers in each vector.

    text      a line for each word: the word and its numbers, separated by spaces; GloVe's files lack the first line,
              and some of their words have spaces
    binary    for each word its bytes, a space, and its numbers as little-endian float32; word2vec.c adds a line feed,
              gensim does not

What gensim reads, with `no_header=True` for GloVe's files, is read with the same result: of a word that is there twice
the first vector, and as many words as the first line says.

Memory is never allocated from an unchecked size: sizes that the file cannot hold are refused, and arrays grow with the
data that was read.
"""

import gzip
import os
import re
import warnings
import zlib
from collections.abc import Iterator
from itertools import count as count_up
from typing import Any, BinaryIO

import numpy as np

MAX_WORD_BYTES = 2**14
"""The longest word, in bytes; some files have whole phrases as words."""

_MAX_WIDTH, _MAX_HEADER, _MAX_NUMBER_BYTES = 2**16, 64, 64
# The most bytes that one byte of deflate can become (zlib's own documentation).
_INFLATION = 1032
_CHUNK = 2**18
_HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n")
_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1b]")  # white space is no sign of damage
_GZIP, _MARK, _FASTTEXT = b"\x1f\x8b", b"\xef\xbb\xbf", b"\xba\x16\x4f\x2f"
_OTHERS = {
    b"\x80": "a pickle, as gensim's own `save` writes: load it there and write it by `save_word2vec_format`",
    _FASTTEXT: "a fastText model (.bin), which makes words of pieces: read its .vec file",
    b"PK": "a zip archive: unpack it",
    b"BZh": "packed with bzip2: unpack it",
    b"\xfd7zXZ": "packed with xz: unpack it",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it",
}


class _Bytes:
    """A file, plain or gzip, read in pieces.

    Attributes:
        most: the largest number of bytes that the file can hold.
        lacks_last_line_feed: whether a line was taken that ends with the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.buffer, self.place, self.dropped = path, b"", 0, 0
        self.lacks_last_line_feed = False
        with open(path, "rb") as file:
            packed = file.read(2) == _GZIP
        size = os.path.getsize(path)
        self.most = size * _INFLATION if packed else size
        self.file: BinaryIO = gzip.open(path) if packed else open(path, "rb")  # type: ignore[assignment]  # noqa: SIM115

    def error(self, message: str) -> ValueError:
        return ValueError(f"{self.path}, byte {self.dropped + self.place}: {message}")

    def fill(self, size: int) -> None:
        """Read until the buffer holds `size` bytes ahead, or all that are left."""
        while len(self.buffer) - self.place < size:
            try:
                more = self.file.read(_CHUNK)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(f"{self.path}: damaged gzip file ({error}); copy it again") from None
            if not more:
                return
            self.dropped += self.place
            self.buffer, self.place = self.buffer[self.place :] + more, 0

    def peek(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end of the file, without passing them."""
        self.fill(size)
        return self.buffer[self.place : self.place + size]

    def take(self, size: int) -> bytes:
        """Return the next bytes and pass them."""
        taken = self.peek(size)
        self.place += len(taken)
        return taken

    def take_to(self, sign: bytes, most: int, what: str) -> bytes:
        """Return the bytes before the next `sign`, and pass both."""
        self.fill(most + 1)
        end = self.buffer.find(sign, self.place, self.place + most + 1)
        if end < 0:
            if len(self.buffer) - self.place <= most:
                raise self.error(
                    f"the file ends before {what} does; if it is not cut off, correct the number in its first line"
                )
            raise self.error(f"{what} is longer than {most} bytes; is `binary` as it should be?")
        found, self.place = self.buffer[self.place : end], end + 1
        return found

    def take_line(self, most: int, what: str) -> bytes:
        """Return the next line, and pass it; the last one may lack its line feed."""
        self.fill(most + 1)
        is_last = 0 < len(self.buffer) - self.place <= most and self.buffer.find(b"\n", self.place) < 0
        self.lacks_last_line_feed |= is_last
        return self.take(most) if is_last else self.take_to(b"\n", most, what)


def is_word2vec_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as word2vec's files do, GloVe's or fastText's models, which `read_word2vec` refuses.

    >>> is_word2vec_file(__file__)
    False

    Raises:
        OSError: the file cannot be read.
        ValueError: it is a damaged gzip file.
    """
    source = _Bytes(path)
    with source.file:
        head = source.peek(_MAX_HEADER)
        known = _HEADER.match(head.removeprefix(_MARK)) is not None or head.startswith(_FASTTEXT)
        return known or _width_without_header(source) > 0


def read_word2vec(
    path: str | os.PathLike[str], binary: bool | None = True, encoding: str = "utf-8", errors: str = "strict"
) -> tuple[list[str], np.ndarray]:
    """Read a word2vec file, plain or gzip whatever its name, or GloVe's text.

    A warning says which words are there twice, that there are more words than the first line says, that the last line
    has no end and may be cut off, and that words hold control characters, as where an earlier word held a space.

    Args:
        path: the file.
        binary: True for binary files, False for text files, None for either, whatever its name.
        encoding, errors: the words' encoding and the treatment of errors, as for `bytes.decode`.

    Returns:
        The words, each once, and their vectors, (words, width) float32.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is of another kind, cut off or damaged; the message says at which byte.
        LookupError: there is no such encoding.
    """
    "".encode(encoding, errors)
    source = _Bytes(path)
    with source.file:
        count, width, is_binary = _read_header(source, binary)
        words: dict[str, None] = {}
        rows, block, doubled = [], [], []
        for word, vector in (_binary_rows if is_binary else _text_rows)(source, count, width):
            text = _decoded(source, word, encoding, errors)
            if text in words:
                doubled.append(text)
                continue
            words[text] = None
            block.append(vector)
            if len(block) * width >= _CHUNK:
                rows.append(_finite(source, block, words))
                block = []
        rows.append(_finite(source, block, words))
        _warn_of_the_rest(source, count, doubled)
        _warn_of_damage(source, words)
    return list(words), np.concatenate([row for row in rows if len(row)])


def _warn_of_the_rest(source: _Bytes, count: int | None, doubled: list[str]) -> None:
    if doubled:
        warnings.warn(
            f"{source.path}: {len(doubled)} rows are of words that are there already, such as {doubled[0][:40]!r}; the "
            "first vector of each word is kept",
            stacklevel=3,
        )
    if source.peek(_MAX_HEADER).strip():
        warnings.warn(
            f"{source.path} has more than the {count} words of its first line; the others are left out", stacklevel=3
        )


def _warn_of_damage(source: _Bytes, words: dict[str, None]) -> None:
    if source.lacks_last_line_feed:
        warnings.warn(
            f"{source.path}: the last line does not end in a line feed; if the file was cut off there, its last number "
            "is wrong, and more words are missing",
            stacklevel=3,
        )
    if odd := [word for word in words if _CONTROLS.search(word)]:
        warnings.warn(
            f"{source.path}: {len(odd)} words hold control characters, such as {odd[0][:40]!r}; in a binary file the "
            "word before may have held a space, and its vector is then wrong",
            stacklevel=3,
        )


def _read_header(source: _Bytes, binary: bool | None) -> tuple[int | None, int, bool]:
    """Return the numbers of words (None without a header) and of numbers in each vector, and whether they are binary.

    Raises:
        ValueError: it is another file than `binary` says, or of another kind, or cannot be so large.
    """
    if source.peek(len(_MARK)) == _MARK:
        source.take(len(_MARK))
    head = source.peek(_MAX_HEADER)
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            raise ValueError(f"{source.path} is no word2vec file but {name}")
    match = _HEADER.match(head)
    if match is None and (width := _width_without_header(source)):
        if binary:
            raise ValueError(f"{source.path} is text, as GloVe's files: read it with binary=False")
        return None, width, False
    if match is None:
        raise ValueError(
            f"{source.path} begins with {head[:20]!r} and not with the number of words and their width, as word2vec "
            "files do, nor with a word and its numbers, as GloVe's do"
        )
    count, width = map(int, match.groups())
    if not count or not 0 < width <= _MAX_WIDTH:
        raise ValueError(f"{source.path}: {count} words of width {width}; widths are from 1 to {_MAX_WIDTH}")
    source.take(match.end())
    is_binary = not _is_text(source, width)
    # A word has at least one byte, a number four, or in text two with the space before it.
    if (least := count * (2 + (4 if is_binary else 2) * width) - 1) > source.most:
        raise ValueError(
            f"{source.path} says that it holds {count} words of width {width}, at least {least} bytes, but it can hold "
            f"{source.most} only; it is cut off, or its first line is wrong"
        )
    if binary not in (None, is_binary):
        raise ValueError(f"{source.path} is {'binary' if is_binary else 'text'}: read it with binary={is_binary}")
    return count, width, is_binary


def _is_text(source: _Bytes, width: int) -> bool:
    """Return whether the first line after the header ends in numbers: `width` of them, or as many as it has."""
    line = source.peek(MAX_WORD_BYTES + _MAX_NUMBER_BYTES * width).split(b"\n", 1)[0]
    numbers = line.rstrip().split(b" ")[1:][-width:]
    return bool(numbers) and all(map(_is_number, numbers))


def _width_without_header(source: _Bytes) -> int:
    """Return how many numbers follow the first word; 0 where it is not followed by two numbers and no others."""
    line = source.peek(MAX_WORD_BYTES + _MAX_NUMBER_BYTES * _MAX_WIDTH).split(b"\n", 1)[0]
    _, *numbers = line.rstrip().split(b" ")
    return len(numbers) if 1 < len(numbers) <= _MAX_WIDTH and all(map(_is_number, numbers)) else 0


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _binary_rows(source: _Bytes, count: int | None, width: int) -> Iterator[tuple[bytes, Any]]:
    assert count is not None
    for number in range(1, count + 1):
        word = source.take_to(b" ", MAX_WORD_BYTES, f"word {number} of {count}").lstrip(b"\n")
        data = source.take(4 * width)
        if len(data) < 4 * width:
            raise source.error(f"the file ends within the vector of word {number} of {count}; it is cut off")
        yield word, np.frombuffer(data, "<f4")


def _text_rows(source: _Bytes, count: int | None, width: int) -> Iterator[tuple[bytes, Any]]:
    longest = MAX_WORD_BYTES + _MAX_NUMBER_BYTES * width
    for number in count_up(1) if count is None else range(1, count + 1):
        what = f"line {number}:" if count is None else f"line {number + 1}, word {number} of {count}:"
        if count is None and not source.peek(_MAX_HEADER).strip():
            return
        word, *numbers = source.take_line(longest, what).rstrip().split(b" ")
        if len(numbers) > width and not _is_number(numbers[-width - 1]):
            word, numbers = b" ".join([word, *numbers[:-width]]).strip(b" "), numbers[-width:]
        if len(numbers) != width:
            raise source.error(f"{what} {len(numbers)} numbers follow the word, where {width} are needed")
        try:
            yield word, [float(text) for text in numbers]
        except ValueError as error:
            raise source.error(f"{what} {error}") from None


def _decoded(source: _Bytes, word: bytes, encoding: str, errors: str) -> str:
    try:
        text = word.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise source.error(
            f"the word {word[:40]!r} is not {encoding} ({error.reason}): read the file by "
            "Word2VecModel.from_word2vec_format with its encoding=, or with errors='replace'; if it is "
            "binary, the word before may hold a space: write the file again without it"
        ) from None
    if not text:
        raise source.error("a word is empty; correct the file")
    return text


def _finite(source: _Bytes, block: list[Any], words: dict[str, None]) -> np.ndarray:
    """Return the rows as one array, or raise an error that names the wrong one; `words` are all read so far."""
    with np.errstate(over="ignore"):
        array = np.array(block, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(1))
    if len(wrong):
        name = list(words)[len(words) - len(block) + int(wrong[0])]
        raise source.error(f"the vector of {name[:40]!r} holds NaN or infinity; leave the word out")
    return array
