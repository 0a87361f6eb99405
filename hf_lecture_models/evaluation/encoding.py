# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Encode texts, and count their words and unknown words for the measures."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import WORD, index_chunks, split_rows, split_words
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

    @property
    def oov_spelling_bits(self) -> int:
        """The bits that spell the unknown (out-of-vocabulary) words: 8 per byte, and one end byte for each word."""
        return sum(8 * (len(word.encode()) + 1) for word in self.unknown_words)


def encode_texts(tokenizer: Any, texts: Sequence[str]) -> list[EncodedText]:
    """Encode texts; the spelling of a special token in a text is an ordinary word, never the special token.

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
            return [_impossible(tokenizer, texts[0])]
        return [encoded for text in texts for encoded in encode_texts(tokenizer, [text])]


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


def _encode_words(tokenizer: Any, texts: Sequence[str], names: dict[int, str]) -> list[EncodedText]:
    """Encode texts whose words are one token each; each distinct word is looked up once, and found to be unknown."""
    encoded: list[EncodedText] = []
    for index in index_chunks(texts):
        words, codes, ends = index.words, index.codes, np.cumsum(index.lengths)
        ids, _ = tokenizer.encode_words(words)
        some = texts[len(encoded) : len(encoded) + len(ends)]
        chunk = list(map(EncodedText, some, split_rows(ids[codes], index.lengths), index.lengths.tolist()))
        is_unknown = np.zeros(len(ids), bool)
        for code in np.flatnonzero(np.isin(ids, list(names))).tolist():
            # A literal `<unk>` is a word of the vocabulary.
            is_unknown[code] = words[code] != names[int(ids[code])]
        at = np.flatnonzero(is_unknown[codes])
        rows = np.searchsorted(ends, at, side="right")
        places = at - (ends - index.lengths)[rows]
        found = zip(rows.tolist(), places.tolist(), codes[at].tolist(), strict=True)
        for row, group in groupby(found, key=itemgetter(0)):
            _, positions, unknown = zip(*group, strict=True)
            spelled = tuple(map(words.__getitem__, unknown))
            chunk[row] = chunk[row]._replace(unknown_words=spelled, unknown_tokens=positions)
        encoded += chunk
    return encoded


def _encode_pieces(tokenizer: Any, texts: Sequence[str], names: dict[int, str]) -> list[EncodedText]:
    """Encode texts whose words may be several tokens; the places of tokens are asked for where some are unknown."""
    corpus = encode_corpus(tokenizer, texts)
    encoded = [EncodedText(text, ids, len(split_words(text))) for text, ids in zip(texts, corpus, strict=True)]
    at = np.flatnonzero(np.isin(corpus.ids, list(names)))
    for row in np.unique(np.searchsorted(np.cumsum(corpus.lengths), at, side="right")).tolist():
        text = encoded[row].text
        if words := list(WORD.finditer(text)):  # else only tokens of white space are unknown
            encoded[row] = _with_unknown_tokens(encoded[row], words, _word_of_token(tokenizer, text, words), names)
    return encoded


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
