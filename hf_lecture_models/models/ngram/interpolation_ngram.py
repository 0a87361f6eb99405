# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear interpolation of n-gram models (slide Y:179-225), into one model that is saved and used like any other:

    P(w | h) = sum_i weight_i P_i(w | h)

The weights, one per model, are those that make held-out texts most probable, by expectation maximisation (F. Jelinek
and R. Mercer, Interpolated Estimation of Markov Source Parameters from Sparse Data, 1980). Two models may number the
same words differently, as two ARPA files do; the tables are then renumbered.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from hf_lecture_models.layers.ngram_tables import HashedNGramTables, NGramTables
from hf_lecture_models.models.ngram.checks_ngram import how_estimated
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import words_by_id
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.models.ngram.estimation_ngram import config_for, read_corpus
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.tables_ngram import load_tables, tries_of

MIN_WEIGHT, MAX_STEPS, TOLERANCE = 1e-4, 1000, 1e-7


def interpolate(
    cls: type[NGramForCausalLM],
    models: Sequence[Any],
    tokenizer: Any,
    held_out: Iterable[str] | str | os.PathLike[str],
    progress: bool = True,
) -> NGramForCausalLM:
    """Mix several models into one, word by word: `NGramForCausalLM.interpolate([words, classes], tokenizer, held_out)`.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["the cat sat", "the dog ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> models = [NGramForCausalLM.fit(texts, tokenizer, order=n, smoothing="add_alpha") for n in (1, 2)]
    >>> mixed = NGramForCausalLM.interpolate(models, tokenizer, ["the cat ran"])
    >>> [round(weight, 2) for weight in mixed.config.mixture_weights]
    [0.0, 1.0]

    Args:
        models: two or more `NGramForCausalLM` over the same words, in any order; tables in the new order are shared.
        tokenizer: that of the new model. Or a list with one for each model; the new model has the first. Without a
            list, a model's own is its `own_tokenizer`, else that of its folder, else `tokenizer`, with a warning.
        held_out: texts to set the weights by, other than those that the models were estimated from; given as to `fit`.

    Raises:
        ValueError: fewer than two models are given, they have different words, one is an interpolation itself, there
            is not one tokenizer for each, or `held_out` is empty.
        OSError: the file cannot be read.
    """
    _check(models)
    tokenizer, tokenizers = _tokenizers(models, tokenizer)
    vocabulary = config_for(tokenizer)
    ids = [_new_ids(one, own, tokenizer, vocabulary) for one, own in zip(models, tokenizers, strict=True)]
    stream = make_stream(*read_corpus(tokenizer, held_out, progress, "encoding held-out texts"), vocabulary)
    starts = stream.places == 0
    with torch.no_grad():
        scores = [_score(model, new, stream.words, starts) for model, new in zip(models, ids, strict=True)]
    weights = fit_weights(np.stack(scores)[:, ~starts])
    with torch.device("meta"):
        mixed = cls(_config([model.config for model in models], vocabulary, weights))
    for trie, model, new in zip(tries_of(mixed.trie), models, ids, strict=True):
        _load(trie, model, new)
    mixed.own_tokenizer = tokenizer
    return mixed.eval()


def renumbered(tables: NGramTables, ids: np.ndarray) -> NGramTables:
    """Return tables of the same n-grams, in which word i has the number `ids[i]`; the same tables if that is i.

    >>> probs = [np.float32([-1, -2, -3]), np.float32([-4, -5])]
    >>> tables = NGramTables(3, [np.array([1, 5])], probs, [np.zeros(3, np.float32)])  # the 2-grams 0 1 and 1 2
    >>> moved = renumbered(tables, np.array([2, 0, 1]))  # 2 0 and 0 1
    >>> moved.keys[0].tolist(), moved.log10_probs[0].tolist(), moved.log10_probs[1].tolist()
    ([1, 6], [-2.0, -3.0, -1.0], [-5.0, -4.0])

    Args:
        ids: (vocab,) int64, each number once.
    """
    if np.array_equal(ids, np.arange(len(ids))):
        return tables
    orders, keys = [np.argsort(ids)], []
    if isinstance(tables, HashedNGramTables):  # their keys do not have our numbers
        tables = replace(tables, hash_numbers=tables.hash_numbers[orders[0]])
        orders += [np.arange(size) for size in tables.sizes[1:]]
        keys = tables.keys
    else:
        places = ids
        for old in tables.keys:
            prefixes, words = np.divmod(old, tables.vocab_size)
            new = places[prefixes] * tables.vocab_size + ids[words]
            orders.append(np.argsort(new))
            keys.append(new[orders[-1]])
            places = np.argsort(orders[-1])
    probs = [values[order] for values, order in zip(tables.log10_probs, orders, strict=True)]
    backoffs = [values[order] for values, order in zip(tables.log10_backoffs, orders, strict=False)]
    return replace(tables, keys=keys, log10_probs=probs, log10_backoffs=backoffs)


