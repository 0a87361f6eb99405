# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Runs of a few steps whose micro-batches hold unequal numbers of items, and some none: whatever trains must agree.

`python -m tests.trainer.small_runs FOLDER` trains every kind into FOLDER/KIND_1 and FOLDER/KIND_2, in as many processes
as torchrun starts, each step cut into one or two micro-batches per process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, OpenAIGPTConfig, OpenAIGPTLMHeadModel

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.language_models.blocks import BlockCollator, StreamBatches, token_stream
from hf_lecture_models.tasks.language_models.masked_batches import MaskedBatches
from hf_lecture_models.tasks.language_models.tokens import text_spans
from hf_lecture_models.trainer.batches import Batch, Batches
from hf_lecture_models.trainer.loop import TrainingResult, train
from hf_lecture_models.trainer.recipe import TrainingRecipe
from tests.interop.small_models import count_tokens, ids_of, small_model, small_tokenizer
from tests.tasks.small_pretraining import TEXTS as PRETRAINING_TEXTS
from tests.tasks.small_pretraining import masked_texts, small_bert, word_tokenizer

# One word more from text to text, and empty ones: 20 rows for steps of 8, so that the last step of an epoch is half
# empty, and under two processes one of them has no item there.
TEXTS = [" ".join(("the cat saw the bird in the tree " * 2).split()[: n % 7 * 2]) for n in range(20)]
KINDS = [
    "bert",
    "bert_pretraining",
    "lecture_bert_pretraining",
    "openai_gpt",
    "gpt1",
    "self_attention",
    "feed_forward",
    "recurrent",
    "recurrent_adaptive",
    "recurrent_stream",
]


def collate_classes(rows: np.ndarray) -> Batch:
    """Sentences with one label each; every third has none."""
    draw = np.random.default_rng(0)
    ids, labels = draw.integers(1, 30, (20, 5)), draw.integers(0, 3, 20)
    labels = np.where((rows < 0) | (rows % 3 == 0), NOT_COUNTED, labels[rows])
    inputs = {"input_ids": torch.from_numpy(ids[rows]), "labels": torch.from_numpy(labels)}
    return Batch(inputs, int((labels != NOT_COUNTED).sum()))


def make_batches(kind: str, recipe: TrainingRecipe) -> Batches:
    if kind == "bert":
        return ShuffledBatches(20, collate_classes, recipe.batch_size, recipe.seed)
    if kind.endswith("pretraining"):
        return MaskedBatches(masked_texts(word_tokenizer(), PRETRAINING_TEXTS), recipe.batch_size, recipe.seed)
    tokenizer = small_tokenizer()
    stream, starts = token_stream(tokenizer, TEXTS)
    if kind.endswith("stream"):
        # Segments of one token, so that some hold nothing but `<s>`, which is no item.
        return StreamBatches(stream, recipe.batch_size, 1, tokenizer.bos_token_id)
    starts, lengths = text_spans(starts, len(stream), 50)
    collate = BlockCollator(stream, starts, lengths, tokenizer.bos_token_id, tokenizer.pad_token_id)
    return ShuffledBatches(len(starts), collate, recipe.batch_size, recipe.seed)


def make_model(kind: str, seed: int = 0, dropout: float = 0.0) -> Any:
    torch.manual_seed(seed)
    tokenizer = small_tokenizer()
    if kind == "bert":
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return BertForSequenceClassification(BertConfig(vocab_size=30, num_labels=3, **shape, **none))
    if kind.endswith("pretraining"):
        ours = kind.startswith("lecture")
        return small_bert(word_tokenizer(), ours, dropout=dropout, initializer_range=0.05)
    if kind == "openai_gpt":
        shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32}
        none = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        return OpenAIGPTLMHeadModel(OpenAIGPTConfig(vocab_size=len(tokenizer), **shape, **none))
    name = "recurrent" if kind.startswith("recurrent") else kind
    names = ("dropout", "embedding_dropout", "attention_dropout") if kind == "gpt1" else ("dropout",)
    changes: dict[str, Any] = dict.fromkeys(names, dropout)
    changes |= {"output_layer": "adaptive"} if kind.endswith("adaptive") else {}
    # With weights that are single numbers.
    changes |= {"hidden_act": "swish"} if kind == "self_attention" else {}
    model = small_model(name, tokenizer, hidden_size=16, **changes)
    count_tokens(model, ids_of(TEXTS, tokenizer))
    return model


def small_run(kind: str, folder: Path, parts: int = 1, **options: Any) -> TrainingResult:
    """Train a model of this kind by plain descent, whose step is the gradient: Adam would hide its size."""
    fields = {"optimizer": "sgd", "learning_rate": 0.3, "clip_norm": None, "batch_size": 8, "epochs": 2, "log_every": 1}
    names = [name for name in options if name in TrainingRecipe.__dataclass_fields__]
    recipe = TrainingRecipe(**fields | {name: options.pop(name) for name in names} | {"accumulation_steps": parts})
    model = options.pop("model", None) or make_model(kind)
    return train(model, make_batches(kind, recipe), recipe, folder, quiet=True, **options)


def save_time() -> None:
    """Leave out what takes longer than the runs themselves."""
    torch.set_num_threads(1)
    os.fsync = lambda descriptor: None


def main(folder: Path) -> None:
    for kind in KINDS:
        for parts in (1, 2):
            small_run(kind, folder / f"{kind}_{parts}")


if __name__ == "__main__":
    save_time()
    main(Path(sys.argv[1]))
    torch.distributed.destroy_process_group()
