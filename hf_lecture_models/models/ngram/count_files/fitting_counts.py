# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`NGramForCausalLM.fit(counts=...)`: the model of a corpus from the counts of its n-grams.

If they are all there, the tables equal those of `fit` from the texts, bit for bit. If low counts are missing, as in
Google's tables, smoothings that are set by how many n-grams occur once, twice, ... are refused: nobody knows these
numbers. SRILM's frequently asked questions recommend Jelinek-Mercer there.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.count_files.linked_counts import LinkedCounts, link_counts
from hf_lecture_models.models.ngram.count_files.reading_counts import read_counts
from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, Stream, sort_keys
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END
from hf_lecture_models.models.ngram.smoothing.interpolated import DISCOUNTING, smooth
from hf_lecture_models.models.ngram.vocabulary_ngram import kept_words
from hf_lecture_models.tokenization.bounds import TextBounds
from hf_lecture_models.tokenization.corpus import encode_corpus

NEED_LOW_COUNTS = (*DISCOUNTING, "pitman_yor", "good_turing", "katz")
Counts = NGramWordCounts | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def load_counts(
    counts: Counts, tokenizer: Any, order: int, progress: bool, others: dict[str, Any]
) -> tuple[NGramWordCounts, Any]:
    """Return the counts that `fit` is given, read where they are paths, and its tokenizer or that of their words.

    Raises:
        ValueError: one of the `others`, arguments of `fit`, is given, and goes with texts only; the counts have no
            n-grams of this order.
        OSError: a file cannot be read.
    """
    reasons = {
        "texts": "give either texts or their counts",
        "classes": "classes are found in texts, and words in them are counted there",
        "memory": "counts are smoothed in memory; fit from the texts instead",
    }
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"`{name}` is given beside `counts`: {reasons[name]}")
    if not isinstance(counts, NGramWordCounts):
        counts = read_counts(counts, order, progress)
    if counts.order < order:
        raise ValueError(
            f"`order` is {order}, but the longest n-grams of the counts have {counts.order} words; give "
            f"order={counts.order}, or count longer n-grams"
        )
    return counts.up_to(order), counts.tokenizer() if tokenizer is None else tokenizer


def estimate_from_counts(
    counts: NGramWordCounts, tokenizer: Any, config: NGramConfig, held_out: Stream | None, progress: bool
) -> tuple[NGramTables, np.ndarray | slice]:
    """Return the tables, and which words they have (`kept_words`); what is estimated is written into `config`.

    Raises:
        ValueError: n-grams are missing that the texts must have had, or that the smoothing needs; or the counts are not
            of the tokenizer's tokens.
    """
    with ProgressBar(total=2 * config.order, desc="counting, smoothing", shown=progress) as bar:
        linked = link_counts(counts)
        if linked.missing:
            _say_missing(linked, config)
        numbered = number_counts(linked, token_ids(counts.words, tokenizer, config), config)
        bar.update(config.order)
        words = kept_words(numbered[0].occurrences, config)
        return smooth(numbered, config, held_out, bar), words


def _say_missing(linked: LinkedCounts, config: NGramConfig) -> None:
    smallest = [int(occurrences.min()) for occurrences in linked.counts.occurrences]
    rule = f"n-grams are missing from the counts: {linked.missing} of them occur more often than longer ones tell, and "
    rule += f"the lowest count of each order is {', '.join(map(str, smallest))}"
    if config.smoothing in NEED_LOW_COUNTS:
        usable = ", ".join(name for name in SMOOTHINGS if name not in NEED_LOW_COUNTS)
        raise ValueError(
            f"{rule}. smoothing={config.smoothing!r} is set by how many n-grams occur once, twice, ..., which nobody "
            f"knows then; give one of {usable}"
        )
    warnings.warn(f"{rule}. n-grams that are counted get what the missing ones should", stacklevel=4)


def token_ids(words: list[str], tokenizer: Any, config: NGramConfig) -> np.ndarray:
    """Return the id of each word, (words,) int64; `<s>` and `</s>` are where the tokenizer begins and ends texts.

    Raises:
        ValueError: the words are not tokens. With a tokenizer that splits words, its tokens can be counted.
    """
    is_mark = np.array([word in (BEGIN, END) for word in words])
    others = [word for word in words if word not in (BEGIN, END)]
    if special := TextBounds(tokenizer).own.intersection(others):
        raise ValueError(f"the word {min(special)!r} of the counts is a special token of the tokenizer; leave it out")
    ids = np.array([config.bos_token_id if word == BEGIN else config.eos_token_id for word in words], np.int64)
    if getattr(tokenizer, "has_one_token_per_word", bool)():
        corpus = encode_corpus(tokenizer, others, progress=False)
        if (corpus.lengths != 1).any():
            word = others[int((corpus.lengths != 1).argmax())]
            raise ValueError(f"the word {word!r} of the counts has white space, where the tokenizer splits texts")
        ids[~is_mark] = corpus.ids
    else:
        vocabulary = tokenizer.get_vocab()
        if unknown := next((word for word in others if word not in vocabulary), None):
            raise ValueError(
                f"{unknown!r} is no token of the tokenizer, which splits words: count its tokens, "
                "count_texts(texts, order, tokenizer)"
            )
        ids[~is_mark] = [vocabulary[word] for word in others]
    return ids


def number_counts(linked: LinkedCounts, ids: np.ndarray, config: NGramConfig) -> list[NGramCounts]:
    """Return the counts as `count_ngrams` has them; those of words with one id are added.

    Args:
        linked: the counts.
        ids: (words,) the token of each word.
    """
    counts, vocab_size = linked.counts, config.vocab_size
    unigrams = np.arange(vocab_size)
    events = np.zeros(vocab_size, np.int64)
    places = ids[counts.ngrams[0][:, 0]]  # of each n-gram of words among those of tokens
    np.add.at(events, places, np.where(counts.ngrams[0][:, 0] == counts.number(BEGIN), 0, counts.occurrences[0]))
    numbered = [NGramCounts(unigrams, events, unigrams, unigrams == config.bos_token_id)]
    suffixes: np.ndarray = places
    for n, rows in enumerate(counts.ngrams[1:], 2):
        keys = places[linked.prefixes[n - 1]] * vocab_size + ids[rows[:, -1]]
        suffixes = places[linked.suffixes[n - 1]]
        keys, order = sort_keys(keys, np.arange(len(keys)))
        new = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        firsts = np.flatnonzero(new)
        occurrences = np.add.reduceat(counts.occurrences[n - 1][order], firsts)
        places = np.empty(len(keys), np.int64)
        places[order] = np.cumsum(new) - 1
        keys = keys[firsts]
        starts = numbered[-1].starts.take(keys // vocab_size)
        numbered.append(NGramCounts(keys, occurrences, suffixes[order[firsts]], starts))
    return numbered
