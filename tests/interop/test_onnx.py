# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ONNX: each neural model gives the same numbers at any batch size and length, with padding anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hf_lecture_models import RecurrentConfig, RecurrentModel
from tests.interop.small_models import small_model, small_tokenizer

pytestmark = pytest.mark.slow

SWISH = {"layer_mix": True, "hidden_act": "swish", "norm_position": "post"}
ONE = {"num_hidden_layers": 1}  # a loop over time takes long to export
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt1": ("gpt1", {}),
    "sinusoidal": ("self_attention", {"position_encoding": "sinusoidal"}),
    "learned": ("self_attention", {"position_encoding": "learned", **SWISH}),
    "relative": ("self_attention", {"position_encoding": "relative"}),
    "alibi": ("self_attention", {"position_encoding": "alibi"}),
    "feed-forward": ("feed_forward", {"direct_connections": True}),
    "feed-forward, adaptive, no <s>": ("feed_forward", {"output_layer": "adaptive", "bos_token_id": None}),
    "elman, noise contrast": ("recurrent", {"cell_type": "elman", "output_layer": "noise_contrastive", **ONE}),
    "projected lstm": ("recurrent", {"projection_size": 5, "output_projection_size": 9}),
    "gru, adaptive": ("recurrent", {"cell_type": "gru", "output_layer": "adaptive", **ONE}),
    "gru states": ("states", {"cell_type": "gru", **ONE}),
    "bidirectional lstm states": ("states", {"bidirectional": True, **ONE}),
}


class FirstOutput(nn.Module):
    """What ONNX wants: tensors in, one tensor out."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)[0]


def build(name: str, fields: dict[str, Any]) -> nn.Module:
    if name == "states":
        model: nn.Module = RecurrentModel(RecurrentConfig(vocab_size=17, hidden_size=12, embedding_size=10, **fields))
    else:
        model = small_model(name, small_tokenizer(), hidden_size=12, **fields)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return FirstOutput(model).eval()


def masks(rows: int, length: int) -> dict[str, Tensor]:
    """Padding on the left, on the right, in between, and none; every row has a real token."""
    left = torch.ones(rows, length, dtype=torch.long)
    left[0, : length // 2] = 0
    holes = (torch.rand(rows, length) < 0.6).long()
    holes[:, 0] = 1
    return {"none": torch.ones_like(left), "left": left, "right": left.flip(1), "holes": holes}


@pytest.mark.parametrize(("name", "fields"), CASES.values(), ids=CASES)
def test_equal_at_any_shape(name: str, fields: dict[str, Any], tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = build(name, fields)
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq")
    shapes = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: seq}}
    example = (torch.randint(14, (2, 5)), torch.ones(2, 5, dtype=torch.long))
    program = torch.onnx.export(model, example, dynamo=True, dynamic_shapes=shapes, verbose=False)
    program.save(str(tmp_path / "model.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    for rows, length in ((1, 1), (3, 7), (4, 30)):
        tokens = torch.randint(14, (rows, length))
        for padding, mask in masks(rows, length).items():
            feed = {"input_ids": tokens.numpy(), "attention_mask": mask.numpy()}
            ours = torch.from_numpy(session.run(None, feed)[0])
            with torch.no_grad():
                expected = model(tokens, mask)
            real = mask.bool()
            assert_close(ours[real], expected[real], rtol=0, atol=1e-5, msg=lambda text, p=padding: f"{p}: {text}")
