# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The checks of a model that reads official checkpoints, and comparisons with transformers' own model."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.testing import assert_close

from tests.model_tests import Tensors


def rewrite(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})


def listen_to_transformers(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `caplog` hold the warnings of transformers' log from now on."""
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    caplog.set_level(logging.WARNING, "transformers")
    caplog.clear()


def tensors(outputs: Mapping[str, Any]) -> Tensors:
    return {name: value for name, value in outputs.items() if isinstance(value, Tensor)}


def at_real(outputs: Tensors, mask: Tensor | None) -> Tensors:
    """The outputs without those of padding."""
    if mask is None:
        return outputs
    return {name: t[mask.bool()] if t.shape[:2] == mask.shape else t for name, t in outputs.items()}


def weighted_sum(outputs: Tensors) -> Tensor:
    """A loss that depends on all outputs."""
    generator = torch.Generator().manual_seed(3)
    return sum((tensor * torch.randn(tensor.shape, generator=generator)).sum() for tensor in outputs.values())


def assert_same_outputs(found: Tensors, expected: Tensors, atol: float = 1e-5) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert_close(found[name], tensor, rtol=0, atol=atol, msg=lambda m, name=name: f"{name}: {m}")


def assert_same_gradients(found: Tensors, expected: Tensors) -> None:
    # The gradient of a key's bias is zero but for rounding, whose size the largest gradients and the processor decide.
    least = max(1e-2 * max(gradient.abs().max().item() for gradient in expected.values()), 1e-3)
    for name, gradient in expected.items():
        atol = 1e-4 * max(gradient.abs().max().item(), least)
        assert_close(found[name], gradient, rtol=0, atol=atol, msg=lambda m, name=name: f"gradient of {name}: {m}")


def gradients_of(model: nn.Module, loss: Tensor) -> Tensors:
    """By the name of the parameter, zeros where the loss does not depend on it."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(trained, found, strict=True))


def assert_same_dependence(model: nn.Module, found: Tensors, expected: Tensors) -> None:
    """Equal outputs with equal gradients of the parameters of `model`, from which both were computed."""
    assert_same_outputs(found, expected)
    assert_same_gradients(*(gradients_of(model, weighted_sum(outputs)) for outputs in (found, expected)))


def assert_same_models(
    ours: Any, theirs: Any, found: Tensors, expected: Tensors, official_weights: Callable[[Any], Tensors]
) -> None:
    """Equal outputs and gradients of two models; `official_weights` gives our weights under their names."""
    assert_same_outputs(found, expected)
    gradients = gradients_of(ours, weighted_sum(found))
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            parameter.copy_(gradients[name])
    assert_same_gradients(official_weights(ours), gradients_of(theirs, weighted_sum(expected)))


def renamed(model: nn.Module, prefix: str, names: Mapping[str, str], parts: Sequence[str]) -> Tensors:
    """The model's weights under transformers' names; gradients flow back to the model's own.

    Args:
        prefix: their name of the base model.
        names: ours, with theirs.
        parts: their names of the matrices of queries, keys and values.
    """
    found = {}
    for name, tensor in model.named_parameters():
        pieces, layers = (tensor,), ("",)
        if ".self_attn.qkv_proj." in name:
            pieces, layers = tensor.chunk(3), parts  # type: ignore[assignment]
        for piece, layer in zip(pieces, layers, strict=True):
            theirs = re.sub(r"^model\.", f"{prefix}.", name).replace("self_attn.qkv_proj", layer)
            for ours, other in names.items():
                theirs = re.sub(rf"(^|\.){ours}\.(?!dense)", rf"\g<1>{other}.", theirs)
            found[theirs] = piece
    return found


class OfficialCheckpointTests:
    """What any model that reads official checkpoints must do."""

    model_class: ClassVar[Any]
    auto_class: ClassVar[Any]
    tied: ClassVar[frozenset[str]] = frozenset()
    """Names of ours that a file does not hold, because they are those of other weights."""
    their_fields: ClassVar[frozenset[str]]
    """Fields of their config.json that ours must not have."""
    weights: ClassVar[Sequence[tuple[str, str]]]
    """Names of weights in their file, each with the name of the weight of ours that it belongs to."""

    def official(self) -> Any:
        """transformers' model, in evaluation mode."""
        raise NotImplementedError

    def make_inputs(self) -> Tensors:
        raise NotImplementedError

    @torch.no_grad()
    def test_a_save_holds_our_names_only(self, tmp_path: Path) -> None:
        """Auto classes then give our class for our folder, and for the official one transformers' own."""
        theirs = self.official()
        theirs.save_pretrained(tmp_path / "theirs")
        assert type(self.auto_class.from_pretrained(tmp_path / "theirs")) is type(theirs)
        ours = self.model_class.from_pretrained(tmp_path / "theirs")
        ours.save_pretrained(tmp_path / "ours")
        assert load_file(tmp_path / "ours" / "model.safetensors").keys() == ours.state_dict().keys() - self.tied
        config = json.loads((tmp_path / "ours" / "config.json").read_text())
        model_type = self.model_class.config_class.model_type
        assert (config["model_type"], config["architectures"]) == (model_type, [self.model_class.__name__])
        assert not config.keys() & self.their_fields
        again, inputs = self.auto_class.from_pretrained(tmp_path / "ours"), self.make_inputs()
        assert type(again) is self.model_class
        assert_same_outputs(tensors(again(**inputs)), tensors(ours(**inputs)), atol=0)

    def test_loading_says_nothing(
        self,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        recwarn: pytest.WarningsRecorder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """transformers warns of another model_type; here it is refused, except where the checkpoint is to be read."""
        self.official().save_pretrained(tmp_path)
        listen_to_transformers(caplog, monkeypatch)
        recwarn.clear()
        config_class = self.model_class.config_class
        given = {"output_hidden_states": True, "vocabulary": 3}
        config, unused = config_class.from_pretrained(tmp_path, return_unused_kwargs=True, **given)
        assert (type(config), config.output_hidden_states, unused) == (config_class, True, {"vocabulary": 3})
        self.model_class.from_pretrained(tmp_path)
        assert [record.getMessage() for record in caplog.records] == []
        assert [str(one.message) for one in recwarn] == []
        path = tmp_path / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"model_type": "gpt2"}))
        with pytest.raises(ValueError, match=r"config\.json"):
            self.model_class.from_pretrained(tmp_path)
        assert "You are using a model of type `gpt2`" in caplog.text

    def test_a_checkpoint_that_lacks_a_tensor_is_refused(self, tmp_path: Path) -> None:
        """Also a part of a weight that is one in ours."""
        for name, ours in self.weights:
            self.official().save_pretrained(tmp_path)
            rewrite(tmp_path, lambda weights, name=name: {n: t for n, t in weights.items() if n != name})
            with pytest.raises(ValueError, match=rf"lacks tensors: .*(model\.)?{ours}"):
                self.model_class.from_pretrained(tmp_path)
