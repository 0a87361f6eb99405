# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Stock tools with the Vision Transformer: transformers' Trainer, peft, ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from transformers import AutoModelForImageClassification, Trainer, TrainingArguments

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
def test_adapters_train_merge_and_reload(tmp_path: Path) -> None:
    """LoRA where nobody says where: on the product of queries, keys and values."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    model = LectureViTForImageClassification(small())
    model.save_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=4, modules_to_save=["classifier"]))
    assert any("qkv_proj.lora_A" in name for name, _ in adapted.named_parameters())
    trainer = Trainer(adapted, arguments(tmp_path, max_steps=60), train_dataset=shades())
    trainer.train()
    images = torch.stack([row["pixel_values"] for row in shades()])
    expected = adapted.eval()(pixel_values=images).logits
    assert (expected.argmax(1) == torch.arange(16) % 3).float().mean() > 0.9
    adapted.save_pretrained(tmp_path / "adapter")
    base = AutoModelForImageClassification.from_pretrained(tmp_path / "base")
    again = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    assert_close(again(pixel_values=images).logits, expected)
    merged = again.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    loaded = AutoModelForImageClassification.from_pretrained(tmp_path / "merged")
    assert_close(loaded(pixel_values=images).logits, expected, rtol=1e-4, atol=1e-4)


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
