# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Gradients by layer: values known by hand, and those of whole models."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel

from hf_lecture_models.lab.studies.depth_gradients import measure_depth_gradients
from hf_lecture_models.models.self_attention import SelfAttentionConfig, SelfAttentionForCausalLM

IDS = torch.tensor([[3, 1, 4, 1, 5]])


class Scale(nn.Module):
    """a x, or x + a x."""

    def __init__(self, a, width, residual):
        super().__init__()
        self.weight, self.residual = nn.Parameter(a * torch.eye(width, dtype=torch.float64)), residual

    def forward(self, x):
        return x @ self.weight.T + (x if self.residual else 0)


@pytest.mark.parametrize(("residual", "factor"), [(False, 0.5), (True, 1.5)])
def test_a_stack_of_factors_has_powers_of_them(residual, factor):
    """From layer L down to layer l the gradient is multiplied by factor^(L - l)."""
    depth, width = 6, 4
    stack = nn.Sequential(*(Scale(0.5, width, residual) for _ in range(depth)))
    found = measure_depth_gradients(stack, lambda: stack(torch.ones(1, width, dtype=torch.float64)).sum())
    powers = torch.tensor([factor ** (depth - 1 - number) for number in range(depth)], dtype=torch.float64)
    assert_close(found.states, 2.0 * powers)  # |(1, 1, 1, 1)| = 2
    # ∂loss/∂A_l is the outer product of ∂loss/∂h_l and h_{l-1} = factor^(l-1) (1, 1, 1, 1).
    assert_close(found.weights, torch.full((depth,), 4.0 * factor ** (depth - 1), dtype=torch.float64))


def test_layers_of_whole_models():
    """Those of our model, and of transformers', whose layers return tuples in some versions."""
    ours = SelfAttentionForCausalLM(
        SelfAttentionConfig(vocab_size=9, hidden_size=8, num_hidden_layers=3, num_attention_heads=2)
    ).eval()
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_embd=8, n_layer=3, n_head=2, bos_token_id=0, eos_token_id=0))
    for model, layers in ((ours, ours.model.layers), (theirs.eval(), theirs.transformer.h)):
        found = measure_depth_gradients(layers, lambda model=model: model(IDS, labels=IDS).loss)
        assert all(parameter.grad is None for parameter in model.parameters())
        model(IDS, labels=IDS).loss.backward()
        expected = [torch.cat([each.grad.flatten() for each in layer.parameters()]).norm() for layer in layers]
        assert_close(found.weights.float(), torch.stack(expected), rtol=1e-4, atol=0)
        assert (found.states > 0).all()


def test_layers_that_do_not_run_once_are_refused():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    for run in (lambda: first(torch.ones(2)).sum(), lambda: second(first(first(torch.ones(2)))).sum()):
        with pytest.raises(ValueError, match="must run the 2 layers once each"):
            measure_depth_gradients([first, second], run)
    assert not first._forward_hooks
