# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The checks that every registered model must pass.

A model joins by a test class that declares a tiny configuration, its inputs and its reference:

    class TestLSTM(CausalLMTests):
        model_class = RecurrentForCausalLM

        def config(self): return RecurrentConfig(cell_type="lstm", vocab_size=32, ...)
        def reference(self, model, inputs): return {"logits": ...}  # independent, from the model's parameters
        def processing_class(self): return WordTokenizer.train([...])

`ModelTests` holds what is true of any model; it knows no vocabulary and no generation. `CausalLMTests` adds what is
true of language models that predict the next token; `CausalLMHeadTests` beside it, what is true of those with the head
of base/heads/causal_lm.py, and `RecurrentCacheTests` of those that carry a state of constant size. `HeadTests` holds
what is true of the other heads of base/heads, `TokenHeadTests` of those on ids, with a subclass for each; `ImageTests`
has the inputs of models that read images. A feature that a model lacks is told by
overriding the check with `@pytest.mark.xfail(strict=True, reason=...)`; there are no lists of exclusions. The checks
themselves are checked, by models that are broken on purpose, in test_model_tests.py.
"""

from __future__ import annotations

import base64
import copy
import functools
import inspect
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatch
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.attention import flex_attention
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    DynamicCache,
    GenerationMixin,
    PreTrainedModel,
    set_seed,
)
from transformers.models.auto import modeling_auto
from transformers.utils import generic as transformers_generic
from transformers.utils.generic import ModelOutput

from hf_lecture_models.base.scoring import score_from_logits
from hf_lecture_models.io.compat import cache_of
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from tests.fresh_process import generated
from tests.memory import memory_taken

Tensors = dict[str, Tensor]
EXACT = 0.0


def token_inputs(config: Any, lengths: Sequence[int], seed: int = 0) -> Tensors:
    """Random ordinary token ids, padded on the right, and their mask: (batch, longest length)."""
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    special = {getattr(config, name, None) for name in names}
    ordinary = torch.tensor([token for token in range(config.vocab_size) if token not in special])
    pad = 0 if config.pad_token_id is None else config.pad_token_id
    ids = torch.full((len(lengths), max(lengths)), pad)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        # A row keeps its tokens when others join the batch or it is cut shorter.
        generator = torch.Generator().manual_seed(1000 * seed + row)
        tokens = ordinary[torch.randint(len(ordinary), (64,), generator=generator)]
        ids[row, :length] = tokens[:length]
        mask[row, :length] = 1
    return {"input_ids": ids, "attention_mask": mask}


def perturb(model: nn.Module, scale: float, seed: int = 0) -> None:
    """Replace every parameter by noise: zero biases and a zero padding embedding would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)


def left_padded(inputs: Tensors, names: Sequence[str], lengths: Sequence[int]) -> Tensors:
    """The same rows with their padding moved from the right to the left."""
    moved = dict(inputs)
    for name in names:
        # Words may be rows of characters; the axis of words is the mask's last one.
        axis = inputs.get("attention_mask", inputs[name]).dim() - 1
        width = inputs[name].shape[axis]
        rows = [row.roll(width - length, axis - 1) for row, length in zip(inputs[name], lengths, strict=True)]
        moved[name] = torch.stack(rows)
    return moved


@contextmanager
def uninitialised_memory_is_nan() -> Iterator[None]:
    """Within it, torch.empty gives NaN or the largest integer instead of whatever the memory held."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def uncompiled_flex_attention() -> Iterator[None]:
    """Within it, flex_attention computes what it says without compiling, which takes seconds for each shape.

    So it can also go backwards on the CPU, where the compiled one has no backward pass and refuses such inputs.
    """
    # It warns that all scores are laid out: here they are few.
    with (
        torch.compiler.set_stance("force_eager"),
        patch.object(flex_attention, "_validate_device", lambda *tensors: None),
        patch.object(flex_attention, "_warn_once", lambda *message, **options: None, create=True),
    ):
        yield


def switch_checkpointing(model: Any, on: bool, options: dict[str, bool] | None = None) -> None:
    """Recompute activations in the backward pass or keep them; transformers before 5.23 has other names for it."""
    kind = "activation" if hasattr(model, "activation_checkpointing_enable") else "gradient"
    if on:
        getattr(model, f"{kind}_checkpointing_enable")(options)
    else:
        getattr(model, f"{kind}_checkpointing_disable")()


def is_checkpointing(model: Any) -> bool:
    new = hasattr(model, "is_activation_checkpointing")
    return bool(model.is_activation_checkpointing if new else model.is_gradient_checkpointing)


@contextmanager
def untranslated_names() -> Iterator[None]:
    """transformers as it will be once it no longer takes the old names of a state: asking by them is an error."""

    def old_name(*_: Any) -> Any:
        raise AssertionError("past_key_values is asked for, which transformers translates for a few more versions")

    def key_of(_: Any, key: str) -> str:
        return old_name() if key == "past_key_values" else key

    def check_arguments(arguments: dict[str, Any]) -> None:
        if "past_key_values" in arguments:
            old_name()

    with ExitStack() as patches, warnings.catch_warnings():
        warnings.filterwarnings("error", ".*past_key_values.* is deprecated", FutureWarning)
        if hasattr(ModelOutput, "_replace_old_cache_name"):
            patches.enter_context(patch.object(ModelOutput, "_replace_old_cache_name", key_of))
            patches.enter_context(patch.object(ModelOutput, "past_key_values", property(old_name)))
            patches.enter_context(patch.object(transformers_generic, "_rename_kwargs_for_bc", check_arguments))
        yield


def named_tensors(model: nn.Module) -> Tensors:
    """Parameters and all buffers, those that are not saved included."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


def assert_initialised(model: nn.Module) -> None:
    for name, tensor in named_tensors(model).items():
        assert not tensor.is_meta, f"{name} was left without memory"
        if tensor.is_floating_point():
            assert not tensor.isnan().any(), f"{name} holds uninitialised memory"
        elif tensor.dtype != torch.bool:
            assert not (tensor == torch.iinfo(tensor.dtype).max).any(), f"{name} holds uninitialised memory"


def attributes_with_tensors(model: nn.Module) -> dict[str, list[tuple[int, int]]]:
    """For every module, which tensors hang on it (identity and version), however deep in lists, dicts and objects."""
    found: dict[str, list[tuple[int, int]]] = {}

    def visit(value: Any, path: str, depth: int) -> None:
        if isinstance(value, Tensor):
            found.setdefault(path, []).append((id(value), value._version))
        elif isinstance(value, nn.Module) or depth > 4:
            return
        elif isinstance(value, Mapping):
            for key, item in value.items():
                visit(item, f"{path}.{key}", depth + 1)
        elif isinstance(value, list | tuple | set):
            for item in value:
                visit(item, path, depth + 1)
        elif hasattr(value, "__dict__") and not isinstance(value, type | Callable):
            visit(vars(value), path, depth + 1)

    for name, module in model.named_modules():
        visit(vars(module), name, 0)
    return found


def equal_json(ours: Any, theirs: Any, tolerance: float = 1e-4) -> bool:
    """Whether two values read from JSON are equal, numbers to a relative tolerance."""
    if isinstance(ours, float | int) and isinstance(theirs, float | int):
        return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(equal_json(*pair) for pair in zip(ours, theirs, strict=True))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(equal_json(ours[key], theirs[key]) for key in ours)
    return ours == theirs


def assert_same_beams(found: Tensor, expected: Tensor, of: str = "") -> None:
    """Equal sequences, (rows x 4, seq), but for their order within each four.

    Beams with nearly equal scores change places where a processor, or a batch of another size, rounds otherwise.
    """
    fours = [sequences.unflatten(0, (-1, 4)).tolist() for sequences in (found, expected)]
    assert [sorted(row) for row in fours[0]] == [sorted(row) for row in fours[1]], of


def gradients(model: nn.Module, loss: Tensor) -> Tensors:
    """The loss's gradient by the name of the parameter; zeros where the loss does not depend on it."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
    named = zip(trained.items(), found, strict=True)
    return {name: torch.zeros_like(p) if gradient is None else gradient for (name, p), gradient in named}


def assert_gradients(ours: Tensors, theirs: Tensors, rtol: float = 1e-4, atol: float = 1e-6) -> None:
    for name, expected in theirs.items():
        assert_close(ours[name], expected, rtol=rtol, atol=atol, msg=lambda m, name=name: f"{name}: {m}")


def package_models() -> list[type[PreTrainedModel]]:
    """Every model class that importing the package registers."""
    found: dict[str, type[PreTrainedModel]] = {}
    for name, auto_class in vars(modeling_auto).items():
        mapping = getattr(auto_class, "_model_mapping", None) if name.startswith("AutoModel") else None
        registered = {} if mapping is None else mapping._extra_content
        ours = (cls for cls in registered.values() if cls.__module__.startswith("hf_lecture_models."))
        found |= {cls.__name__: cls for cls in ours}
    return [found[name] for name in sorted(found)]


def public(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a configuration says of the model, without where it was loaded from."""
    return {name: value for name, value in values.items() if not name.startswith("_") and value is not None}


def own_fields(config: Any) -> list[str]:
    """The fields that the configuration class declares itself, not those of transformers."""
    classes = [cls for cls in type(config).__mro__ if not cls.__module__.startswith(("transformers", "builtins"))]
    declared = {name for cls in classes for name in vars(cls).get("__annotations__", {})}
    return sorted(declared & set(config.to_dict()))


class Traced(nn.Module):
    """A model, called by `function`, as torch.jit.trace wants it."""

    def __init__(self, model: nn.Module, function: Callable[..., tuple[Tensor, ...]]):
        super().__init__()
        self.model, self.function = model, function

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self.function(*tensors)


