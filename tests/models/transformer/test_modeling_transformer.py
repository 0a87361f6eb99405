# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Transformer: what every model must do, with torch's layers as the reference, and what only it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForSeq2SeqLM, DynamicCache, EncoderDecoderCache, PreTrainedModel

from hf_lecture_models import (
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    LectureTransformerModel,
)
from tests.model_tests import Tensors, TokenTests, perturb, token_inputs
from tests.models.transformer.test_blocks_transformer import SHAPE, torch_transformer


def small(**changes: Any) -> LectureTransformerConfig:
    return LectureTransformerConfig(**{**SHAPE, **changes})


def pair_inputs(config: Any, lengths: Sequence[int]) -> Tensors:
    """Sources and targets of these lengths, padded on the right; a target begins with the start token."""
    source, target = token_inputs(config, lengths), token_inputs(config, lengths, seed=7)
    target["input_ids"][:, 0] = torch.where(target["attention_mask"][:, 0] == 1, 17, config.pad_token_id)
    return source | {f"decoder_{name}": tensor for name, tensor in target.items()}


class TransformerTests(TokenTests):
    """Not collected by itself: what both classes declare in common."""

    sequence_inputs = ("input_ids", "attention_mask", "decoder_input_ids", "decoder_attention_mask")
    contradictory_configs = (
        {"hidden_act": "quick_gelu"},
        {"hidden_size": 12, "num_attention_heads": 5},
        {"hidden_size": 12, "decoder_attention_heads": 5},
        {"hidden_size": 9, "num_attention_heads": 3, "decoder_attention_heads": 3, "position_encoding": "sinusoidal"},
        {"norm_position": "both"},
        {"position_encoding": "relative"},
        {"dropout": 1.0},
        {"is_encoder_decoder": False},
        {"decoder_vocab_size": 19, "pad_token_id": 19},
        {"decoder_layers": 0},
        {"hiden_size": 8},
    )

    def config(self) -> LectureTransformerConfig:
        return small()

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return pair_inputs(self.config(), lengths)


class TestLectureTransformerModel(TransformerTests):
    model_class = LectureTransformerModel

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return torch_transformer(model, inputs["input_ids"], inputs["decoder_input_ids"])


class TestPreNormTransformerModel(TestLectureTransformerModel):
    def config(self) -> LectureTransformerConfig:
        return small(norm_position="pre", hidden_act="swish", position_encoding="learned", scale_embedding=False)
