# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The classifier in other programs: adapters by peft, ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hf_lecture_models import BagOfWordsConfig, BagOfWordsForSequenceClassification
from tests.model_tests import token_inputs

pytestmark = pytest.mark.slow

FIELDS = {"linear": {}, "deep": {"hidden_sizes": [6, 5]}, "integer": {"input_coding": "integer"}}


def build(fields: dict[str, Any]) -> BagOfWordsForSequenceClassification:
    config = BagOfWordsConfig(vocab_size=20, bos_token_id=17, eos_token_id=18, pad_token_id=19, num_labels=3, **fields)
    model = BagOfWordsForSequenceClassification(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize("fields", [FIELDS["linear"], FIELDS["deep"]], ids=["linear", "deep"])
def test_adapters_train_merge_and_reload(fields: dict[str, Any], tmp_path: Path) -> None:
    """The words' weights are adapted; hidden layers' classifier, which peft knows by its name, is trained in full."""
    peft = pytest.importorskip("peft")
    build(fields).save_pretrained(tmp_path / "base")
    base = BagOfWordsForSequenceClassification.from_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["embed_tokens"]))
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    inputs, labels = token_inputs(base.config, (6, 4, 5)), torch.tensor([2, 0, 1])
    optimizer, losses = torch.optim.Adam(trained, lr=0.05), []
    for _ in range(30):
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
    merged = BagOfWordsForSequenceClassification.from_pretrained(tmp_path / "merged")
    assert_close(merged(**inputs).logits, expected, rtol=0, atol=1e-4)


class Logits(nn.Module):
    """Tensors in, one tensor out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_onnx_gives_the_same_logits(fields: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = build(fields)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        Logits(model).eval(),
        tuple(token_inputs(model.config, (6, 4)).values()),
        tmp_path / "model.onnx",
        input_names=["input_ids", "attention_mask"],
        dynamic_shapes={"input_ids": free, "attention_mask": free},
        dynamo=True,
        verbose=False,
    )
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    inputs = token_inputs(model.config, (3, 5, 2))
    logits = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})[0]
    assert_close(torch.from_numpy(logits), model(**inputs).logits.detach(), rtol=0, atol=1e-5)
