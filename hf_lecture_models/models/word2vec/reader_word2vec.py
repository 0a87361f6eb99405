# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
r"""Reading word2vec files. Both kinds begin with a line of two numbers: of words, and of numbers in each vector.

    text      a line for each word: the word and its numbers, separated by spaces; a last line without line feed may be
              cut off within a number, and is refused
    binary    for each word its bytes, a space, and its numbers as little-endian float32; word2vec.c adds a line feed,
              gensim does not

Memory is never allocated from an unchecked size: sizes that the file cannot hold are refused, and arrays grow with the
data that was read.
"""

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

MAX_WORD_BYTES = 2**14
"""The longest word, in bytes; some files have whole phrases as words."""

_MAX_WIDTH, _MAX_HEADER, _MAX_NUMBER_BYTES = 2**16, 64, 64
# The most bytes that one byte of deflate can become (zlib's own documentation).
_INFLATION = 1032
_CHUNK = 2**18
_HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n")
_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"\x80": "a pickle, as gensim's own `save` writes: load it there and write it by `save_word2vec_format`",
    b"\xba\x16\x4f\x2f": "a fastText model (.bin), which makes words of pieces: read its .vec file, with binary=False",
    b"PK": "a zip archive: unpack it",
}


class _Bytes:
    """A file, plain or gzip, read in pieces.

    Attributes:
        most: the largest number of bytes that the file can hold.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.buffer, self.place, self.dropped = path, b"", 0, 0
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
                raise self.error(f"the file ends within {what}; it is cut off, so copy or download it again")
            raise self.error(f"{what} is longer than {most} bytes; is `binary` as it should be?")
        found, self.place = self.buffer[self.place : end], end + 1
        return found


def read_word2vec(
    path: str | os.PathLike[str], binary: bool = True, encoding: str = "utf-8", errors: str = "strict"
) -> tuple[list[str], np.ndarray]:
    """Read a word2vec file, plain or gzip whatever its name.

    Args:
        path: the file.
        binary: True for binary files, False for text files.
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
        count, width = _read_header(source, binary)
        words: dict[str, None] = {}
        rows, block = [], []
        for word, vector in (_binary_rows if binary else _text_rows)(source, count, width):
            _add_word(source, words, word, encoding, errors)
            block.append(vector)
            if len(block) * width >= _CHUNK:
                rows.append(_finite(source, block, words))
                block = []
        rows.append(_finite(source, block, words))
        if rest := source.peek(_MAX_HEADER).strip():
            raise source.error(f"{rest[:20]!r} follows the last of {count} words; the number of words is wrong")
    return list(words), np.concatenate([row for row in rows if len(row)])


def _read_header(source: _Bytes, binary: bool) -> tuple[int, int]:
    head = source.peek(_MAX_HEADER)
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            raise ValueError(f"{source.path} is no word2vec file but {name}")
    match = _HEADER.match(head.removeprefix(b"\xef\xbb\xbf"))
    if match is None:
        raise ValueError(
            f"{source.path} begins with {head[:20]!r} and not with the number of words and their width, as word2vec "
            "files do; of a GloVe file, write them into a first line"
        )
    count, width = map(int, match.groups())
    if not count or not 0 < width <= _MAX_WIDTH:
        raise ValueError(f"{source.path}: {count} words of width {width}; widths are from 1 to {_MAX_WIDTH}")
    # A word has at least one byte, a number four, or in text two with the space before it.
    if (least := count * (2 + (4 if binary else 2) * width)) > source.most:
        raise ValueError(
            f"{source.path} says that it holds {count} words of width {width}, at least {least} bytes, but it can hold "
            f"{source.most} only; it is cut off, or not of the kind binary={binary}"
        )
    source.take(len(head) - len(head.removeprefix(b"\xef\xbb\xbf")) + match.end())
    return count, width


def _binary_rows(source: _Bytes, count: int, width: int) -> Iterator[tuple[bytes, Any]]:
    for number in range(1, count + 1):
        word = source.take_to(b" ", MAX_WORD_BYTES, f"word {number} of {count}").lstrip(b"\n")
        data = source.take(4 * width)
        if len(data) < 4 * width:
            raise source.error(f"the file ends within the vector of word {number} of {count}; it is cut off")
        yield word, np.frombuffer(data, "<f4")


def _text_rows(source: _Bytes, count: int, width: int) -> Iterator[tuple[bytes, Any]]:
    longest = MAX_WORD_BYTES + _MAX_NUMBER_BYTES * width
    for number in range(1, count + 1):
        what = f"line {number + 1}, word {number} of {count}"
        line = source.take_to(b"\n", longest, what)
        word, *numbers = line.rstrip().split(b" ")
        if len(numbers) != width:
            raise source.error(f"{what}: {len(numbers)} numbers follow the word, where {width} are needed")
        try:
            yield word, [float(text) for text in numbers]
        except ValueError as error:
            raise source.error(f"{what}: {error}") from None


def _add_word(source: _Bytes, words: dict[str, None], word: bytes, encoding: str, errors: str) -> None:
    try:
        text = word.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise source.error(
            f"the word {word[:40]!r} is not {encoding} ({error.reason}); give its encoding, or errors='replace'"
        ) from None
    if not text or text in words:
        raise source.error(f"the word {text[:40]!r} is {'there twice' if text else 'empty'}; correct the file")
    words[text] = None


def _finite(source: _Bytes, block: list[Any], words: dict[str, None]) -> np.ndarray:
    """Return the rows as one array, or raise an error that names the wrong one; `words` are all read so far."""
    with np.errstate(over="ignore"):
        array = np.array(block, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(1))
    if len(wrong):
        name = list(words)[len(words) - len(block) + int(wrong[0])]
        raise source.error(f"the vector of {name[:40]!r} holds NaN or infinity; leave the word out")
    return array
