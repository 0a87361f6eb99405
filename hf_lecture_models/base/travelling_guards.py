# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Checks without which a loaded model may compute something else: what a published copy has of base/guards."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers.modeling_utils import PreTrainedModel

from hf_lecture_models.io.compat import PreTrainedConfig

SERVERS = {"vllm": "vLLM", "sglang": "SGLang"}
"""The name of a server's attention function -> the server."""
LARGEST_SIZE = 2**28
LARGEST_DEPTH = 256
LARGEST_WIDTH = 2**17
"""Of a layer; the widest published ones have about 2**16 units."""


class ConfigGuards(PreTrainedConfig):
    """A configuration that refuses values which its model does not have, and contradictions."""

    allowed_values: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Field -> the values that it may take."""

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self.check_values()

    def check_values(self) -> None:
        """Check the fields, once all are set."""
        for name, allowed in self.allowed_values.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{type(self).__name__}.{name} is {getattr(self, name)!r}; it must be in {allowed}")
        self.check_fields()

    def check_fields(self) -> None:
        """Raise a ValueError where fields contradict each other; called at construction."""

    def read_aliases(self, kwargs: dict[str, Any]) -> None:
        """Set the fields that are given by other names; transformers does it later."""


class ModelGuards(PreTrainedModel):
    """A model that is loaded whole, as it was saved, or not at all."""

    _may_start_anew: ClassVar[tuple[str, ...]] = ()
    """Modules of the base model that a checkpoint may lack, because some heads do without them."""
    unserved: ClassVar[dict[str, str]] = {}
    """Attention function of a server, a key of `SERVERS` -> why that server cannot serve the model."""

    @property
    def adds_position_bias(self) -> bool:
        """Return True if the positions are numbers added to the attention scores."""
        return False

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read at once; None where it has no bound."""
        return self.config.longest_input

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load as transformers does; a ValueError names weights that are not the saved model's."""
        with_info = kwargs.pop("output_loading_info", False)
        # transformers' annotation leaves out the pair that output_loading_info=True returns.
        loaded: Any = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs, output_loading_info=True)
        model, info = loaded
        model.check_loaded(info, f"the checkpoint {pretrained_model_name_or_path}")
        align(model)
        return (model, info) if with_info else model

    def check_loaded(self, info: dict[str, Any], source: str) -> None:
        """Check what transformers reports of a load."""
        refuse_missing(self, info, source)
        refuse_unexpected(self, info, source)
        refuse_untied(self, source)
        refuse_non_finite(self, source)

    def post_init(self) -> None:
        """Finish the model as transformers does; a server that cannot serve it is a ValueError."""
        super().post_init()
        if self.config._attn_implementation in SERVERS:
            self.check_server()

    def check_server(self) -> None:
        """Refuse a server that would compute something else than the model does."""
        server = self.config._attn_implementation
        if self.unserved.get(server) or self.adds_position_bias or not self.is_backend_compatible():
            raise ValueError(f"{SERVERS[server]} cannot serve {type(self).__name__}; generate() can")

    def check_recomputes(self) -> None:
        """Check that the model can do the gradient checkpointing that its configuration asks for."""

    def check_served_call(self, *call: Any) -> None:
        """Check the call of a server; a published copy leaves it to the server."""

    def tie_weights(self, *args: Any, **kwargs: Any) -> None:
        """Tie as transformers does; each of two layers with one matrix gets the name of the other's, `tied_to`."""
        super().tie_weights(*args, **kwargs)
        for pair in self.all_tied_weights_keys.items():
            for name, other in (pair, reversed(pair)):
                self.get_submodule(name.rpartition(".")[0]).tied_to = other

    @property
    def no_output_matrix(self) -> str | None:
        """Why the loss is not that of softmax(W h + b) of the last hidden state h, and what to do; None if it is."""
        return "its own loss is another one; train it with transformers' Trainer or hf-lecture train"

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; an adapter of peft in the place of a tied layer is a ValueError, and a wrong loss of trl.

        Merged into the matrix, an adapter would change both layers; one that replaces rows may. SFT, DPO, KTO, GRPO and
        RLOO of trl replace `forward` (`add_fused_lm_head`, 1.16) by one that multiplies h by the output matrix.
        """
        code = getattr(getattr(value, "__func__", value), "__code__", None) if name == "forward" else None
        if "fused_lm_head" in getattr(code, "co_varnames", ()) and self.no_output_matrix is not None:
            raise ValueError(
                f"trl computes the loss of {type(self).__name__} from one output matrix, without the model's forward, "
                f"but {self.no_output_matrix}"
            )
        if isinstance(value, nn.Module) and hasattr(value, "base_layer"):
            other = getattr(value.base_layer, "tied_to", None)
            merged_twice = other is not None and not hasattr(value, "trainable_tokens_delta")
            if merged_twice and self.config.tie_word_embeddings:
                raise ValueError(
                    f"an adapter ({type(value).__name__}) on {name}, whose matrix is also {other} "
                    "(tie_word_embeddings=True), would be merged into both; adapt other layers, train it as a whole "
                    f"(modules_to_save=[{name!r}]), or untie the model first (docs/clients.md, peft)"
                )
        super().__setattr__(name, value)


def refuse_missing(model: Any, info: dict[str, Any], source: str) -> None:
    """Raise a ValueError if `missing_keys` names what must not start at random.

    No weight may be missing from a checkpoint that this very class saved; from any other, only a head's. A module in
    `_may_start_anew` counts with the head where the checkpoint has none of its weights.
    """
    prefix, names = f"{model.base_model_prefix}.", model.base_model.state_dict().keys()
    same_class = getattr(model.config, "architectures", None) == [type(model).__name__]
    missing = {name.removeprefix(prefix): name for name in info["missing_keys"]}
    if getattr(model, "is_quantized", False):
        # What a quantiser adds (quanto: scales of activations), no checkpoint holds.
        with torch.device("meta"):
            own = type(model)(model.config).state_dict().keys()
        missing = {short: name for short, name in missing.items() if name in own}
    if model.base_model is model or not same_class:
        for name in absent_modules(model, names, missing):
            del missing[name]
    _refuse([name for short, name in missing.items() if same_class or short in names], "lacks", source)


def absent_modules(model: Any, names: Iterable[str], missing: Iterable[str]) -> set[str]:
    """Return those of the base model's `names` that are in a module of `_may_start_anew` whose weights all miss."""
    parts = [{name for name in names if f"{name}.".startswith(f"{module}.")} for module in model._may_start_anew]
    return set().union(*(part for part in parts if part <= set(missing)))


