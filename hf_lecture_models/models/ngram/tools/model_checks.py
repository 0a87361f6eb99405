# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which models the tools can change, and where a model's tokenizer is."""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM


def check_model(model: NGramForCausalLM, name: str = "the model", classes: bool = False) -> None:
    """Refuse a model that is not one back-off model of stored words, whose contexts sum to one.

    Args:
        model: to be changed.
        name: of the model in the message.
        classes: whether n-grams of classes of words can be changed too.

    Raises:
        ValueError: it is of another kind; the message has the reason and what to do instead.
    """
    if (found := reason_against(model.config, classes)) is not None:
        raise ValueError(f"{name} {'; '.join(found)}")


def reason_against(config: NGramConfig, classes: bool = False) -> tuple[str, str] | None:
    """Return why a model cannot be changed, and what to do instead; None if it can be.

    >>> reason_against(NGramConfig(vocab_size=4, order=2, smoothing="stupid_backoff"))
    ('has scores of stupid back-off, not probabilities', 'fit with another smoothing')
    """
    if config.components is not None:
        return "interpolates several models", "take those that it was made of, or their static mixture"
    if not config.is_distribution:
        return "has scores of stupid back-off, not probabilities", "fit with another smoothing"
    if config.num_classes is not None and not classes:
        return "has n-grams of classes, and each stands for many n-grams of words", "take a model of words"
    if config.hashed:
        return (
            "has hashes of its n-grams, from a file that KenLM built as 'probing', and not their words",
            "take the ARPA file, or KenLM's trie of it",
        )
    if config.quantisation_bits is not None:
        bits = config.quantisation_bits
        return f"is quantised to {bits} bits, and its contexts do not sum to one", "take the model that was quantised"
    return None


def own_tokenizer_of(model: NGramForCausalLM) -> Any:
    """Return the tokenizer that a model was estimated, read or saved with; None if it has none."""
    if model.own_tokenizer is not None:
        return model.own_tokenizer
    try:
        return AutoTokenizer.from_pretrained(model.name_or_path, local_files_only=True)
    except (OSError, ValueError):  # there is none in the folder
        return None
