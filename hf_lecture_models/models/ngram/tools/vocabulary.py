# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words taken out of a finished n-gram model, and new words put in: `cut` and `extend` of `NGramForCausalLM`.

Cutting. n-grams of other words go. What their 1-grams had goes to ``<unk>``, which these words now are:

    p'(<unk>) = p(<unk>) + sum of p(w) over the words w that go

A longer n-gram keeps its probability, and what a context loses goes to the words that are not listed after it, by its
back-off weight.

Adding with a probability. A new word has a 1-gram, for which all other words give in proportion:

    p'(new) = m,   p'(w) = (1 - m) p(w)         or from <unk> alone: p'(<unk>) = p(<unk>) - m

Longer n-grams keep their probabilities, and the back-off weights are set so that every context sums to one.

Adding a word like another. The k words like v and v itself are a class of equally probable words (Brown et al. 1992,
section 3, with n-grams of words around it): every n-gram is there with each of them in each place of v,

    p'(u | h) = p(u | h with v in their places) / (k + 1 if u is one of them, else 1)

and so every context sums to one as it did.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.files.arpa_writer import check_size
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tools.contexts import (
    ROWS_AT_ONCE,
    Contexts,
    parts,
    with_back_off_weights,
    without,
)
from hf_lecture_models.models.ngram.tools.model_checks import check_model
from hf_lecture_models.models.ngram.tools.united_words import renumbered
from hf_lecture_models.tokenization.splitting import shorten, split_words
from hf_lecture_models.tokenization.unknown_words import CLASS_TOKENS
from hf_lecture_models.tokenization.word import WordTokenizer

LARGEST_TABLE = 2**31
"""n-grams of one order that `extend` makes."""
NewWords = Mapping[str, float | str | None]


def cut(self: NGramForCausalLM, tokenizer: Any, words: Iterable[str]) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Return a model of the given words alone, and its tokenizer: `model.cut(tokenizer, words)`.

    >>> texts = ["the cat sat", "the dog sat"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> smaller, its_tokenizer = model.cut(tokenizer, ["the", "cat", "sat", "on"])
    >>> its_tokenizer.tokenize("the dog sat"), smaller.config.table_sizes
    (['the', '<unk>', 'sat'], [7, 4])

    Args:
        tokenizer: that of the model, a `WordTokenizer`.
        words: the vocabulary, beside ``<s>``, ``</s>``, ``<unk>`` and ``<pad>``; what the model lacks is left out.

    Raises:
        ValueError: no word of the model is among them; the tokenizer is not the model's, is not one of words, or has no
            unknown word; or the model is of classes, hashes or several models, is quantised, or has no probabilities.
    """
    names = _check(self, tokenizer)
    if tokenizer.unk_token_id is None:
        raise ValueError("the tokenizer has no unknown word, which would get the probability of the words that go")
    if isinstance(words, str):
        raise ValueError(f"`words` is the text {shorten(words)}; give a list of words")
    wanted = set(words)
    ordinary = _ordinary(tokenizer, names)
    kept = [word for word in ordinary if word in wanted]
    if not kept:
        raise ValueError(
            f"none of the {len(wanted)} words of the vocabulary is a word of the model, such as {_some(ordinary)}; "
            "are they spelled alike, capitals too?"
        )
    smaller = tokenizer.with_words(kept)
    tables = _cut_tables(self.tables(), _new_ids(names, smaller), tokenizer.unk_token_id, len(smaller))
    return _model(self, tables, smaller)


def extend(
    self: NGramForCausalLM, tokenizer: Any, words: NewWords, from_unknown: bool = False
) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Return a model that knows further words, and its tokenizer: `model.extend(tokenizer, {"Zoe": "Monday"})`.

    >>> texts = ["on Monday he sang", "on Tuesday he slept"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> larger, its_tokenizer = model.extend(tokenizer, {"Sunday": "Monday", "quokka": 0.01})
    >>> its_tokenizer.tokenize("on Sunday"), larger.config.table_sizes
    (['on', 'Sunday'], [12, 11])

    Args:
        tokenizer: that of the model, a `WordTokenizer`.
        words: for each new word its 1-gram probability; or a word of the model that it is like, also ``<unk>``; or
            None, which is the least probability of a word of the model.
        from_unknown: whether the probabilities are taken from ``<unk>`` alone, and not from all words in proportion.

    Raises:
        ValueError: a word is in the model already, or cannot be one; what it is like is not in the model; a probability
            is not between 0 and 1, or they take all that there is; or as `cut`.
    """
    names, words = _check(self, tokenizer), dict(words)
    _check_new_words(words, names, tokenizer)
    larger = tokenizer.with_words([*_ordinary(tokenizer, names), *words])
    number = {name: index for index, name in enumerate(names)}
    members = [[index] for index in _new_ids(names, larger).tolist()]
    new_ids = _new_ids(list(words), larger).tolist()
    for id_, like in zip(new_ids, words.values(), strict=True):
        if isinstance(like, str):
            members[number[like]].append(id_)
    _check_likenesses(words, self.tables().log10_probs[0], number)
    tables = _expanded(self.tables(), members, len(larger))
    if None in words.values():
        least = _least(self.tables(), [number[word] for word in _ordinary(tokenizer, names)])
        words = {word: least if value is None else value for word, value in words.items()}
    added = {id_: p for id_, p in zip(new_ids, words.values(), strict=True) if not isinstance(p, str | None)}
    if added:
        tables = _with_unigrams(tables, added, larger.unk_token_id if from_unknown else None)
    return _model(self, tables, larger)


def _check(model: NGramForCausalLM, tokenizer: Any) -> list[str]:
    """Return the model's tokens by id, or raise a ValueError if its vocabulary cannot be changed."""
    check_model(model)
    check_tokenizer(model, tokenizer)
    check_size(range(len(tokenizer)), model.config.vocab_size)
    if not isinstance(tokenizer, WordTokenizer) or not tokenizer.is_unmodified():
        raise ValueError(f"words are changed with a WordTokenizer; the tokenizer is a {type(tokenizer).__name__}")
    if tokenizer.unknown_words == "spelled":
        raise ValueError("the tokenizer spells unknown words by letters, so that no word is missing")
    return list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))


