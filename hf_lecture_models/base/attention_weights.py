# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention weights of any model of transformers, most of whose kernels do not return them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def eager_attention(model: Any) -> Iterator[None]:
    """Compute attention within the block by the eager kernel, which returns its weights.

    >>> from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM
    >>> sizes = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    >>> model = Gpt1ForCausalLM(Gpt1Config(**sizes))
    >>> with eager_attention(model):
    ...     inside = model.config._attn_implementation
    >>> inside, model.config._attn_implementation
    ('eager', 'sdpa')
    """
    config = model.config
    parts = {name: part for name in config.sub_configs if (part := getattr(config, name, None)) is not None}
    before = {"": config._attn_implementation} | {name: part._attn_implementation for name, part in parts.items()}
    try:
        model.set_attn_implementation("eager")
        yield
    finally:
        model.set_attn_implementation(before)