def refuse_unexpected(model: Any, info: dict[str, Any], source: str) -> None:
    """Raise a ValueError if `unexpected_keys` names any, and the checkpoint was saved by this very class."""
    if getattr(model.config, "architectures", None) == [type(model).__name__]:
        _refuse(info["unexpected_keys"], "holds unknown", source)


def refuse_untied(model: Any, source: str) -> None:
    """Raise a ValueError that names two matrices of a loaded model which are tied, but differ in its files."""
    # transformers takes them out of the list, and warns in its log only.
    for name, other in model.get_expanded_tied_weights_keys(all_submodels=True).items():
        if name not in model.all_tied_weights_keys:
            raise ValueError(
                f"{source}: {name} and {other} differ in the weights file, but the configuration makes them one matrix "
                "(tie_word_embeddings=True); load with tie_word_embeddings=False, or restore the file"
            )


def refuse_non_finite(model: nn.Module, source: str) -> None:
    """Raise a ValueError that names the first parameter with a value that is NaN or infinite."""
    for name, parameter in model.named_parameters():
        for tensor in _plain_tensors(parameter.detach()):
            if not tensor.is_floating_point() or tensor.is_meta:
                continue
            values = tensor.float() if tensor.itemsize == 1 else tensor  # of eight bits, nothing can be added up
            # The sum is non-finite as soon as one element is, and needs no second tensor of that size.
            if not torch.isfinite(values.sum()) and not torch.isfinite(values).all():
                raise ValueError(
                    f"{source} holds NaN or infinite values in {name}; its training diverged, it is damaged, or "
                    f"{str(tensor.dtype).removeprefix('torch.')} cannot hold its numbers"
                )


def _plain_tensors(tensor: Tensor) -> Iterator[Tensor]:
    """The tensor itself, or those that one of a subclass wraps, as a quantised one does its integers and scales."""
    if type(tensor) is Tensor:
        yield tensor
    elif is_traceable_wrapper_subclass(tensor):
        for name in tensor.__tensor_flatten__()[0]:
            yield from _plain_tensors(getattr(tensor, name))


def _refuse(names: Any, verb: str, source: str) -> None:
    if names := sorted(names):
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise ValueError(
            f"{source} {verb} tensors: {shown}. Its weights file does not belong to its config.json; "
            "restore the file that was saved with it."
        )


def align(model: nn.Module) -> None:
    """Copy parameters whose memory does not begin at a multiple of 64 bytes, as that of a mapped file.

    There the kernels add in another order; a reloaded model must give the same outputs to the last bit.
    """
    for parameter in model.parameters():
        plain = type(parameter.detach()) is Tensor and parameter.device.type == "cpu"
        if plain and parameter.data_ptr() % 64:
            parameter.data = parameter.data.clone()
