# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' tensor parallelism: matrices divided among processes compute what the whole model computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, SelfAttentionConfig, SelfAttentionForCausalLM
from tests.forked_python import PATIENCE
from tests.models.test_packed_texts import build

# Three heads, which two processes could not share.
CHILD = """
import sys
import torch
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig
import hf_lecture_models

ids = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 5]])
for folder in sys.argv[1:]:
    config = DistributedConfig(tp_size=2, tp_plan="auto")
    divided = AutoModelForCausalLM.from_pretrained(folder, distributed_config=config).eval()
    whole = AutoModelForCausalLM.from_pretrained(folder).eval()
    for layer in divided.model.layers:
        for module in (layer.self_attn.qkv_proj, layer.self_attn.o_proj, layer.ffn.up_proj, layer.ffn.down_proj):
            assert 2 * module.weight.to_local().numel() == module.weight.numel(), module
    # Two micro-batches, whose gradients add up; a parameter that no rank divides has the whole gradient on each.
    for model in (divided, whole, divided, whole):
        model(ids, labels=ids).loss.backward()
    for (name, found), expected in zip(divided.named_parameters(), whole.parameters(), strict=True):
        gradient = found.grad.full_tensor() if isinstance(found.grad, DTensor) else found.grad
        torch.testing.assert_close(gradient, expected.grad, rtol=1e-4, atol=1e-5, msg=name)
    with torch.no_grad():
        torch.testing.assert_close(divided(ids).logits, whole(ids).logits, rtol=0, atol=1e-5)
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    assert divided.generate(ids, **options).equal(whole.generate(ids, **options))
    print("equal", flush=True)
"""


@pytest.mark.parametrize(
    ("model_class", "config"),
    [
        (Gpt1ForCausalLM, Gpt1Config()),
        (SelfAttentionForCausalLM, SelfAttentionConfig()),
        (SelfAttentionForCausalLM, SelfAttentionConfig(hidden_act="swish")),
    ],
)
def test_the_plan_names_every_matrix_of_a_block(model_class: Any, config: Any) -> None:
    config.hidden_size, config.num_hidden_layers, config.vocab_size = 24, 2, 9
    model = model_class(config)
    linear = {name for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    plan = {name.replace("*", str(layer)) for name in model.tp_plan for layer in range(config.num_hidden_layers)}
    assert linear <= plan
    assert model.supports_tp_plan
    # The activation of each device sees all of W_1 h where a trained β needs it.
    gathered = getattr(config, "hidden_act", None) == "swish"
    assert config.base_model_tp_plan["layers.*.ffn.up_proj"] == ("colwise_rep" if gathered else "colwise")


@pytest.mark.nightly
@pytest.mark.slow
def test_two_processes_compute_what_one_does(tmp_path: Path) -> None:
    """Logits, generated text and gradients; Swish's β is no matrix, and sees all of W_1 h."""
    folders = [tmp_path / kind for kind in ("gpt1", "sinusoidal", "alibi", "swish")]
    for folder in folders[:3]:
        build(folder.name).save_pretrained(folder)
    build("sinusoidal", hidden_act="swish").save_pretrained(folders[3])
    (script := tmp_path / "child.py").write_text(CHILD, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command, *map(str, folders)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("equal") == 2 * len(folders)
