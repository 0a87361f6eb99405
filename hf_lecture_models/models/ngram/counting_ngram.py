# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""From token ids to the counts of n-grams.

Every text is the stream `<s> w_1 ... w_L </s>`, and n-grams do not cross texts. The n-grams that end at each position
of the stream are numbered order by order, from the number of the (n-1)-gram one place to the left and the word (the
keys of `NGramTrie`): one sort per order gives the table, the counts and the numbers for the next order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.tokenization.corpus import read_training_lines


class FileTexts:
    """The lines of a file as texts, read from its beginning by each iteration.

    Raises:
        FileNotFoundError: there is no such file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no file {path!r}; give texts as a list of str, or as a file's path")

    def __iter__(self) -> Iterator[str]:
        return read_training_lines(self.path)


@dataclass(frozen=True)
class Stream:
    """A corpus with `<s>` and `</s>` around each text: (tokens,) ids, and (tokens,) places in their text from 0."""

    words: np.ndarray
    places: np.ndarray


@dataclass(frozen=True)
class NGramCounts:
    """The distinct n-grams of one order, sorted by key; (n-grams,) each."""

    keys: np.ndarray  # prefix × vocabulary + last word
    occurrences: np.ndarray  # `<s>` itself counts 0: it is never predicted
    suffixes: np.ndarray  # index, among the (n-1)-grams, of the n-gram without its first word
    starts: np.ndarray  # bool: the first word is `<s>`


def make_stream(ids: np.ndarray, lengths: np.ndarray, config: NGramConfig, dtype: type = np.int64) -> Stream:
    """Put `<s>` and `</s>` around each text.

    The ids, (tokens,), are text after text, without special tokens; the lengths are (texts,). The words are of the
    dtype; the places are int32 in a stream of less than 2^31 tokens. A ValueError names an empty corpus, lengths that
    do not add up, or an id that is special or not in the vocabulary.
    """
    ids, lengths = np.asarray(ids), np.asarray(lengths, np.int64)
    if len(lengths) == 0:
        raise ValueError("the corpus is empty: there is no text to count; check the path or the iterable")
    if lengths.min() < 0 or lengths.sum() != len(ids):
        raise ValueError(f"the lengths add up to {lengths.sum()} tokens, but there are {len(ids)} ids")
    if len(ids) and not 0 <= ids.min() <= ids.max() < config.vocab_size:
        raise ValueError(f"a token id is outside the vocabulary of {config.vocab_size}; use the model's own tokenizer")
    if config.bos_token_id is None or config.eos_token_id is None:
        raise ValueError("NGramConfig.bos_token_id and eos_token_id are needed to mark where texts begin and end")
    for special in {config.bos_token_id, config.eos_token_id, config.pad_token_id} - {None}:
        if (ids == special).any():
            raise ValueError(f"special token {special} is inside a text; encode texts without special tokens")
    ends = np.cumsum(lengths + 2) - 1  # where the texts' </s> are
    tokens = int(ends[-1]) + 1
    words: np.ndarray = np.full(tokens, config.bos_token_id, dtype)
    words[ends] = config.eos_token_id
    inside = np.ones(tokens, bool)
    inside[ends] = inside[ends - lengths - 1] = False
    words[inside] = ids
    places: np.ndarray = np.arange(tokens, dtype=np.int32 if tokens < 2**31 else np.int64)
    places -= np.repeat((ends - lengths - 1).astype(places.dtype), lengths + 2)
    return Stream(words, places)


def check_longest(longest: int, order: int) -> None:
    """Raise a ValueError if the longest text, of so many tokens with `<s>` and `</s>`, has no n-gram of the order."""
    if longest < order:
        raise ValueError(
            f"the corpus is shorter than the order: its longest text has {longest} tokens with <s> and </s>, "
            f"no {order}-gram; give longer texts or order={longest} at most"
        )


def count_ngrams(stream: Stream, config: NGramConfig, bar: tqdm | None = None) -> list[NGramCounts]:
    """Count the n-grams of a stream, of orders 1 to `config.order`."""
    vocab_size = config.vocab_size
    unigrams = np.arange(vocab_size)
    events = np.bincount(stream.words[stream.places > 0], minlength=vocab_size)
    counts = [NGramCounts(unigrams, events, unigrams, unigrams == config.bos_token_id)]
    shorter = stream.words  # the (n-1)-grams that end at each position
    for n in range(2, config.order + 1):
        keys, ends = _sort_ngrams(stream, shorter, n, vocab_size)
        new = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        total, keys = len(keys), keys[new]
        suffixes = shorter.take(ends[new])
        if n < config.order:
            shorter = np.empty(len(shorter), stream.places.dtype)
            shorter[ends] = np.cumsum(new, dtype=shorter.dtype) - 1
        del ends
        occurrences = np.flatnonzero(new)
        np.subtract(np.append(occurrences[1:], total), occurrences, out=occurrences)
        starts = counts[-1].starts.take(keys // vocab_size)
        counts.append(NGramCounts(keys, occurrences, suffixes.astype(np.int64), starts))
        if bar is not None:
            bar.update()
    return counts


def _sort_ngrams(stream: Stream, shorter: np.ndarray, n: int, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of all n-grams in a stream, sorted, and where each ends; both are (n-grams in the stream,)."""
    is_end = stream.places >= n - 1
    ends = np.flatnonzero(is_end).astype(stream.places.dtype)
    keys = shorter[:-1][is_end[1:]].astype(np.int64)  # none ends at the first position
    keys *= vocab_size
    keys += stream.words[is_end]
    return sort_keys(keys, ends)


def continuation_counts(counts: list[NGramCounts], n: int) -> np.ndarray:
    """Return how many different words precede each n-gram of order n, below the highest order: (n-grams,).

    An n-gram that begins with `<s>` keeps its occurrences.
    """
    entry = counts[n - 1]
    before = np.bincount(counts[n].suffixes, minlength=len(entry.keys))
    return before if n == 1 else np.where(entry.starts, entry.occurrences, before)


def sort_keys(keys: np.ndarray, positions: np.ndarray, are_parts: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys >= 0 together with their increasing positions; equal keys stay in their order.

    Both arrays are overwritten, so that few are in memory at a time.

    >>> sort_keys(np.array([7, 5, 7]), np.array([2, 4, 6]))
    (array([5, 7, 7]), array([4, 2, 6]))

    Args:
        keys: (keys,) int64.
        positions: (keys,) integers >= 0 of any type.
        are_parts: several sorted parts follow one another, which is faster.
    """
    bits = int(positions[-1]).bit_length() if len(positions) else 0
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        order = np.argsort(keys, kind="stable")
        return keys[order], positions[order]
    keys <<= bits  # one number holds both: sorting numbers is several times faster than finding their order
    keys |= positions
    keys.sort(kind="stable" if are_parts else "quicksort")
    np.bitwise_and(keys, (1 << bits) - 1, out=positions, casting="unsafe")
    keys >>= bits
    return keys, positions