class ModelTests:
    """What any model must do."""

    model_class: ClassVar[type[PreTrainedModel]]
    auto_class: ClassVar[Any] = AutoModel
    trainable: ClassVar[bool] = True
    """False for count models: `fit` then takes the place of a training step."""
    sequence_inputs: ClassVar[Sequence[str]] = ()
    """The inputs of shape (batch, seq); empty where nothing is padded."""
    mask_input: ClassVar[str] = "attention_mask"
    state_matters: ClassVar[bool] = True
    """Whether what comes next depends on the state, in a model that has one."""
    zero_gradients: ClassVar[Mapping[str, str]] = {}
    """Pattern of parameter names -> the reason why their gradient is mathematically zero."""
    contradictory_configs: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Fields that the configuration must refuse together, by an error that names one of them."""
    perturbation: ClassVar[float] = 0.5
    """Standard deviation of the random weights that most checks compute with."""
    overfit: ClassVar[Mapping[str, float]] = {}
    """What differs in learning one batch by heart: `steps` (300), `learning_rate` (0.02), and what may remain of the
    loss, `remaining` (0.1), of a model that cannot tell all of the batch apart."""
    tolerance: ClassVar[float] = 1e-5
    pipeline_task: ClassVar[str | None] = None
    pipeline_arguments: ClassVar[Mapping[str, Any]] = {}
    shortest: ClassVar[int] = 1
    """Tokens of the shortest input that is not empty."""
    bidirectional: ClassVar[bool | None] = None
    """Whether each position's output reads those behind it too; None where outputs are not of positions."""
    registered_by: ClassVar[str] = "hf_lecture_models"
    """The module whose import registers the model."""

    # What a model declares

    def config(self) -> Any:
        """A tiny configuration, a fresh one per call."""
        raise TypeError(f"{type(self).__name__} must declare config()")

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        """The forward arguments for `batch` rows of these lengths, padded on the right; the same at every call."""
        raise TypeError(f"{type(self).__name__} must declare make_inputs(batch, lengths)")

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        """Outputs of an independent implementation, computed from the model's own parameters (gradients flow)."""
        raise TypeError(f"{type(self).__name__} must declare reference(model, inputs)")

    def fit(self) -> tuple[PreTrainedModel, Tensors]:
        """Count models: a fitted model, and the text that it was fitted on as inputs."""
        raise TypeError(f"{type(self).__name__} is not trainable and must declare fit()")

    def processing_class(self) -> Any:
        """What turns raw inputs into the model's, saved beside it; None where it has no pipeline."""
        return None

    def pipeline_inputs(self) -> list[Any]:
        """What the pipeline is given."""
        return []

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        """Squared distance of the first output to a fixed target, for models that have no loss of their own."""
        output = next(iter(self.outputs(model, inputs).values()))
        target = torch.rand(output.shape, generator=torch.Generator().manual_seed(5)) - 0.5
        return (output - target).square().mean()

    # How the checks use it

    @classmethod
    @functools.cache
    def _fitted(cls) -> tuple[PreTrainedModel, Tensors]:
        return cls().fit()

    def build(self) -> PreTrainedModel:
        """A model in evaluation mode whose weights are far from freshly initialised ones."""
        if not self.trainable:
            return copy.deepcopy(self._fitted()[0]).eval()
        torch.default_generator.manual_seed(0)
        model = self.model_class(self.config())
        perturb(model, self.perturbation)
        model.tie_weights()
        return model.eval()

    def outputs(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        """The floating tensors that the model returns, by name."""
        return {name: value for name, value in model(**inputs).items() if isinstance(value, Tensor)}

    def at_real(self, outputs: Tensors, inputs: Tensors) -> Tensors:
        """The outputs with zeros where the inputs are padding."""
        if not self.sequence_inputs:
            return outputs
        real = inputs[self.mask_input].bool()

        def keep(tensor: Tensor) -> Tensor:
            if tensor.shape[:2] != real.shape:
                return tensor
            shape = (*real.shape, *(1 for _ in tensor.shape[2:]))
            return torch.where(real.view(shape), tensor, torch.zeros_like(tensor))

        return {name: keep(tensor) for name, tensor in outputs.items()}

    def single(self, inputs: Tensors, row: int, length: int) -> Tensors:
        """One row of right-padded inputs, without its padding."""
        return {
            name: tensor[row : row + 1, :length] if name in self.sequence_inputs else tensor[row : row + 1]
            for name, tensor in inputs.items()
        }

    def generation_inputs(self) -> Tensors | None:
        """What `generate()` continues or translates; None for a model that generates nothing."""
        return None

    def assert_equal(self, ours: Tensors, theirs: Tensors, what: str, tolerance: float | None = None) -> None:
        assert theirs, "there is nothing to compare"
        for name, expected in theirs.items():
            assert_close(
                ours[name],
                expected,
                rtol=0,
                atol=self.tolerance if tolerance is None else tolerance,
                msg=lambda message, name=name: f"{what}: {name}: {message}",
            )

    def export(self, folder: Path) -> None:
        """Write what the fresh processes load: a saved and an exported folder, inputs, and what to do with them."""
        from hf_lecture_models.hub import export

        model, processing_class = self.build(), self.processing_class()
        model.save_pretrained(folder / "saved")
        if processing_class is not None:
            processing_class.save_pretrained(folder / "saved")
        export(model, processing_class, folder / "exported")
        inputs = {name: tensor.contiguous() for name, tensor in self.make_inputs(3, (5, 3, 4)).items()}
        save_file(inputs, folder / "inputs.safetensors")
        if prompts := self.generation_inputs():
            save_file({name: tensor.contiguous() for name, tensor in prompts.items()}, folder / "prompts.safetensors")
        task = {
            "registered_by": self.registered_by,
            "auto_class": self.auto_class.__name__,
            "task": self.pipeline_task,
            "pipeline_inputs": self.pipeline_inputs() if self.pipeline_task else [],
            "pipeline_arguments": dict(self.pipeline_arguments),
        }
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")

    # Mathematics

    @torch.no_grad()
    def test_outputs_equal_reference(self) -> None:
        model = self.build()
        for lengths in ((7, 7, 7), (self.shortest, self.shortest)):
            inputs = self.make_inputs(len(lengths), lengths)
            theirs = self.at_real(self.reference(model, inputs), inputs)
            self.assert_equal(self.at_real(self.outputs(model, inputs), inputs), theirs, f"lengths {lengths}")

    def test_gradients_equal_reference(self) -> None:
        model = self.build()
        if not self.trainable:
            assert not any(parameter.requires_grad for parameter in model.parameters())
            return
        inputs = self.make_inputs(3, (7, 7, 7))
        names = list(self.reference(model, inputs))

        def gradients(outputs: Tensors) -> list[Tensor | None]:
            generator = torch.Generator().manual_seed(3)
            loss = sum((outputs[name] * torch.randn(outputs[name].shape, generator=generator)).sum() for name in names)
            return list(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True))

        ours = gradients(self.outputs(model, inputs))
        theirs = gradients(self.reference(model, inputs))
        for (name, parameter), our, their in zip(model.named_parameters(), ours, theirs, strict=True):
            our, their = (torch.zeros_like(parameter) if g is None else g for g in (our, their))
            scale = their.abs().max().clamp(min=1e-3).item()
            assert_close(our, their, rtol=0, atol=1e-4 * scale, msg=lambda m, name=name: f"gradient of {name}: {m}")

    def check_loss_in_pieces(self, given: Tensors, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
        """Compare loss and gradients with one position's logits to those with all logits; return both outputs."""
        model, coarse = self.build(), dtype == torch.bfloat16
        with torch.autocast("cpu", dtype=dtype, enabled=coarse):
            whole, pieces = (model(**given, logits_to_keep=keep) for keep in (0, 1))
        assert_close(pieces.loss, whole.loss, rtol=2e-2 if coarse else 1e-5, atol=1e-6)
        ours, theirs = (gradients(model, outputs.loss) for outputs in (pieces, whole))
        largest = max(gradient.abs().max().item() for gradient in theirs.values())
        for name, expected in theirs.items():
            atol = (0.05 if coarse else 1e-5) * max(expected.abs().max().item(), 0.01 * largest)
            assert_gradients({name: ours[name]}, {name: expected}, rtol=0, atol=max(atol, 1e-6))
        return whole, pieces

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_the_configuration_knows_the_width_of_states(self) -> None:
        """Which other programs ask it for (sentence-transformers); a model without a head has these states."""
        if self.auto_class is not AutoModel:
            return
        model = self.build()
        states = self.outputs(model, self.make_inputs(2, (5, 5))).get("last_hidden_state")
        assert states is None or states.shape[-1] == model.config.output_size

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_outputs_as_a_tuple(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        values = model(**inputs, return_dict=False)
        assert isinstance(values, tuple)
        tensors = [value for value in values if isinstance(value, Tensor)]
        self.assert_equal(dict(enumerate(tensors)), dict(enumerate(self.outputs(model, inputs).values())), "tuple", 0)

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_hidden_states_on_request(self) -> None:
        """Asked for by the call or the configuration, and only then: a tuple that ends as `last_hidden_state` does."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        key = "decoder_hidden_states" if model.config.is_encoder_decoder else "hidden_states"
        outputs = model(**inputs, output_hidden_states=True)
        assert isinstance(outputs.get(key), tuple)
        if "last_hidden_state" in outputs:
            assert outputs[key][-1].shape == outputs.last_hidden_state.shape
        assert all(state.shape[:2] == outputs[key][-1].shape[:2] for state in outputs[key])
        assert model(**inputs).get(key) is None
        model.config.output_hidden_states = True
        assert len(model(**inputs)[key]) == len(outputs[key])

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_use_cache_changes_no_output(self) -> None:
        """Other programs pass it to any model, as trl's RewardTrainer does, also where there is no cache."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        expected = self.outputs(model, inputs)
        for use_cache in (False, True):
            found = model(**inputs, use_cache=use_cache)
            self.assert_equal(found, expected, f"use_cache={use_cache}", EXACT)
            assert use_cache or cache_of(found) is None

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_same_input_twice_gives_same_output(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        first = self.outputs(model, inputs)
        self.outputs(model, self.make_inputs(3, (2, 6, 4)))
        self.assert_equal(self.outputs(model, inputs), first, "second call", tolerance=0)

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_a_state_is_taken_under_both_names(self) -> None:
        """`cache` (from transformers 5.24 on) is `past_key_values`; a model without a state takes neither."""
        model = self.build()
        inputs = {name: tensor for name, tensor in self.make_inputs(2, (5, 5)).items() if name != self.mask_input}
        if "past_key_values" not in inspect.signature(model.forward).parameters:
            for name in ("past_key_values", "cache"):
                with pytest.raises(TypeError, match=rf"takes no argument {name}; leave it out"):
                    model(**inputs, **{name: DynamicCache()})
            return
        state = cache_of(model(**inputs, use_cache=True))
        if state is None:  # of a bidirectional model
            return
        inputs |= {name: tensor[:, :3] for name, tensor in inputs.items() if name == "decoder_input_ids"}
        expected = self.outputs(model, inputs | {"past_key_values": copy.deepcopy(state)})
        found = self.outputs(model, inputs | {"cache": copy.deepcopy(state)})
        self.assert_equal(found, expected, "cache", EXACT)
        if self.state_matters:
            with pytest.raises(AssertionError):
                self.assert_equal(self.outputs(model, inputs), expected, "without the state")
        with pytest.raises(TypeError, match="cache and past_key_values are two names of one argument"):
            model(**inputs, cache=state, past_key_values=state)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_no_tensor_is_stored_between_calls(self) -> None:
        model = self.build()
        before = attributes_with_tensors(model)
        with untranslated_names():
            self.run_everything(model)
        assert attributes_with_tensors(model) == before, "a call left a tensor on a module, or changed one"

    def run_everything(self, model: PreTrainedModel) -> None:
        """Use the model in every way in which it could keep something."""
        self.outputs(model, self.make_inputs(2, (5, 3)))

    # Order

    @torch.no_grad()
    def test_reading_direction(self) -> None:
        """The last token moves the first output of a bidirectional model, and of no other, on every implementation."""
        if self.bidirectional is None:
            return
        model, inputs = self.build(), self.make_inputs(2, (6, 6))
        name = self.sequence_inputs[0]
        first, second = inputs[name]
        changed = torch.cat((first[:-1], torch.where(first == second, (first + 1) % 7, second)[-1:]))
        row = {other: tensor[:1] for other, tensor in inputs.items()}
        for implementation in self.attention_implementations(model):
            if implementation is not None:
                model.set_attn_implementation(implementation)
            with uncompiled_flex_attention():
                before, after = (self.outputs(model, row | {name: ids[None]}) for ids in (first, changed))
            for output in before:
                moved = (after[output][:, 0] - before[output][:, 0]).abs().max().item() > self.tolerance
                assert moved == self.bidirectional, f"{output} reads in the other direction, {implementation}"
                assert not torch.equal(after[output][:, -1], before[output][:, -1]), "the model does not read its input"

    def attention_implementations(self, model: PreTrainedModel) -> list[str | None]:
        claimed = [("sdpa", model._supports_sdpa), ("flex_attention", model._supports_flex_attn)]
        names: list[str | None] = [name for name, supported in claimed if supported]
        return ["eager", *names] if names else [None]

    # Padding

    @pytest.mark.parametrize("side", ["right", "left"])
    @torch.no_grad()
    def test_batch_equals_single_rows(self, side: str) -> None:
        model, lengths = self.build(), (4, 7, self.shortest, 5, 2)
        inputs = self.make_inputs(len(lengths), lengths)
        batch = left_padded(inputs, self.sequence_inputs, lengths) if side == "left" else inputs
        outputs = self.outputs(model, batch)
        for row, length in enumerate(lengths):
            begin = max(lengths) - length if side == "left" else 0
            alone = self.outputs(model, self.single(inputs, row, length))
            ours = {name: self.real_part(outputs[name][row : row + 1], begin, length, max(lengths)) for name in alone}
            self.assert_equal(ours, alone, f"row {row} of a batch padded on the {side}")

    def real_part(self, tensor: Tensor, begin: int, length: int, width: int) -> Tensor:
        if self.sequence_inputs and tensor.dim() > 1 and tensor.shape[1] == width:
            return tensor[:, begin : begin + length]
        return tensor

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_rows_of_padding_only(self) -> None:
        model, lengths = self.build(), (5, 0, 3)
        inputs = self.make_inputs(3, lengths if self.sequence_inputs else (5, 5, 3))
        outputs = self.outputs(model, inputs)
        for name, tensor in outputs.items():
            assert not tensor.isnan().any(), f"{name} has NaN beside a row of padding"
        for row in (0, 2):
            alone = self.outputs(model, self.single(inputs, row, lengths[row]))
            ours = {name: self.real_part(outputs[name][row : row + 1], 0, lengths[row], 5) for name in alone}
            self.assert_equal(ours, alone, f"row {row} beside a row of padding")

    # Training

    @pytest.mark.once_per_model
    def test_every_parameter_learns(self) -> None:
        if not self.trainable:
            self.check_fit()
            return
        model = self.build().train()
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        self.training_loss(model, self.make_inputs(4, (6, 6, 6, 6))).backward()
        largest = max(parameter.grad.abs().max() for parameter in model.parameters() if parameter.grad is not None)
        declared = set()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, f"{name} gets no gradient"
            patterns = [pattern for pattern in self.zero_gradients if fnmatch(name, pattern)]
            declared.update(patterns)
            size = parameter.grad.abs().max()
            if patterns:
                assert size <= 1e-6 * largest, f"the gradient of {name} is declared zero and is {size}"
            else:
                assert size > 0, f"the gradient of {name} is zero"
        assert declared == set(self.zero_gradients), "zero_gradients names parameters that do not exist"
        torch.optim.SGD(model.parameters(), lr=0.1).step()
        for name, parameter in model.named_parameters():
            declared_zero = any(fnmatch(name, pattern) for pattern in self.zero_gradients)
            assert declared_zero or not torch.equal(parameter, before[name]), f"a step leaves {name} as it was"

    @torch.no_grad()
    def check_fit(self) -> None:
        """Fitting changes the tables, and the text itself becomes far more likely than to the unfitted model."""
        model, inputs = self._fitted()
        unfitted = self.model_class(self.config()).eval()
        loss, start = self.training_loss(model, inputs), self.training_loss(unfitted, inputs)
        assert torch.isfinite(start), "an unfitted model is a valid one"
        assert loss < 0.5 * start, f"fitting brought the loss from {start} to {loss} only"

    @pytest.mark.once_per_model("config_class", "auto_class")
    def test_overfits_one_batch(self) -> None:
        if not self.trainable:
            self.check_fit()
            return
        settings = {"steps": 300, "learning_rate": 0.02, "remaining": 0.1, **self.overfit}
        set_seed(0)
        model, inputs = self.model_class(self.config()).train(), self.make_inputs(4, (6, 6, 6, 6))
        optimizer = torch.optim.Adam(model.parameters(), lr=settings["learning_rate"])
        losses = []
        for _ in range(int(settings["steps"])):
            optimizer.zero_grad()
            loss = self.training_loss(model, inputs)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            if losses[-1] < settings["remaining"] * losses[0]:
                return
        pytest.fail(
            f"the loss of one batch fell from {losses[0]:.3f} to {losses[-1]:.3f} only; `overfit` allows a model to "
            "learn less"
        )

    @pytest.mark.slow
    @pytest.mark.once_per_model
    def test_compiles_in_one_piece(self) -> None:
        """No step asks for the value of a tensor, for which a GPU would have to be waited."""
        model, inputs = self.build(), self.make_inputs(3, (5, 3, 4))
        torch.compiler.reset()
        compiled: Any = torch.compile(model, fullgraph=True, backend="eager")
        self.assert_equal(self.outputs(compiled, inputs), self.outputs(model, inputs), "compiled")
        ours, theirs = (self.training_loss(each, inputs) for each in (compiled, model))
        assert_close(ours, theirs)
        if self.trainable:
            assert_gradients(gradients(model, ours), gradients(model, theirs))

    @pytest.mark.slow
    @pytest.mark.once_per_model("config_class")
    @pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated, and warns of every shape that it records
    @torch.no_grad()
    def test_what_jit_trace_records_holds_for_other_padding(self) -> None:
        """The example has no padding, or has it on the right."""
        model, lengths = self.build(), (7, max(self.shortest, 3), 5)
        right = self.make_inputs(3, lengths)
        left = left_padded(right, self.sequence_inputs, lengths)
        whole = self.make_inputs(2, (7, 7))
        names = list(self.outputs(model, whole))

        def computed(*tensors: Tensor) -> tuple[Tensor, ...]:
            found = self.outputs(model, dict(zip(right, tensors, strict=True)))
            return tuple(found[name] for name in names)

        for example in (whole, right):
            module: Any = torch.jit.trace(Traced(model, computed), tuple(example.values()), check_trace=False)
            for inputs in (right, left, self.make_inputs(3, (7, 7, 7))):
                found = dict(zip(names, module(*inputs.values()), strict=True))
                expected = self.at_real(self.outputs(model, inputs), inputs)
                self.assert_equal(self.at_real(found, inputs), expected, "traced")

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_dropout_is_in_modules(self) -> None:
        """Which other programs (trl) switch off, and then training computes what evaluation does."""
        config = self.config()
        for name in (name for name in vars(config) if "dropout" in name):
            setattr(config, name, 0.5)
        set_seed(0)
        model, inputs = self.model_class(config).eval(), self.make_inputs(2, (5, 5))
        expected = self.outputs(model, inputs)
        for module in model.train().modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        self.assert_equal(self.outputs(model, inputs), expected, "dropout that no nn.Dropout holds")

    @pytest.mark.once_per_model("config_class", "auto_class")
    def test_gradient_checkpointing(self) -> None:
        """Where claimed, the gradients stay the same; where not, asking for it is refused."""
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        if not model.supports_gradient_checkpointing:
            with pytest.raises(ValueError, match="checkpointing"):
                switch_checkpointing(model, True)
            return
        gradients, recomputed = [], []
        for options in (None, {"use_reentrant": True}, {"use_reentrant": False}):
            model.train().zero_grad()
            if options is not None:
                switch_checkpointing(model, True, options)
            assert is_checkpointing(model) == (options is not None)
            set_seed(0)
            loss = self.training_loss(model, inputs)
            calls: list[Any] = []
            # Calls that begin: recomputing stops in the midst of one, as soon as nothing more is needed.
            with nn.modules.module.register_module_forward_pre_hook(lambda *call, calls=calls: calls.append(call[0])):
                loss.backward()
            recomputed.append(len(calls))
            gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
        assert recomputed[0] == 0
        for way in (1, 2):
            assert recomputed[way] > 0, "the backward pass recomputes nothing"
            self.assert_equal(gradients[way], gradients[0], "gradients under checkpointing")
        switch_checkpointing(model, False)
        assert not is_checkpointing(model)

    @pytest.mark.once_per_model("config_class", "auto_class")
    def test_gradient_checkpointing_by_the_configuration(self) -> None:
        """In every part of the model; the field is then used up, as in transformers' own models."""
        config = self.config()
        config.gradient_checkpointing = True
        if not self.model_class.supports_gradient_checkpointing:
            with pytest.raises(ValueError, match="leave gradient_checkpointing out of its configuration"):
                self.model_class(config)
            return
        model = self.model_class(config)
        found = [
            module.gradient_checkpointing for module in model.modules() if hasattr(module, "gradient_checkpointing")
        ]
        assert found
        assert all(found)
        assert "gradient_checkpointing" not in model.config.to_dict()
        assert not is_checkpointing(self.model_class(self.config()))

    @pytest.mark.once_per_model("config_class", "auto_class")
    def test_bf16_autocast(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        exact = self.at_real(self.outputs(model, inputs), inputs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = self.at_real(self.outputs(model, inputs), inputs)
            loss = self.training_loss(model, inputs)
        self.assert_rounded(rounded, exact)
        if self.trainable:
            loss.backward()
            assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_float64_is_computed_in_float64(self) -> None:
        """Along a line of all weights the loss is smooth to 13 digits: nothing on the way is rounded to seven.

        f(kε) - f(-kε) = k (f(ε) - f(-ε)) + O(ε³), whatever f is.
        """
        if not self.trainable:
            return
        model, inputs = self.build().double(), self.make_inputs(2, (5, 3))
        inputs = {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}
        for name, output in self.outputs(model, inputs).items():
            assert output.dtype == torch.float64 or not output.is_floating_point(), name
        weights = [parameter for parameter in model.parameters() if parameter.is_floating_point()]
        starts, generator = [weight.clone() for weight in weights], torch.Generator().manual_seed(3)
        steps = [torch.randn(weight.shape, generator=generator, dtype=torch.float64) for weight in weights]

        def loss(distance: float) -> Tensor:
            for weight, start, step in zip(weights, starts, steps, strict=True):
                weight.copy_(start + distance * step)
            set_seed(0)  # of the words of noise
            return self.training_loss(model, inputs)

        assert loss(0.0).dtype == torch.float64
        factors = (1.0, 2.3, 3.7, 5.1, 7.9)
        differences = [float(loss(k * 1e-6) - loss(-k * 1e-6)) for k in factors]
        assert abs(differences[0]) > 1e-9, "the loss does not change"
        for k, difference in zip(factors, differences, strict=True):
            assert abs(difference - k * differences[0]) < 3e-11 * max(1.0, abs(float(loss(0.0)))), k

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    def test_loaded_in_half_precision(self, tmp_path: Path) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        model.save_pretrained(tmp_path)
        loaded = self.auto_class.from_pretrained(tmp_path, dtype=torch.bfloat16)
        exact, rounded = (self.at_real(self.outputs(each, inputs), inputs) for each in (model, loaded))
        self.assert_rounded(rounded, exact)

    def assert_rounded(self, rounded: Tensors, exact: Tensors) -> None:
        """Equal but for the three digits of bf16, and nothing overflows."""
        for name, tensor in exact.items():
            finite = tensor.isfinite()
            assert torch.equal(rounded[name].isfinite(), finite), f"{name} overflows in bf16"
            scale = tensor[finite].abs().max().item()
            assert_close(rounded[name][finite].float(), tensor[finite].float(), rtol=0, atol=0.1 * scale)

    # Files

    @torch.no_grad()
    def test_save_and_reload(self, tmp_path: Path) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        model.save_pretrained(tmp_path)
        names = {path.name for path in tmp_path.iterdir()}
        assert {"config.json", "model.safetensors"} <= names
        assert not [name for name in names if name.endswith((".bin", ".pt", ".pkl", ".py"))]
        assert set(load_file(tmp_path / "model.safetensors")) <= set(model.state_dict())
        with uninitialised_memory_is_nan():
            loaded = self.auto_class.from_pretrained(tmp_path)
        assert type(loaded) is self.model_class
        assert not loaded.training
        assert loaded.config.model_type == self.config().model_type
        ours, theirs = named_tensors(loaded), named_tensors(model)
        assert ours.keys() == theirs.keys()
        for name, tensor in theirs.items():
            assert ours[name].dtype == tensor.dtype, name
            assert torch.equal(ours[name], tensor), f"{name} changed on the way through the file"
        self.assert_equal(self.outputs(loaded, inputs), self.outputs(model, inputs), "reloaded", EXACT)

    def test_loading_leaves_nothing_uninitialised(self) -> None:
        """Built without memory and loaded from nothing, as `from_pretrained` does it, every tensor gets a value."""
        load = PreTrainedModel.from_pretrained.__func__  # below our own refusal of incomplete checkpoints
        with uninitialised_memory_is_nan():
            loaded = load(self.model_class, None, config=self.config(), state_dict={})
        assert_initialised(loaded)
        built = self.model_class(self.config())
        for name, buffer in built.named_buffers():
            assert torch.equal(loaded.get_buffer(name), buffer), f"_init_weights gives {name} another value"

    @pytest.mark.once_per_model("config_class")
    def test_checkpoint_that_lacks_a_tensor_is_refused(self, tmp_path: Path) -> None:
        model = self.build()
        model.save_pretrained(tmp_path)
        tensors = load_file(tmp_path / "model.safetensors")
        for name in list(tensors)[:3]:
            rest = {other: tensor for other, tensor in tensors.items() if other != name}
            save_file(rest, tmp_path / "model.safetensors", metadata={"format": "pt"})
            with pytest.raises(ValueError, match=name):
                self.auto_class.from_pretrained(tmp_path)

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    @pytest.mark.parametrize("place", [pytest.param("memory", marks=pytest.mark.slow), "disk"])
    def test_offloaded(self, place: str, tmp_path: Path) -> None:
        """Weights that accelerate fetches for each call give the same results; trained, such a model is not."""
        accelerate = pytest.importorskip("accelerate")
        model, inputs, cpu = self.build(), self.make_inputs(2, (5, 3)), torch.device("cpu")
        expected = self.results(model, inputs)
        offloaded = copy.deepcopy(model)
        if place == "memory":
            accelerate.cpu_offload(offloaded, cpu, offload_buffers=True)
        else:
            model.save_pretrained(tmp_path / "saved")
            options = {"offload_folder": tmp_path / "offloaded", "offload_buffers": True}
            offloaded = self.model_class.from_pretrained(tmp_path / "saved", device_map={"": "disk"}, **options)
        assert any(tensor.is_meta for tensor in named_tensors(offloaded).values()), "nothing was offloaded"
        self.assert_equal(self.results(offloaded, inputs), expected, f"offloaded: {place}")

    @torch.no_grad()
    @pytest.mark.once_per_model("config_class")
    def test_ways_of_loading(self, tmp_path: Path) -> None:
        """Options that say how, and not what, change nothing; old names of options still work."""
        pytest.importorskip("accelerate")
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        for folder in ("saved", "pickled"):
            model.save_pretrained(tmp_path / folder)
        (tmp_path / "pickled" / "model.safetensors").unlink()
        torch.save(model.state_dict(), tmp_path / "pickled" / "pytorch_model.bin")
        expected = self.outputs(model, inputs)
        ways: list[tuple[str, dict[str, Any]]] = [
            ("saved", {"low_cpu_mem_usage": True}),
            ("saved", {"device_map": "auto"}),
            ("saved", {"device_map": "cpu"}),
            ("saved", {"dtype": "auto"}),
            ("saved", {"torch_dtype": torch.float32}),
            ("pickled", {}),
            ("pickled", {"use_safetensors": False}),
        ]
        for folder, options in ways:
            loaded = self.auto_class.from_pretrained(tmp_path / folder, **options)
            self.assert_equal(self.outputs(loaded.to("cpu"), inputs), expected, str(options))
        for options in ({"dtype": "bfloat16"}, {"torch_dtype": torch.bfloat16}):
            narrow = self.auto_class.from_pretrained(tmp_path / "pickled", **options)
            self.assert_rounded(self.at_real(self.outputs(narrow, inputs), inputs), self.at_real(expected, inputs))

    def results(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        """Everything that a model is asked for in evaluation, by name."""
        return self.outputs(model, inputs)

    @pytest.mark.slow
    @pytest.mark.once_per_model("config_class", "auto_class")
    def test_other_sizes_take_no_memory(self, tmp_path: Path) -> None:
        """A config.json that does not fit its weights is refused, or makes no difference, before memory is taken."""
        self.build().save_pretrained(tmp_path)
        values = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
        config = self.config()
        sizes = config.largest_values | dict.fromkeys(config.positive_fields, 2**20)
        changes = [{name: size} for name, largest in sizes.items() for size in (64, 2**20, largest)]
        self.auto_class.from_pretrained(tmp_path)
        for change in changes:
            given = {name: value for name, value in values.items() if name not in ("id2label", "label2id")} | change
            (tmp_path / "config.json").write_text(json.dumps(given), encoding="utf-8")
            # A size that no weight has, or no field of this model, changes nothing.
            with memory_taken() as memory, suppress(ValueError):
                self.auto_class.from_pretrained(tmp_path)
            taken = (memory.python + memory.torch) / 10**6
            assert taken < 64, f"{change}: {taken:.0f} MB"

    # Configuration

    @pytest.mark.once_per_model("config_class")
    def test_config_survives_json(self, tmp_path: Path) -> None:
        config = self.config()
        copied = type(config).from_dict(json.loads(config.to_json_string(use_diff=False)))
        assert copied.to_dict() == config.to_dict()
        config.save_pretrained(tmp_path)
        loaded = AutoConfig.from_pretrained(tmp_path)
        assert type(loaded) is type(config)
        assert public(loaded.to_dict()) == public(config.to_dict())

    @pytest.mark.once_per_model("config_class")
    def test_config_refuses_unknown_values(self) -> None:
        config = self.config()
        fields = own_fields(config)
        assert fields, "the configuration declares no field"
        for name in fields:
            value = getattr(config, name)
            rubbish = "no such value" if isinstance(value, str) else -1 if type(value) is int else None
            if rubbish is None:
                continue
            with pytest.raises(ValueError, match=name):
                type(config)(**self.changed(config, **{name: rubbish}))
            if not name.endswith("_token_id"):
                with pytest.raises(ValueError, match=name):
                    setattr(config, name, rubbish)

    def changed(self, config: Any, **fields: Any) -> dict[str, Any]:
        return {name: getattr(config, name) for name in own_fields(config)} | fields

    @pytest.mark.once_per_model("config_class")
    def test_config_refuses_misspelt_names(self, tmp_path: Path) -> None:
        config = self.config()
        for name in own_fields(config):
            if len(name) < 8:  # of shorter names, one letter is more than 15 %
                continue
            misspelt = name[:3] + name[4:]
            with pytest.raises(ValueError, match=name):
                type(config)(**{misspelt: getattr(config, name)})
            values = config.to_dict()
            values[misspelt] = values.pop(name)
            (tmp_path / "config.json").write_text(json.dumps(values), encoding="utf-8")
            with pytest.raises(ValueError, match=name):
                AutoConfig.from_pretrained(tmp_path)

    def test_config_refuses_contradictions(self) -> None:
        config = self.config()
        contradictions = [dict(fields) for fields in self.contradictory_configs]
        if hasattr(config, "vocab_size"):
            ids = [name for name in own_fields(config) if name.endswith("_token_id")]
            contradictions += [{name: config.vocab_size} for name in ids]
        for fields in contradictions:
            with pytest.raises(ValueError, match="|".join(fields)):
                type(config)(**self.changed(config, **fields))

    # Elsewhere

    @pytest.mark.once_per_model("config_class")
    def test_exported_folder_without_the_package(self, fresh_process: Callable[..., dict[str, Any]]) -> None:
        found = fresh_process(type(self), "without")
        assert "trust_remote_code" in found["refusal"], "without the flag, a refusal that names the flag was expected"
        assert not found["executed_untrusted"], "code ran without the flag"
        assert not found["lost_code"], "saved again, the folder names code that it does not hold"
        assert "takes no argument cahce" in found.get("unread", ""), "a keyword that nothing reads was let through"
        self.assert_equal(found["outputs"], self.expected_outputs(), "outputs without the package", EXACT)
        self.assert_equal(found["outputs_saved_again"], self.expected_outputs(), "saved and loaded again", EXACT)
        if prompts := self.generation_inputs():
            self.assert_equal(found["generated"], generated(self.build(), prompts), "generated without the package", 0)

    @pytest.mark.once_per_model("config_class")
    def test_saved_and_exported_folder_with_the_package(self, fresh_process: Callable[..., dict[str, Any]]) -> None:
        found = fresh_process(type(self), "with")
        assert found["module"] == self.model_class.__module__, "the package's own class should serve"
        self.assert_equal(found["outputs"], self.expected_outputs(), "the saved folder", EXACT)
        self.assert_equal(found["outputs_exported"], self.expected_outputs(), "the exported folder", EXACT)

    @torch.no_grad()
    def expected_outputs(self) -> Tensors:
        return self.outputs(self.build(), self.make_inputs(3, (5, 3, 4)))

    @pytest.mark.once_per_model("config_class")
    def test_pipeline_in_a_fresh_process(
        self, fresh_process: Callable[..., dict[str, Any]], model_folder: Callable[..., Path]
    ) -> None:
        if self.pipeline_task is None:
            assert self.processing_class() is None, "a model with a processing class has a pipeline to declare"
            return
        from transformers import pipeline

        pipe = pipeline(self.pipeline_task, model=str(model_folder(type(self)) / "saved"))
        expected = [pipe(item, **self.pipeline_arguments) for item in self.pipeline_inputs()]
        assert len(expected) > 1, "a batch needs two inputs"
        for place in ("with", "without"):
            found = fresh_process(type(self), place)["pipeline"]
            # Two pipelines show padding, which ours has in front: its vectors, and it counts in the index of a token.
            if self.pipeline_task == "feature-extraction":
                found = [[rows[0][-len(alone[0]) :]] for rows, alone in zip(found, expected, strict=True)]
            if self.pipeline_task == "token-classification":
                found, expected = ([[{**e, "index": 0} for e in row] for row in rows] for rows in (found, expected))
            same = equal_json(found, json.loads(json.dumps(expected, default=float)))
            assert same, f"{place} the package: {str(found)[:500]}, expected {str(expected)[:500]}"


class TokenTests(ModelTests):
    """What a model that reads ids must do beside: `input_ids` and `attention_mask` of one shape."""

    empty_rows: ClassVar[bool] = False
    """Whether a row may have no tokens at all."""

    def decoded(self) -> list[Any]:
        """Three texts of the tokenizer's own."""
        tokenizer, inputs = self.processing_class(), self.make_inputs(3, (3, 1, 2))
        rows = zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
        return [tokenizer.decode(ids[mask.bool()]) for ids, mask in rows]

    @pytest.mark.once_per_model("config_class")
    @torch.no_grad()
    def test_ids_of_any_integer_type(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        expected = self.outputs(model, inputs)
        for dtype in (torch.int32, torch.int16, torch.uint8):
            given = inputs | {"input_ids": inputs["input_ids"].to(dtype)}
            self.assert_equal(self.outputs(model, given), expected, str(dtype), EXACT)
        for dtype in (torch.bool, torch.float32, torch.int32):
            given = inputs | {"attention_mask": inputs["attention_mask"].to(dtype)}
            self.assert_equal(self.outputs(model, given), expected, f"a mask of {dtype}", EXACT)

    @pytest.mark.once_per_model("config_class")
    @torch.no_grad()
    def test_ids_that_are_none_are_refused(self) -> None:
        """By a ValueError that says what to give, not by one from the depths."""
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        ids, vocab_size = inputs["input_ids"], self.config().vocab_size
        wrong: list[tuple[Any, str]] = [
            (ids.float(), "input_ids are of type torch.float32; ids are integers"),
            (ids > 2, "input_ids are of type torch.bool; ids are integers"),
            (ids.tolist(), "input_ids is a list, but a tensor"),
            ({"input_ids": ids}, r"input_ids is a dict, .* then model\(\*\*inputs\)"),
        ]
        for outside in (-1, -100, vocab_size, vocab_size + 1000):
            given = ids.clone()
            given[1, ..., 2] = outside
            wrong.append((given, f"input_ids hold {outside}; the model has the tokens 0 to {vocab_size - 1} "))
        for given, message in wrong:
            with pytest.raises(ValueError, match=message):
                model(**inputs | {"input_ids": given})

    @pytest.mark.once_per_model("config_class")
    @torch.no_grad()
    def test_resizing_to_the_same_size_changes_nothing(self) -> None:
        """Programs that add tokens, if there are any, ask for it in any case."""
        model = self.build()
        if not self.trainable:  # a table of counts has no vectors
            return
        before = {name: parameter.clone() for name, parameter in model.named_parameters()}
        model.resize_token_embeddings(model.config.vocab_size)
        after = dict(model.named_parameters())
        assert after.keys() == before.keys()
        assert not [name for name in before if not torch.equal(before[name], after[name])]

    @pytest.mark.once_per_model("config_class", "auto_class")
    @torch.no_grad()
    @pytest.mark.parametrize("tied", [True, False])
    def test_resizing_keeps_what_was_there(self, tied: bool, tmp_path: Path) -> None:
        """Tied or not, a larger vocabulary leaves all other outputs alone, is saved, and cut again is the first one.

        A model whose vocabulary is part of what it learnt refuses another size.
        """
        config = self.config()
        # A table of counts has no vectors, and without the field a model is untied.
        if not self.trainable or (tied and "tie_word_embeddings" not in own_fields(config)):
            return
        if tied != getattr(config, "tie_word_embeddings", False):
            try:
                config = type(config)(**self.changed(config, tie_word_embeddings=tied))
            except ValueError:  # the vectors are not as wide as the output
                return
        torch.default_generator.manual_seed(0)
        model, inputs = self.model_class(config).eval(), self.make_inputs(2, (5, 3))
        perturb(model, self.perturbation)
        model.tie_weights()
        before, words = self.outputs(model, inputs), model.config.vocab_size
        weights = {name: parameter.clone() for name, parameter in model.named_parameters()}
        model.set_input_embeddings(model.get_input_embeddings())
        self.assert_equal(self.outputs(model, inputs), before, "after setting what was there", EXACT)
        for options in ({"new_num_tokens": words + 3}, {"pad_to_multiple_of": 16}, {"new_num_tokens": words}):
            try:
                model.resize_token_embeddings(**options)
            except ValueError as refusal:
                if "cannot be resized" not in str(refusal):
                    raise
                break
            after = self.outputs(model, inputs)
            for name, old in before.items():
                where = f"{name} after {options}"
                assert after[name].isfinite().all(), where
                # The last axis of logits is the vocabulary.
                kept = after[name] if after[name].shape == old.shape else after[name][..., :words]
                self.assert_equal({name: kept}, {name: old}, where)
            model.save_pretrained(tmp_path)
            loaded = self.model_class.from_pretrained(tmp_path)
            assert loaded.config.vocab_size == model.config.vocab_size == model.get_input_embeddings().num_embeddings
            self.assert_equal(self.outputs(loaded, inputs), after, f"reloaded after {options}", EXACT)
        assert_close(dict(model.named_parameters()), weights, rtol=0, atol=0)

    @pytest.mark.once_per_model("config_class")
    @torch.no_grad()
    def test_word_vectors_are_looked_up_once(self) -> None:
        """Attribution and noise hook that call, and take its output for the vectors of the input's tokens."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        if not self.trainable:
            return
        shapes: list[torch.Size] = []
        model.get_input_embeddings().register_forward_hook(lambda module, args, output: shapes.append(output.shape))
        self.outputs(model, inputs)
        assert [math.prod(shape[:-1]) for shape in shapes] == [inputs["input_ids"].numel()]

    @pytest.mark.once_per_model("config_class")
    @torch.no_grad()
    def test_ids_and_masks_of_a_wrong_shape_are_refused(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        for given in (ids[0, ..., 0], ids[None, None]):
            with pytest.raises(ValueError, match=r"input_ids has shape .*\(batch, "):
                model(**{**inputs, "input_ids": given, "attention_mask": None})
        for given in (mask[..., :4], torch.cat((mask, mask)), mask[:, None]):
            with pytest.raises(ValueError, match="attention_mask has shape"):
                model(**inputs | {"attention_mask": given})
        empty = [{name: tensor[:0] for name, tensor in inputs.items()}]
        if not self.empty_rows:
            empty.append({name: tensor[..., :0] for name, tensor in inputs.items()})
        message = r"the input has shape \(.*0.*\): it needs at least one token per row, and a row"
        for given in empty:
            with pytest.raises(ValueError, match=message):
                model(**given)
        if isinstance(model, GenerationMixin):
            with pytest.raises(ValueError, match=message):
                model.generate(**empty[0], max_new_tokens=2, pad_token_id=0)


class CausalLMTests(TokenTests):
    """What a language model that predicts the next token must do beside."""

    auto_class = AutoModelForCausalLM
    sequence_inputs = ("input_ids", "attention_mask")
    context_length: ClassVar[int | None] = None
    """For models without a cache: how many of the last tokens a prediction can depend on."""
    loss_kind: ClassVar[str] = "softmax"
    """The checks of losses run again where a configuration has another one."""
    pipeline_task = "text-generation"
    pipeline_arguments: ClassVar[Mapping[str, Any]] = {"do_sample": False, "max_new_tokens": 5}

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return token_inputs(self.config(), lengths)

    def pipeline_inputs(self) -> list[Any]:
        return self.decoded()

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
        return model(**inputs, labels=labels).loss

    def run_everything(self, model: PreTrainedModel) -> None:
        super().run_everything(model)
        inputs = self.make_inputs(2, (5, 3))
        self.training_loss(model, inputs)
        model.score(**inputs)
        model(**inputs, use_cache=True)
        self.generate(model, inputs, num_beams=2)

    # How the checks use it

    def results(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
        prompts = self.prompts()
        return self.outputs(model, inputs) | {
            "loss": model(**inputs, labels=labels).loss,
            "one token": model(input_ids=inputs["input_ids"][:, :1]).logits,
            "score": model.score(**inputs),
            "generated": self.generate(model, prompts),
            "generated by beams": self.generate(model, prompts, num_beams=2),
        }

    def generate(self, model: PreTrainedModel, inputs: Tensors, **options: Any) -> Any:
        """Generate without an end token, so that all rows grow to the same length."""
        model.generation_config.eos_token_id = None
        options = {"max_new_tokens": 6, "do_sample": False, "num_beams": 1, **options}
        pad = self.config().pad_token_id
        return model.generate(**inputs, pad_token_id=0 if pad is None else pad, **options)

    def generation_inputs(self) -> Tensors | None:
        return self.prompts()

    def prompts(self) -> Tensors:
        """Ragged prompts, padded on the left as generation needs them."""
        lengths = (4, 2, 5)
        return left_padded(self.make_inputs(3, lengths), self.sequence_inputs, lengths)

    def log_probs(self, logits: Tensor) -> Tensor:
        return logits.double().log_softmax(dim=-1)

    def stepwise(self, model: PreTrainedModel, inputs: Tensors, sizes: Sequence[int]) -> Iterator[Tensor]:
        """Logits of successive pieces of the given sizes, each from the cache that the one before returned.

        A model without a cache reads `context_length` tokens back instead.
        """
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        cache, end = None, 0
        for size in sizes:
            begin, end = end, end + size
            if self.context_length is None:
                output = model(
                    input_ids=ids[:, begin:end], attention_mask=mask[:, :end], past_key_values=cache, use_cache=True
                )
                cache = output.past_key_values
                assert cache is not None, "use_cache=True returned no cache"
                assert cache.get_seq_length() == end, "the cache counts its tokens wrongly"
            else:
                first = max(0, begin - max(self.context_length - 1, 0))
                output = model(input_ids=ids[:, first:end], attention_mask=mask[:, first:end], use_cache=True)
                assert output.get("past_key_values") is None, "a model without a cache returned one"
            yield output.logits[:, -size:]

    def check_stepwise(self, inputs: Tensors, sizes: Sequence[int], what: str) -> None:
        model = self.build()
        pieces = torch.cat(list(self.stepwise(model, inputs, sizes)), dim=1)
        whole = model(**inputs, use_cache=False).logits
        ours, theirs = (self.at_real({"logits": logits}, inputs) for logits in (pieces, whole))
        self.assert_equal(ours, theirs, what)

    # Order

    @torch.no_grad()
    def test_causality(self) -> None:
        """A later token changes no earlier prediction, on every attention implementation that the class claims."""
        model, length = self.build(), 6
        first, second = self.make_inputs(2, (length, length))["input_ids"]
        changed = first.repeat(length, 1)
        changed.diagonal().copy_(torch.where(first == second, (first + 1) % 7, second))
        for implementation in self.attention_implementations(model):
            if implementation is not None:
                model.set_attn_implementation(implementation)
            with uncompiled_flex_attention():
                original = model(input_ids=first[None]).logits
                logits = model(input_ids=changed).logits
            reacts = 0
            for position in range(length):
                earlier = {"logits": logits[position, :position]}
                expected = {"logits": original[0, :position]}
                self.assert_equal(earlier, expected, f"token {position} changed, {implementation}")
                reacts += int(not torch.allclose(logits[position, position:], original[0, position:]))
            assert reacts, "the model does not read its input"

    # Caches

    @pytest.mark.parametrize("sizes", [(4, 1, 1, 1, 1), (3, 2, 3)], ids=str)
    @torch.no_grad()
    def test_cache_equals_no_cache(self, sizes: Sequence[int]) -> None:
        self.check_stepwise(self.make_inputs(2, (8, 8)), sizes, f"in pieces of {sizes}")

    @pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1, 1, 1, 1), (5, 1, 1, 1), (2, 3, 3)], ids=str)
    @torch.no_grad()
    def test_cache_with_left_padding(self, sizes: Sequence[int]) -> None:
        lengths = (8, 3, 6)
        inputs = left_padded(self.make_inputs(3, lengths), self.sequence_inputs, lengths)
        self.check_stepwise(inputs, sizes, f"padded on the left, in pieces of {sizes}")

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_cache_in_beam_search(self) -> None:
        """With a cache, beams are those of no cache, and their scores are the model's own for what they say."""
        model, inputs = self.build(), self.prompts()
        options = {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 0.0, "max_new_tokens": 7}
        options |= {"return_dict_in_generate": True, "output_scores": True}
        cached = self.generate(model, inputs, use_cache=True, **options)
        whole = self.generate(model, inputs, use_cache=False, **options)
        moved = cached.beam_indices[:, 1:] != cached.beam_indices[:, :-1]
        assert moved.any(), "no beam changed its place: this search proves nothing"
        assert_close(cached.sequences_scores, whole.sequences_scores, rtol=0, atol=1e-4)
        assert_same_beams(cached.sequences, whole.sequences)
        prompt = inputs["input_ids"].shape[1]
        mask = torch.cat([inputs["attention_mask"].repeat_interleave(4, 0), torch.ones(12, 7, dtype=torch.long)], dim=1)
        logits = model(input_ids=cached.sequences, attention_mask=mask).logits[:, prompt - 1 : -1]
        chosen = self.log_probs(logits).gather(2, cached.sequences[:, prompt:, None]).sum(dim=(1, 2))
        assert_close(cached.sequences_scores.double(), chosen, rtol=0, atol=1e-3)
        for row, length in enumerate(inputs["attention_mask"].sum(dim=1).tolist()):
            alone = {name: tensor[row : row + 1, -length:] for name, tensor in inputs.items()}
            beams = self.generate(model, alone, use_cache=True, **options).sequences[:, length:]
            assert_same_beams(beams, cached.sequences[4 * row : 4 * row + 4, prompt:], f"prompt {row} without padding")

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_two_interleaved_generations_do_not_mix(self) -> None:
        model = self.build()
        texts = [token_inputs(self.config(), (8, 8), seed=seed) for seed in (1, 2)]
        sizes = (3, 1, 1, 1, 1, 1)
        apart = [list(self.stepwise(model, text, sizes)) for text in texts]
        mixed = zip_longest(*(self.stepwise(model, text, sizes) for text in texts))
        for number, pair in enumerate(mixed):
            for text, logits in enumerate(pair):
                self.assert_equal({"logits": logits}, {"logits": apart[text][number]}, f"text {text}", tolerance=0)

    # Generation

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_generate_greedy(self) -> None:
        model, inputs = self.build(), self.prompts()
        generated = self.generate(model, inputs)
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        for _ in range(6):
            best = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, best], dim=1)
            mask = torch.cat([mask, torch.ones_like(best)], dim=1)
        assert torch.equal(generated, ids)
        again = self.generate(model, inputs)
        assert torch.equal(again, generated), "the second generation differs from the first"

    @pytest.mark.once_per_model
    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}], ids=str)
    @torch.no_grad()
    def test_generate_behind_equal_padding(self, options: dict[str, Any]) -> None:
        """Rows that are all padded alike, as beams of one prompt are, go on as they do without padding."""
        model, inputs, found = self.build(), self.make_inputs(2, (4, 4)), []
        padded = {name: nn.functional.pad(tensor, (2, 0)) for name, tensor in inputs.items()}
        for given in (inputs, padded):
            set_seed(0)
            found.append(self.generate(model, given, **options)[:, given["input_ids"].shape[1] :])
        assert torch.equal(*found)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_generate_stops_at_the_end_token(self) -> None:
        model, inputs = self.build(), self.make_inputs(1, (4,))
        endless = self.generate(model, inputs)
        end = endless[0, 5].item()
        model.generation_config.eos_token_id = end
        stopped = model.generate(**inputs, do_sample=False, max_new_tokens=6, pad_token_id=0)
        first = 4 + endless[0, 4:].tolist().index(end)
        assert stopped[0].tolist() == endless[0, : first + 1].tolist()

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_generate_samples(self) -> None:
        model, inputs = self.build(), self.prompts()
        samples = []
        for seed in (0, 0, 1):
            set_seed(seed)
            options = {"do_sample": True, "num_return_sequences": 3, "top_k": 0}
            samples.append(self.generate(model, inputs, **options))
        assert torch.equal(samples[0], samples[1]), "the same seed gave another text"
        assert not torch.equal(samples[0], samples[2]), "another seed gave the same texts"
        prompt = inputs["input_ids"].shape[1]
        mask = torch.cat([inputs["attention_mask"].repeat_interleave(3, 0), torch.ones(9, 6, dtype=torch.long)], dim=1)
        logits = model(input_ids=samples[0], attention_mask=mask).logits[:, prompt - 1 : -1]
        chosen = self.log_probs(logits).gather(2, samples[0][:, prompt:, None])
        assert chosen.isfinite().all(), "a token of probability zero was drawn"

    @pytest.mark.once_per_model
    @pytest.mark.parametrize("use_cache", [True, False])
    @pytest.mark.parametrize("negative", [True, False])
    @torch.no_grad()
    def test_generate_with_guidance(self, negative: bool, use_cache: bool) -> None:
        """Classifier-free: u + scale (c - u), where u follows the negative prompt, or the last token of the prompt."""
        model, inputs = self.build(), self.prompts()
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        other, other_mask = (ids.flip(0), mask.flip(0)) if negative else (ids[:, -1:], mask[:, -1:])
        options: dict[str, Any] = {"guidance_scale": 2.5, "use_cache": use_cache}
        if negative:
            options |= {"negative_prompt_ids": other, "negative_prompt_attention_mask": other_mask}
        generated = self.generate(model, inputs, **options)
        for _ in range(6):
            c, u = (
                model(input_ids=given, attention_mask=its_mask, use_cache=False).logits[:, -1].log_softmax(dim=-1)
                for given, its_mask in ((ids, mask), (other, other_mask))
            )
            best = (u + 2.5 * (c - u)).argmax(dim=-1, keepdim=True)
            ids, other = torch.cat([ids, best], dim=1), torch.cat([other, best], dim=1)
            mask, other_mask = (torch.cat([each, torch.ones_like(best)], dim=1) for each in (mask, other_mask))
        assert torch.equal(generated, ids)

    @pytest.mark.parametrize(
        "options",
        [
            {"repetition_penalty": 1.5},
            {"no_repeat_ngram_size": 2, "bad_words_ids": [[3], [5, 6]], "num_beams": 2},
            {"do_sample": True, "num_return_sequences": 2, "top_p": 0.8},
            {"do_sample": True, "num_beams": 3, "num_return_sequences": 2, "length_penalty": 2.0},
        ],
        ids=str,
    )
    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_generate_with_and_without_a_cache(self, options: dict[str, Any]) -> None:
        model, inputs, found = self.build(), self.prompts(), []
        for use_cache in (True, False):
            set_seed(0)
            found.append(self.generate(model, inputs, use_cache=use_cache, **options))
        assert torch.equal(*found)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_what_generate_returns(self) -> None:
        """At each step the logits, states and attentions of the last position of a whole forward pass."""
        model, inputs = self.build(), self.prompts()
        asked = {"output_hidden_states": True, "output_attentions": True}
        generated = self.generate(model, inputs, return_dict_in_generate=True, output_logits=True, **asked)
        ids, prompt = generated.sequences[:, :-1], inputs["input_ids"].shape[1]
        mask = nn.functional.pad(inputs["attention_mask"], (0, ids.shape[1] - prompt), value=1)
        whole = model(input_ids=ids, attention_mask=mask, use_cache=False, **asked)
        for step, logits in enumerate(generated.logits):
            seen = prompt + step
            self.assert_equal({"logits": logits}, {"logits": whole.logits[:, seen - 1]}, f"step {step}")
            for name in ("hidden_states", "attentions"):
                expected = whole.get(name)
                found = (generated.get(name) or [None] * 6)[step]
                assert (found is None) == (expected is None), name
                for layer, (ours, theirs) in enumerate(zip(found or (), expected or (), strict=True)):
                    if name == "hidden_states":
                        row, last = theirs[:, seen - 1], ours[:, -1]
                    else:
                        row = theirs[:, :, seen - 1, : theirs.shape[3] - theirs.shape[2] + seen]
                        # A memory of constant size has places before the first token.
                        width = min(row.shape[-1], ours.shape[-1])
                        row, last = row[..., -width:], ours[:, :, -1, -width:]
                    self.assert_equal({name: last}, {name: row}, f"step {step}, layer {layer}")

    @pytest.mark.once_per_model
    @pytest.mark.parametrize("source", ["prompt", "assistant"])
    @torch.no_grad()
    def test_assisted_generation(self, source: str) -> None:
        """Words that another model, or the prompt, proposes change nothing; what cannot go back refuses them."""
        model, assistant, inputs = self.build(), self.build(), self.make_inputs(1, (5,))
        perturb(assistant, self.perturbation, seed=1)
        options = {"prompt_lookup_num_tokens": 2} if source == "prompt" else {"assistant_model": assistant}
        options["max_new_tokens"] = 12
        try:
            generated = self.generate(model, inputs, **options)
        except (ValueError, RuntimeError) as error:
            assert "not supported with stateful models" in str(error) or "requires a cache" in str(error)  # noqa: PT017
        else:
            assert torch.equal(generated, self.generate(model, inputs, max_new_tokens=12))

    # Arguments and losses

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_unknown_arguments_are_refused(self) -> None:
        """Positions above all: other programs pack several texts into a row and say so with them."""
        model, inputs = self.build(), self.make_inputs(2, (6, 6))
        positions = torch.arange(6).expand(2, -1)
        with pytest.raises(TypeError, match="no_such_argument"):
            model(**inputs, no_such_argument=1)
        if "position_ids" in inspect.signature(model.forward).parameters:
            given, counted = (self.outputs(model, each) for each in (inputs | {"position_ids": positions}, inputs))
            self.assert_equal(given, counted, "the positions that the model counts itself")
        else:
            with pytest.raises(TypeError, match="position_ids"):
                model(**inputs, position_ids=positions)

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @torch.no_grad()
    def test_logits_to_keep(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (6, 6))
        whole = model(**inputs).logits
        assert whole.shape == (2, 6, self.config().vocab_size)
        for keep, expected in (
            (0, whole),
            (1, whole[:, -1:]),
            (3, whole[:, -3:]),
            (torch.tensor([0, 3, 4]), whole[:, [0, 3, 4]]),
        ):
            kept = model(**inputs, logits_to_keep=keep).logits
            self.assert_equal({"logits": kept}, {"logits": expected}, f"logits_to_keep={keep}")

    def labelled(self) -> tuple[Tensors, Tensor]:
        """Ragged inputs with labels, of which padding and two tokens within do not count."""
        inputs = self.make_inputs(3, (6, 4, 5))
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
        labels[0, 2] = labels[2, 1] = -100
        return inputs, labels

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @torch.no_grad()
    def test_labels_and_num_items_in_batch(self) -> None:
        model = self.build()
        inputs, labels = self.labelled()
        log_probs = self.log_probs(model(**inputs).logits)[:, :-1]
        targets = labels[:, 1:]
        counted = targets != -100
        chosen = log_probs.gather(2, targets.clamp(min=0)[..., None])[..., 0]
        total, count = -chosen[counted].sum(), int(counted.sum())
        assert count < inputs["attention_mask"][:, 1:].sum(), "labels of -100 within the text are part of this check"
        loss = model(**inputs, labels=labels).loss
        assert loss.dim() == 0
        assert_close(loss.double(), total / count, rtol=1e-5, atol=1e-5)
        for items in (7, torch.tensor(7)):
            loss = model(**inputs, labels=labels, num_items_in_batch=items).loss
            assert_close(loss.double(), total / 7, rtol=1e-5, atol=1e-5)

    @pytest.mark.once_per_model
    @pytest.mark.parametrize("training", [False, True])
    def test_labels_that_are_none_are_refused(self, training: bool) -> None:
        """-100 alone is not counted, and any integer type will do, whatever computes the loss."""
        model, inputs = self.build().train(training), self.make_inputs(2, (6, 6))
        ids, vocab_size = inputs["input_ids"], self.config().vocab_size
        wrong = [(ids[:, 1:], "shape"), (ids[0], "shape"), (ids.float(), "torch.float32"), (ids > 2, "torch.bool")]
        for outside in (-1, -2, -101, vocab_size, vocab_size + 1000):
            labels = ids.clone()
            labels[1, 3] = outside
            wrong.append((labels, f"hold {outside}; the model has {vocab_size} "))
        for keep in (0, 1):
            for name in ("labels", "shift_labels"):
                for labels, message in wrong:
                    with pytest.raises(ValueError, match=f"^{name} .*{message}"):
                        model(**inputs, **{name: labels}, logits_to_keep=keep)
            for dtype in (torch.int32, torch.uint8):
                losses = []
                for labels in (ids, ids.to(dtype)):
                    set_seed(0)
                    losses.append(model(**inputs, labels=labels, logits_to_keep=keep).loss)
                assert_close(losses[1], losses[0], rtol=0, atol=0)

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @torch.no_grad()
    def test_loss_with_padding(self) -> None:
        """The same rows have the same loss, wherever padding stands; the first token of a row follows nothing."""
        model, lengths = self.build(), (6, 3, 5)
        inputs = self.make_inputs(3, lengths)
        bos = self.config().bos_token_id
        if bos is not None:
            inputs["input_ids"][:, 0] = bos
        total = torch.zeros(())
        for row, length in enumerate(lengths):
            alone = self.single(inputs, row, length)
            total += model(**alone, labels=alone["input_ids"], num_items_in_batch=1).loss
        left = left_padded(inputs, self.sequence_inputs, lengths)
        # Copied columns that the mask hides: behind the first token of every row, and three further on.
        columns = [0, 0, 1, 2, 2, 2, 2, 3, 4, 5]
        holes = {name: inputs[name][:, columns] for name in self.sequence_inputs}
        holes["attention_mask"][:, [1, 4, 5, 6]] = 0
        for what, given in {"right": inputs, "left": left, "holes": holes}.items():
            loss = {"loss": self.training_loss(model, given)}
            self.assert_equal(loss, {"loss": total / (sum(lengths) - 3)}, f"padding: {what}")

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @torch.no_grad()
    def test_score_equals_logits(self) -> None:
        config, model, lengths = self.config(), self.build(), (6, 3, 5)
        inputs = self.make_inputs(3, lengths)
        if config.bos_token_id is not None:
            inputs["input_ids"][0, 3] = config.bos_token_id
        log_probs = self.log_probs(model(**inputs).logits)[:, :-1]
        chosen = log_probs.gather(2, inputs["input_ids"][:, 1:, None])[..., 0].float()
        expected = torch.nn.functional.pad(chosen, (1, 0))
        silent = (inputs["attention_mask"] == 0) | (inputs["input_ids"] == config.bos_token_id)
        expected = expected.masked_fill(silent, 0.0)
        left, expected_left = (
            left_padded(tensors, tuple(tensors), lengths) for tensors in (inputs, {"score": expected})
        )
        for given, theirs in ((inputs, expected), (left, expected_left["score"])):
            scores = model.score(**given)
            assert scores.dtype == torch.float32
            self.assert_equal({"score": scores}, {"score": theirs}, "score")
            if config.pad_token_id is not None:
                self.assert_equal({"score": model.score(given["input_ids"])}, {"score": theirs}, "score without a mask")


class CausalLMHeadTests(CausalLMTests):
    """What a language model with the head of base/heads/causal_lm.py must do beside."""

    @pytest.mark.once_per_model
    def test_gradient_checkpointing_saves_memory(self) -> None:
        """Less is kept for the backward pass; no cache, as in transformers' own models, which warn of it."""
        model, inputs = self.build().train(), self.make_inputs(2, (20, 20))
        if not model.supports_gradient_checkpointing:
            return
        kept = []
        for _ in range(2):
            sizes: dict[int, int] = {}

            def keep(tensor: Tensor, sizes: dict[int, int] = sizes) -> Tensor:
                sizes[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
                return tensor

            with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
                hidden = model.base_model(**inputs, use_cache=False).last_hidden_state
            for parameter in model.parameters():
                sizes.pop(parameter.data_ptr(), None)
            kept.append(sum(sizes.values()))
            del hidden
            switch_checkpointing(model, True)
        assert kept[1] < 0.7 * kept[0], f"{kept[0]} bytes are kept without checkpointing, {kept[1]} with it"
        transformers_generic.logger.warning_once.cache_clear()
        with patch.object(transformers_generic.logger, "warning") as warning:
            outputs = model(**inputs, use_cache=True)
            assert cache_of(outputs) is None
        assert "use_cache=True` is incompatible with gradient checkpointing" in warning.call_args[0][0]

    @pytest.mark.slow
    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_loss_without_all_logits_compiles_in_one_piece(self) -> None:
        """And so does going on from a cache."""
        model, (inputs, labels) = self.build(), self.labelled()
        torch.compiler.reset()
        compiled: Any = torch.compile(model, fullgraph=True, backend="eager")
        given = {**inputs, "labels": labels, "logits_to_keep": 1}
        assert_close(compiled(**given).loss, model(**given).loss)
        ids, mask = inputs.values()
        parts = []
        for each in (compiled, model):
            cache = each(ids[:, :4], attention_mask=mask[:, :4], use_cache=True).past_key_values
            parts.append(each(ids[:, 4:], attention_mask=mask, past_key_values=cache).logits)
        self.assert_equal({"logits": parts[0]}, {"logits": parts[1]}, "from a cache")

    def results(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
        return super().results(model, inputs) | {"in pieces": model(**inputs, labels=labels, logits_to_keep=1).loss}

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_word_vectors_in_place_of_ids(self) -> None:
        model, inputs = self.build(), self.make_inputs(3, (5, 3, 4))
        vectors = {"attention_mask": inputs["attention_mask"]}
        vectors["inputs_embeds"] = model.get_input_embeddings()(inputs["input_ids"])
        expected = self.at_real(self.outputs(model, inputs), inputs)
        self.assert_equal(self.at_real(self.outputs(model, vectors), inputs), expected, "word vectors")
        for wrong in ({}, inputs | vectors):
            with pytest.raises(ValueError, match="either input_ids or inputs_embeds"):
                model(**wrong)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_inputs_of_a_wrong_shape_are_refused(self) -> None:
        model, ids = self.build(), self.make_inputs(2, (5, 5))["input_ids"]
        for mask in (torch.ones(2, 4), torch.ones(3, 5), torch.ones(2, 5, 5)):
            with pytest.raises(ValueError, match=r"attention_mask has shape .*\(2, 5\)"):
                model(ids, attention_mask=mask)
        # Of four axes, what a model of keys and values reads, others refuse.
        prepared = torch.ones(2, 1, 5, 5).bool().tril()
        if model._supports_attention_backend:
            assert_close(model(ids, attention_mask=prepared).logits, model(ids).logits, rtol=0, atol=self.tolerance)
            prepared = prepared[:, :, 1:]
        for mask in (prepared, prepared.int()):
            with pytest.raises(ValueError, match="attention_mask has shape"):
                model(ids, attention_mask=mask)
        vectors = model.get_input_embeddings()(ids)
        for empty in ({"input_ids": ids[:, :0]}, {"inputs_embeds": vectors[:, :0]}):
            with pytest.raises(ValueError, match=r"shape \(2, 0\): it needs at least one token"):
                model(**empty)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_guidance_of_beams_is_refused(self) -> None:
        """transformers mixes them up, silently: tests/base/heads/test_causal_lm.py."""
        with pytest.raises(ValueError, match="guidance_scale=2.5 with num_beams=3"):
            self.generate(self.build(), self.prompts(), guidance_scale=2.5, num_beams=3)

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_loss_without_all_logits(self, dtype: torch.dtype) -> None:
        inputs, labels = self.labelled()
        _, pieces = self.check_loss_in_pieces({**inputs, "labels": labels}, dtype)
        assert pieces.logits.shape == (3, 1, self.config().vocab_size)

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @torch.no_grad()
    def test_loss_does_not_depend_on_the_logits_kept(self) -> None:
        model, (inputs, labels) = self.build(), self.labelled()
        expected = model(**inputs, labels=labels).loss
        for keep in (torch.arange(5, -1, -1), torch.arange(6), torch.ones(6, dtype=torch.bool), 1, 6):
            assert_close(model(**inputs, labels=labels, logits_to_keep=keep).loss, expected, msg=f"{keep}")

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @pytest.mark.parametrize("keep", [0, 1])
    @pytest.mark.parametrize("shifted", [False, True])
    def test_gradients_with_padding(self, keep: int, shifted: bool) -> None:
        """Loss and gradients are those of the rows without padding, whatever the padding holds."""
        model, ids = self.build(), self.make_inputs(3, (4, 10, 10))["input_ids"]
        text, padded = ids[:1, :4], ids[1:].clone()
        real = torch.tensor([[0, 0, 1, 0, 1, 1, 0, 0, 1, 0], [0] * 10])
        padded[0, real[0].bool()] = text
        labels = padded.masked_fill(real == 0, -100)
        given = {"labels": labels}
        if shifted:
            given = {"shift_labels": nn.functional.pad(labels[:, 1:], (0, 1), value=-100)}
        loss = model(padded, attention_mask=real, logits_to_keep=keep, **given).loss
        alone = model(text, labels=text).loss
        assert_close(loss, alone)
        assert_gradients(gradients(model, loss), gradients(model, alone))

    @pytest.mark.once_per_model("model_class", "loss_kind")
    @torch.no_grad()
    def test_score_with_holes(self) -> None:
        """With holes in the mask, rows of nothing but padding, and `<s>` within."""
        model, config, ids = self.build(), self.config(), self.make_inputs(4, (7, 7, 7, 7))["input_ids"]
        if config.bos_token_id is not None:
            ids[0, 3] = config.bos_token_id
        mask = torch.tensor([[1] * 7, [0, 1, 0, 1, 1, 0, 1], [0] * 7, [0, 0, 0, 0, 0, 0, 1]])
        assert_close(model.score(ids, mask), score_from_logits(model, ids, mask), rtol=0, atol=1e-5)
        if config.pad_token_id is not None:
            ids[1, 5:] = config.pad_token_id
            assert_close(model.score(ids), score_from_logits(model, ids), rtol=0, atol=1e-5)


class RecurrentCacheTests(CausalLMHeadTests):
    """What a language model must do beside whose cache is a `RecurrentCache`: a state of constant size."""

    foreign_states: ClassVar[Sequence[tuple[Mapping[str, Any], str]]] = ()
    """Fields of models whose states do not fit, and what is said of them."""

    def tokens(self, batch: int, length: int) -> Tensor:
        return self.make_inputs(batch, [length] * batch)["input_ids"]

    def test_carried_state_equals_the_uncut_forward(self) -> None:
        """Truncated back-propagation: detached segments give the loss of the whole, and gradients end at the cut."""
        model, ids = self.build(), self.tokens(3, 13)
        whole = model(ids[:, :12], shift_labels=ids[:, 1:], num_items_in_batch=36).loss
        cache, total, shapes = None, 0.0, set()
        for start in range(0, 12, 4):
            vectors = model.get_input_embeddings()(ids[:, start : start + 4]).detach().requires_grad_()
            given = {"inputs_embeds": vectors, "shift_labels": ids[:, start + 1 : start + 5], "num_items_in_batch": 36}
            outputs = model(**given, past_key_values=cache, use_cache=True)
            cache = outputs.past_key_values.detach()
            total = total + outputs.loss
            outputs.loss.backward()
            assert vectors.grad.abs().sum() > 0
            shapes.add(str([tensor.shape for state in cache.states for tensor in state]))
        assert_close(total, whole)
        assert cache.get_seq_length() == 12
        assert len(shapes) == 1

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_a_mask_is_of_this_call_or_of_all_tokens_so_far(self) -> None:
        """Another length means that caller and state do not agree on what was read."""
        model, ids = self.build(), self.tokens(2, 8)
        state = cache_of(model(ids[:, :5], use_cache=True))
        expected = model(ids[:, 5:], past_key_values=state).logits
        for length in (3, 8):
            assert_close(model(ids[:, 5:], torch.ones(2, length), past_key_values=state).logits, expected)
        for length in (2, 4, 7, 9):
            message = rf"attention_mask has shape \(2, {length}\); .* \(2, 3\), or with the 5 tokens .* \(2, 8\)"
            with pytest.raises(ValueError, match=message):
                model(ids[:, 5:], torch.ones(2, length), past_key_values=state)
        with pytest.raises(ValueError, match=r"attention_mask has shape \(2, 9\)"):
            model(ids, torch.ones(2, 9))

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_state_is_of_constant_size(self) -> None:
        model, sizes = self.build(), set()
        for length in (1, 10, 60):
            cache = model(self.tokens(1, length)).past_key_values
            sizes.add(sum(tensor.numel() for tensor in cache.to_tensors().values()))
        assert len(sizes) == 1

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_a_saved_cache_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        model, ids = self.build(), self.tokens(2, 8)
        save_file(model(ids[:, :5]).past_key_values.to_tensors(), tmp_path / "cache.safetensors")
        cache = RecurrentCache.from_tensors(load_file(tmp_path / "cache.safetensors"))
        ours, theirs = model(ids[:, 5:], past_key_values=cache).logits, model(ids).logits[:, 5:]
        self.assert_equal({"logits": ours}, {"logits": theirs}, "from a file")

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_the_callers_cache_is_not_changed(self) -> None:
        model, ids = self.build(), self.tokens(2, 5)
        cache = model(ids).past_key_values
        before = {name: tensor.clone() for name, tensor in cache.to_tensors().items()}
        first = model(ids, past_key_values=cache)
        assert first.past_key_values is not cache
        assert_close(cache.to_tensors(), before, rtol=0, atol=0)
        assert_close(model(ids, past_key_values=cache).logits, first.logits, rtol=0, atol=0)

    @torch.no_grad()
    def test_a_padded_row_keeps_its_state(self) -> None:
        model, ids = self.build(), self.tokens(4, 3)
        cache = model(ids[:2]).past_key_values
        mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
        after = model(ids[2:, :2], attention_mask=mask, past_key_values=cache).past_key_values
        for old_state, new_state in zip(cache.states, after.states, strict=True):
            for old, new in zip(old_state, new_state, strict=True):
                assert_close(new[0], old[0], rtol=0, atol=0)
                if old.numel() and old.is_floating_point():
                    assert not torch.allclose(new[1], old[1]), "a row that goes on keeps its state"

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_generation_goes_on_from_a_cache(self) -> None:
        model, ids = self.build(), self.tokens(2, 4)
        whole = self.generate(model, {"input_ids": ids})
        half = self.generate(model, {"input_ids": ids}, max_new_tokens=3, return_dict_in_generate=True)
        given = {"input_ids": half.sequences, "attention_mask": torch.ones_like(half.sequences)}
        rest = self.generate(model, given, past_key_values=half.past_key_values, max_new_tokens=3)
        assert torch.equal(rest, whole)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_foreign_caches_are_refused(self) -> None:
        model, ids = self.build(), self.tokens(4, 2)
        own = model(ids).past_key_values
        deeper = RecurrentCache(len(own) + 1)
        foreign: list[tuple[Any, type[Exception], str]] = [
            (DynamicCache(), TypeError, "RecurrentCache"),
            (deeper, ValueError, f"{len(own) + 1} layers"),
            (own, ValueError, r"shapes \[\(4, .*need \[\(2, "),
        ]
        for fields, message in self.foreign_states:
            other = self.model_class(type(model.config)(**self.changed(self.config(), **fields)))
            foreign.append((other(ids[:2]).past_key_values, ValueError, message))
        for cache, error, message in foreign:
            with pytest.raises(error, match=message):
                model(ids[:2], past_key_values=cache)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_cache_is_asked_for_or_configured(self) -> None:
        model, ids = self.build(), self.tokens(1, 3)
        assert model(ids, use_cache=False).past_key_values is None
        model.config.use_cache = False
        assert model(ids).past_key_values is None
        assert isinstance(model(ids, use_cache=True).past_key_values, RecurrentCache)
        empty = RecurrentCache(len(model(ids, use_cache=True).past_key_values))
        assert model(ids, past_key_values=empty, use_cache=True).past_key_values.get_seq_length() == 3


class HeadTests(ModelTests):
    """What a model with a head must do beside; `CausalLMTests` holds what that head must do."""

    takes_items: ClassVar[bool] = True
    """Whether `forward` takes `num_items_in_batch`."""

    # What a head declares

    def make_labels(self, inputs: Tensors) -> Tensors:
        """The label arguments for the inputs; of three rows or more, not all count equally."""
        raise TypeError(f"{type(self).__name__} must declare make_labels(inputs)")

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        """Label arguments that must be refused."""
        raise TypeError(f"{type(self).__name__} must declare bad_labels(inputs)")

    def losses(self, model: PreTrainedModel, inputs: Tensors, labels: Tensors) -> Tensor:
        """The loss of each item that counts, flat, in float64, computed from the model's outputs: a cross-entropy."""
        return cross_entropies(model(**inputs).logits, labels["labels"])

    def some_classes(self, inputs: Tensors, classes: int) -> Tensors:
        """A class for each row, of which the third does not count."""
        labels = torch.arange(len(next(iter(inputs.values())))) % classes
        labels[2:3] = -100
        return {"labels": labels}

    def no_classes(self, classes: int) -> list[Tensors]:
        """Labels for three rows that are not classes."""
        return [{"labels": torch.tensor(row)} for row in ([0, classes, 0], [0, -1, 0], [0, 1], [0.0, 1.0, 0.0])]

    def nothing_counts(self, labels: Tensors) -> Tensors:
        """The same labels, none of which counts."""
        return {name: torch.full_like(values, -100) for name, values in labels.items()}

    # How the checks use it

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        return model(**inputs, **self.make_labels(inputs)).loss

    def run_everything(self, model: PreTrainedModel) -> None:
        super().run_everything(model)
        self.training_loss(model, self.make_inputs(3, (5, 3, 4)))

    def build_with(self, **fields: Any) -> PreTrainedModel:
        """As `build`, of a configuration with other fields, transformers' own among them."""
        set_seed(0)
        config = self.config()
        model = self.model_class(type(config)(**self.changed(config, **fields)))
        perturb(model, self.perturbation)
        model.tie_weights()
        return model.eval()

    # Loss

    @pytest.mark.once_per_model("auto_class")
    @torch.no_grad()
    def test_loss_is_the_mean_over_what_counts(self) -> None:
        """By its own count; or, handed the number of items of the whole step, by that."""
        model, inputs = self.build(), self.make_inputs(3, (6, 4, 5))
        labels = self.make_labels(inputs)
        expected = self.losses(model, inputs, labels)
        for items, divisor in ((None, len(expected)), (7, 7), (torch.tensor(7), 7)):
            loss = model(**inputs, **labels, num_items_in_batch=items).loss
            assert loss.dim() == 0
            assert loss.dtype == torch.float32
            assert_close(loss.double(), expected.sum() / divisor, rtol=1e-5, atol=1e-5)

    @pytest.mark.once_per_model("auto_class")
    def test_a_tuple_has_the_same_places_in_training(self) -> None:
        """Who reads outputs by their places finds the same ones in training and in evaluation."""
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        given = {**inputs, **self.make_labels(inputs), "return_dict": False}
        shapes = [[getattr(value, "shape", None) for value in model.train(mode)(**given)] for mode in (True, False)]
        assert shapes[0] == shapes[1]

    @pytest.mark.once_per_model("auto_class")
    def test_micro_batches_add_up(self) -> None:
        """However many items each has, the gradients of the parts are together that of the whole batch."""
        model, lengths = self.build(), (6, 3, 5, 4)
        inputs = self.make_inputs(4, lengths)
        labels = self.make_labels(inputs)
        counts = [len(self.losses(model, *self.rows(inputs, labels, [row]))) for row in range(4)]
        assert len(set(counts)) > 1, "rows with different numbers of items are part of this check"
        whole = gradients(model, model(**inputs, **labels).loss)
        total = {name: torch.zeros_like(gradient) for name, gradient in whole.items()}
        for rows in ([0], [1, 2], [3]):
            part, part_labels = self.rows(inputs, labels, rows)
            loss = model(**part, **part_labels, num_items_in_batch=sum(counts)).loss
            for name, gradient in gradients(model, loss).items():
                total[name] += gradient
        assert_gradients(total, whole)

    def rows(self, inputs: Tensors, labels: Tensors, rows: list[int]) -> tuple[Tensors, Tensors]:
        return tuple({name: tensor[rows] for name, tensor in group.items()} for group in (inputs, labels))  # type: ignore[return-value]

    @pytest.mark.once_per_model("auto_class")
    def test_a_batch_in_which_nothing_counts(self) -> None:
        """Its loss is 0 with a gradient of zeros, beside rows of padding too."""
        model, inputs = self.build(), self.make_inputs(3, (4, 0, 2))
        labels = self.nothing_counts(self.make_labels(inputs))
        for items in (None, 5, 0) if self.takes_items else (None,):
            loss = model(**inputs, **labels, num_items_in_batch=items).loss
            assert loss.item() == 0
            for name, gradient in gradients(model, loss).items():
                assert (gradient == 0).all(), f"the gradient of {name} is not zero"

    @pytest.mark.once_per_model("auto_class")
    def test_bad_labels_are_refused(self) -> None:
        model, inputs = self.build(), self.make_inputs(3, (5, 4, 5))
        for labels in self.bad_labels(inputs):
            with pytest.raises(ValueError, match="|".join(labels)):
                model(**inputs, **labels)

    @pytest.mark.once_per_model("auto_class")
    @torch.no_grad()
    def test_labels_of_any_integer_type(self) -> None:
        model, inputs = self.build(), self.make_inputs(3, (5, 4, 5))
        labels = self.make_labels(inputs)
        expected = model(**inputs, **labels).loss
        small = {name: values.to(torch.int32) for name, values in labels.items()}
        assert_close(model(**inputs, **small).loss, expected, rtol=0, atol=0)

    # Arguments

    @pytest.mark.once_per_model
    def test_base_model_is_the_one_whose_arguments_the_head_names(self) -> None:
        model = self.build()
        assert type(model.base_model) is model.base_model_class

    @pytest.mark.once_per_model("auto_class")
    def test_forward_leaves_the_configuration_alone(self) -> None:
        model, inputs = self.build(), self.make_inputs(3, (5, 4, 5))
        before = model.config.to_dict()
        self.training_loss(model, inputs)
        assert model.config.to_dict() == before

    # Files

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_new_head_on_a_saved_base_model(self, tmp_path: Path) -> None:
        """What fine-tuning starts from: the base model's weights load, the head's are new."""
        model = self.build()
        inner = model.base_model
        inner.save_pretrained(tmp_path)
        loaded, info = self.auto_class.from_pretrained(tmp_path, output_loading_info=True)
        assert not info["unexpected_keys"]
        prefix = f"{model.base_model_prefix}."
        head = {name for name, _ in model.named_parameters() if not name.startswith(prefix)}
        assert set(info["missing_keys"]) == head
        assert_initialised(loaded)
        for name, tensor in inner.state_dict().items():
            assert torch.equal(loaded.state_dict()[prefix + name], tensor), name


class TokenHeadTests(HeadTests, TokenTests):
    """A head of a model that reads ids."""

    sequence_inputs = ("input_ids", "attention_mask")
    outputs_per_token: ClassVar[bool] = True
    """Whether the outputs have an axis of tokens, so that some stand at padding."""
    lora: ClassVar[Mapping[str, Any] | None] = None
    """What adapters by peft are made for; None: not checked here. The classifier is trained in full beside them."""
    lora_task: ClassVar[str | None] = None
    lora_share: ClassVar[float] = 0.5
    """Of the first loss, what these adapters must bring it below."""

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        assert batch == len(lengths)
        return token_inputs(self.config(), lengths)

    def at_real(self, outputs: Tensors, inputs: Tensors) -> Tensors:
        return super().at_real(outputs, inputs) if self.outputs_per_token else outputs

    def real_part(self, tensor: Tensor, begin: int, length: int, width: int) -> Tensor:
        return super().real_part(tensor, begin, length, width) if self.outputs_per_token else tensor

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_loss_with_padding(self) -> None:
        """The same rows have the same losses alone and in a batch, wherever padding stands."""
        model, lengths = self.build(), (6, 3, 5)
        inputs = self.make_inputs(3, lengths)
        labels = self.make_labels(inputs)
        per_token = [name for name, values in labels.items() if values.shape == inputs[self.mask_input].shape]
        together = inputs | labels
        alone = torch.zeros(())
        for row, length in enumerate(lengths):
            cut = self.single(inputs, row, length)
            its_labels = {
                name: values[row : row + 1, :length] if name in per_token else values[row : row + 1]
                for name, values in labels.items()
            }
            alone += model(**cut, **its_labels, num_items_in_batch=1).loss
        left = left_padded(together, [*self.sequence_inputs, *per_token], lengths) | self.moved_labels(labels, lengths)
        for side, given in {"right": together, "left": left}.items():
            loss = {"loss": model(**given, num_items_in_batch=1).loss}
            self.assert_equal(loss, {"loss": alone}, f"padding on the {side}", 1e-4)

    def moved_labels(self, labels: Tensors, lengths: Sequence[int]) -> Tensors:
        """Labels that are positions, for rows whose padding is moved to the left."""
        return {}

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_inputs_are_read_or_refused(self) -> None:
        """An input that transformers knows is not accepted and then ignored."""
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        ids = inputs["input_ids"]
        types = torch.arange(ids.shape[-1]).expand_as(ids) % 2
        # A gap: a causal model takes positions that do not grow for another text.
        positions = (torch.arange(ids.shape[-1]) + (torch.arange(ids.shape[-1]) > 2)).expand_as(ids)
        plain = next(iter(self.outputs(model, inputs).values()))
        for name, values in {"token_type_ids": types, "position_ids": positions}.items():
            try:
                given = next(iter(self.outputs(model, inputs | {name: values}).values()))
            except (TypeError, ValueError) as error:
                assert name in str(error)  # noqa: PT017
            else:
                assert not torch.allclose(given, plain), f"{name} is accepted and ignored"
        vectors = {name: values for name, values in inputs.items() if name != "input_ids"}
        vectors["inputs_embeds"] = model.get_input_embeddings()(ids)
        try:
            given = next(iter(self.outputs(model, vectors).values()))
        except TypeError as error:
            assert "inputs_embeds" in str(error)  # noqa: PT017
        else:
            assert_close(given, plain, rtol=0, atol=self.tolerance)

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_states_on_request(self) -> None:
        """Hidden states and attentions are those of the base model."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        for name in ("hidden_states", "attentions"):
            assert model(**inputs).get(name) is None
            texts = inputs[self.mask_input].dim() - 2  # axis 1, where each has several choices
            flat = {key: value.flatten(0, texts) for key, value in inputs.items()}
            expected = model.base_model(**flat, **{f"output_{name}": True}).get(name)
            found = model(**inputs, **{f"output_{name}": True}).get(name)
            if expected is None:
                assert found is None
            else:
                assert_close(found, expected, rtol=0, atol=0)

    @pytest.mark.slow
    @pytest.mark.once_per_model
    def test_adapters_train_merge_and_reload(self, tmp_path: Path) -> None:
        if self.lora is None:
            return
        peft = pytest.importorskip("peft")
        self.build().save_pretrained(tmp_path / "base")
        base = self.auto_class.from_pretrained(tmp_path / "base")
        names = base.state_dict().keys()
        adapted = peft.get_peft_model(base, peft.LoraConfig(task_type=self.lora_task, r=2, **self.lora))
        trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
        optimizer, inputs, losses = torch.optim.Adam(trained, lr=0.05), self.make_inputs(3, (6, 4, 5)), []
        for _ in range(60):
            optimizer.zero_grad()
            losses.append(self.training_loss(adapted, inputs))
            losses[-1].backward()
            optimizer.step()
        assert losses[-1] < self.lora_share * losses[0]
        expected = self.outputs(adapted.eval(), inputs)
        adapted.save_pretrained(tmp_path / "adapter")
        fresh = self.auto_class.from_pretrained(tmp_path / "base")
        again = peft.PeftModel.from_pretrained(fresh, tmp_path / "adapter").eval()
        self.assert_equal(self.outputs(again, inputs), expected, "the adapter on its base", 1e-6)
        adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
        merged = self.auto_class.from_pretrained(tmp_path / "merged")
        assert merged.state_dict().keys() == names
        self.assert_equal(self.outputs(merged, inputs), expected, "merged", 1e-4)


class _LabelledTests(HeadTests):
    """Heads whose classes have names."""

    names: ClassVar[Sequence[str]] = ("first", "second", "third", "fourth")

    @pytest.mark.once_per_model("auto_class")
    def test_labels_survive_saving(self, tmp_path: Path) -> None:
        id2label = dict(enumerate(self.names))
        model, inputs = self.build_with(id2label=id2label), self.make_inputs(2, (5, 3))
        assert model.config.label2id == {name: number for number, name in id2label.items()}
        model.save_pretrained(tmp_path)
        loaded = self.auto_class.from_pretrained(tmp_path)
        for config in (AutoConfig.from_pretrained(tmp_path), loaded.config):
            assert config.num_labels == len(self.names)
            assert config.id2label == id2label
            assert config.label2id == model.config.label2id
        assert loaded(**inputs).logits.shape[-1] == len(self.names)
        self.assert_equal(self.outputs(loaded, inputs), self.outputs(model, inputs), "reloaded", EXACT)

    @pytest.mark.once_per_model("auto_class")
    def test_other_number_of_classes(self, tmp_path: Path) -> None:
        """A checkpoint of three classes serves for five, once the user says that the shapes differ."""
        self.build_with(num_labels=3).save_pretrained(tmp_path)
        with pytest.raises(ValueError, match="shape"):
            self.auto_class.from_pretrained(tmp_path, num_labels=5)
        loaded = self.auto_class.from_pretrained(tmp_path, num_labels=5, ignore_mismatched_sizes=True)
        assert loaded(**self.make_inputs(2, (5, 3))).logits.shape[-1] == 5
        assert_initialised(loaded)


class ClassifierTests(_LabelledTests, TokenHeadTests):
    """Texts to classes. `config()` has `num_labels` > 1 and no `problem_type`."""

    auto_class = AutoModelForSequenceClassification
    pipeline_task = "text-classification"
    pipeline_arguments: ClassVar[Mapping[str, Any]] = {"top_k": None}
    outputs_per_token = False

    def pipeline_inputs(self) -> list[Any]:
        return self.decoded()

    def make_labels(self, inputs: Tensors) -> Tensors:
        return self.some_classes(inputs, self.config().num_labels)

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        classes = self.config().num_labels
        return [*self.no_classes(classes), {"labels": torch.tensor([[0.0, 1.5] + [0.0] * (classes - 2)] * 3)}]

    @pytest.mark.once_per_model("config_class", "auto_class")
    @pytest.mark.parametrize("problem_type", [None, "multi_label_classification", "regression"])
    @pytest.mark.parametrize("num_labels", [1, 3])
    @torch.no_grad()
    def test_problem_types(self, problem_type: str | None, num_labels: int) -> None:
        """As in transformers: without a type, one output is a regression, and several want truth values here."""
        model = self.build_with(problem_type=problem_type, num_labels=num_labels)
        inputs = self.make_inputs(3, (6, 4, 5))
        labels = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.25, 1.0, 0.5]])[:, :num_labels]
        logits = model(**inputs).logits.double()
        if problem_type == "regression" or (problem_type is None and num_labels == 1):
            expected = (logits - labels).square()
        else:
            expected = -(labels * logits.sigmoid().log() + (1 - labels) * (1 - logits.sigmoid()).log())
            if problem_type is not None:
                assert_close(model(**inputs, labels=labels.long()).loss, model(**inputs, labels=labels.floor()).loss)
            unknown = labels.clone()
            unknown[1, 0] = -100
            kept = expected.flatten()[torch.arange(3 * num_labels) != num_labels]
            assert_close(model(**inputs, labels=unknown).loss.double(), kept.mean(), rtol=1e-5, atol=1e-5)
        given = [labels, labels[:, 0]] if num_labels == 1 else [labels]
        for each in given:
            for items, divisor in ((None, expected.numel()), (7, 7)):
                loss = model(**inputs, labels=each, num_items_in_batch=items).loss
                assert_close(loss.double(), expected.sum() / divisor, rtol=1e-5, atol=1e-5)
        with pytest.raises(ValueError, match="labels have shape"):
            model(**inputs, labels=torch.zeros(3, num_labels + 1))


class TaggerTests(_LabelledTests, TokenHeadTests):
    """Tokens to classes. The processing class knows where in a text each of its tokens stands."""

    auto_class = AutoModelForTokenClassification
    pipeline_task = "token-classification"
    lora: ClassVar[Mapping[str, Any]] = {"target_modules": "all-linear", "exclude_modules": ["classifier"]}
    lora_task = "TOKEN_CLS"

    def pipeline_inputs(self) -> list[Any]:
        return self.decoded()

    def make_labels(self, inputs: Tensors) -> Tensors:
        labels = (inputs["input_ids"] % self.config().num_labels).masked_fill(inputs["attention_mask"] == 0, -100)
        labels[:, 1] = labels[2:, 0] = -100
        return {"labels": labels}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        labels = self.make_labels(inputs)["labels"]
        wrong = (labels.masked_fill(labels >= 0, self.config().num_labels), labels[:, 0], labels[:, 1:], labels.float())
        return [{"labels": values} for values in wrong]

    # In other hands

    @pytest.mark.once_per_model
    @pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
    @torch.no_grad()
    def test_pipeline_joins_tokens(self, strategy: str) -> None:
        """Neighbours of one name are one entity, of the characters from the first one's begin to the last one's end."""
        from transformers import TokenClassificationPipeline

        model = self.build_with(id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"})
        tokenizer = self.processing_class()
        texts = [" ".join(self.pipeline_inputs()[row] for row in rows) for rows in ([0, 2, 0], [1], [2, 1, 1, 0])]
        pipe = TokenClassificationPipeline(model=model, tokenizer=tokenizer, aggregation_strategy=strategy)
        for text, found in zip(texts, pipe(texts, batch_size=3), strict=True):
            # Padding in front counts in the index of a token.
            found = [{**one, "score": pytest.approx(one["score"], abs=1e-4), "index": 0} for one in found]
            assert self.entities(model, tokenizer, text, joined=strategy != "none") == found

    def entities(self, model: PreTrainedModel, tokenizer: Any, text: str, joined: bool) -> list[dict[str, Any]]:
        """What the pipeline finds in a text of which each word is a token."""
        batch = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
        offsets = batch.pop("offset_mapping")[0].tolist()
        found: list[dict[str, Any]] = []
        previous = "O"
        probability = model(**batch).logits[0].double().softmax(dim=-1)
        for probabilities, (begin, end) in zip(probability, offsets, strict=True):
            if begin == end:  # `<s>` and the like
                continue
            label = model.config.id2label[int(probabilities.argmax())]
            score, kind = probabilities.max().item(), label[2:] or label
            if joined and label[0] == "I" and previous[2:] == kind:
                found[-1]["scores"].append(score)
                found[-1] |= {"end": end, "word": f"{found[-1]['word']} {text[begin:end]}"}
            elif label != "O":
                one = {"scores": [score], "word": text[begin:end], "start": begin, "end": end, "index": 0}
                found.append(one | ({"entity_group": kind} if joined else {"entity": label}))
            previous = label
        for one in found:
            scores = one.pop("scores")
            one["score"] = math.fsum(scores) / len(scores)
        return found

    @pytest.mark.slow
    @pytest.mark.once_per_model
    def test_trains_under_trainer(self, tmp_path: Path) -> None:
        """transformers' own, on words and their tags: it learns them, stops, goes on to the same bits, and is saved."""
        from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments

        tokenizer, rows = self.processing_class(), self.tagged_rows()

        def trainer() -> Trainer:
            set_seed(0)
            options = {
                "num_train_epochs": 30,
                "per_device_train_batch_size": 2,
                "learning_rate": 0.05,
                "save_steps": 20,
            }
            options |= {"logging_steps": 1, "report_to": "none", "use_cpu": True, "disable_tqdm": True}
            arguments = TrainingArguments(output_dir=str(tmp_path), **options)
            collator = DataCollatorForTokenClassification(tokenizer)
            model = self.model_class(self.config())
            return Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, data_collator=collator)

        straight = trainer()
        before = straight.evaluate()["eval_loss"]
        straight.train()
        assert straight.evaluate()["eval_loss"] < 0.3 * before
        resumed = trainer()
        resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-20"))
        for name, value in resumed.model.state_dict().items():
            assert torch.equal(value, straight.model.state_dict()[name]), name
        predictions = straight.predict(rows)
        counted = predictions.label_ids != -100
        assert (predictions.predictions.argmax(-1) == predictions.label_ids)[counted].mean() > 0.9
        straight.save_model(str(tmp_path / "saved"))
        inputs = self.make_inputs(2, (5, 3))
        loaded = self.auto_class.from_pretrained(tmp_path / "saved")
        self.assert_equal(self.outputs(loaded, inputs), self.outputs(straight.model.eval(), inputs), "saved", EXACT)

    def tagged_rows(self) -> list[dict[str, list[int]]]:
        """Texts of several lengths as the tokenizer gives them, every word tagged by its first token's id."""
        tokenizer, rows = self.processing_class(), []
        for words in (text.split() for text in self.pipeline_inputs() for _ in range(2)):
            encoded = tokenizer(words, is_split_into_words=True)
            places = encoded.word_ids()
            firsts = [place is not None and place not in places[:index] for index, place in enumerate(places)]
            tags = [token % self.config().num_labels for token in encoded["input_ids"]]
            labels = [tag if first else -100 for tag, first in zip(tags, firsts, strict=True)]
            rows.append({**encoded, "labels": labels})
        return rows


class QuestionAnsweringTests(TokenHeadTests):
    """Tokens to the first and the last token of an answer."""

    auto_class = AutoModelForQuestionAnswering
    pipeline_task = "extractive-question-answering"
    pipeline_arguments: ClassVar[Mapping[str, Any]] = {"top_k": 3, "handle_impossible_answer": True}
    zero_gradients: ClassVar[Mapping[str, str]] = {
        "qa_outputs.bias": "a softmax over positions, to all of which it adds"
    }

    def pipeline_inputs(self) -> list[Any]:
        tokenizer = self.processing_class()
        rows = self.make_inputs(3, (6, 3, 5))["input_ids"].tolist()
        return [{"question": tokenizer.decode(ids[:2]), "context": tokenizer.decode(ids[2:])} for ids in rows]

    def make_labels(self, inputs: Tensors) -> Tensors:
        lengths = inputs["attention_mask"].sum(dim=1)
        starts = torch.minimum(torch.arange(len(lengths)), lengths - 1)
        starts[2:3] = -100  # no answer, and below an answer that truncation has cut off
        ends = lengths - 1
        ends[3:4] = 1000
        return {"start_positions": starts, "end_positions": ends}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        labels = self.make_labels(inputs)
        alone = [{name: values} for name, values in labels.items()]
        return [
            *alone,
            {name: values.float() for name, values in labels.items()},
            labels | {"end_positions": alone[1]["end_positions"][:2]},
            *({**labels, name: torch.full_like(values, -1)} for name, values in labels.items()),
        ]

    def moved_labels(self, labels: Tensors, lengths: Sequence[int]) -> Tensors:
        shift = max(lengths) - torch.tensor(lengths)
        return {name: torch.where(values < 0, values, values + shift) for name, values in labels.items()}

    def losses(self, model: PreTrainedModel, inputs: Tensors, labels: Tensors) -> Tensor:
        output, found = model(**inputs), []
        for row, real in enumerate(inputs["attention_mask"].bool()):
            start, end = (int(positions[row]) for positions in labels.values())
            if 0 <= start < real.sum() and 0 <= end < real.sum():
                starts, ends = (logits[row][real].double() for logits in (output.start_logits, output.end_logits))
                found.append(-(starts.log_softmax(0)[start] + ends.log_softmax(0)[end]) / 2)
        return torch.stack(found) if found else torch.zeros(0)


class MultipleChoiceTests(TokenHeadTests):
    """Texts in sets of choices, (batch, choices, seq), to the right choice."""

    auto_class = AutoModelForMultipleChoice
    zero_gradients: ClassVar[Mapping[str, str]] = {"classifier.bias": "a softmax over choices, to all of which it adds"}
    outputs_per_token = False
    lora: ClassVar[Mapping[str, Any]] = {"target_modules": "all-linear", "modules_to_save": ["classifier"]}
    lora_share = 0.8

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        choices = [token_inputs(self.config(), lengths, seed=seed) for seed in range(3)]
        return {name: torch.stack([choice[name] for choice in choices], dim=1) for name in choices[0]}

    def single(self, inputs: Tensors, row: int, length: int) -> Tensors:
        return {name: tensor[row : row + 1, :, :length] for name, tensor in inputs.items()}

    def make_labels(self, inputs: Tensors) -> Tensors:
        return self.some_classes(inputs, 3)

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        return self.no_classes(3)

    @torch.no_grad()
    def test_choices_are_scored_apart(self) -> None:
        """A choice's score does not depend on the others, nor on its place."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        logits = model(**inputs).logits
        assert logits.shape == (2, 3)
        order = [2, 0]
        fewer = model(**{name: tensor[:, order] for name, tensor in inputs.items()}).logits
        self.assert_equal({"logits": fewer}, {"logits": logits[:, order]}, "two of three choices")
        with pytest.raises(ValueError, match="choices"):
            model(**{name: tensor[:, 0] for name, tensor in inputs.items()})


class MaskedLMTests(TokenHeadTests):
    """Masked tokens to what they were."""

    auto_class = AutoModelForMaskedLM
    logits_name: ClassVar[str] = "logits"
    pipeline_task = "fill-mask"

    def pipeline_inputs(self) -> list[Any]:
        tokenizer = self.processing_class()
        inputs = self.make_inputs(3, (3, 1, 2))
        texts = (tokenizer.decode(row, skip_special_tokens=True) for row in inputs["input_ids"])
        return [f"{text} {tokenizer.mask_token}" for text in texts]

    def make_labels(self, inputs: Tensors) -> Tensors:
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
        labels[:, 1] = labels[2:, 0] = -100
        return {"labels": labels}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        labels = self.make_labels(inputs)["labels"]
        wrong = (labels.masked_fill(labels >= 0, self.config().vocab_size), labels[:, 1:], labels.float())
        return [{"labels": values} for values in wrong]

    def results(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        given = {**inputs, **self.make_labels(inputs)}
        losses = {"loss": model(**given).loss, "of labelled positions": model(**given, logits_to_keep=1).loss}
        return super().results(model, inputs) | losses

    @pytest.mark.once_per_model
    @torch.no_grad()
    def test_logits_to_keep(self) -> None:
        """Any positions; in training with labels none unless asked for, otherwise all."""
        model, inputs = self.build(), self.make_inputs(2, (6, 6))
        labels = self.make_labels(inputs)
        whole, name = model(**inputs)[self.logits_name], self.logits_name
        assert whole.shape == (2, 6, self.config().vocab_size)
        loss = model(**inputs, **labels).loss
        for keep, expected in ((0, whole), (1, whole[:, -1:]), (torch.tensor([4, 0]), whole[:, [4, 0]])):
            for given in ({}, labels):
                outputs = model(**inputs, **given, logits_to_keep=keep)
                self.assert_equal({name: outputs[name]}, {name: expected}, f"logits_to_keep={keep}")
                assert_close(outputs.loss, loss if given else None)
        shuffled = model(**inputs, **labels, logits_to_keep=torch.arange(5, -1, -1))
        assert_close(shuffled.loss, loss)
        model.train()
        assert model(**inputs)[name].shape == model(**inputs, **labels, logits_to_keep=0)[name].shape == whole.shape
        assert model(**inputs, **labels).get(name) is None
        # A tuple, asked for by the configuration, has all logits in training too, unless others are named.
        model.config.return_dict = False
        assert model(**inputs, **labels)[1].shape == whole.shape
        assert model(**inputs, **labels, logits_to_keep=1)[1].shape[1] == 1

    @pytest.mark.once_per_model
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_loss_of_labelled_positions(self, dtype: torch.dtype) -> None:
        inputs = self.make_inputs(3, (6, 4, 5))
        self.check_loss_in_pieces(inputs | self.make_labels(inputs), dtype)

    @pytest.mark.once_per_model
    def test_training_computes_no_other_logits(self) -> None:
        model, inputs = self.build().train(), self.make_inputs(3, (6, 4, 5))
        labels = self.make_labels(inputs)
        words, counted = self.config().vocab_size, int((labels["labels"] != -100).sum())
        with MatrixProducts() as products:
            model(**inputs, **labels).loss.backward()
        rows = [math.prod(shape[:-1]) for shape in products.shapes if shape[-1] == words]
        assert rows == [counted], "logits of positions without a label"

    @pytest.mark.slow
    @pytest.mark.once_per_model
    def test_a_training_step_compiles_in_one_piece(self) -> None:
        """At other numbers of labels too."""
        config = self.config()
        for name in (name for name in vars(config) if "dropout" in name):
            setattr(config, name, 0.0)
        set_seed(0)
        model = self.model_class(config).train()
        torch.compiler.reset()
        compiled: Any = torch.compile(model, fullgraph=True, backend="eager")
        for lengths in ((5, 3, 4), (6, 2, 5)):
            inputs = self.make_inputs(3, lengths)
            given = {**inputs, **self.make_labels(inputs)}
            assert_gradients(*(gradients(model, each(**given).loss) for each in (compiled, model)))


class MatrixProducts(TorchDispatchMode):
    """Within it, the shapes of all matrix products are written down."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[torch.Size] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.overloadpacket.__name__ in ("mm", "addmm", "bmm", "baddbmm", "linear"):
            self.shapes.append(result.shape)
        return result


class NextSentenceTests(TokenHeadTests):
    """Pairs of texts to whether the second follows the first."""

    auto_class = AutoModelForNextSentencePrediction
    outputs_per_token = False

    def make_labels(self, inputs: Tensors) -> Tensors:
        return self.some_classes(inputs, 2)

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        return self.no_classes(2)


class PreTrainingTests(MaskedLMTests):
    """Masked tokens and pairs of texts at once; the loss has two terms, each the mean over its own items."""

    auto_class = AutoModelForPreTraining
    pipeline_task = None
    logits_name = "prediction_logits"
    takes_items = False

    def make_labels(self, inputs: Tensors) -> Tensors:
        return super().make_labels(inputs) | {"next_sentence_label": self.some_classes(inputs, 2)["labels"]}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        pairs = [{"next_sentence_label": wrong["labels"]} for wrong in self.no_classes(2)]
        return super().bad_labels(inputs) + pairs

    def term_losses(self, model: PreTrainedModel, inputs: Tensors, labels: Tensors) -> Tensors:
        """The losses of the items of each term, under the name of its labels."""
        outputs = model(**inputs)
        logits = {"labels": outputs.prediction_logits, "next_sentence_label": outputs.seq_relationship_logits}
        return {name: cross_entropies(logits[name], values) for name, values in labels.items()}

    @torch.no_grad()
    def test_loss_is_the_mean_over_what_counts(self) -> None:
        """Of each term; a term without labels is left out."""
        model, inputs = self.build(), self.make_inputs(3, (6, 4, 5))
        labels = self.make_labels(inputs)
        means = {name: losses.mean() for name, losses in self.term_losses(model, inputs, labels).items()}
        for names in (["labels"], ["next_sentence_label"], list(labels)):
            loss = model(**inputs, **{name: labels[name] for name in names}).loss
            assert loss.dim() == 0
            assert loss.dtype == torch.float32
            assert_close(loss.double(), sum(means[name] for name in names), rtol=1e-5, atol=1e-5)

    def test_micro_batches_add_up(self) -> None:
        """Not by a number of items, of which there are two: Trainer is told so, and a call with one is refused."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        assert model.accepts_loss_kwargs is False
        with pytest.raises(TypeError, match="num_items_in_batch"):
            model(**inputs, **self.make_labels(inputs), num_items_in_batch=7)

    @torch.no_grad()
    def test_loss_with_padding(self) -> None:
        model, lengths = self.build(), (6, 3, 5)
        inputs = self.make_inputs(3, lengths)
        labels, terms = self.make_labels(inputs), []
        for row, length in enumerate(lengths):
            alone = {name: values[row : row + 1] for name, values in labels.items()}
            alone["labels"] = alone["labels"][:, :length]
            terms.append(self.term_losses(model, self.single(inputs, row, length), alone))
        expected = sum(torch.cat([term[name] for term in terms]).mean() for name in labels).float()
        left = left_padded(inputs | labels, [*self.sequence_inputs, "labels"], lengths)
        for side, given in {"right": inputs | labels, "left": left}.items():
            self.assert_equal({"loss": model(**given).loss}, {"loss": expected}, f"padding on the {side}", 1e-4)


def cross_entropies(logits: Tensor, labels: Tensor) -> Tensor:
    """-ln softmax(logits)[label] for each label but -100, flat, in float64."""
    counted = labels != -100
    return -logits.double().log_softmax(dim=-1)[counted].gather(1, labels[counted][:, None])[:, 0]


class ImageTests(ModelTests):
    """What a model that reads images must do beside."""

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        """An image keeps its pixels when others join the batch; the lengths only count them."""
        assert batch == len(lengths)
        config = self.config()
        shape = (config.num_channels, config.image_size, config.image_size)
        generators = (torch.Generator().manual_seed(row) for row in range(batch))
        return {"pixel_values": torch.stack([torch.randn(shape, generator=generator) for generator in generators])}

    def pipeline_inputs(self) -> list[str]:
        """PNG files, written out as text."""
        found = []
        for seed in range(2):
            buffer = BytesIO()
            pixels = np.random.default_rng(seed).integers(0, 256, (11, 7, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(buffer, "PNG")
            found.append(base64.b64encode(buffer.getvalue()).decode())
        return found

    @torch.no_grad()
    def test_what_is_no_image_is_refused(self) -> None:
        """By a ValueError that says what to give."""
        model, images = self.build(), self.make_inputs(2, (1, 1))["pixel_values"]
        channels, size = images.shape[1:3]
        wrong: list[tuple[Any, str]] = [
            (images[0], r"pixel_values: \(batch, .* image processor"),
            (images.tolist(), "is needed, not list"),
            ((images * 9).byte(), "pixel_values are of type torch.uint8"),
            (torch.cat((images, images), 1), f"have {2 * channels} channels, .* num_channels={channels}"),
            (images[..., 1:], f"images of {size} x {size - 1} pixels cannot be cut into patches"),
            (images[..., :0], "cannot be cut into patches"),
            (torch.cat((images, images), 3), "interpolate_pos_encoding=True"),
        ]
        for given, message in wrong:
            with pytest.raises(ValueError, match=message):
                model(pixel_values=given)

    @torch.no_grad()
    def test_images_of_another_size(self) -> None:
        model, size = self.build(), self.config().image_size
        images = torch.randn(2, self.config().num_channels, 2 * size, size)
        for tensor in model(pixel_values=images, interpolate_pos_encoding=True).values():
            assert tensor.isfinite().all()

    @torch.no_grad()
    def test_states_on_request(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (1, 1))
        outputs = model(**inputs, output_hidden_states=True, output_attentions=True)
        tokens, layers = self.config().num_patches + 1, self.config().num_hidden_layers
        assert [len(outputs.hidden_states), len(outputs.attentions)] == [layers + 1, layers]
        assert {state.shape[:2] for state in outputs.hidden_states} == {(2, tokens)}
        assert {weights.shape[2:] for weights in outputs.attentions} == {(tokens, tokens)}
        assert model(**inputs).hidden_states is None


class ImageClassifierTests(ImageTests, _LabelledTests):
    """Images to classes. `config()` has `num_labels` > 1 and no `problem_type`."""

    auto_class = AutoModelForImageClassification
    pipeline_task = "image-classification"
    pipeline_arguments: ClassVar[Mapping[str, Any]] = {"top_k": 3}

    def make_labels(self, inputs: Tensors) -> Tensors:
        return self.some_classes(inputs, self.config().num_labels)

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        return self.no_classes(self.config().num_labels)
