# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`NGramForCausalLM.fit`: estimates a model in memory, of words or of classes, or out of core."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from hf_lecture_models.layers.ngram_tables import WordClasses
from hf_lecture_models.models.ngram.checks_ngram import how_estimated
from hf_lecture_models.models.ngram.classes.class_files import classes_of_tokens, config_of_classes, find_classes
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.count_files.fitting_counts import Counts, estimate_from_counts, load_counts
from hf_lecture_models.models.ngram.counting_ngram import Stream, check_longest, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import (
    Path,
    Texts,
    check_smoothing,
    config_for,
    estimate,
    held_out_stream,
    read_corpus,
)
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit, fit_within
from hf_lecture_models.models.ngram.vocabulary_ngram import check_prunes_words, kept_words, tokenizer_of_kept


def fit(
    cls: type[NGramForCausalLM],
    texts: Texts | None = None,
    tokenizer: Any = None,
    order: int = 5,
    smoothing: str = "modified_kneser_ney",
    alpha: float = 1.0,
    held_out: Texts | None = None,
    prune: list[int] | None = None,
    katz_k: int = 5,
    backoff_factor: float = 0.4,
    classes: int | Path | None = None,
    progress: bool = True,
    memory: MemoryLimit | str | int | None = None,
    counts: Counts | None = None,
) -> NGramForCausalLM:
    """Estimate an n-gram model, from texts or from the counts of their n-grams.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["the cat sat", "the cat ran"]
    >>> NGramForCausalLM.fit(texts, WordTokenizer.train(texts), order=2, smoothing="add_alpha").config.table_sizes
    [8, 6]

    Args:
        texts: any iterable of str, or the path of a file with one text per line (`.gz` too).
        tokenizer: any tokenizer of transformers with a beginning and an end of text; None: that of the counts' words.
        order, smoothing, alpha, prune, katz_k, backoff_factor: see `NGramConfig`. Pruned words: use `own_tokenizer`.
        held_out: texts for Jelinek-Mercer, whose weights make them most probable; given as `texts` is.
        classes: for n-grams of word classes: how many to find, or a file of them (`classes/class_files.py`).
        memory: a limit, such as "2GB"; a larger estimation runs out of core, on disk (`out_of_core/estimation.py`).
        counts: in place of texts, their counts or the paths of count files (`count_files/fitting_counts.py`).

    Raises:
        ValueError, OSError, ImportError: an argument is wrong, a file cannot be read, or an engine is not installed.
    """
    options: dict[str, Any] = {"order": order, "smoothing": smoothing, "prune": prune and list(prune)}
    options |= {"alpha": alpha, "katz_k": katz_k, "backoff_factor": backoff_factor}
    if counts is not None:
        others = {"texts": texts, "classes": classes, "memory": memory}
        return _fit_counts(cls, counts, tokenizer, held_out, progress, others, options)
    return _fit_texts(cls, texts, tokenizer, held_out, classes, progress, memory, options)


def _fit_texts(
    cls: type[NGramForCausalLM],
    texts: Texts | None,
    tokenizer: Any,
    held_out: Texts | None,
    classes: int | Path | None,
    progress: bool,
    memory: MemoryLimit | str | int | None,
    options: dict[str, Any],
) -> NGramForCausalLM:
    if texts is None or tokenizer is None:
        missing = "texts" if texts is None else "tokenizer"
        raise ValueError(f"`{missing}` is missing; give texts and a tokenizer, or counts")
    check_smoothing(config := config_for(tokenizer, **options), held_out)
    check_prunes_words(config, tokenizer, classes)
    found = None if memory is None else fit_within(memory, cls, texts, tokenizer, config, classes, progress)
    model, corpus = found or (None, None)
    if model is not None:
        return model
    known = classes_of_tokens(classes, tokenizer, config) if isinstance(classes, str | os.PathLike) else classes
    other = None if held_out is None else read_corpus(tokenizer, held_out, progress, "encoding held-out texts")
    return _fit_words(corpus or read_corpus(tokenizer, texts, progress), tokenizer, config, other, known, progress, cls)


