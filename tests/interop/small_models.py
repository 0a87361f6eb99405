# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models of a few thousand weights with their tokenizer, for other programs to work on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from hf_lecture_models import (
    EfficientTransformerConfig,
    EfficientTransformerForCausalLM,
    FeedForwardConfig,
    FeedForwardForCausalLM,
    Gpt1Config,
    Gpt1ForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)

TEXTS = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a bird sang in the tree",
    "the cat saw the bird",
    "the dog saw the cat",
] * 4

_CLASSES: dict[str, tuple[type, type, dict[str, Any]]] = {
    "efficient_transformer": (
        EfficientTransformerForCausalLM,
        EfficientTransformerConfig,
        {"num_hidden_layers": 2, "num_attention_heads": 2, "window_size": 2, "max_position_embeddings": 32},
    ),
    "feed_forward": (FeedForwardForCausalLM, FeedForwardConfig, {"order": 4}),
    "recurrent": (RecurrentForCausalLM, RecurrentConfig, {}),
    "gpt1": (Gpt1ForCausalLM, Gpt1Config, {"num_hidden_layers": 1, "num_attention_heads": 2}),
    "self_attention": (
        SelfAttentionForCausalLM,
        SelfAttentionConfig,
        {"num_hidden_layers": 1, "num_attention_heads": 2},
    ),
}


def small_tokenizer() -> Any:
    return WordTokenizer.train(TEXTS)


def small_model(name: str, tokenizer: Any, **changes: Any) -> Any:
    """A model of the folder `name` under models/, with fields of its configuration changed."""
    model_class, config_class, fields = _CLASSES[name]
    special = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("bos", "eos", "pad")}
    defaults = {"vocab_size": len(tokenizer), "hidden_size": 32, **special, **fields}
    return model_class(config_class(**defaults | changes))


def save_small_model(folder: Path, name: str, **changes: Any) -> str:
    """Write model and tokenizer as a user has them; returns the folder as a string."""
    tokenizer = small_tokenizer()
    small_model(name, tokenizer, **changes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def ids_of(texts: list[str], tokenizer: Any) -> list[dict[str, list[int]]]:
    """Rows for a data loader: each text with its end."""
    return [{"input_ids": tokenizer(f"{text} {tokenizer.eos_token}")["input_ids"]} for text in texts]


def count_tokens(model: Any, rows: list[dict[str, list[int]]]) -> None:
    """Tell an output layer that wants it how often each token is a target; all but `<s>` are."""
    if getattr(model, "needs_token_counts", False):
        ids = torch.tensor([token for row in rows for token in row["input_ids"][1:]])
        model.set_token_counts(ids.bincount(minlength=model.config.vocab_size))
