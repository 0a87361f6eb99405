# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What `NGramForCausalLM.prune` refuses, and whose words are whose."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.models.ngram.classes.class_files import config_of_classes
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import words_by_id
from hf_lecture_models.models.ngram.files.arpa_format import PADDING
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit
from hf_lecture_models.models.ngram.smoothing.interpolated import KNESER_NEY
from hf_lecture_models.models.ngram.tools.model_checks import check_model, own_tokenizer_of

CRITERIA = ("entropy", "weighted_difference")
_CHOICES = ("threshold", "ngrams", "bytes", "at_most")


def check_choice(options: Any, order: int) -> None:
    """Refuse arguments of `prune`, the attributes of `options`, that do not go together, or that it would not read.

    Raises:
        ValueError: an argument is wrong.
    """
    given = [name for name in _CHOICES if getattr(options, name) is not None]
    if len(given) != 1:
        what = " and ".join(f"`{name}`" for name in given) or "none"
        raise ValueError(f"{what} of `threshold`, `ngrams`, `bytes` and `at_most` given; give one of them")
    if options.criterion not in CRITERIA:
        raise ValueError(f"`criterion` is {options.criterion!r}; it must be one of {', '.join(CRITERIA)}")
    entropy = options.criterion == "entropy"
    if options.threshold is not None and not options.threshold >= (0 if entropy else -math.inf):
        raise ValueError(f"`threshold` is {options.threshold}; give a number of at least 0, such as 1e-7")
    if options.ngrams is not None and options.ngrams < 1:
        raise ValueError(f"`ngrams` is {options.ngrams}; give a number of at least 1")
    if options.at_most is not None:
        _check_at_most(options, order)
    elif options.counts is not None and entropy:
        raise ValueError(
            "`counts` are not read by the entropy; give `at_most` too, or weighted_difference as `criterion`"
        )
    if options.counts is not None and options.history is not None:
        raise ValueError("`history` is not read where `counts` are given; leave one of them out")


def _check_at_most(options: Any, order: int) -> None:
    limits = list(options.at_most)
    if options.counts is None:
        raise ValueError("`at_most` needs `counts`, a text or counts")
    if options.criterion != "entropy":
        raise ValueError(f"`criterion` is not read where `at_most` is given; leave out {options.criterion}")
    if not 0 < len(limits) <= order or limits[0] != 0 or sorted(limits) != limits:
        raise ValueError(
            f"`at_most` is {limits}; give at most {order} numbers, one for each order, which begin with 0 (1-grams "
            "stay) and do not decrease, such as 0, 1, 2"
        )


def bytes_of(size: int | str | None) -> int:
    """Return a size as a number.

    >>> bytes_of("10MB")
    10000000

    Raises:
        ValueError: it cannot be read.
    """
    try:
        return MemoryLimit(size or "0").bytes
    except ValueError:
        raise ValueError(f"`bytes` is {size!r}; give a size such as '10MB'") from None


def warn_of_lower_orders(model: NGramForCausalLM) -> None:
    """Warn where a model's probability of a context is known to be another than the text's."""
    smoothing = model.config.smoothing
    if smoothing in (*KNESER_NEY, "pitman_yor"):
        warnings.warn(
            f"the model was smoothed by {smoothing}, whose lower orders count different words before; so its "
            "probabilities of contexts are not the text's, and pruning is worse for it; give a model of another "
            "smoothing as `history` (--history-model); docs/ngram_tools.md has figures",
            stacklevel=4,
        )


def units_of(model: NGramForCausalLM) -> NGramConfig:
    """Return the configuration of the n-grams themselves: of words, or of classes as if they were words."""
    classes = model.word_classes()
    return model.config if classes is None else config_of_classes(model.config, classes)


def tokenizer_of(model: NGramForCausalLM, tokenizer: Any, name: str) -> Any:
    """Return a model's tokenizer: the one given, its own, or that of the folder it was loaded from.

    Raises:
        ValueError: none is found, or it is another model's.
    """
    found = own_tokenizer_of(model) if tokenizer is None else tokenizer
    if found is None:
        raise ValueError(f"`{name}` needs the words of the model; give its `tokenizer`")
    check_tokenizer(model, found)
    return found


def ids_in_history(model: NGramForCausalLM, history: NGramForCausalLM, tokenizer: Any) -> np.ndarray:
    """Return the number in `history` of each unit of a model, (units,) int64; unknown words are its `<unk>`.

    Raises:
        ValueError: `history` is of another kind, or its classes are others, or it has no `<unk>` and lacks a word.
    """
    check_model(history, "`history`", classes=True)
    ours, theirs = model.word_classes(), history.word_classes()
    if ours is not None or theirs is not None:
        if ours is None or theirs is None or not np.array_equal(ours.class_of, theirs.class_of):
            raise ValueError("`history` has other classes of words than the model; estimate both with the same ones")
        return np.arange(ours.num_classes)
    words = words_by_id(tokenizer_of(model, tokenizer, "history"), model.config)
    own = tokenizer_of(history, tokenizer if history is model else None, "history")
    numbers = {word: index for index, word in enumerate(words_by_id(own, history.config))}
    unknown = history.config.unk_token_id
    if unknown is None:
        if lacking := [word for word in words if word not in numbers and word != PADDING]:
            raise ValueError(f"`history` lacks the word {lacking[0]!r}, and has no <unk>; take one with these words")
        unknown = 0
    return np.array([numbers.get(word, unknown) for word in words], np.int64)
