# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The words of several n-gram models together, and each model's tables over all of them.

A word that a model lacks has the probability 0 there, and not that of `<unk>`: else the words would add up to more
than 1. No n-gram has it, so that as a context it says nothing: what follows is predicted as at its shorter contexts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hf_lecture_models.layers.ngram_tables import HashedNGramTables, NGramTables, WordClasses
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import words_by_id
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END, PADDING, UNKNOWN
from hf_lecture_models.models.ngram.tools.contexts import parts
from hf_lecture_models.tokenization.backend import SPECIAL_TOKENS
from hf_lecture_models.tokenization.word import WordTokenizer

_MARKS = (UNKNOWN, BEGIN, END, PADDING)


def united_tokenizer(configs: Sequence[NGramConfig], tokenizers: Sequence[Any]) -> Any:
    """Return the first tokenizer if it has the words of all, else a new `WordTokenizer` of the words of all.

    >>> tokenizers = [WordTokenizer.from_words(words) for words in (["a", "b"], ["c", "a"])]
    >>> united = united_tokenizer([config_for(one) for one in tokenizers], tokenizers)
    >>> united.convert_ids_to_tokens(range(len(united)))
    ['<unk>', 'a', 'b', 'c', '<s>', '</s>', '<pad>']

    Raises:
        ValueError: the words differ, and one tokenizer is not a `WordTokenizer`, or treats texts in another way.
    """
    names = [words_by_id(own, config) for own, config in zip(tokenizers, configs, strict=True)]
    sets = [set(words) for words in names]
    if all(words == sets[0] for words in sets):
        return tokenizers[0]
    for words, own in zip(sets, tokenizers, strict=True):
        if words != sets[0]:
            _check_kind(own, tokenizers[0], _some(words ^ sets[0]))
    if all(words <= sets[0] for words in sets):
        return tokenizers[0]
    first = tokenizers[0]
    marks = {name: getattr(first, name) or spelling for name, spelling in SPECIAL_TOKENS.items()}
    unknown = next((own.unk_token for own in tokenizers if own.unk_token is not None), None)
    every = dict.fromkeys(word for words in names for word in words)
    return WordTokenizer.from_words(
        [word for word in every if word not in _MARKS],
        unknown,
        lower_case=first.lower_case,
        split_punctuation=first.split_punctuation,
        **marks,
    )


def new_ids(config: NGramConfig, own: Any, tokenizer: Any) -> np.ndarray:
    """Return the number in `tokenizer` of each word of a model with the tokenizer `own`, (vocab,) int64.

    Raises:
        ValueError: `tokenizer` lacks a word of the model; or has others beside them, and is of another kind.
    """
    vocabulary = config_for(tokenizer)
    if own is tokenizer:
        for name in VOCABULARY_FIELDS:
            ours, theirs = getattr(vocabulary, name), getattr(config, name)
            if ours != theirs:
                rule = f"the models have different vocabularies: {name} is {ours} and {theirs}"
                raise ValueError(f"{rule}; estimate both with one tokenizer")
        return np.arange(vocabulary.vocab_size)
    words, place_of = words_by_id(own, config), {w: i for i, w in enumerate(words_by_id(tokenizer, vocabulary))}
    others, lacking = [word for word in words if word not in place_of], place_of.keys() - set(words)
    if others:
        raise ValueError(
            f"a model has {_some(others)}, which the tokenizer lacks; give a list with a tokenizer for each model, for "
            "a model of the words of all"
        )
    if lacking:
        _check_kind(own, tokenizer, _some(lacking))
    return np.array([place_of[word] for word in words], np.int64)


def over_words(
    tables: NGramTables, classes: WordClasses | None, ids: np.ndarray, size: int
) -> tuple[NGramTables, WordClasses | None]:
    """Return a model's tables, and its classes if it has any, over `size` words; its own have the numbers `ids`.

    Words that the model lacks have the probability 0. What need not change is shared.
    """
    if classes is None:
        return renumbered(tables, ids, size), None
    if np.array_equal(ids, np.arange(size)):
        return tables, classes
    class_of = np.zeros(size, np.int64) if len(ids) == size else np.full(size, _unused_class(tables))
    log10_probs = np.full(size, -np.inf, np.float32)
    class_of[ids], log10_probs[ids] = classes.class_of, classes.log10_probs
    return tables, replace(classes, class_of=class_of, log10_probs=log10_probs)


