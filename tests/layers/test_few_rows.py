# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear layers for few rows: beside torch's product, with weights that change, and where torch's product stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM
from hf_lecture_models.layers import few_rows
from hf_lecture_models.layers.few_rows import LEAST_NUMBERS, MOST_ROWS, FewRowsLinear


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each product that had another form."""
    found: list[int] = []
    for name in ("_one_row", "_rows"):
        form = getattr(few_rows, name)
        monkeypatch.setattr(
            few_rows, name, lambda rows, *args, form=form: (found.append(len(rows)), form(rows, *args))[1]
        )
    return found


def layer_of(outputs: int = 600, inputs: int = 256, **options: Any) -> FewRowsLinear:
    torch.manual_seed(0)
    return FewRowsLinear(inputs, outputs, **options)


def expected(layer: Any, rows: torch.Tensor) -> torch.Tensor:
    bias = None if layer.bias is None else layer.bias.double()
    return F.linear(rows.double(), layer.weight.double(), bias).float()


def check(layer: Any, shape: tuple[int, ...] = (1, 1)) -> None:
    rows = torch.randn(*shape, layer.in_features, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        found = layer(rows)
    assert found.is_contiguous()
    torch.testing.assert_close(found, expected(layer, rows).detach(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("outputs", [512, 513, 600, 8000])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,), (1, 3), (5, 1), (5,), (6,), (4, 4)])
def test_the_product_is_torchs(products: list[int], shape: tuple[int, ...], outputs: int, bias: bool) -> None:
    check(layer_of(outputs, bias=bias), shape)
    rows = torch.Size(shape).numel()
    assert products == ([rows] if rows <= MOST_ROWS else [])


def test_rows_that_do_not_lie_together_are_multiplied() -> None:
    layer, rows = layer_of(), torch.randn(256, 3).t()
    with torch.no_grad():
        torch.testing.assert_close(layer(rows), expected(layer, rows), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "case", ["gradients", "small", "half", "autocast", "empty", "columns", "subclass", "few outputs"]
)
def test_elsewhere_the_product_is_torchs_own(products: list[int], case: str) -> None:
    layer: Any = layer_of(LEAST_NUMBERS // 256 - (case == "small"))
    rows = torch.randn(0 if case == "empty" else 1, 256)
    if case == "half":
        layer, rows = layer.bfloat16(), rows.bfloat16()
    elif case == "few outputs":
        layer, rows = layer_of(40, 2**13), torch.randn(1, 2**13)
    elif case == "columns":
        layer.weight.data = layer.weight.data.t().contiguous().t()
    elif case == "subclass":
        layer.weight = nn.Parameter(layer.weight.data.as_subclass(type("Quantised", (torch.Tensor,), {})))
    with torch.set_grad_enabled(case == "gradients"), torch.autocast("cpu", enabled=case == "autocast"):
        assert torch.equal(layer(rows), F.linear(rows, layer.weight, layer.bias))
    assert not products


@pytest.mark.parametrize("rows", [1, 5])
def test_changed_weights_are_read(products: list[int], rows: int) -> None:
    """By a step of training, a load, a cast and back, values set in place, and another parameter."""
    layer = layer_of()
    check(layer, (rows,))
    layer(torch.ones(2, 256)).sum().backward()
    torch.optim.SGD(layer.parameters(), 0.1).step()
    check(layer, (rows,))
    layer.load_state_dict({"weight": torch.randn(600, 256), "bias": torch.randn(600)})
    check(layer, (rows,))
    layer.to(torch.float64).to(torch.float32)
    check(layer, (rows,))
    with torch.no_grad():
        layer.weight.mul_(2)
    check(layer, (rows,))
    layer.weight = nn.Parameter(torch.randn(600, 256))
    check(layer, (rows,))
    check(copy.deepcopy(layer), (rows,))
    assert products == [rows] * 7


def test_a_merged_adapter_is_read(products: list[int]) -> None:
    peft = pytest.importorskip("peft")
    model = nn.Sequential(layer_of())
    adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["0"], init_lora_weights=False))
    rows = torch.randn(1, 256)
    with torch.no_grad():
        before = adapted(rows)
        merged = adapted.merge_and_unload()
        torch.testing.assert_close(merged(rows), before, atol=1e-4, rtol=1e-4)
    check(merged[0])
    assert len(products) == 3


def test_a_quantised_matrix_is_read(products: list[int]) -> None:
    """Of another class, as torchao's are, it computes its own product."""
    torchao = pytest.importorskip("torchao.quantization")
    layer = nn.Sequential(layer_of())
    torchao.quantize_(layer, torchao.Int8WeightOnlyConfig())
    with torch.no_grad():
        torch.testing.assert_close(layer(torch.ones(1, 256)), layer_of()(torch.ones(1, 256)), atol=0.05, rtol=0.05)
    assert products == [1], "the plain one"


def test_an_exported_model_has_torchs_own_product(products: list[int]) -> None:
    layer = layer_of()
    with torch.no_grad():
        exported = torch.export.export(layer, (torch.ones(1, 256),))
        traced = torch.jit.trace(layer, torch.ones(1, 256), check_trace=False)  # which would call the layer itself
        for program in (exported.module(), traced):
            assert torch.equal(program(torch.ones(1, 256)), F.linear(torch.ones(1, 256), layer.weight, layer.bias))
    assert not products


def test_a_model_generates_with_them(products: list[int]) -> None:
    """The tokens of each step are those of the whole text, read with gradients, hence by torch's product."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 700, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = Gpt1ForCausalLM(Gpt1Config(**sizes, max_position_embeddings=32)).eval()
    prompt = torch.tensor([[3, 1, 4]])
    written = model.generate(prompt, do_sample=False, max_new_tokens=8, pad_token_id=0)
    assert set(products) == {1, 3}
    logits = model(written).logits
    assert torch.equal(logits[:, 2:-1].argmax(-1), written[:, 3:])


@pytest.mark.parametrize("shape", [(2, 128), (1, 512), (4, 1, 64), (2, 512)])
def test_rows_of_another_width_are_refused_as_by_torch(shape: tuple[int, ...]) -> None:
    """As many numbers as some rows of the right width have."""
    with torch.no_grad(), pytest.raises(RuntimeError, match="cannot be multiplied"):
        layer_of()(torch.randn(shape))


def test_several_layers_are_evaluated_at_once() -> None:
    """torch.func's ensembles: a batch of weights."""
    layer, row = layer_of(), torch.randn(1, 256, generator=torch.Generator().manual_seed(1))
    weights = torch.stack([layer.weight.detach(), 2 * layer.weight.detach()])
    with torch.no_grad():
        found = torch.vmap(lambda one: torch.func.functional_call(layer, {"weight": one}, (row,)))(weights)
    wanted = torch.stack([F.linear(row, one, layer.bias) for one in weights])
    torch.testing.assert_close(found, wanted.detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dynamic_quantisation_takes_layers_of_torchs_class() -> None:
    """docs/clients.md: it leaves subclasses as they are, without a message, so the class is set back before it."""
    layers = nn.Sequential(layer_of(), layer_of(600, 600))
    for layer in layers.modules():
        if type(layer) is FewRowsLinear:
            layer.__class__ = nn.Linear
    rows = torch.randn(1, 256, generator=torch.Generator().manual_seed(1))
    quantised = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear})
    assert not any(isinstance(layer, nn.Linear) for layer in quantised)
    torch.testing.assert_close(quantised(rows), layers(rows).detach(), atol=0.05, rtol=0.05)
