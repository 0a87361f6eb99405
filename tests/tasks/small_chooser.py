# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Small models that choose, of transformers itself and of the lectures, and rows of two choices and of three."""

from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertForMultipleChoice

from hf_lecture_models import LectureBertConfig, LectureBertForMultipleChoice
from tests.model_tests import perturb
from tests.tasks.small_classifier import small_tokenizer

ROWS: list[dict[str, Any]] = [
    {"context": "a fine film", "choices": ["dull and long", "funny"], "label": 1},
    {"context": "a dull film", "choices": ["long", "a warm and funny film", "fine and funny"], "label": 0},
    {"context": "a film that is warm", "choices": ["this is a fine one", "this is a dull one"], "label": 0},
    {"context": "a cold and dull film", "choices": ["funny", "a warm film", "cold and long"], "label": 2},
    {"context": "funny", "choices": ["a long film", "a fine film"], "label": 1},
    {"context": "this is a dull one", "choices": ["dull and long", "warm"], "label": 0},
    {"context": "fine and funny", "choices": ["cold", "a film that is warm", "dull"], "label": 1},
    {"context": "a film that is cold", "choices": ["a fine film", "a dull film"], "label": 1},
    {"context": "this is a fine one", "choices": ["a funny and warm film", "long and dull"], "label": 0},
    {"context": "dull and long", "choices": ["this is a fine one", "this is a dull one"], "label": 1},
]
SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
SIZES |= {"max_position_embeddings": 16}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def small_chooser(kind: str) -> Any:
    """One layer of 8; "stock" is of transformers, "ours" of the lectures."""
    torch.manual_seed(0)
    fields: dict[str, Any] = {"vocab_size": len(small_tokenizer()), **SIZES, **NO_DROPOUT}
    if kind == "stock":
        return BertForMultipleChoice(BertConfig(**fields, initializer_range=0.5))
    model = LectureBertForMultipleChoice(LectureBertConfig(**fields, pad_token_id=0))
    perturb(model, 0.3)
    return model


def save_small_chooser(folder: Path, kind: str = "stock") -> Path:
    """A folder with model and tokenizer."""
    small_chooser(kind).save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return folder
