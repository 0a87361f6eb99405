# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The padded perceptron and one input per layer in other programs: adapters by peft, transformers' Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import nn
from torch.testing import assert_close
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding, Trainer, TrainingArguments

from hf_lecture_models import (
    LayerPerInputConfig,
    LayerPerInputForSequenceClassification,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
    WordTokenizer,
)
from tests.model_tests import token_inputs

pytestmark = pytest.mark.slow

FIELDS = {"vocab_size": 20, "embedding_size": 6, "max_position_embeddings": 8, "num_labels": 3}
SPECIAL = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
TEXTS = ["a fine film", "fine acting , fine story", "a dull film", "dull , dull and long"]


def build(kind: str, **fields: Any) -> Any:
    torch.manual_seed(0)
    if kind == "padded":
        return PaddedMlpForSequenceClassification(PaddedMlpConfig(**FIELDS | SPECIAL | fields, hidden_sizes=[8, 6]))
    return LayerPerInputForSequenceClassification(LayerPerInputConfig(**FIELDS | SPECIAL | fields, hidden_size=8))


@pytest.mark.parametrize("targets", ["all-linear", ["embed_tokens"]], ids=["layers", "words"])
@pytest.mark.parametrize("kind", ["padded", "layer per input"])
def test_adapters_train_merge_and_reload(kind: str, targets: Any, tmp_path: Path) -> None:
    """Beside them, peft trains the classifier in full, which it knows by its name."""
    peft = pytest.importorskip("peft")
    model = build(kind)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(tmp_path / "base")
    base = AutoModelForSequenceClassification.from_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=targets))
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    inputs, labels = token_inputs(base.config, (6, 4, 5)), torch.tensor([2, 0, 1])
    optimizer, losses = torch.optim.Adam(trained, lr=0.05), []
    for _ in range(40):
        optimizer.zero_grad()
        losses.append(adapted(**inputs, labels=labels).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.5 * losses[0]
    expected = adapted.eval()(**inputs).logits
    adapted.save_pretrained(tmp_path / "adapter")
    found = peft.AutoPeftModelForSequenceClassification.from_pretrained(tmp_path / "adapter", num_labels=3).eval()
    assert_close(found(**inputs).logits, expected, rtol=0, atol=1e-6)
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    merged = AutoModelForSequenceClassification.from_pretrained(tmp_path / "merged")
    assert_close(merged(**inputs).logits, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["padded", "layer per input"])
def test_transformers_trainer(kind: str, tmp_path: Path) -> None:
    """It pads on either side, accumulates, evaluates, saves, and takes up its own checkpoint."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    model = build(kind, vocab_size=len(tokenizer), num_labels=2, **special)
    rows = Dataset.from_dict({**tokenizer(TEXTS, truncation=True, max_length=8), "labels": [1, 1, 0, 0]})
    arguments = TrainingArguments(
        str(tmp_path),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
        learning_rate=0.05,
        num_train_epochs=15,
        save_steps=20,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    collate = DataCollatorWithPadding(tokenizer)
    trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, data_collator=collate)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]
    assert after < 0.5 * before
    again = Trainer(build(kind, vocab_size=len(tokenizer), num_labels=2, **special), arguments, collate, rows, rows)
    again.train(resume_from_checkpoint=True)
    assert again.evaluate()["eval_loss"] == pytest.approx(after, abs=1e-6)
