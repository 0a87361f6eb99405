# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models whose vocabulary cannot be resized."""

from typing import Any

from torch import nn


def keep_vocabulary(model: Any, reason: str, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> nn.Module:
    """Return the word vectors of a model whose `resize_token_embeddings` can only keep them.

    Args:
        reason: the end of the error message, after "the vocabulary of ".
        new_num_tokens, args, kwargs: the arguments of `resize_token_embeddings`.

    Raises:
        ValueError: they ask for another size.
    """
    padded = kwargs.get("pad_to_multiple_of", args[0] if args else None) is not None
    if padded or new_num_tokens not in (None, model.config.vocab_size):
        raise ValueError(f"the vocabulary of {reason}")
    return model.get_input_embeddings()
