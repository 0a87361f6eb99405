# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A tokenizer's output cut down to what a model can read: its inputs, and its number of tokens."""

import inspect
from collections.abc import Sequence
from typing import Any

from hf_lecture_models.base.limits import check_tokenizer, longest_input
from hf_lecture_models.data.rows import Rows

Example = dict[str, list[int]]
"""A tokenizer's output for one text or pair: `input_ids` and the like."""


class TooManyTokensError(ValueError):
    """An input has more tokens than the model reads.

    >>> print(TooManyTokensError("a.txt, line 3", 20, 16))
    a.txt, line 3 has 20 tokens, more than the model's longest input; `max_length` 16 cuts what is longer
    """

    def __init__(self, where: str, tokens: int, longest: float) -> None:
        self.tokens, self.longest = tokens, longest
        super().__init__(
            f"{where} has {tokens} tokens, more than the model's longest input; `max_length` {longest} cuts what "
            "is longer"
        )


def encode_inputs(
    model: Any,
    tokenizer: Any,
    data: Rows,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    max_length: int | None = None,
    **options: Any,
) -> Any:
    """Tokenize texts or pairs of texts, and check that the model can read them.

    Args:
        data: the rows of the texts, to name one in a message.
        max_length: the most tokens of an input; longer ones are cut. None: an input too long for the model is an error.
        options: further arguments of the tokenizer's call.

    Raises:
        TooManyTokensError: a row is too long for the model and `max_length` is None.
        ValueError: `max_length` is too long for the model; a row has no tokens, such as an empty text without special
            tokens; or the tokenizer belongs to another model, or has no padding token.
    """
    check_tokenizer(model, tokenizer)
    if tokenizer.pad_token is None:
        raise ValueError("the tokenizer has no pad_token, so texts of several lengths make no batch; set one")
    longest = longest_input(model, tokenizer)
    if max_length is not None and max_length > longest:
        raise ValueError(f"`max_length` {max_length} is more than the model's longest input, {longest} tokens")
    cut = {} if max_length is None else {"truncation": True, "max_length": max_length}
    encoded = tokenizer(texts, pairs, verbose=False, **(cut | options))
    for index, ids in enumerate(encoded["input_ids"]):
        if not ids:
            raise ValueError(f"{data.where(index)} has no token, its text is {texts[index]!r}; leave it out")
        if len(ids) > longest:
            raise TooManyTokensError(data.where(index), len(ids), longest)
    return encoded


def count_cut(encoded: Any) -> int:
    """Return how many texts or pairs a fast tokenizer has cut; 0 for others, which do not report it."""
    return sum(bool(encoding.overflowing) for encoding in encoded.encodings or ())


def model_inputs(model: Any, encoded: Any) -> list[Example]:
    """Return the inputs of each row that the model takes, from the tokenizer's output."""
    known = inspect.signature(model.forward).parameters
    names = [name for name in encoded if name in known]
    return [dict(zip(names, row, strict=True)) for row in zip(*map(encoded.__getitem__, names), strict=True)]
