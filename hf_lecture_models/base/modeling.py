# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of every model: saving whole and under our own names, loading nothing silently wrong."""

import os
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import initialization as init
from transformers.modeling_utils import PreTrainedModel

from hf_lecture_models.io.files import staged_folder

_WEIGHT_FILES = ("model*.safetensors", "model*.safetensors.index.json")


class LecturePreTrainedModel(PreTrainedModel):
    """`PreTrainedModel` with atomic saves, checked loads, and initial values for the recurrent modules of torch."""

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
            ValueError: the checkpoint is of another model type; its weights are damaged, of other shapes, all missing,
                or, although it was saved by this very class, some are missing or unknown; or they are NaN or infinite.
        """
        with_info = kwargs.pop("output_loading_info", False)
        any_shape = kwargs.pop("ignore_mismatched_sizes", False)
        source = f"the checkpoint {pretrained_model_name_or_path}"
        options = {"output_loading_info": True, "ignore_mismatched_sizes": True, **kwargs}
        try:
            # transformers' annotation leaves out the pair that output_loading_info=True returns.
            loaded: Any = super().from_pretrained(pretrained_model_name_or_path, *args, **options)
        except SafetensorError as error:
            raise ValueError(f"{source}: its weights file is damaged or cut off ({error}); restore the file") from error
        model, info = loaded
        if not any_shape:
            _refuse_other_shapes(info, source)
        same_class = getattr(model.config, "architectures", None) == [cls.__name__]
        if (
            same_class
            or set(info["missing_keys"]) >= model.state_dict().keys() - (model._tied_weights_keys or {}).keys()
        ):
            _refuse_differences(info, source)
        _refuse_non_finite(model, source)
        _align(model)
        return (model, info) if with_info else model

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.RNNBase | nn.RNNCellBase):
            # torch's own rule: uniform within 1/sqrt(hidden).
            bound = module.hidden_size**-0.5
            for parameter in module.parameters(recurse=False):
                init.uniform_(parameter, -bound, bound)


def _align(model: nn.Module) -> None:
    # Weights that lie in the mapped file wherever its header ended make the kernels add in another order; in memory of
    # torch's own, a reloaded model gives the same outputs to the last bit.
    for parameter in model.parameters():
        if parameter.device.type == "cpu" and parameter.data_ptr() % 64:
            parameter.data = parameter.data.clone()


def _refuse_other_shapes(info: dict[str, Any], source: str) -> None:
    for name, found, expected in sorted(info["mismatched_keys"]):
        raise ValueError(
            f"{source}: {name} has shape {tuple(found)} in the weights file, but config.json asks for "
            f"{tuple(expected)}; restore the file that was saved with this config.json"
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