def _check_new_words(words: NewWords, names: list[str], tokenizer: WordTokenizer) -> None:
    known, ends = set(names), {tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token}
    if not words:
        raise ValueError("`words` is empty; name the new words")
    for word, value in words.items():
        if word in known:
            raise ValueError(f"the word {shorten(word)} is in the model already; leave it out")
        if split_words(word) != [word]:
            raise ValueError(f"the word {shorten(word)} is empty or holds white space")
        if isinstance(value, str):
            if value not in known or value in ends:
                raise ValueError(
                    f"{shorten(word)} cannot be like {shorten(value)}: this is no word of the model"
                    + (", and a probability is above 0 and below 1" if _is_number(value) else "")
                )
        elif value is not None and not 0 < value < 1:
            raise ValueError(f"the probability of {shorten(word)} is {value}; it must be above 0 and below 1")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_likenesses(words: NewWords, log10_probs: np.ndarray, number: Mapping[str, int]) -> None:
    """Raise a ValueError if a new word would share a probability of 0."""
    for word, like in words.items():
        if isinstance(like, str) and log10_probs[number[like]] == -math.inf:
            raise ValueError(
                f"{shorten(word)} cannot be like {shorten(like)}, to which the model gives the probability 0; give "
                f"{shorten(word)} a probability, or a likeness that has one"
            )


def _ordinary(tokenizer: WordTokenizer, names: list[str]) -> list[str]:
    """Return the words of the vocabulary without special tokens and the classes of unknown words."""
    special = {*tokenizer.all_special_tokens, *(CLASS_TOKENS if tokenizer.unknown_words == "classes" else ())}
    return [name for name in names if name not in special]


def _some(words: Sequence[str]) -> str:
    return ", ".join(map(shorten, words[:3]))


def _new_ids(names: Sequence[str], tokenizer: WordTokenizer) -> np.ndarray:
    """Return the number of each word in another tokenizer, (vocab,) int64; -1 where it is not there."""
    numbers = tokenizer.get_vocab()
    return np.array([numbers.get(name, -1) for name in names], np.int64)


def _model(
    old: NGramForCausalLM, tables: NGramTables, tokenizer: WordTokenizer
) -> tuple[NGramForCausalLM, WordTokenizer]:
    fields = {**old.config.to_dict(), "table_sizes": None}
    vocabulary = config_for(tokenizer)
    fields |= {name: getattr(vocabulary, name) for name in VOCABULARY_FIELDS}
    model = type(old).from_tables(tables, type(old.config).from_dict(fields))
    model.own_tokenizer = tokenizer
    return model, tokenizer


def _left(tables: NGramTables) -> list[np.ndarray]:
    """Return [n-1], what each context of n words gives to all words that are not listed after it."""
    contexts = Contexts(tables)
    totals = contexts.totals()
    return [contexts.left(n, totals)[0] for n in range(1, tables.order)]


def _cut_tables(tables: NGramTables, ids: np.ndarray, unknown: int, vocab_size: int) -> NGramTables:
    """Return the n-grams of the words whose new number, (vocab,), is not -1."""
    gone, unigrams = ids < 0, 10.0 ** tables.log10_probs[0].astype(float)
    unigrams[unknown] += unigrams[gone].sum()
    unigrams[gone] = 0
    kept: list[np.ndarray] = []
    for keys in tables.keys:
        stay = np.empty(len(keys), bool)
        for rows in parts(len(keys)):
            prefixes, words = np.divmod(keys[rows], tables.vocab_size)
            stay[rows] = (kept[-1] if kept else ~gone)[prefixes] & ~gone[words]
        kept.append(stay)
    changed = replace(tables, log10_probs=[_log10(unigrams), *tables.log10_probs[1:]])
    return renumbered(without(changed, kept, _left(tables)), ids, vocab_size)


