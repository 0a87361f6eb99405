# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ELMo in other programs: ONNX, and transformers' Trainer in pre-training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments, set_seed

from hf_lecture_models import (
    ElmoForPreTraining,
    ElmoForQuestionAnswering,
    ElmoForSequenceClassification,
    ElmoForTokenClassification,
    ElmoModel,
    ElmoTokenizer,
)
from hf_lecture_models.hub.onnx import export_onnx
from tests.models.elmo.small_elmo import CHARACTERS, small

pytestmark = pytest.mark.slow

CLASSES = (
    ElmoModel,
    ElmoForPreTraining,
    ElmoForSequenceClassification,
    ElmoForTokenClassification,
    ElmoForQuestionAnswering,
)


def build(model_class: Any, **fields: Any) -> Any:
    torch.manual_seed(0)
    model = model_class(small(num_labels=3, vocab_size=262, **fields)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@pytest.mark.parametrize("model_class", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("clip", [None, 0.3])
def test_onnx_gives_the_same_numbers(model_class: Any, clip: float | None, tmp_path: Path) -> None:
    for package in ("onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    difference = export_onnx(build(model_class, cell_clip=clip, num_hidden_layers=1), tmp_path / "elmo.onnx")
    assert difference is not None
    assert difference < 1e-4


def test_pre_training_under_transformers_trainer(tmp_path: Path) -> None:
    """With its collator for tags, whose labels are padded as those of words are to be."""
    set_seed(0)
    texts = ("a cat sat", "the dog", "a dog sat")
    tokenizer = ElmoTokenizer.train(texts, max_characters_per_token=CHARACTERS)
    rows = [{**tokenizer(text), "labels": tokenizer.word_numbers(tokenizer(text).tokens())} for text in texts]
    options: dict[str, Any] = {"num_train_epochs": 20, "learning_rate": 0.02, "report_to": "none", "use_cpu": True}
    options |= {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 1, "disable_tqdm": True}
    model = build(ElmoForPreTraining, num_words=len(tokenizer.words))
    arguments = TrainingArguments(str(tmp_path), **options)
    collator = DataCollatorForTokenClassification(tokenizer)
    trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, data_collator=collator)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < 0.7 * before
