# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a model can read of what a tokenizer gives: which inputs, and how many tokens."""

import inspect
import math
from collections.abc import Sequence
from typing import Any

from hf_lecture_models.base.limits import check_tokenizer, input_limit
from hf_lecture_models.data.rows import Rows

Example = dict[str, list[int]]
"""What a tokenizer gives for one text or pair: `input_ids` and the like."""


def encode_inputs(
    model: Any,
    tokenizer: Any,
    data: Rows,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    max_length: int | None = None,
    **options: Any,
) -> Any:
    """What the tokenizer gives for texts or pairs of texts that the model can read.

    Args:
        data: the rows of the texts, by which a message names the one that it means.
        max_length: the tokens that are kept of a longer input; None: one that is too long for the model is an error.
        options: of the tokenizer's call.

    Raises:
        ValueError: a row is too long for the model, and `max_length` cuts none, or is itself too long; or a row has no
            token, as empty texts have none without special ones; or the tokenizer belongs to another model, or pads
            nothing.
    """
    check_tokenizer(model, tokenizer)
    if tokenizer.pad_token is None:
        raise ValueError("the tokenizer has no pad_token, so texts of several lengths make no batch; set one")
    longest = longest_input(model, tokenizer)
    if max_length is not None and max_length > longest:
        raise ValueError(f"max_length {max_length} is more than the model's longest input, {longest} tokens")
    cut = {} if max_length is None else {"truncation": True, "max_length": max_length}
    encoded = tokenizer(texts, pairs, verbose=False, **(cut | options))
    for index, ids in enumerate(encoded["input_ids"]):
        if not ids:
            raise ValueError(f"{data.where(index)} has no token, its text is {texts[index]!r}; leave it out")
        if len(ids) > longest:
            raise ValueError(
                f"{data.where(index)} has {len(ids)} tokens, more than the model's longest input; "
                f"--max_length {longest} cuts what is longer"
            )
    return encoded


def count_cut(encoded: Any) -> int:
    """How many texts or pairs a fast tokenizer has cut; 0 of others, which do not say."""
    return sum(bool(encoding.overflowing) for encoding in encoded.encodings or ())


def model_inputs(model: Any, encoded: Any) -> list[Example]:
    """Row by row, what the model takes of what the tokenizer gave."""
    known = inspect.signature(model.forward).parameters
    names = [name for name in encoded if name in known]
    return [{name: encoded[name][index] for name in names} for index in range(len(encoded["input_ids"]))]


def longest_input(model: Any, tokenizer: Any) -> float:
    """The tokens that both can take at once; infinite, where neither has a bound."""
    limits = (input_limit(model), tokenizer.model_max_length)
    return min((limit for limit in limits if limit is not None and limit > 0), default=math.inf)