def renumbered(tables: NGramTables, ids: np.ndarray, size: int | None = None) -> NGramTables:
    """Return tables of the same n-grams, in which word i has the number `ids[i]`; the same tables if nothing changes.

    >>> probs = [np.float32([-1, -2, -3]), np.float32([-4, -5])]
    >>> tables = NGramTables(3, [np.array([1, 5])], probs, [np.zeros(3, np.float32)])  # the 2-grams 0 1 and 1 2
    >>> moved = renumbered(tables, np.array([2, 0, 1]))  # 2 0 and 0 1
    >>> moved.keys[0].tolist(), moved.log10_probs[0].tolist(), moved.log10_probs[1].tolist()
    ([1, 6], [-2.0, -3.0, -1.0], [-5.0, -4.0])

    Args:
        ids: (vocab,) int64, each number at most once; -1 for words that go, which are in no longer n-gram.
        size: words of the new tables; None: as many as before. Those without an old number have the probability 0.
    """
    size = len(ids) if size is None else size
    if len(ids) == size and np.array_equal(ids, np.arange(size)):
        return tables
    probs, backoffs = [_placed(tables.log10_probs[0], ids, size, -np.inf)], []
    if tables.log10_backoffs:
        backoffs.append(_placed(tables.log10_backoffs[0], ids, size, 0))
    if isinstance(tables, HashedNGramTables):  # their keys do not have our numbers
        numbers = _placed(tables.hash_numbers, ids, size, tables.hash_numbers.max() + 1)
        probs, backoffs = [*probs, *tables.log10_probs[1:]], [*backoffs, *tables.log10_backoffs[1:]]
        return replace(tables, vocab_size=size, log10_probs=probs, log10_backoffs=backoffs, hash_numbers=numbers)
    keys, places = [], ids
    for n, old in enumerate(tables.keys, 2):
        new = np.empty_like(old)
        for rows in parts(len(old)):
            prefixes, words = np.divmod(old[rows], tables.vocab_size)
            new[rows] = places[prefixes] * size + ids[words]
        # As after most cuts of words, where nothing moves and the columns are shared.
        order: Any = slice(None) if not (new[1:] < new[:-1]).any() else np.argsort(new)
        keys.append(new[order])
        probs.append(tables.log10_probs[n - 1][order])
        backoffs += [values[order] for values in tables.log10_backoffs[n - 1 : n]]
        places = np.empty(len(new), np.int64)
        places[order] = np.arange(len(new))
    return replace(tables, vocab_size=size, keys=keys, log10_probs=probs, log10_backoffs=backoffs)


def _placed(values: np.ndarray, ids: np.ndarray, size: int, otherwise: float) -> np.ndarray:
    found = np.full(size, otherwise, values.dtype)
    found[ids[ids >= 0]] = values[ids >= 0]
    return found


def _unused_class(tables: NGramTables) -> int:
    """Return a class, such as that of `<pad>`, that has the probability 0 and begins no n-gram."""
    unused = tables.log10_probs[0] == -np.inf
    for values in tables.log10_backoffs[:1]:
        unused &= values == 0
    for keys in tables.keys[:1]:
        unused[keys // tables.vocab_size] = False
    if not unused.any():
        raise ValueError(
            "a model of classes has no class for words that it lacks, such as one for <pad>; estimate all models over "
            "one vocabulary"
        )
    return int(np.flatnonzero(unused)[-1])


def _check_kind(own: Any, first: Any, words: str) -> None:
    """Raise a ValueError if two tokenizers may split a text differently, beside unknown words."""
    rule = f"the models have different vocabularies: one lacks {words}"
    for one in (own, first):
        if not isinstance(one, WordTokenizer) or one.unknown_words not in ("token", "refused"):
            kind = type(one).__name__
            kind += f" with unknown_words={one.unknown_words!r}" if isinstance(one, WordTokenizer) else ""
            raise ValueError(
                f"{rule}, and the words of a {kind} cannot be united with others, because its other tokens depend on "
                "them; estimate all models over one vocabulary"
            )
    for name in ("lower_case", "split_punctuation"):
        if getattr(own, name) != getattr(first, name):
            raise ValueError(f"{rule}, and their tokenizers differ in {name}; estimate all models with one setting")


def _some(words: Collection[str]) -> str:
    shown = ", ".join(repr(word) for word in sorted(words)[:3])
    return shown if len(words) <= 3 else f"{shown} and {len(words) - 3} others"