def _load(trie: Any, model: NGramForCausalLM, ids: np.ndarray) -> None:
    """Give a trie the tables of a model, whose word i has the number `ids[i]` there."""
    classes = model.word_classes()
    if classes is None:
        load_tables(trie, renumbered(model.tables(), ids))
        return
    old = np.argsort(ids)
    moved = replace(classes, class_of=classes.class_of[old], log10_probs=classes.log10_probs[old])
    load_tables(trie, model.tables(), moved)


def _tokenizers(models: Sequence[Any], tokenizer: Any) -> tuple[Any, list[Any]]:
    """Return the tokenizer of the new model, and that of each model."""
    if not isinstance(tokenizer, list | tuple):
        return tokenizer, [_own_tokenizer(number, model, tokenizer) for number, model in enumerate(models, 1)]
    if len(tokenizer) != len(models):
        raise ValueError(f"{len(tokenizer)} tokenizers for {len(models)} models; give one, or one for each")
    return tokenizer[0], list(tokenizer)


def _own_tokenizer(number: int, model: NGramForCausalLM, tokenizer: Any) -> Any:
    """Return the tokenizer that a model was estimated, read or saved with, or else `tokenizer`."""
    if model.own_tokenizer is not None:
        return model.own_tokenizer
    try:
        return AutoTokenizer.from_pretrained(model.name_or_path, local_files_only=True)
    except (OSError, ValueError):  # it has none
        warnings.warn(
            f"model {number} has no tokenizer of its own, so its words are taken to have the numbers of the one given; "
            "if they have others, give a list with a tokenizer for each model",
            stacklevel=4,
        )
        return tokenizer


def _new_ids(model: NGramForCausalLM, own: Any, tokenizer: Any, vocabulary: NGramConfig) -> np.ndarray:
    """Return the number in `tokenizer` of each word of a model, (vocab,) int64."""
    if own is tokenizer:
        for name in VOCABULARY_FIELDS:
            ours, theirs = getattr(vocabulary, name), getattr(model.config, name)
            if ours != theirs:
                rule = f"the models have different vocabularies: {name} is {ours} and {theirs}"
                raise ValueError(f"{rule}; estimate both with one tokenizer")
        return np.arange(vocabulary.vocab_size)
    words, place_of = words_by_id(own, model.config), {w: i for i, w in enumerate(words_by_id(tokenizer, vocabulary))}
    others, lacking = [word for word in words if word not in place_of], place_of.keys() - set(words)
    if others or lacking:
        parts = [f"lacks {_some(lacking)}"] if lacking else []
        parts += [f"has {_some(others)} beside them"] if others else []
        rule = f"the models have different vocabularies: of the tokenizer's words, a model {' and '.join(parts)}"
        raise ValueError(f"{rule}; estimate all models over one vocabulary")
    return np.array([place_of[word] for word in words], np.int64)


def _some(words: Collection[str]) -> str:
    shown = ", ".join(repr(word) for word in sorted(words)[:3])
    return shown if len(words) <= 3 else f"{shown} and {len(words) - 3} others"


def _score(model: NGramForCausalLM, ids: np.ndarray, words: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the probability of each word, (tokens,) float64; `words` are numbered as the new model's."""
    own = torch.from_numpy(np.argsort(ids)[words]).to(model.device)
    return model.trie.score(own, torch.from_numpy(starts).to(model.device))[0].double().exp().cpu().numpy()


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


def _config(configs: list[NGramConfig], vocabulary: NGramConfig, weights: list[float]) -> NGramConfig:
    components = [
        {**how_estimated(config), "num_classes": config.num_classes, "table_sizes": config.sizes} for config in configs
    ]
    same = {name: getattr(vocabulary, name) for name in VOCABULARY_FIELDS}
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