def _log10(probs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.minimum(np.log10(probs), 0).astype(np.float32)


def _expanded(tables: NGramTables, members: Sequence[Sequence[int]], vocab_size: int) -> NGramTables:
    """Return tables in which each word is replaced, in all places, by each of its members; they share its probability.

    Args:
        members: by old word, its new numbers; all are different.
    """
    sizes = np.array(list(map(len, members)))
    numbers = np.concatenate([np.array(some) for some in members])
    if (sizes == 1).all():
        return renumbered(tables, numbers, vocab_size)
    shares = np.log10(sizes).astype(np.float32)
    # The 1-grams are dense: a word that is no member has p = 0.
    old: np.ndarray = np.full(vocab_size, -1)  # the row of which each new n-gram is a copy
    old[numbers] = np.repeat(np.arange(len(sizes)), sizes)
    probs = [np.where(old < 0, -np.inf, tables.log10_probs[0][old] - shares[old]).astype(np.float32)]
    backoffs = [np.where(old < 0, 0, values[old]).astype(np.float32) for values in tables.log10_backoffs[:1]]
    keys: list[np.ndarray] = []
    for n in range(2, tables.order + 1):
        new, old = _copies(tables, n, old, sizes, numbers, vocab_size)
        keys.append(new)
        found = tables.log10_probs[n - 1][old]
        for rows in parts(len(old)):
            found[rows] -= shares[tables.keys[n - 2][old[rows]] % tables.vocab_size]
        probs.append(found)
        backoffs += [values[old] for values in tables.log10_backoffs[n - 1 : n]]
    return NGramTables(vocab_size, keys, probs, backoffs)


def _copies(
    tables: NGramTables, n: int, contexts: np.ndarray, sizes: np.ndarray, numbers: np.ndarray, vocab_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of the new n-grams of order n, and the row that each copies, (new n-grams,) int64 each.

    Args:
        tables: the old ones.
        n: 2 or more.
        contexts: (new contexts,) the row that each copies; -1 for a word that copies none.
        sizes: (old words,) how many members each has.
        numbers: (members,) the new numbers of all, word by word.
        vocab_size: how many new words there are.
    """
    keys, firsts = tables.keys[n - 2], np.cumsum(sizes) - sizes
    each = np.zeros(tables.sizes[n - 2], np.int64)  # new n-grams that begin with a copy of a context
    for rows in parts(len(keys)):
        prefixes, words = np.divmod(keys[rows], tables.vocab_size)
        np.add.at(each, prefixes, sizes[words])
    ends = np.cumsum(np.where(contexts < 0, 0, each[contexts]))
    total = int(ends[-1]) if len(ends) else 0
    if total > LARGEST_TABLE:
        raise ValueError(f"the model would have {total:,} {n}-grams; add fewer words that are like one word")
    new, old, done = np.empty(total, np.int64), np.empty(total, np.int64), 0
    edges = np.searchsorted(ends, np.arange(0, total, ROWS_AT_ONCE), "right").tolist()
    for first, last in pairwise(sorted({*edges, len(ends)})):
        places, children = _children(keys, contexts[first:last], tables.vocab_size)
        words = keys[children] % tables.vocab_size
        of = np.repeat(np.arange(len(words)), sizes[words])
        starts = firsts[words] - (np.cumsum(sizes[words]) - sizes[words])
        found = (first + places[of]) * vocab_size + numbers[np.arange(len(of)) + starts[of]]
        order = np.argsort(found)
        part = slice(done, done := done + len(found))
        new[part], old[part] = found[order], children[of[order]]
    return new, old


def _children(keys: np.ndarray, contexts: np.ndarray, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the n-grams that continue each context, the place of the context, and their rows among the keys."""
    first = np.searchsorted(keys, contexts * vocab_size)
    count = np.searchsorted(keys, (contexts + 1) * vocab_size) - first
    places = np.repeat(np.arange(len(contexts)), count)
    return places, np.arange(len(places)) + np.repeat(first - (np.cumsum(count) - count), count)


def _least(tables: NGramTables, words: Sequence[int]) -> float:
    """Return the least 1-gram probability above 0 of some words."""
    probs = tables.log10_probs[0][np.array(words, np.int64)]
    if not (probs > -np.inf).any():
        raise ValueError("no word of the model has a probability that a new word could have too; give one")
    return float(10.0 ** float(probs[probs > -np.inf].min()))


def _with_unigrams(tables: NGramTables, added: Mapping[int, float], unknown: int | None) -> NGramTables:
    """Return tables in which some words have these 1-gram probabilities, taken from all others or from ``unknown``."""
    mass = math.fsum(added.values())
    unigrams = 10.0 ** tables.log10_probs[0].astype(float)
    new = list(added)
    unigrams[new] = 0
    if mass >= (1 if unknown is None else unigrams[unknown]):
        of = "all words have 1" if unknown is None else f"<unk> has {unigrams[unknown]:.3g}"
        raise ValueError(f"the new words take a probability of {mass:.3g}, but {of}; give them less")
    if unknown is None:
        unigrams *= 1 - mass
    else:
        unigrams[unknown] -= mass
    unigrams[new] = list(added.values())
    changed = replace(tables, log10_probs=[_log10(unigrams), *tables.log10_probs[1:]])
    return with_back_off_weights(changed, _left(tables))
