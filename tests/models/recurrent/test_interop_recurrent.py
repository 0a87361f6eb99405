# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The classifier in other programs: adapters by peft, ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hf_lecture_models import RecurrentForSequenceClassification
from hf_lecture_models.hub.onnx import export_onnx
from tests.model_tests import Tensors, token_inputs
from tests.models.recurrent.test_modeling_recurrent import small

pytestmark = pytest.mark.slow

FIELDS: dict[str, dict[str, Any]] = {
    "last": {"num_hidden_layers": 1},
    "both ways": {"bidirectional": True, "cell_type": "gru"},
    "mean": {"pooling": "mean", "projection_size": 5},
    "pairs": {"pooling": "max", "bidirectional": True, "pair_combination": "infersent"},
}


def build(fields: dict[str, Any]) -> RecurrentForSequenceClassification:
    model = RecurrentForSequenceClassification(small(num_labels=3, **fields)).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def inputs_of(model: RecurrentForSequenceClassification) -> Tensors:
    inputs = token_inputs(model.config, (6, 4, 5))
    types = (torch.arange(6) > 2).long().expand(3, -1)
    return inputs | ({} if model.config.pair_combination is None else {"token_type_ids": types})


@pytest.mark.parametrize("fields", [FIELDS["last"], FIELDS["pairs"]], ids=["last", "pairs"])
def test_adapters_train_merge_and_reload(fields: dict[str, Any], tmp_path: Path) -> None:
    """Word vectors and recurrent matrices are adapted; the classifier, which peft knows by name, is trained in full."""
    peft = pytest.importorskip("peft")
    build(fields).save_pretrained(tmp_path / "base")
    base = RecurrentForSequenceClassification.from_pretrained(tmp_path / "base")
    targets = {"target_modules": ["embed_tokens"], "target_parameters": ["rnn.weight_ih_l0", "rnn.weight_hh_l0"]}
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type="SEQ_CLS", r=2, **targets))
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    inputs, labels = inputs_of(base), torch.tensor([2, 0, 1])
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
    merged = RecurrentForSequenceClassification.from_pretrained(tmp_path / "merged")
    assert_close(merged(**inputs).logits, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
@torch.no_grad()
def test_onnx_gives_the_same_logits(fields: dict[str, Any], tmp_path: Path) -> None:
    """Of texts of other lengths than those of the export, in batches padded on either side; of pairs too."""
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = build(fields)
    difference = export_onnx(model, tmp_path / "model.onnx")
    assert difference is not None
    assert difference < 1e-4
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    inputs = inputs_of(model)
    assert {given.name for given in session.get_inputs()} == set(inputs)
    for given in (inputs, {name: tensor.flip(1) for name, tensor in inputs.items()}):
        given = {name: tensor.contiguous() for name, tensor in given.items()}
        (logits,) = session.run(None, {name: tensor.numpy() for name, tensor in given.items()})
        assert_close(torch.from_numpy(logits), model(**given).logits, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@torch.no_grad()
def test_half_precision_hides_padding(dtype: torch.dtype) -> None:
    """The number that stands for minus infinity fits into the type."""
    model = build({"pooling": "max", "num_hidden_layers": 1}).to(dtype)
    ids = torch.randint(28, (2, 6))
    mask: Tensor = torch.tensor([[1, 1, 1, 0, 0, 0], [1] * 6])
    alone = model(ids[:1, :3]).logits[0]
    assert_close(model(ids, attention_mask=mask).logits[0], alone, rtol=0, atol=0.05)
