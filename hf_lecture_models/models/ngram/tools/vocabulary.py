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
equation 3, with n-grams of words around it): every n-gram is there with each of them in each place of v,

    p'(u | h) = p(u | h with v in their places) / (k + 1 if u is one of them, else 1)

and so every context sums to one as it did.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.files.arpa_writer import check_size
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tools.contexts import Contexts, with_back_off_weights
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import shorten, split_words
from hf_lecture_models.tokenization.unknown_words import CLASS_TOKENS
from hf_lecture_models.tokenization.word import WordTokenizer

LARGEST_TABLE = 2**31
"""n-grams of one order that `extend` makes."""
NewWords = Mapping[str, float | str | None]
_FILE_NAME = re.compile(r"\.{0,2}/.*|[^,:]+\.(txt|tsv|csv|dict|dic|lst|list|vocab|words)(\.(gz|bz2|xz|zst))?", re.I)


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
    smaller = _with_words(tokenizer, kept)
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
    larger = _with_words(tokenizer, [*_ordinary(tokenizer, names), *words])
    number = {name: index for index, name in enumerate(names)}
    members = [[index] for index in _new_ids(names, larger).tolist()]
    new_ids = _new_ids(list(words), larger).tolist()
    for id_, like in zip(new_ids, words.values(), strict=True):
        if isinstance(like, str):
            members[number[like]].append(id_)
    _check_likenesses(words, self.tables().log10_probs[0], number)
    tables = _expanded(self.tables(), members, len(larger))
    least = _least(self.tables(), [number[word] for word in _ordinary(tokenizer, names)])
    added = {
        id_: least if value is None else float(value)
        for id_, value in zip(new_ids, words.values(), strict=True)
        if not isinstance(value, str)
    }
    if added:
        tables = _with_unigrams(tables, added, larger.unk_token_id if from_unknown else None)
    return _model(self, tables, larger)


def read_vocabulary(path: str | os.PathLike[str]) -> list[str]:
    """Return the first word of each line of a file: a list of words, a dictionary of pronunciations, `words.txt`.

    Raises:
        ValueError, OSError: the file has no words, is not UTF-8 or cannot be read.
    """
    if Path(path).is_dir() or not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}; name one with a word in each line")
    rows = map(split_words, read_texts(path))
    words = list(dict.fromkeys(row[0] for row in rows if row))
    if not words:
        raise ValueError(f"{path} has no words; write one in each line")
    return words


def read_new_words(source: str) -> dict[str, float | str | None]:
    """Return the words for `extend`: from a file of lines `WORD`, `WORD PROBABILITY` or `WORD WORD2`; or named here.

    A single word with the name of a file, such as names.txt, is refused where there is no such file.

    >>> read_new_words("quokka:0.001,Sunday:Monday,vosk")
    {'quokka': 0.001, 'Sunday': 'Monday', 'vosk': None}

    Args:
        source: the path of a file, or entries `WORD`, `WORD:PROBABILITY` and `WORD:WORD2` with commas between.

    Raises:
        ValueError: an entry has other parts, or a word two entries.
        OSError: the file is missing, or cannot be read.
    """
    is_file = os.path.isfile(source)  # False for a list that is too long for a name
    if _FILE_NAME.fullmatch(source) and not is_file:
        raise FileNotFoundError(
            f"there is no file {source}; name one with a new word in each line, or the words themselves. A word of "
            "this name goes in a file"
        )
    if is_file:
        entries = [(f"{source}, line {n}", split_words(text)) for n, text in enumerate(read_texts(source), 1)]
    else:
        entries = [(repr(entry), entry.rsplit(":", 1)) for entry in source.split(",") if entry]
    found: dict[str, float | str | None] = {}
    for where, parts in entries:
        if not parts:
            continue
        if len(parts) > 2 or not all(parts):
            raise ValueError(f"{where}: write a word, and at most its probability or the word that it is like")
        if parts[0] in found:
            raise ValueError(f"{where}: the word {shorten(parts[0])} is there twice; leave one out")
        found[parts[0]] = _value(parts[1]) if len(parts) == 2 else None
    if not found:
        raise ValueError(f"{source!r} has no words")
    return found


