# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' tensor parallelism: matrices divided among processes compute what the whole model computes."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, SelfAttentionConfig, SelfAttentionForCausalLM


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
