# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Split texts into words at white space, as the Rust library's `WhitespaceSplit` does, for whole corpora.

Three implementations give the same words, as tests over all of Unicode show: the Rust pre-tokenizer inside a tokenizer,
`split_words` in Python, and Arrow's compute kernels, which are several times faster; `index_words` uses them where
pyarrow is installed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from operator import length_hint
from typing import Any

import numpy as np

from hf_lecture_models.io.progress import ProgressBar

# Unicode's property White_Space, which Rust splits at.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WORD = re.compile(f"[^{WHITE_SPACE}]+")
# The Rust library reads this pattern, too.
STRETCH = f"[{WHITE_SPACE}]*[^{WHITE_SPACE}]+|[{WHITE_SPACE}]+"
_STRETCH = re.compile(STRETCH)
_BEYOND_ASCII = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_TO_SPACES = bytes.maketrans(b"\t\n\v\f\r", b" " * 5)
_SURROGATE = re.compile("[\ud800-\udfff]")

# Each chunk encodes its distinct words again, so few large chunks are fast. This size needs about 150 MB.
CHUNK_CHARACTERS = 1 << 24
# Below this many characters, importing Arrow would cost more than it saves.
ARROW_CHARACTERS = 1 << 16


@dataclass(frozen=True)
class WordIndex:
    """The words of some texts, each distinct word written once.

    Attributes:
        words: the distinct words, in the order of their first occurrence.
        codes: (number of words,) int32, positions in `words`, text after text.
        lengths: (number of texts,) int64, words in each text; 0 for a blank one.
    """

    words: list[str]
    codes: np.ndarray
    lengths: np.ndarray

    def count(self) -> Counter[str]:
        """Return how often each word occurs.

        >>> WordIndex(["b", "a"], np.array([0, 1, 0]), np.array([2, 0, 1])).count()
        Counter({'b': 2, 'a': 1})
        """
        occurrences = np.bincount(self.codes, minlength=len(self.words)).tolist()
        return Counter(dict(zip(self.words, occurrences, strict=True)))

    def expand(self, ids: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens of the texts, text after text, and (texts,) int64, how many there are in each text.

        >>> index = WordIndex(["b", "a"], np.array([0, 1, 0]), np.array([2, 0, 1]))
        >>> index.expand(np.array([7, 8, 9]), np.array([2, 1]))
        (array([7, 8, 9, 7, 8]), array([3, 0, 2]))

        Args:
            ids: the tokens of the distinct words, word after word.
            sizes: (distinct words,) int64, tokens in each.
        """
        if (sizes == 1).all():
            return ids[self.codes], self.lengths
        return self._expand_parts(ids, sizes)

    def _expand_parts(self, ids: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = sizes[self.codes]
        ends = np.concatenate([[0], np.cumsum(tokens)])
        first = (np.cumsum(sizes) - sizes)[self.codes]
        places = np.arange(ends[-1]) + np.repeat(first - ends[:-1], tokens)
        return ids[places], np.diff(ends[np.concatenate([[0], np.cumsum(self.lengths)])])


def count_parts(words: Mapping[str, int], split: Callable[[str], Iterable[str]] = iter) -> Counter[str]:
    """Return how often each part occurs in words that occur so often; by default each character.

    >>> count_parts({"ab": 2, "b": 1})
    Counter({'b': 3, 'a': 2})
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for part in split(word):
            counts[part] += count
    return counts


def splitter(pre_tokenizer: Any) -> Callable[[str], list[str]]:
    """Return the function that splits a text as a pre-tokenizer of the Rust library does."""
    return lambda text: [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def flatten_ids(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of rows, row after row, and the length of each row.

    >>> flatten_ids([[5, 6], [7]])
    (array([5, 6, 7], dtype=int32), array([2, 1]))

    Returns:
        (ids,) int32, and (rows,) int64.
    """
    return np.fromiter(chain.from_iterable(rows), np.int32), np.fromiter(map(len, rows), np.int64, len(rows))


def split_rows(values: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows that are joined in `values`, as views; np.split takes ten times as long for short rows.

    >>> [row.tolist() for row in split_rows(np.array([5, 6, 7]), np.array([2, 0, 1]))]
    [[5, 6], [], [7]]
    """
    bounds = [0, *np.cumsum(lengths).tolist()]
    return (values[first:end] for first, end in pairwise(bounds))


def split_words(text: str) -> list[str]:
    r"""Split `text` at white space as the Rust library does.

    >>> split_words(" a\tb\u3000c\x1fd ")
    ['a', 'b', 'c\x1fd']
    """
    # Which str.split() would split at, too.
    if "\x1c" in text or "\x1d" in text or "\x1e" in text or "\x1f" in text:
        return WORD.findall(text)
    return text.split()


def shorten(text: str, length: int = 60) -> str:
    """Quote `text` for an error message, cut at `length` characters.

    >>> shorten("word"), shorten("x" * 99, 3)
    ("'word'", "'xxx'...")
    """
    return ascii(text[:length]) + ("..." if len(text) > length else "")


def refuse_surrogates(text: str) -> None:
    """Raise a ValueError if `text` has a lone surrogate, half of a UTF-16 pair, which UTF-8 cannot encode."""
    if found := _SURROGATE.search(text):
        raise ValueError(
            f"character {found.start()} of the text {shorten(text)} is the lone surrogate U+{ord(found[0]):04X}, which "
            "is no Unicode text; decode the source as UTF-16, or replace it with text.encode('utf-8', 'replace')"
        )


@contextmanager
def surrogate_errors(texts: Iterable[str]) -> Iterator[None]:
    """Name the text and its lone surrogate where the block fails because of one."""
    try:
        yield
    except (UnicodeEncodeError, TypeError):
        for text in texts:
            refuse_surrogates(text)
        raise


def chunk_texts(
    texts: Iterable[str], progress: bool = False, desc: str | None = None, characters: int = CHUNK_CHARACTERS
) -> Iterator[list[str]]:
    """Yield `texts` in lists of about `characters` characters, so that a streamed corpus needs bounded memory.

    With `progress`, a bar counts the texts on a terminal. Anything but an iterable of str is a TypeError.
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be an iterable of str, such as a list or a file's lines, not a {_kind(texts)}")
    is_plain = isinstance(texts, list) and not progress and set(map(type, texts)) == {str}
    if is_plain and sum(map(len, texts)) + length_hint(texts) <= characters:
        yield list(texts)
        return
    total = length_hint(texts) or None
    chunk: list[str] = []
    size = 0
    with ProgressBar(total=total, desc=desc, unit=" texts", unit_scale=True, shown=progress) as bar:
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"texts must hold str only, but text {position} (from 0) is a {_kind(text)}")
            chunk.append(text)
            size += len(text) + 1
            if size >= characters:
                yield chunk
                bar.update(len(chunk))
                chunk, size = [], 0
        if chunk:
            yield chunk
            bar.update(len(chunk))


class SplitTexts:
    """Texts that are split into words only once, for a vocabulary and then for the ids.

    They can be iterated over like a list. They keep four bytes for each word.

    >>> texts = SplitTexts(["a cat", "a dog"])
    >>> list(texts), [index.words for index in index_chunks(texts)]
    (['a cat', 'a dog'], [['a', 'cat', 'dog']])

    Raises:
        TypeError: see `chunk_texts`.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(chain.from_iterable(chunk_texts(texts)))
        self._indices: list[WordIndex] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def indices(
        self, progress: bool = False, desc: str | None = None, characters: int = CHUNK_CHARACTERS
    ) -> list[WordIndex]:
        """Return the words, chunk by chunk; arguments and errors are those of `chunk_texts`."""
        if self._indices is None:
            self._indices = [index_words(chunk) for chunk in chunk_texts(self._texts, progress, desc, characters)]
        return self._indices


def index_chunks(
    texts: Iterable[str], progress: bool = False, desc: str | None = None, characters: int = CHUNK_CHARACTERS
) -> Iterator[WordIndex]:
    """Return the words of `texts`, chunk by chunk; `SplitTexts` are split once. Errors are those of both."""
    if isinstance(texts, SplitTexts):
        return iter(texts.indices(progress, desc, characters))
    return map(index_words, chunk_texts(texts, progress, desc, characters))


def index_words(texts: list[str]) -> WordIndex:
    r"""Split `texts` and number their distinct words: long texts through Arrow where it is installed, else in Python.

    >>> index = index_words(["b a b", "", "a\n"])
    >>> index.words, index.codes.tolist(), index.lengths.tolist()
    (['b', 'a'], [0, 1, 0, 1], [3, 0, 1])

    Raises:
        ValueError: a text holds a lone surrogate.
    """
    with surrogate_errors(texts):
        if sum(map(len, texts)) >= ARROW_CHARACTERS and arrow():
            return _index_with_arrow(texts)
        return _index(map(split_words, texts))


def count_words(texts: Iterable[str], index: Callable[[list[str]], WordIndex], progress: bool) -> Counter[str]:
    """Return how often each word of `texts` occurs; `index` splits a chunk of them."""
    counts: Counter[str] = Counter()
    for chunk in chunk_texts(texts, progress, desc="counting words"):
        counts.update(index(chunk).count())
    return counts


def index_stretches(texts: list[str]) -> WordIndex:
    r"""Split `texts` into words with the white space before them, and number the distinct ones.

    White space at the end of a text is a word of its own. GPT-2's pattern never joins a visible character and the white
    space after it, so no token crosses the border of such words.

    >>> index = index_stretches(["a b a\n", "a"])
    >>> index.words, index.codes.tolist(), index.lengths.tolist()
    (['a', ' b', ' a', '\n'], [0, 1, 2, 3, 0], [4, 1])
    """
    with surrogate_errors(texts):
        return _index(map(_STRETCH.findall, texts))


def _index(rows: Iterable[list[str]]) -> WordIndex:
    positions: defaultdict[str, int] = defaultdict()
    positions.default_factory = positions.__len__
    codes: list[int] = []
    lengths: list[int] = []
    for words in rows:
        lengths.append(len(words))
        codes.extend(map(positions.__getitem__, words))
    "".join(positions).encode()  # raises UnicodeEncodeError at a lone surrogate, as Arrow does
    return WordIndex(list(positions), np.array(codes, np.int32), np.array(lengths, np.int64))


@cache
def arrow() -> Any:
    """Return the module pyarrow with its compute kernels, or None where it is not installed."""
    try:
        import pyarrow.compute
    except ImportError:
        return None
    return pyarrow


def _index_with_arrow(texts: list[str]) -> WordIndex:
    # White space beyond ASCII, none of it printable, is replaced; then all words end at one of six bytes.
    texts = [text if text.isascii() or text.isprintable() else _BEYOND_ASCII.sub(" ", text) for text in texts]
    rows = [text.encode() for text in texts]
    ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)) + 1)
    characters, bounds = _cut_at_spaces(b" ".join([*rows, b""]))
    # `pyarrow.array` and `to_numpy` would import pandas, which takes longer than splitting a million words.
    offsets, raw = map(arrow().py_buffer, (np.concatenate([[0], bounds]), characters))
    index = arrow().LargeStringArray.from_buffers(len(bounds), offsets, raw).dictionary_encode()
    _, places, joined = index.dictionary.buffers()
    joined = joined.to_pybytes()[: np.frombuffer(places, np.int64)[len(index.dictionary)]]
    words, codes = joined.decode().split(" ")[:-1], np.from_dlpack(index.indices)
    last = np.searchsorted(bounds, ends, side="right")  # pieces up to the end of each text
    if "" in words:
        empty = words.index("")
        is_word = codes != empty
        last -= np.searchsorted(np.flatnonzero(~is_word), last)
        codes = codes[is_word]
        codes -= codes > empty
        del words[empty]
    return WordIndex(words, codes.astype(np.int32, copy=False), np.diff(last, prepend=0))


def _cut_at_spaces(characters: bytes) -> tuple[bytes, np.ndarray]:
    r"""Return the UTF-8 with a space for each white-space character of ASCII, and the place after each space.

    A piece is all up to a space, with that space; a space alone, as after another one, is not a word.

    >>> _cut_at_spaces(b"a\ta  ")
    (b'a a  ', array([2, 4, 5]))
    """
    is_space = np.frombuffer(characters, np.uint8) - np.uint8(ord("\t")) <= ord("\r") - ord("\t")
    if is_space.any():
        characters = characters.translate(_TO_SPACES)
    return characters, np.flatnonzero(np.frombuffer(characters, np.uint8) == ord(" ")) + 1


def _kind(value: object) -> str:
    return "single str" if isinstance(value, str) else type(value).__name__
