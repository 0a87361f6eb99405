# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How many tokens a model can read: as many as it says, and one more fails."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    MambaConfig,
    MambaForCausalLM,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
)

from hf_lecture_models import (
    FeedForwardConfig,
    FeedForwardForCausalLM,
    Gpt1Config,
    Gpt1ForCausalLM,
    NGramConfig,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
)
from hf_lecture_models.base.limits import input_limit

SMALL: dict[str, Any] = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def self_attention(kind: str) -> SelfAttentionForCausalLM:
    return SelfAttentionForCausalLM(SelfAttentionConfig(**SMALL, position_encoding=kind, max_position_embeddings=12))


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        (lambda: Gpt1ForCausalLM(Gpt1Config(**SMALL, max_position_embeddings=12)), 12),
        (lambda: Gpt1ForCausalLM(Gpt1Config(**SMALL, max_position_embeddings=12)).model, 12),
        (lambda: self_attention("learned"), 12),
        (lambda: GPT2LMHeadModel(GPT2Config(vocab_size=11, n_embd=8, n_layer=1, n_head=2, n_positions=12)), 12),
        (lambda: BertModel(BertConfig(**SMALL, intermediate_size=8, max_position_embeddings=12)), 12),
        # Its positions begin after that of padding: 14 vectors for 12 tokens.
        (lambda: RobertaModel(RobertaConfig(**SMALL, intermediate_size=8, max_position_embeddings=14)), 12),
    ],
)
def test_models_with_a_limit(model: Any, limit: int) -> None:
    model = model().eval()
    assert input_limit(model) == limit
    ids = torch.full((1, limit + 1), 5)
    assert model(ids[:, :limit])[0].shape[1] == limit
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        model(ids)


@pytest.mark.parametrize(
    "model",
    [
        lambda: self_attention("sinusoidal"),
        lambda: self_attention("relative"),
        lambda: self_attention("alibi"),
        lambda: RecurrentForCausalLM(RecurrentConfig(vocab_size=11, hidden_size=8)),
        lambda: FeedForwardForCausalLM(FeedForwardConfig(vocab_size=11, hidden_size=8)),
        lambda: NGramForCausalLM(NGramConfig(vocab_size=11)),
        lambda: MambaForCausalLM(MambaConfig(vocab_size=11, hidden_size=8, num_hidden_layers=1, state_size=4)),
        lambda: BloomForCausalLM(BloomConfig(vocab_size=11, hidden_size=8, n_layer=1, n_head=2)),
        lambda: T5ForConditionalGeneration(T5Config(vocab_size=11, d_model=8, d_ff=8, num_layers=1, num_heads=2)),
    ],
)
def test_models_without_a_limit(model: Any) -> None:
    assert input_limit(model()) is None
