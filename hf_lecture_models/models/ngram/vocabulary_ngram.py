# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pruning of 1-grams, which makes the vocabulary smaller: which words stay, and the tokenizer of those."""

from __future__ import annotations

from typing import Any

import numpy as np

from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig

_SPECIAL = VOCABULARY_FIELDS[1:]


def special_ids(config: NGramConfig) -> list[int]:
    """Return the ids that always stay: those of `<s>`, `</s>`, `<pad>` and `<unk>`, as far as there are any."""
    return sorted({getattr(config, name) for name in _SPECIAL} - {None})


def prunes_words(config: NGramConfig) -> bool:
    """Return whether the first threshold of `prune` is above 0, so that words leave the vocabulary."""
    return bool(config.prune and config.prune[0])


def kept_words(occurrences: np.ndarray, config: NGramConfig) -> np.ndarray | slice:
    """Return which words occur often enough to stay: (vocab,) bool, or all of them as a slice.

    >>> config = NGramConfig(vocab_size=4, order=2, prune=[1, 1], bos_token_id=0, eos_token_id=1)
    >>> kept_words(np.array([0, 9, 1, 2]), config).tolist()
    [True, True, False, True]
    """
    if not prunes_words(config):
        return slice(None)
    kept = occurrences > config.prune[0]  # type: ignore[index]
    kept[special_ids(config)] = True
    return kept


def reduce_vocabulary(config: NGramConfig, kept: np.ndarray | slice) -> None:
    """Write the size of the vocabulary that is left, and the new special ids, into a configuration."""
    if isinstance(kept, slice):
        return
    numbers = np.cumsum(kept) - 1
    for name in _SPECIAL:
        if (old := getattr(config, name)) is not None:
            setattr(config, name, int(numbers[old]))
    config.vocab_size = int(kept.sum())


def tokenizer_of_kept(tokenizer: Any, kept: np.ndarray | slice) -> Any:
    """Return the tokenizer of the words that are left: the same one if all are."""
    if isinstance(kept, slice) or kept.all():
        return tokenizer
    return tokenizer.restrict(np.flatnonzero(kept).tolist())


def check_prunes_words(config: NGramConfig, tokenizer: Any, classes: Any) -> None:
    """Check, before anything is counted, that words can be pruned, if any shall be.

    Raises:
        ValueError: the tokenizer cannot do without some of its words, or the n-grams are of classes.
    """
    if not prunes_words(config):
        return
    threshold = config.prune[0]  # type: ignore[index]
    rule = f"prune={config.prune} begins with {threshold}, which removes words from the vocabulary"
    if classes is not None:
        raise ValueError(f"{rule}, and the n-grams of classes have none; begin with 0, or leave the classes out")
    advice = f"begin with 0, or train a word tokenizer with min_count={threshold + 1} and begin with 0"
    if not hasattr(tokenizer, "restrict"):
        raise ValueError(f"{rule}, and a {type(tokenizer).__name__} needs all of its tokens; {advice}")
    added = {*tokenizer.added_tokens_decoder} - {*special_ids(config)}
    try:  # with all words
        tokenizer.restrict([number for number in range(len(tokenizer)) if number not in added])
    except ValueError as error:
        raise ValueError(f"{rule}, but {error}; {advice}") from error
