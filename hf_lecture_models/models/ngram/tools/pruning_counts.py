# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How often a text has each n-gram of a finished model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.models.ngram.counting_ngram import count_ngrams, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import Texts, read_corpus
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tools.contexts import Contexts
from hf_lecture_models.models.ngram.tools.pruning_checks import tokenizer_of, units_of


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
        queries = np.where(places[prefixes] < 0, -1, places[prefixes] * contexts.vocab_size + words)
        places = find(contexts.keys[n - 2], torch.from_numpy(queries)).numpy()
        counts = np.zeros(len(contexts.keys[n - 2]), np.int64)
        counts[places[places >= 0]] = counted.occurrences[places >= 0]
        found.append(counts)
    return found
