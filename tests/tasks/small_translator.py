# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Small translators, ours and transformers' own, and a few pairs of sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.translation.task import Translation, TranslationRecipe

PAIRS = [
    ("Je suis étudiant", "I am a student"),
    ("Il est grand", "He is tall"),
    ("Elle est là", "She is there"),
    ("Le chat noir dort", "The black cat sleeps"),
    ("Le chien ne dort pas", "The dog does not sleep"),
    ("Nous voyons la maison rouge", "We see the red house"),
    ("Tu ne vois pas la petite maison rouge", "You do not see the small red house"),
    ("Oui", "Yes"),
]
SOURCES, TARGETS = (list(side) for side in zip(*PAIRS, strict=True))
ROWS = [{"source": source, "target": target} for source, target in PAIRS]
MODELS: dict[str, dict[str, Any]] = {
    "ours": {"model_type": "lecture_recurrent_seq2seq", "cell_type": "gru", "hidden_size": 8}
    | {"bidirectional_encoder": True, "attention_type": "additive"},
    "transformer": {"model_type": "lecture_transformer", "hidden_size": 8, "intermediate_size": 8, "dropout": 0.0}
    | {"num_hidden_layers": 2, "num_attention_heads": 2},
    "stock": {"model_type": "marian", "d_model": 8, "encoder_layers": 2, "decoder_layers": 2}
    | {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    | {"max_position_embeddings": 64, "dropout": 0.0},
}


def small_recipe(kind: str = "stock", **fields: Any) -> TranslationRecipe:
    """Some steps on the pairs."""
    small: dict[str, Any] = {"train_rows": ROWS, "validation_rows": ROWS[:3], "batch_tokens": 32, "epochs": 2}
    small |= {"tokenizer": {"type": "bpe", "form": "bytes", "vocab_size": 320}, "model": MODELS[kind]}
    small |= {"learning_rate": 0.02, "log_every": 1, "num_beams": 2, "data": {"name": "Eight Pairs"}}
    return TranslationRecipe(**{**small, **fields})


def rows(pairs: list[tuple[str, str]] = PAIRS) -> Rows:
    """The pairs as the task has its data."""
    sources, targets = zip(*pairs, strict=True)
    return Rows({"source": list(sources), "target": list(targets)}, [("pairs.tsv", len(pairs))])


def make_translator(kind: str = "stock", **fields: Any) -> tuple[Any, Any]:
    """A model with random weights that are large enough to write different things, and its tokenizer."""
    task, recipe = Translation(), small_recipe(kind, **fields)
    processor = task.processor(recipe, rows())
    model = task.model(recipe, processor, rows())
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if weight.ndim > 1 and "embed_positions" not in name:
                weight.normal_(std=0.6, generator=torch.Generator().manual_seed(sum(map(ord, name))))
    return model.eval(), processor


def save_translator(folder: Path, kind: str = "stock", **fields: Any) -> Path:
    """A folder with both."""
    model, processor = make_translator(kind, **fields)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
