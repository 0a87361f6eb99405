# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' Trainer: every head moves its weights as one large batch does, in however many parts it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import PreTrainedModel, Trainer, TrainingArguments, set_seed

from tests.stand_in import (
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
)

LENGTHS = (2, 9, 3, 8, 1, 7, 4, 5)
STEPS, RATE = 3, 0.5


def rows(label: Any) -> list[dict[str, Any]]:
    """A row for each length; `label` gives its labels from its number and ids. Trainer drops the text."""
    generator = torch.Generator().manual_seed(0)
    ids = [torch.randint(18, (length,), generator=generator).tolist() for length in LENGTHS]
    return [{"text": "dropped", "input_ids": row} | label(number, row) for number, row in enumerate(ids)]


def collate(batch: list[dict[str, Any]]) -> dict[str, Tensor]:
    """Pad ids and the labels of tokens, which are lists of integers, on the right."""
    assert all("text" not in row for row in batch)
    width = max(len(row["input_ids"]) for row in batch)
    found = {}
    for name in batch[0]:
        values = [row[name] for row in batch]
        if isinstance(values[0], list) and isinstance(values[0][0], int):
            padding = {"input_ids": 19, "labels": -100}[name]
            values = [value + [padding] * (width - len(value)) for value in values]
        found[name] = torch.tensor(values)
    return found | {"attention_mask": (found["input_ids"] != 19).long()}


def choices(batch: list[dict[str, Any]]) -> dict[str, Tensor]:
    """The text as one choice, its ids in other words as the other."""
    found = collate(batch)
    ids, mask = found["input_ids"], found["attention_mask"]
    other = torch.where(mask.bool(), 17 - ids, ids)
    return {"input_ids": torch.stack((ids, other), dim=1), "attention_mask": torch.stack((mask, mask), dim=1)} | {
        "labels": found["labels"]
    }


def some(number: int, ids: list[int]) -> list[int]:
    """Labels of tokens, of which every third row has none, and of the others not all count."""
    return [-100 if number % 3 == 0 or place == 1 else token % 3 for place, token in enumerate(ids)]


CASES: dict[str, tuple[type, dict[str, Any], Any, Any]] = {
    "classes": (
        EncoderForSequenceClassification,
        {"num_labels": 3},
        lambda n, ids: {"labels": -100 if n % 4 == 0 else n % 3},
        collate,
    ),
    "truth values": (
        EncoderForSequenceClassification,
        {"num_labels": 2},
        lambda n, ids: {"labels": [float(n % 2), -100.0 if n % 3 else 1.0]},
        collate,
    ),
    "regression": (EncoderForSequenceClassification, {"num_labels": 1}, lambda n, ids: {"labels": n / 8}, collate),
    "tags": (EncoderForTokenClassification, {"num_labels": 3}, lambda n, ids: {"labels": some(n, ids)}, collate),
    "masked words": (EncoderForMaskedLM, {}, lambda n, ids: {"labels": some(n, ids)}, collate),
    # All count: Trainer counts `labels` only, of which there are none.
    "answers": (
        EncoderForQuestionAnswering,
        {},
        lambda n, ids: {"start_positions": n % len(ids), "end_positions": len(ids) - 1},
        collate,
    ),
    "choices": (EncoderForMultipleChoice, {}, lambda n, ids: {"labels": -100 if n % 4 == 0 else n % 2}, choices),
}


def build(model_class: Any, fields: dict[str, Any]) -> PreTrainedModel:
    set_seed(0)
    model = model_class(model_class.config_class(vocab_size=20, pad_token_id=19, **fields))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize(("model_class", "fields", "label", "collator"), CASES.values(), ids=CASES)
def test_accumulation_changes_nothing(
    model_class: type, fields: dict[str, Any], label: Any, collator: Any, tmp_path: Path
) -> None:
    data = rows(label)
    # Plain descent on all rows at once is what is expected: its step is the gradient.
    expected = build(model_class, fields)
    batch = collator([{name: value for name, value in row.items() if name != "text"} for row in data])
    optimizer = torch.optim.SGD(expected.parameters(), lr=RATE)
    before = {name: parameter.detach().clone() for name, parameter in expected.named_parameters()}
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = expected(**batch).loss
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    assert any(not torch.allclose(p, before[name], atol=0.01) for name, p in expected.named_parameters())
    for accumulation in (1, 2, 4):
        model = build(model_class, fields)
        arguments = TrainingArguments(
            output_dir=str(tmp_path),
            optim="sgd",
            learning_rate=RATE,
            lr_scheduler_type="constant",
            max_grad_norm=0.0,
            max_steps=STEPS,
            per_device_train_batch_size=len(data) // accumulation,
            gradient_accumulation_steps=accumulation,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        trainer = Trainer(model, arguments, train_dataset=data, data_collator=collator)
        trainer.train()
        for name, parameter in expected.named_parameters():
            assert_close(
                model.get_parameter(name),
                parameter,
                rtol=1e-5,
                atol=1e-6,
                msg=lambda m, name=name, parts=accumulation: f"{name} in {parts} parts: {m}",
            )
        logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        assert logged == pytest.approx(losses, rel=1e-4, abs=1e-4)
