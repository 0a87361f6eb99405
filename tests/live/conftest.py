# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A browser, and small models for the live pages."""

import pytest
import torch

from hf_lecture_models import (
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.lab.live.weights import LiveModel
from tests.browser import chromium

TEXTS = [
    "the cat saw the dog .",
    "the dog saw the cat and the mouse .",
    "a mouse ran to the house .",
    "the old cat ran after a mouse in the old house .",
]


@pytest.fixture(scope="module")
def browser():
    yield from chromium()


@pytest.fixture(scope="session")
def live_models() -> list[LiveModel]:
    """A trigram, an LSTM and a self-attention model with random weights, of one tokenizer."""
    torch.manual_seed(0)
    tokenizer = WordTokenizer.train(TEXTS)
    size = {"vocab_size": len(tokenizer), "hidden_size": 16}
    trigram = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="absolute_discounting")
    lstm = RecurrentForCausalLM(RecurrentConfig(**size, cell_type="lstm"))
    attention = SelfAttentionForCausalLM(
        SelfAttentionConfig(
            **size,
            norm_position="post",
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=32,
            position_encoding="alibi",
        )
    )
    named = {"Trigram": trigram, "LSTM": lstm, "Self-attention": attention}
    return [LiveModel(title, "four sentences", model.eval(), tokenizer) for title, model in named.items()]