def _fit_words(
    corpus: tuple[np.ndarray, np.ndarray],
    tokenizer: Any,
    config: NGramConfig,
    held_out: tuple[np.ndarray, np.ndarray] | None,
    classes: int | WordClasses | None,
    progress: bool,
    model_class: type[NGramForCausalLM],
) -> NGramForCausalLM:
    words = kept_words(np.bincount(corpus[0], minlength=config.vocab_size), config)
    model = fit_ids(*corpus, config, held_out, classes, progress, model_class)
    model.own_tokenizer = tokenizer_of_kept(tokenizer, words)
    return model


def _fit_counts(
    cls: type[NGramForCausalLM],
    counts: Counts,
    tokenizer: Any,
    held_out: Texts | None,
    progress: bool,
    others: dict[str, Any],
    options: dict[str, Any],
) -> NGramForCausalLM:
    counted, tokenizer = load_counts(counts, tokenizer, options["order"], progress, others)
    check_smoothing(config := config_for(tokenizer, **options), held_out)
    stream = None
    if held_out is not None and config.smoothing == "jelinek_mercer":
        stream = held_out_stream(read_corpus(tokenizer, held_out, progress, "encoding held-out texts"), config)
    check_prunes_words(config, tokenizer, None)
    tables, words = estimate_from_counts(counted, tokenizer, config, stream, progress)
    model = cls.from_tables(tables, config)
    model.own_tokenizer = tokenizer_of_kept(tokenizer, words)
    return model


def fit_ids(
    ids: np.ndarray,
    lengths: np.ndarray,
    config: NGramConfig,
    held_out: tuple[np.ndarray, np.ndarray] | None = None,
    classes: int | WordClasses | None = None,
    progress: bool = False,
    model_class: type[NGramForCausalLM] = NGramForCausalLM,
) -> NGramForCausalLM:
    """Estimate an n-gram model from token ids, as `estimate` takes them; `classes` are as for `fit`, or themselves.

    What is estimated is written into `config`; so is the new vocabulary if words are pruned.
    """
    if classes is None:
        return model_class.from_tables(estimate(ids, lengths, config, held_out, progress), config)
    check_smoothing(config, held_out)
    check_prunes_words(config, None, classes)
    stream = make_stream(ids, lengths, config)
    check_longest(int(stream.places.max()) + 1, config.order)
    known = _known_classes(stream, config, classes, progress)
    return _fit_classes(ids, lengths, config, held_out, known, progress, model_class)


def _known_classes(stream: Stream, config: NGramConfig, classes: int | WordClasses, progress: bool) -> WordClasses:
    if isinstance(classes, bool) or not isinstance(classes, int | WordClasses):
        raise ValueError(f"classes is {classes!r}; give how many to find, or the path of a file of them")
    return find_classes(stream, config, classes, progress) if isinstance(classes, int) else classes


def _fit_classes(
    ids: np.ndarray,
    lengths: np.ndarray,
    config: NGramConfig,
    held_out: tuple[np.ndarray, np.ndarray] | None,
    classes: WordClasses,
    progress: bool,
    model_class: type[NGramForCausalLM],
) -> NGramForCausalLM:
    """Estimate the n-grams of classes as those of words, in texts whose words are the classes."""
    if len(classes.class_of) != config.vocab_size:
        raise ValueError(f"classes of {len(classes.class_of)} words, but vocab_size is {config.vocab_size}")
    other = None if held_out is None else (classes.class_of[held_out[0]], held_out[1])
    config_inside = config_of_classes(config, classes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1-grams that occur")  # rarely: classes are all frequent, and should be
        inside = fit_ids(classes.class_of[ids], lengths, config_inside, other, progress=progress)
    for name, estimated in how_estimated(config_inside).items():
        setattr(config, name, estimated)
    return model_class.from_tables(inside.tables(), config, classes)
