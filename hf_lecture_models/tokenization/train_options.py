# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The arguments that `train` of every tokenizer takes. This file travels with exported models."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from inspect import signature
from typing import Any

# Arguments of transformers' tokenizers; names that end in _token, such as mask_token, are arguments too.
_OF_EVERY_TOKENIZER = (
    "extra_special_tokens",
    "model_max_length",
    "padding_side",
    "truncation_side",
    "chat_template",
    "clean_up_tokenization_spaces",
    "split_special_tokens",
    "model_input_names",
)


def check_train_options(cls: Any, min_count: int, options: Mapping[str, Any], more: Collection[str] = ()) -> None:
    """Refuse what no tokenizer, or not this one, can be trained with.

    Args:
        cls: the class of the tokenizer, whose `train` names its own arguments.
        min_count: as for `train`.
        options: the keyword arguments that `train` does not name.
        more: what the class takes beside the arguments of every tokenizer of transformers.

    Raises:
        TypeError: there is no such option.
        ValueError: `min_count` is less than 1.
    """
    known = (*more, *_OF_EVERY_TOKENIZER)
    if unknown := sorted(name for name in options if name not in known and not name.endswith("_token")):
        own = [name for name in signature(cls.train).parameters if name not in ("texts", "kwargs")]
        raise TypeError(
            f"{cls.__name__}.train() has no option {', '.join(unknown)}; it has {', '.join((*own, *known))}, "
            "and spellings of special tokens, such as mask_token"
        )
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, not {min_count}")
