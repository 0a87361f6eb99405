# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How often a text has each n-gram of a finished model."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.models.ngram.count_files.fitting_counts import token_ids
from hf_lecture_models.models.ngram.count_files.reading_counts import is_counts_name, read_counts
from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts
from hf_lecture_models.models.ngram.counting_ngram import count_ngrams, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import Texts, read_corpus
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tools.contexts import Contexts
from hf_lecture_models.models.ngram.tools.pruning_checks import tokenizer_of, units_of

Counts = Texts | NGramWordCounts


def counts_of(
    model: NGramForCausalLM, contexts: Contexts, counts: Counts, tokenizer: Any, bar: tqdm
) -> list[np.ndarray]:
    """Return what `counts_in_text` does, from a text, from counts, or from the path of a count file.

    Raises:
        ValueError: counts are of words, and the model is of classes; or as `counts_in_text` and `read_counts`.
        OSError: a file cannot be read.
    """
    if isinstance(counts, str | os.PathLike) and is_counts_name(counts):
        counts = read_counts(counts, model.config.order, not bar.disable)
    if not isinstance(counts, NGramWordCounts):
        return counts_in_text(model, contexts, counts, tokenizer, bar)
    if model.word_classes() is not None:
        raise ValueError("`counts` are of words, and the model has n-grams of classes; give a text")
    if counts.order < model.config.order:
        raise ValueError(f"`counts` have n-grams of {counts.order} words, and the model of {model.config.order}")
    ids = token_ids(counts.words, tokenizer_of(model, tokenizer, "counts"), model.config)
    found = []
    for n in range(2, model.config.order + 1):
        places, words = ids[counts.ngrams[n - 1][:, 0]], counts.ngrams[n - 1][:, 1:]
        for keys, following in zip(contexts.keys, words.T, strict=False):
            places = _extended(places, keys, ids[following], contexts.vocab_size)
        of_order = np.zeros(len(contexts.keys[n - 2]), np.int64)
        np.add.at(of_order, places[places >= 0], counts.occurrences[n - 1][places >= 0])
        found.append(of_order)
    return found


def _extended(places: np.ndarray, keys: torch.Tensor, words: np.ndarray, vocab_size: int) -> np.ndarray:
    """Return the row of each n-gram "context word" among the keys, -1 where it is not stored; `places` are contexts."""
    return find(keys, torch.from_numpy(np.where(places < 0, -1, places * vocab_size + words))).numpy()


def counts_in_text(
    model: NGramForCausalLM, contexts: Contexts, texts: Texts, tokenizer: Any, bar: tqdm
) -> list[np.ndarray]:
    """Return how often texts have each n-gram of a model, [n-2] for n = 2..order: (n-grams of order n,) int64.

    Args:
        model: of words, or of classes, whose n-grams are counted then.
        contexts: the model's.
        texts: as `fit` takes them.
        tokenizer: the model's; None: its `own_tokenizer`.
        bar: nothing is shown beside it where it is not shown.

    Raises:
        ValueError: the corpus is empty, or the tokenizer is missing.
        OSError: a file cannot be read.
    """
    ids, lengths = read_corpus(tokenizer_of(model, tokenizer, "counts"), texts, not bar.disable)
    classes = model.word_classes()
    stream = make_stream(ids if classes is None else classes.class_of[ids], lengths, units_of(model))
    found, places = [], np.arange(contexts.vocab_size)  # the row in the model of each counted n-gram, or -1
    for n, counted in enumerate(count_ngrams(stream, units_of(model))[1:], 2):
        prefixes, words = np.divmod(counted.keys, contexts.vocab_size)
        places = _extended(places[prefixes], contexts.keys[n - 2], words, contexts.vocab_size)
        counts = np.zeros(len(contexts.keys[n - 2]), np.int64)
        counts[places[places >= 0]] = counted.occurrences[places >= 0]
        found.append(counts)
    return found
