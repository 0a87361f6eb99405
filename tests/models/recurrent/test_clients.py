# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What other programs do with the models: adapters by peft, ONNX."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM, RecurrentModel, modeling_recurrent


def build(model_class: type, **changes: Any) -> Any:
    model = model_class(RecurrentConfig(vocab_size=32, hidden_size=12, embedding_size=10, **changes))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model.eval()


# The choices that README.md offers.
@pytest.mark.parametrize(
    ("targets", "fields"),
    [
        ({"target_modules": ["embed_tokens", "output_projection", "lm_head"]}, {}),
        ({"target_modules": ["lm_head"], "target_parameters": ["rnn.weight_ih_l0", "rnn.weight_hh_l0"]}, {}),
        ({"target_modules": ["lm_head.head", "projection", "words"]}, {"output_layer": "adaptive"}),
        ({"target_modules": ["embed_tokens", "lm_head"]}, {"output_layer": "noise_contrastive"}),
    ],
    ids=["modules", "kernels", "adaptive", "noise contrastive"],
)
def test_adapters_train_merge_and_reload(targets: dict[str, list[str]], fields: dict[str, str], tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    model = build(RecurrentForCausalLM, output_projection_size=9, **fields)
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", r=2, **targets))
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.02)
    tokens, losses = torch.randint(32, (2, 6)), []
    for _ in range(30):
        optimizer.zero_grad()
        loss = adapted(input_ids=tokens, labels=tokens, logits_to_keep=1).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    adapted.eval()
    options = {"max_new_tokens": 4, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    generated = [adapted.generate(input_ids=tokens, use_cache=use_cache, **options) for use_cache in (True, False)]
    assert torch.equal(*generated)
    expected = adapted(input_ids=tokens).logits
    merged = adapted.merge_and_unload()
    assert_close(merged(input_ids=tokens).logits, expected, rtol=0, atol=1e-4)
    merged.save_pretrained(tmp_path)
    assert_close(RecurrentForCausalLM.from_pretrained(tmp_path)(tokens).logits, expected, rtol=0, atol=1e-4)


class FirstOutput(nn.Module):
    """What ONNX wants: tensors in, one tensor out."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_class", "fields"),
    [
        (RecurrentForCausalLM, {"cell_type": "elman"}),
        (RecurrentForCausalLM, {"projection_size": 5, "output_projection_size": 9}),
        (RecurrentForCausalLM, {"cell_type": "gru", "output_layer": "adaptive"}),
        (RecurrentModel, {"cell_type": "gru"}),
        (RecurrentModel, {"bidirectional": True, "num_hidden_layers": 1}),
    ],
    ids=["elman", "projected lstm", "adaptive gru", "gru", "bidirectional lstm"],
)
def test_onnx_with_free_batch_and_length(model_class: type, fields: dict[str, Any], tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = FirstOutput(build(model_class, **fields)).eval()
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq")
    shapes = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: seq}}
    example = (torch.randint(32, (2, 5)), torch.ones(2, 5, dtype=torch.long))
    program = torch.onnx.export(model, example, dynamo=True, dynamic_shapes=shapes, verbose=False)
    program.save(str(tmp_path / "model.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    for rows, length in ((1, 1), (3, 7), (4, 30)):
        tokens = torch.randint(32, (rows, length))
        mask = (torch.rand(rows, length) < 0.7).long()
        feed = {"input_ids": tokens.numpy(), "attention_mask": mask.numpy()}
        (ours,) = session.run(None, feed)
        with torch.no_grad():
            assert_close(torch.from_numpy(ours), model(tokens, mask), rtol=0, atol=1e-5)


def test_the_lecture_page_runs() -> None:
    """The README's Python blocks, one after the other; printed lines stand behind them as comments."""
    page = (Path(modeling_recurrent.__file__).parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "README.md", "exec"), names)
    promised = [line.removeprefix("# ") for line in blocks[0].splitlines() if line.startswith("# ")]
    assert printed.getvalue().splitlines() == promised
    assert names["more"].past_key_values.get_seq_length() == names["cache"].get_seq_length() + 2
