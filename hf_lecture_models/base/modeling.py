# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of every model: what surrounds its equations in a forward pass, and saving and loading with checks."""

import os
from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint
from transformers.modeling_utils import PreTrainedModel
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from hf_lecture_models.base.stop_strings import StopStringsMixin
from hf_lecture_models.io.files import staged_folder, weights_file_errors

_WEIGHT_FILES = ("model*.safetensors", "model*.safetensors.index.json")
# Programs pass these to any model, also to one that has no attention weights to show; `generate()`, its own tokenizer.
_PASSED_TO_ALL = frozenset({"output_attentions", "output_hidden_states", "return_dict", "tokenizer"})


def model_forward(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the `forward` of a model without a head; an argument of None counts as left out.

    `use_cache` is the configuration's unless given. `output_hidden_states` and `output_attentions`, given or of the
    configuration, add what the modules named in `_can_record_outputs` return. `return_dict=False` makes a tuple of all.

    Raises:
        TypeError: at a call, for an argument that `forward` does not name.
    """
    parameters = list(signature(forward).parameters.values())[1:]  # without self
    known = frozenset(parameter.name for parameter in parameters if parameter.kind is not Parameter.VAR_KEYWORD)
    recorded = merge_with_config_defaults(capture_outputs(forward))

    @wraps(forward)
    def checked_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return recorded(self, *args, **given_arguments(self, kwargs, known))

    return checked_forward


def given_arguments(model: nn.Module, kwargs: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The keyword arguments of a call that are not None.

    Raises:
        TypeError: for one that is not in `known`; what programs pass to any model is let through.
    """
    given = {name: value for name, value in kwargs.items() if value is not None}
    if unknown := sorted(given.keys() - known - _PASSED_TO_ALL):
        raise TypeError(
            f"{type(model).__name__}.forward() takes no argument {', '.join(unknown)}; leave it out of the inputs "
            "(what a tokenizer returns, its model_input_names say)"
        )
    return given


class LecturePreTrainedModel(StopStringsMixin, PreTrainedModel):
    """`PreTrainedModel` with atomic saves and checked loads; what the models of one architecture share is a subclass.

    class XPreTrainedModel(LecturePreTrainedModel):
        config: XConfig
        config_class = XConfig
        base_model_prefix = "model"  # the heads call their base model so
    """

    _skip_keys_device_placement = ["past_key_values"]

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read at once; None where it has no bound."""
        return None

    def attention_implementation(self, output_attentions: bool | None = None) -> str:
        """The name of what computes attention in a call: "eager" where the weights are to be shown."""
        shown = self.config.output_attentions if output_attentions is None else output_attentions
        return "eager" if shown else self.config._attn_implementation

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        # A cache of keys and values is no state of a recurrent model.
        return not cls._is_stateful

    def _set_gradient_checkpointing(
        self,
        enable: bool = True,
        gradient_checkpointing_func: Callable[..., Any] = checkpoint,
        every_n_layers: int = 1,
    ) -> None:
        recompute = partial(_checkpoint_leaves, gradient_checkpointing_func)
        super()._set_gradient_checkpointing(enable, recompute, every_n_layers)

    def save_pretrained(  # type: ignore[override]
        self, save_directory: str | os.PathLike[str], is_main_process: bool = True, **kwargs: Any
    ) -> None:
        """Save under our own parameter names, written beside and renamed into place (see `staged_folder`).

        Raises:
            NotADirectoryError: `save_directory` is a file.
            OSError: the folder cannot be written; what it held before is untouched.
        """
        kwargs.setdefault("save_original_format", False)
        if not is_main_process:
            super().save_pretrained(save_directory, is_main_process=False, **kwargs)
            return
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", os.path.basename(os.path.normpath(save_directory)))
        with staged_folder(save_directory, replaces=_WEIGHT_FILES) as stage:
            super().save_pretrained(stage, **kwargs)

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str] | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load as transformers does, and refuse what would be silently wrong.

        Raises:
            ValueError: the checkpoint is of another model type; its weights are damaged or of other shapes; some of the
                model below the head are missing; although it was saved by this very class, some are missing or
                unknown; or they are NaN or infinite.
        """
        with_info = kwargs.pop("output_loading_info", False)
        any_shape = kwargs.pop("ignore_mismatched_sizes", False)
        source = f"the checkpoint {pretrained_model_name_or_path}"
        options = {"output_loading_info": True, "ignore_mismatched_sizes": True, **kwargs}
        with weights_file_errors(source):
            # transformers' annotation leaves out the pair that output_loading_info=True returns.
            loaded: Any = super().from_pretrained(pretrained_model_name_or_path, *args, **options)
        model, info = loaded
        if not any_shape:
            _refuse_other_shapes(info, source)
        if getattr(model.config, "architectures", None) == [cls.__name__]:
            _refuse_differences(info, source)
        # Whoever saved it: a head may be new, the base model may not.
        prefix, names = f"{cls.base_model_prefix}.", model.base_model.state_dict().keys()
        missing = [name for name in info["missing_keys"] if name.removeprefix(prefix) in names]
        _refuse_differences({"missing_keys": missing, "unexpected_keys": []}, source)
        _refuse_non_finite(model, source)
        _align(model)
        return (model, info) if with_info else model


def _checkpoint_leaves(checkpoint: Callable[..., Any], function: Callable[..., Any], *args: Any) -> Any:
    # With use_reentrant=True, gradients flow to tensors among the arguments only, not to those within a tuple.
    leaves, structure = tree_flatten(args)
    return checkpoint(lambda *leaves: function(*tree_unflatten(leaves, structure)), *leaves)


def _align(model: nn.Module) -> None:
    # Weights that lie in the mapped file wherever its header ended make the kernels add in another order; in memory of
    # torch's own, a reloaded model gives the same outputs to the last bit.
    for parameter in model.parameters():
        if parameter.device.type == "cpu" and parameter.data_ptr() % 64:
            parameter.data = parameter.data.clone()


def _refuse_other_shapes(info: dict[str, Any], source: str) -> None:
    for name, found, expected in sorted(info["mismatched_keys"]):
        raise ValueError(
            f"{source}: {name} has shape {tuple(found)} in the weights file, but the configuration asks "
            f"for {tuple(expected)}; restore the file that was saved with it, or, if a new head is meant, load with "
            "ignore_mismatched_sizes=True"
        )


def _refuse_differences(info: dict[str, Any], source: str) -> None:
    for kind, verb in (("missing_keys", "lacks"), ("unexpected_keys", "holds unknown")):
        names = sorted(info[kind])
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            raise ValueError(
                f"{source} {verb} tensors: {shown}. Its weights file does not belong to its config.json; "
                "restore the file that was saved with it."
            )


def _refuse_non_finite(model: nn.Module, source: str) -> None:
    for name, parameter in model.named_parameters():
        # The sum is non-finite as soon as one element is, and needs no second tensor of that size.
        if parameter.is_floating_point() and not parameter.is_meta and not torch.isfinite(parameter.sum()):
            if torch.isfinite(parameter).all():
                continue
            raise ValueError(f"{source} holds NaN or infinite values in {name}; its training diverged or it is damaged")
