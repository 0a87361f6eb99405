# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Encode texts, and count their words and unknown words for the measures."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from hf_lecture_models.evaluation.made_items import MadeItems, bounds_of, cut, is_equal
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import WORD, index_chunks, split_words
from hf_lecture_models.tokenization.unknown_words import CLASS_TOKENS, UnknownWordError


class EncodedText(NamedTuple):
    """One text, its token ids without special tokens, and its words."""

    text: str
    ids: np.ndarray
    """(tokens,) int."""
    words: int
    unknown_words: tuple[str, ...] = ()
    """Words with at least one unknown token, or token of a class of unknown words, as often as they occur. A literal
    `<unk>` (or `<unk:number>`) that is one token is not an unknown word."""
    unknown_tokens: tuple[int, ...] = ()
    """Positions in `ids` that belong to an unknown word."""
    possible: bool = True
    """False if a closed vocabulary cannot encode the text, so that its probability is 0."""

    def __eq__(self, other: object) -> bool:
        return is_equal(tuple(self), tuple(other)) if isinstance(other, EncodedText) else NotImplemented

    @property
    def oov_spelling_bits(self) -> int:
        """The bits that spell the unknown (out-of-vocabulary) words: 8 per byte, and one end byte for each word."""
        return sum(8 * (len(word.encode()) + 1) for word in self.unknown_words)


class EncodedTexts(MadeItems[EncodedText]):
    """Encoded texts as arrays; each item is made when it is asked for.

    >>> one, blank = EncodedText("a b", np.array([4, 7]), words=2), EncodedText("", np.array([], int), words=0)
    >>> texts = EncodedTexts.of([one, blank])
    >>> texts.ids.tolist(), texts.lengths.tolist(), texts[0].text
    ([4, 7], [2, 0], 'a b')

    Attributes:
        texts: the texts themselves.
        ids: (tokens,) int, text after text, without special tokens.
        lengths, words: (texts,) int64, tokens and words of each text.
        unknown_words: all unknown words, text after text; `unknown_word_counts`, (texts,) int64, how many of each text.
        unknown_tokens: (unknown tokens,) int64, their places in their texts; `unknown_token_counts`, (texts,) int64.
        possible: (texts,) bool; a text that cannot be encoded has no ids.
    """

    def __init__(
        self,
        texts: Sequence[str],
        ids: np.ndarray,
        lengths: np.ndarray,
        words: np.ndarray,
        unknown: _Unknown | None = None,
        possible: np.ndarray | None = None,
    ) -> None:
        super().__init__(len(texts))
        self.texts, self.ids, self.lengths, self.words = texts, ids, lengths, words
        none = np.zeros(len(texts), np.int64)
        found = _Unknown([], none, np.zeros(0, np.int64), none) if unknown is None else unknown
        self.unknown_words, self.unknown_word_counts = found.words, found.word_counts
        self.unknown_tokens, self.unknown_token_counts = found.tokens, found.token_counts
        self.possible = np.ones(len(texts), bool) if possible is None else possible
        self._bounds = bounds_of(lengths)
        self._unknown_bounds = (
            (bounds_of(found.word_counts), bounds_of(found.token_counts)) if len(found.words) else None
        )

    @classmethod
    def of(cls, texts: Sequence[EncodedText]) -> EncodedTexts:
        """Return encoded texts as arrays; those that are whole arrays already as they are."""
        if isinstance(texts, EncodedTexts) and texts.is_whole:
            return texts
        texts = list(texts)
        unknown = _Unknown(
            list(chain.from_iterable(one.unknown_words for one in texts)),
            _numbers(len(one.unknown_words) for one in texts),
            _numbers(chain.from_iterable(one.unknown_tokens for one in texts)),
            _numbers(len(one.unknown_tokens) for one in texts),
        )
        ids = [one.ids for one in texts if one.possible]
        return cls(
            [one.text for one in texts],
            np.concatenate(ids) if ids else np.zeros(0, np.int64),
            _numbers(len(one.ids) for one in texts),
            _numbers(one.words for one in texts),
            unknown,
            np.array([one.possible for one in texts], bool),
        )

    def _make(self, begin: int, end: int) -> Iterator[EncodedText]:
        possible = self.possible[begin:end].tolist()
        ids = cut(self.ids, self._bounds, begin, end)
        if not all(possible):
            ids = [row if has_ids else np.zeros(0, np.int64) for row, has_ids in zip(ids, possible, strict=True)]
        words: Any = repeat(())
        places: Any = repeat(())
        if self._unknown_bounds is not None:
            words = map(tuple, cut(self.unknown_words, self._unknown_bounds[0], begin, end))
            places = (tuple(row.tolist()) for row in cut(self.unknown_tokens, self._unknown_bounds[1], begin, end))
        counts = self.words[begin:end].tolist()
        return map(EncodedText, self.texts[begin:end], ids, counts, words, places, possible)