def _value(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if 0 < number < 1 else text  # a word such as 1984


def _check(model: NGramForCausalLM, tokenizer: Any) -> list[str]:
    """Return the model's tokens by id, or raise a ValueError if its vocabulary cannot be changed."""
    config = model.config
    if config.components is not None:
        raise ValueError(
            "the model is an interpolation of several; take those that it was made of, or their static mixture"
        )
    if config.num_classes is not None:
        raise ValueError("the model is of classes of words; change the file of classes beside its ARPA file instead")
    if config.hashed:
        raise ValueError(
            "the model has hashes of its n-grams, from a file that KenLM built as 'probing', and not their words; take "
            "the ARPA file, or KenLM's trie of it"
        )
    if not config.is_distribution:
        raise ValueError("the model is of stupid back-off, which has scores and no probabilities")
    if config.quantisation_bits is not None:
        raise ValueError("the model is quantised, and its probabilities do not sum to one; take the one it was made of")
    check_tokenizer(model, tokenizer)
    check_size(range(len(tokenizer)), config.vocab_size)
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


def _with_words(tokenizer: WordTokenizer, words: Sequence[str]) -> WordTokenizer:
    """Return a tokenizer with other words and the same options."""
    return WordTokenizer.from_words(words, **tokenizer._own_options({}))


def _new_ids(names: Sequence[str], tokenizer: WordTokenizer) -> np.ndarray:
    """Return the number of each word in another tokenizer, (vocab,) int64; -1 where it is not there."""
    numbers = tokenizer.get_vocab()
    return np.array([numbers.get(name, -1) for name in names], np.int64)


def _model(
    old: NGramForCausalLM, tables: NGramTables, tokenizer: WordTokenizer
) -> tuple[NGramForCausalLM, WordTokenizer]:
    fields = {**old.config.to_dict(), "quantisation_bits": None, "table_sizes": None}
    vocabulary = config_for(tokenizer)
    fields |= {name: getattr(vocabulary, name) for name in VOCABULARY_FIELDS}
    model = type(old).from_tables(tables, type(old.config).from_dict(fields))
    model.own_tokenizer = tokenizer
    return model, tokenizer


def _left(contexts: Contexts, tables: NGramTables, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the context of each n-gram of order n + 1, and what each context leaves to words not listed after it."""
    prefixes, lower = tables.keys[n - 1] // tables.vocab_size, 10.0 ** contexts.lower(n + 1)
    free = 1 - np.bincount(prefixes, lower, minlength=tables.sizes[n - 1])
    return prefixes, 10.0 ** tables.log10_backoffs[n - 1].astype(float) * np.maximum(free, 0)


def _cut_tables(tables: NGramTables, ids: np.ndarray, unknown: int, vocab_size: int) -> NGramTables:
    """Return the n-grams of the words whose new number, (vocab,), is not -1."""
    contexts, left = Contexts(tables), []
    unigrams = 10.0 ** tables.log10_probs[0].astype(float)
    unigrams[unknown] += unigrams[ids < 0].sum()
    rows, keys, places = [np.argsort(ids)[(ids < 0).sum() :]], [], ids
    for n, old in enumerate(tables.keys, 2):
        last = ids[old % tables.vocab_size]
        prefixes, kept_mass = _left(contexts, tables, n - 1)
        gone = last < 0
        lost = np.bincount(prefixes[gone], 10.0 ** tables.log10_probs[n - 1][gone].astype(float), tables.sizes[n - 2])
        left.append((kept_mass + lost)[rows[-1]])
        kept = np.flatnonzero((places[prefixes] >= 0) & ~gone)
        new = places[prefixes[kept]] * vocab_size + last[kept]
        order = np.argsort(new, kind="stable")
        keys.append(new[order])
        rows.append(kept[order])
        places = np.full(len(old), -1)
        places[rows[-1]] = np.arange(len(order))
    probs = [values[some] for values, some in zip(tables.log10_probs, rows, strict=True)]
    with np.errstate(divide="ignore"):
        probs[0] = np.minimum(np.log10(unigrams), 0).astype(np.float32)[rows[0]]
    backoffs = [values[some] for values, some in zip(tables.log10_backoffs, rows, strict=False)]
    return with_back_off_weights(NGramTables(vocab_size, keys, probs, backoffs), left)


def _expanded(tables: NGramTables, members: Sequence[Sequence[int]], vocab_size: int) -> NGramTables:
    """Return tables in which each word is replaced, in all places, by each of its members; they share its probability.

    Args:
        members: by old word, its new numbers; all are different.
    """
    sizes = np.array(list(map(len, members)))
    firsts, numbers = np.cumsum(sizes) - sizes, np.concatenate([np.array(some) for some in members])
    shares = np.log10(sizes).astype(np.float32)
    # The 1-grams are dense: a word that is no member has p = 0.
    old: np.ndarray = np.full(vocab_size, -1)
    old[numbers] = np.repeat(np.arange(len(sizes)), sizes)
    probs = [np.where(old < 0, -np.inf, tables.log10_probs[0][old] - shares[old]).astype(np.float32)]
    backoffs = [np.where(old < 0, 0, values[old]).astype(np.float32) for values in tables.log10_backoffs[:1]]
    keys: list[np.ndarray] = []
    for n in range(2, tables.order + 1):
        contexts, rows = _children(tables.keys[n - 2], old, tables.vocab_size)
        words = tables.keys[n - 2][rows] % tables.vocab_size
        if (total := int(sizes[words].sum())) > LARGEST_TABLE:
            raise ValueError(f"the model would have {total:,} {n}-grams; add fewer words that are like one word")
        starts = firsts[words] - (np.cumsum(sizes[words]) - sizes[words])
        members_of = numbers[np.arange(total) + np.repeat(starts, sizes[words])]
        new = np.repeat(contexts, sizes[words]) * vocab_size + members_of
        order = np.argsort(new, kind="stable")
        old = np.repeat(rows, sizes[words])[order]
        keys.append(new[order])
        probs.append(tables.log10_probs[n - 1][old] - shares[tables.keys[n - 2][old] % tables.vocab_size])
        backoffs += [values[old] for values in tables.log10_backoffs[n - 1 : n]]
    return NGramTables(vocab_size, keys, probs, backoffs)


def _children(keys: np.ndarray, contexts: np.ndarray, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the n-grams that continue each context, the place of the context, and their rows among the keys."""
    first = np.searchsorted(keys, contexts * vocab_size)
    count = np.searchsorted(keys, (contexts + 1) * vocab_size) - first
    places = np.repeat(np.arange(len(contexts)), count)
    return places, np.arange(len(places)) + np.repeat(first - (np.cumsum(count) - count), count)


def _least(tables: NGramTables, words: Sequence[int]) -> float:
    """Return the least 1-gram probability above 0 of some words."""
    probs = tables.log10_probs[0][list(words)]
    return float(10.0 ** float(probs[probs > -np.inf].min()))


def _with_unigrams(tables: NGramTables, added: Mapping[int, float], unknown: int | None) -> NGramTables:
    """Return tables in which some words have these 1-gram probabilities, taken from all others or from ``unknown``."""
    mass, contexts = math.fsum(added.values()), Contexts(tables)
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
    left = [_left(contexts, tables, n)[1] for n in range(1, tables.order)]
    with np.errstate(divide="ignore"):
        first = np.log10(unigrams).astype(np.float32)
    return with_back_off_weights(replace(tables, log10_probs=[first, *tables.log10_probs[1:]]), left)
