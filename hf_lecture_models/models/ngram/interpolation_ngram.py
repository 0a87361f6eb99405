# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear interpolation of n-gram models (slide Y:179-225), into one model that is saved and used like any other:

    P(w | h) = sum_i weight_i P_i(w | h)

The weights, one per model, are those that make held-out texts most probable, by expectation maximisation (F. Jelinek
and R. Mercer, Interpolated Estimation of Markov Source Parameters from Sparse Data, 1980).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from hf_lecture_models.layers.ngram_classes import ClassNGramTrie
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.models.ngram.estimation_ngram import read_corpus
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.pretrained_ngram import tries_of

MIN_WEIGHT, MAX_STEPS, TOLERANCE = 1e-4, 1000, 1e-7


def interpolate(
    cls: type[NGramForCausalLM],
    models: Sequence[Any],
    tokenizer: Any,
    held_out: Iterable[str] | str | os.PathLike[str],
    progress: bool = True,
) -> NGramForCausalLM:
    """Mix several models into one: `NGramForCausalLM.interpolate([words, classes], tokenizer, held_out)`.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["the cat sat", "the dog ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> models = [NGramForCausalLM.fit(texts, tokenizer, order=n, smoothing="add_alpha") for n in (1, 2)]
    >>> mixed = NGramForCausalLM.interpolate(models, tokenizer, ["the cat ran"])
    >>> [round(weight, 2) for weight in mixed.config.mixture_weights]
    [0.0, 1.0]

    Args:
        models: two or more `NGramForCausalLM` over one vocabulary; they share their tables with the new one.
        tokenizer: theirs.
        held_out: texts to set the weights by, other than those that the models were estimated from; given as to `fit`.

    Raises:
        ValueError: fewer than two models are given, they have different vocabularies, one is an interpolation itself,
            or `held_out` is empty.
        OSError: the file cannot be read.
    """
    _check(models)
    stream = make_stream(*read_corpus(tokenizer, held_out, progress, "encoding held-out texts"), models[0].config)
    words, starts = torch.from_numpy(stream.words), torch.from_numpy(stream.places == 0)
    with torch.no_grad():
        log_probs = [model.trie.score(words.to(model.device), starts.to(model.device))[0].cpu() for model in models]
    weights = fit_weights(torch.stack(log_probs)[:, ~starts].double().exp().numpy())
    config = _config([model.config for model in models], weights)
    with torch.device("meta"):
        mixed = cls(config)
    for trie, model in zip(tries_of(mixed.trie), models, strict=True):
        trie.load_tables(model.tables())
        if isinstance(trie, ClassNGramTrie):
            trie.load_classes(model.word_classes())
    return mixed.eval()


def fit_weights(probs: np.ndarray) -> list[float]:
    """Return one weight per model, together 1, that make the events most probable: (models, events) probabilities.

    >>> [round(weight, 3) for weight in fit_weights(np.array([[0.5, 0.5, 0.5], [0.9, 0.9, 0.3]]))]
    [0.0, 1.0]
    """
    probs = probs[:, probs.any(0)]  # events that all models give the probability 0 do not count
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(MAX_STEPS):
        joint = weights[:, None] * probs
        updated = (joint / joint.sum(0)).mean(1).clip(MIN_WEIGHT) if joint.size else weights
        updated /= updated.sum()
        change, weights = np.abs(updated - weights).max(), updated
        if change < TOLERANCE:
            break
    return weights.tolist()


def _config(configs: list[NGramConfig], weights: list[float]) -> NGramConfig:
    components = [
        {**config.how_estimated(), "num_classes": config.num_classes, "table_sizes": config.sizes} for config in configs
    ]
    same = {name: getattr(configs[0], name) for name in VOCABULARY_FIELDS}
    order = max(config.order for config in configs)
    return NGramConfig(order=order, smoothing=None, components=components, mixture_weights=weights, **same)


def _check(models: Sequence[Any]) -> None:
    if len(models) < 2:
        raise ValueError(f"{len(models)} models cannot be interpolated; give two or more")
    for model in models:
        if model.config.components is not None:
            raise ValueError("a model is an interpolation already; give the models that it was made of instead")
        if not model.config.is_distribution:
            raise ValueError("a model of stupid back-off gives scores, not probabilities; fit with another smoothing")
        for name in VOCABULARY_FIELDS:
            ours, theirs = getattr(models[0].config, name), getattr(model.config, name)
            if ours != theirs:
                raise ValueError(
                    f"the models have different vocabularies: {name} is {ours} and {theirs}; estimate both with one "
                    "tokenizer"
                )