class _Unknown(NamedTuple):
    """The unknown words of texts and the places of their tokens, text after text, and how many each text has."""

    words: list[str]
    word_counts: np.ndarray
    tokens: np.ndarray
    token_counts: np.ndarray


def _numbers(values: Any) -> np.ndarray:
    return np.fromiter(values, np.int64)


def encode_texts(tokenizer: Any, texts: Sequence[str]) -> EncodedTexts:
    """Encode texts, as arrays whose items are made when they are asked for.

    The spelling of a special token in a text is an ordinary word, never the special token.

    >>> from hf_lecture_models import WordTokenizer
    >>> encoded = encode_texts(WordTokenizer.from_words(["the", "cat"]), ["the cat", "the zebra"])
    >>> [one.ids.tolist() for one in encoded], encoded[1].unknown_words, encoded[1].oov_spelling_bits
    ([[1, 2], [1, 0]], ('zebra',), 48)

    Raises:
        TypeError: `texts` is one str, or has items that are not str.
        ValueError: a text is not valid Unicode (a lone surrogate), or the tokenizer draws its segmentations.
    """
    if getattr(tokenizer, "is_sampling", False):
        raise ValueError("evaluation does not take segmentations by chance; leave the block of tokenizer.sampling(...)")
    encode = _encode_words if _has_one_token_per_word(tokenizer) else _encode_pieces
    try:
        return encode(tokenizer, texts, unknown_tokens(tokenizer))
    except UnknownWordError:
        if len(texts) == 1:
            return EncodedTexts.of([_impossible(tokenizer, texts[0])])
        return EncodedTexts.of([encoded for text in texts for encoded in encode_texts(tokenizer, [text])])


def start_token_id(tokenizer: Any) -> int:
    """Return the token that begins a text: `<s>`, or else `</s>`, as the end of the text before.

    >>> from hf_lecture_models import WordTokenizer
    >>> start_token_id(WordTokenizer.from_words(["a"])) == WordTokenizer.from_words(["a"]).bos_token_id
    True

    Raises:
        ValueError: the tokenizer has neither.
    """
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise ValueError(
            "the tokenizer has neither bos_token nor eos_token, so nothing says where a text begins or ends; an empty "
            "text has no probability, and none can be continued. Set them and save the tokenizer again"
        )
    return start


def end_ids(tokenizer: Any, probability: str = "terminated") -> list[int]:
    """Return the tokens that end a text: `</s>`, or none for the probability of a prefix.

    >>> from hf_lecture_models import WordTokenizer
    >>> end_ids(WordTokenizer.from_words(["a"])), end_ids(WordTokenizer.from_words(["a"]), "prefix")
    ([3], [])

    Raises:
        ValueError: `probability` is unknown, or the tokenizer has no end of text.
    """
    if probability not in ("terminated", "prefix"):
        raise ValueError(f"probability is {probability!r}; it must be one of 'terminated', 'prefix'")
    if probability == "prefix":
        return []
    if tokenizer.eos_token_id is None:
        raise ValueError("the tokenizer has no eos_token, so no text can end; set tokenizer.eos_token")
    return [tokenizer.eos_token_id]


