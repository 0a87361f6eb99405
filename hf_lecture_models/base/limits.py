# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Limits of a model's input: how many tokens it reads at once, and from which tokenizer."""

from copy import copy
from typing import Any

from torch import nn

NO_LIMIT = 2**62
"""A number of tokens that no text has."""


def input_limit(model: Any) -> int | None:
    """Return the number of tokens that a model, ours or of transformers, can read at once; None without a bound.

    Ours have it as `longest_input`: only trained positions end. Of transformers' models it is the
    configuration's `max_position_embeddings`, less the positions before the first token that RoBERTa and its kin skip;
    MPT calls it `max_seq_len`, and -1 (XLNet) means any number.

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> input_limit(GPT2LMHeadModel(GPT2Config(n_positions=64, n_embd=8, n_layer=1, n_head=2, vocab_size=9)))
    64
    """
    if hasattr(model, "longest_input"):
        return model.longest_input
    limit = getattr(model.config, "max_position_embeddings", None) or getattr(model.config, "max_seq_len", None)
    if limit is None or limit < 1:
        return None
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return limit - module.padding_idx - 1
    return limit


def longest_input(model: Any, tokenizer: Any) -> int:
    """Return the most tokens of an input that both model and tokenizer allow; `NO_LIMIT` if neither has a limit."""
    limits = (input_limit(model), getattr(tokenizer, "model_max_length", None), NO_LIMIT)
    return int(min(limit for limit in limits if limit is not None and limit > 0))


def with_input_limit(tokenizer: Any, model: Any) -> Any:
    """Return the tokenizer with a `model_max_length` of at most what the model can read, as it is saved beside it.

    Other programs cut long texts by it (`truncation=True`). It is a copy where the length changes, because the same
    tokenizer may belong to a model without a bound. An image processor, which has no such length, stays as it is.

    >>> from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat"])
    >>> config = Gpt1Config(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    >>> with_input_limit(tokenizer, Gpt1ForCausalLM(config)).model_max_length
    512
    """
    limit = input_limit(model)
    if limit is None or getattr(tokenizer, "model_max_length", 0) <= limit:
        return tokenizer
    limited = copy(tokenizer)
    limited.model_max_length = limit
    return limited


def is_of_lectures(config: Any) -> bool:
    """Return whether a configuration is of this package, also where a model's own code brought it.

    >>> from transformers import GPT2Config
    >>> from hf_lecture_models import Gpt1Config
    >>> is_of_lectures(Gpt1Config()), is_of_lectures(GPT2Config())
    (True, False)
    """
    return getattr(config, "is_of_lectures", False)


def check_tokenizer(model: Any, tokenizer: Any) -> None:
    """Check that a tokenizer can belong to the model.

    Raises:
        ValueError: the tokenizer has more tokens than the model; or, for a model of ours, another end or beginning of
            text. In configurations of other libraries, these often differ from the tokenizer's.
    """
    vocab_size = model.config.vocab_size
    if len(tokenizer) > vocab_size:
        raise ValueError(
            f"the tokenizer has {len(tokenizer)} tokens but the model's vocab_size is {vocab_size}; "
            "load the tokenizer that was saved with the model"
        )
    for name in ("bos_token_id", "eos_token_id") if is_of_lectures(model.config) else ():
        ours, theirs = getattr(model.config, name, None), getattr(tokenizer, name, None)
        if ours is not None and theirs is not None and theirs not in (ours if isinstance(ours, list) else [ours]):
            raise ValueError(
                f"the tokenizer's {name} is {theirs} but the model's is {ours}; "
                "load the tokenizer that was saved with the model"
            )


def refuse_long_rows(model: Any, sequence_length: int) -> None:
    """Check that rows of training data are not longer than the model can read.

    Raises:
        ValueError: they are longer.
    """
    longest = input_limit(model)
    if longest is not None and sequence_length > longest:
        raise ValueError(
            f"sequence_length {sequence_length} is more than the model's longest input, {longest} tokens; "
            "lower it, or raise max_position_embeddings"
        )
