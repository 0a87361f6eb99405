# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Stock tools with the Vision Transformer: transformers' Trainer, peft, ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from transformers import Trainer, TrainingArguments

from hf_lecture_models import LectureViTForImageClassification
from tests.models.vit.test_modeling_vit import small


def shades(number: int = 16) -> list[dict[str, Any]]:
    """Dark, middling and light images, by which classes can be told apart."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(number, 3, 12, 12, generator=generator) * 0.1
    return [{"pixel_values": noise[i] + i % 3 - 1, "labels": i % 3} for i in range(number)]


def arguments(folder: Path, **options: Any) -> TrainingArguments:
    fixed = {"report_to": [], "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "learning_rate": 0.02}
    return TrainingArguments(str(folder), per_device_train_batch_size=8, **{**fixed, **options})


@pytest.mark.slow
def test_trainer_weighs_micro_batches(tmp_path: Path) -> None:
    """Under accumulation the weights are those of whole batches, and the model learns."""
    weights = []
    options = {"max_steps": 12, "optim": "sgd", "lr_scheduler_type": "constant"}
    for steps, size in ((1, 8), (4, 2)):
        torch.manual_seed(0)
        model = LectureViTForImageClassification(small())
        given = arguments(tmp_path, **options, gradient_accumulation_steps=steps)
        given.per_device_train_batch_size = size
        trainer = Trainer(model, given, train_dataset=shades(), eval_dataset=shades())
        trainer.train()
        weights.append({name: parameter.detach().clone() for name, parameter in model.named_parameters()})
    for name, tensor in weights[0].items():
        assert_close(weights[1][name], tensor, rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")
    assert {"eval_loss"} <= trainer.evaluate().keys()


@pytest.mark.slow
def test_onnx_computes_the_same(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    from hf_lecture_models.hub.onnx import export_onnx

    model = LectureViTForImageClassification(small()).eval()
    torch.nn.init.normal_(model.classifier.weight)
    assert export_onnx(model, tmp_path / "model.onnx") < 1e-4
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    images = torch.randn(5, 3, 12, 12)
    (logits,) = session.run(None, {"pixel_values": images.numpy()})
    assert_close(torch.from_numpy(logits), model(images).logits, rtol=1e-4, atol=1e-4)