def unknown_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the tokens that stand for unknown words, by id: the unknown token, and the classes of unknown words.

    They are found by their spelling, also in a tokenizer that transformers' own class has loaded.

    >>> from hf_lecture_models import WordTokenizer
    >>> unknown_tokens(WordTokenizer.from_words(["a"]))
    {0: '<unk>'}
    >>> list(unknown_tokens(WordTokenizer.from_words(["a"], unknown_words="classes")))
    [0, 1, 2, 3, 4, 5]
    """
    if tokenizer.unk_token_id is None:
        return {}
    names = [tokenizer.unk_token, *CLASS_TOKENS]
    # A name that the vocabulary lacks is looked up as the unknown token.
    found = dict(zip(tokenizer.convert_tokens_to_ids(names), names, strict=True))
    return {**found, tokenizer.unk_token_id: tokenizer.unk_token}


def _has_one_token_per_word(tokenizer: Any) -> bool:
    return hasattr(tokenizer, "has_one_token_per_word") and tokenizer.has_one_token_per_word()


def _encode_words(tokenizer: Any, texts: Sequence[str], names: dict[int, str]) -> EncodedTexts:
    """Encode texts whose words are one token each; each distinct word is looked up once, and found to be unknown."""
    ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    spelled: list[str] = []
    counts, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for index in index_chunks(texts):
        found, _ = tokenizer.encode_words(index.words)
        ids.append(found[index.codes])
        lengths.append(index.lengths)
        is_unknown = np.zeros(len(found), bool)
        for code in np.flatnonzero(np.isin(found, list(names))).tolist():
            # A literal `<unk>` is a word of the vocabulary.
            is_unknown[code] = index.words[code] != names[int(found[code])]
        at = np.flatnonzero(is_unknown[index.codes]) if is_unknown.any() else np.zeros(0, np.int64)
        bounds = bounds_of(index.lengths)
        rows = np.searchsorted(bounds[1:], at, side="right")
        spelled += map(index.words.__getitem__, index.codes[at].tolist())
        counts.append(np.bincount(rows, minlength=len(index.lengths)))
        places.append(at - bounds[rows])
    words, unknown = np.concatenate(lengths), np.concatenate(counts)
    return EncodedTexts(
        texts, np.concatenate(ids), words, words, _Unknown(spelled, unknown, np.concatenate(places), unknown)
    )


def _encode_pieces(tokenizer: Any, texts: Sequence[str], names: dict[int, str]) -> EncodedTexts:
    """Encode texts whose words may be several tokens; the places of tokens are asked for where some are unknown."""
    corpus = encode_corpus(tokenizer, texts)
    words = _numbers(len(split_words(text)) for text in texts)
    encoded = EncodedTexts(texts, corpus.ids, corpus.lengths, words)
    at = np.flatnonzero(np.isin(corpus.ids, list(names)))
    changed = {}
    for row in np.unique(np.searchsorted(np.cumsum(corpus.lengths), at, side="right")).tolist():
        if found := list(WORD.finditer(texts[row])):  # else only tokens of white space are unknown
            word_of = _word_of_token(tokenizer, texts[row], found)
            changed[row] = _with_unknown_tokens(encoded[row], found, word_of, names)
    return EncodedTexts.of([changed.get(row, one) for row, one in enumerate(encoded)]) if changed else encoded


def _with_unknown_tokens(
    encoded: EncodedText, words: list[re.Match[str]], word_of: Sequence[int], names: dict[int, str]
) -> EncodedText:
    tokens, ids = np.bincount(word_of), encoded.ids
    found = [(word, names[id_]) for word, id_ in zip(word_of, ids.tolist(), strict=True) if id_ in names]
    # A literal `<unk>` that is one token is a word of the vocabulary; one in pieces has unknown characters.
    unknown = {word for word, name in found if tokens[word] > 1 or words[word].group() != name}
    return EncodedText(
        encoded.text,
        ids,
        len(words),
        unknown_words=tuple(words[word].group() for word in sorted(unknown)),
        unknown_tokens=tuple(position for position, word in enumerate(word_of) if word in unknown),
    )


def _word_of_token(tokenizer: Any, text: str, words: list[re.Match[str]]) -> list[int]:
    starts = [word.start() for word in words]
    # A token belongs to the word that holds its last character: some tokenizers count the space before into the token.
    # White space before the first word belongs to it.
    return [max(0, bisect_right(starts, max(start, end - 1)) - 1) for start, end in _offsets(tokenizer, text)]


def token_ends(tokenizer: Any, text: str) -> list[int]:
    """Return for each token the position after its last character in the text.

    >>> from hf_lecture_models import WordTokenizer
    >>> token_ends(WordTokenizer.from_words(["the", "cat"]), "the  cat")
    [3, 8]
    """
    if _has_one_token_per_word(tokenizer):
        return [word.end() for word in WORD.finditer(text)]
    return [end for _, end in _offsets(tokenizer, text)]


def _offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    if getattr(tokenizer, "split_punctuation", False) and tokenizer.is_unmodified():
        # A word `<unk>` is one token of an encoded corpus; by these options it would be split at its punctuation.
        unknown = tokenizer.unk_token
        text = WORD.sub(lambda word: "x" * len(unknown) if word.group() == unknown else word.group(), text)
    options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    return tokenizer(text, return_offsets_mapping=True, **options)["offset_mapping"]


def _impossible(tokenizer: Any, text: str) -> EncodedText:
    words = split_words(text)
    unknown = tuple(word for word in words if not _knows(tokenizer, word))
    return EncodedText(text, np.zeros(0, np.int64), len(words), unknown, possible=False)


def _knows(tokenizer: Any, word: str) -> bool:
    try:
        encode_corpus(tokenizer, [word])
    except UnknownWordError:
        return False
    return True
