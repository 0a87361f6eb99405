# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of every model: the decorator of its forward pass, and saving and loading with checks."""

import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import PreTrainedModel

from hf_lecture_models.base.checkpoint import (
    align,
    check_model_size,
    check_tied_weights,
    compare_with_files,
    refuse_missing,
    refuse_non_finite,
    refuse_other_shapes,
    refuse_other_types,
    refuse_unexpected,
    refuse_unloadable,
)
from hf_lecture_models.base.output_matrix import refuse_replaced_forward
from hf_lecture_models.base.serving import SERVERS, refuse_unserved
from hf_lecture_models.base.stop_strings import StopStringsMixin
from hf_lecture_models.base.tied_weights import TiedWeightsMixin, refuse_untied
from hf_lecture_models.io.compat import capture_outputs, init, merge_with_config_defaults, with_past_key_values
from hf_lecture_models.io.files import staged_folder, weights_file_errors
from hf_lecture_models.io.saved_json import check_saved_files, refuse_outside_shards, weight_file_patterns

# Programs pass these to any model, also to one without a cache or attention weights; `generate()`, its own tokenizer.
PASSED_TO_ALL = frozenset({"output_attentions", "output_hidden_states", "return_dict", "tokenizer", "use_cache"})


def model_forward(
    forward: Callable[..., Any] | None = None, *, tie_last_hidden_states: bool = True
) -> Callable[..., Any]:
    """Decorate the `forward` of a model without a head; an argument of None counts as left out.

    `use_cache` is the configuration's unless given. `output_hidden_states` and `output_attentions`, given or of the
    configuration, add what the modules named in `_can_record_outputs` return. `return_dict=False` makes a tuple of all.

    Args:
        tie_last_hidden_states: the last of `hidden_states` is `last_hidden_state`; False: what the last block returns.

    Raises:
        TypeError: at a call, for an argument that `forward` does not name and nothing in the model reads.
    """
    if forward is None:
        return partial(model_forward, tie_last_hidden_states=tie_last_hidden_states)
    parameters = list(signature(forward).parameters.values())[1:]  # without self
    known = frozenset(parameter.name for parameter in parameters if parameter.kind is not Parameter.VAR_KEYWORD)
    keeps_state = "past_key_values" in known
    recorded = merge_with_config_defaults(capture_outputs(forward, tie_last_hidden_states=tie_last_hidden_states))

    @wraps(forward)
    def checked_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if keeps_state:
            kwargs = with_past_key_values(kwargs)
        return recorded(self, *args, **given_arguments(self, kwargs, known))

    return checked_forward


def given_arguments(model: Any, kwargs: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the keyword arguments of a call that are not None.

    Raises:
        TypeError: for one that neither is in `known` nor `model` reads; those that programs pass to any model are
            let through.
    """
    given = {name: value for name, value in kwargs.items() if value is not None}
    # Not by operators of sets, which torch 2.7 cannot compile.
    if unknown := [name for name in given if name not in known and name not in PASSED_TO_ALL]:
        shown = given.get("output_attentions")
        unread = [name for name in sorted(unknown) if not model.reads_keyword(name, shown)]
        if unread:
            raise TypeError(
                f"{type(model).__name__}.forward() takes no argument {', '.join(unread)}; leave it out of the inputs "
                "(what a tokenizer returns, its model_input_names say)"
            )
    return given


class LecturePreTrainedModel(TiedWeightsMixin, StopStringsMixin, PreTrainedModel):
    """`PreTrainedModel` with atomic saves and checked loads; the models of one architecture share a subclass.

    class XPreTrainedModel(LecturePreTrainedModel):
        config: XConfig  # the class itself: no `from __future__ import annotations` in its file

    A layer that has a method `draw_weights` draws its own initial weights, through `io.compat.init`.
    """

    base_model_prefix = "model"
    _skip_keys_device_placement = ["past_key_values", "cache"]
    _may_start_anew: ClassVar[tuple[str, ...]] = ()
    """Modules of the base model that a checkpoint may lack, because some heads do without them."""
    unserved: ClassVar[dict[str, str]] = {}
    """Attention function of a server, a key of `base.serving.SERVERS` -> why that server cannot serve the model."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Check the size of the model first; a copy is made without arguments, and gets its state afterwards."""
        # torch.get_default_device() knows the device of a `with` only from torch 2.8 on.
        if (args or kwargs) and torch.empty(0).device.type != "meta":
            # With a copy of the configuration: building a model takes `gradient_checkpointing` out of it.
            own_args, own_kwargs = deepcopy((args, kwargs))
            check_model_size(partial(cls, *own_args, **own_kwargs))
        return super().__new__(cls)

    def __init__(self, config: Any, *args: Any, **kwargs: Any) -> None:
        self._asked_to_recompute = bool(getattr(config, "gradient_checkpointing", False))
        super().__init__(config, *args, **kwargs)
        # transformers takes it from the name of the class, and its Trainer then leaves labels out of the count. Heads
        # compute their own losses, and a causal one sets to -100 what is not counted.
        self.loss_type: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "forward":
            refuse_replaced_forward(self, value)
        super().__setattr__(name, value)

    def post_init(self) -> None:
        """Build the model as transformers does; the configuration's `gradient_checkpointing=True` holds in every part.

        Raises:
            ValueError: the configuration asks for it, and the model cannot do it; or it asks for the attention of a
                server that cannot serve the model.
        """
        if self._asked_to_recompute:
            if not self.supports_gradient_checkpointing:
                raise ValueError(
                    f"{type(self).__name__} has no gradient checkpointing; leave gradient_checkpointing out of its "
                    "configuration"
                )
            self.config.gradient_checkpointing = True  # which the first part has taken out
        for module in self.modules():
            if isinstance(module, GradientCheckpointingLayer):
                # A layer is never split over devices.
                self._no_split_modules = {*(self._no_split_modules or ()), type(module).__name__}
        super().post_init()
        if self.config._attn_implementation in SERVERS:
            refuse_unserved(self)

    @classmethod
    def is_backend_compatible(cls) -> bool:
        """Return whether a server such as vLLM may compute the attention: of a base model, or a causal language model.

        >>> LecturePreTrainedModel.is_backend_compatible()
        False
        """
        return cls._supports_attention_backend and (cls.can_generate() or not hasattr(cls, "base_model_class"))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.RNNBase):  # transformers has no rule for these; this is torch's own
            bound = module.hidden_size**-0.5
            for parameter in module.parameters(recurse=False):
                init.uniform_(parameter, -bound, bound)
        draw_weights: Any = getattr(module, "draw_weights", None)
        if draw_weights is not None:
            draw_weights()

    def other_input_embeddings(self) -> list[nn.Module]:
        """Return what else has a row for each token of `get_input_embeddings()`, beside what is tied and `lm_head`."""
        base: Any = self.base_model
        return [] if base is self else base.other_input_embeddings()

    def _resize_token_embeddings(
        self, new_num_tokens: int | None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Module:
        vectors: Any = super()._resize_token_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        others: Any
        for others in self.other_input_embeddings():
            # transformers returns the module that it is given, with other rows.
            self._get_resized_embeddings(others, vectors.num_embeddings, mean_resizing=mean_resizing)
        return vectors

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read at once; None where it has no bound."""
        return self.config.longest_input

    @property
    def no_output_matrix(self) -> str | None:
        """Why the loss is not that of softmax(W h + b) of the last hidden state h, and what to do; None if it is."""
        return "its own loss is another one; train it with transformers' Trainer or hf-lecture train"

    @property
    def adds_position_bias(self) -> bool:
        """Return True if the positions are numbers added to the attention scores."""
        return False

    def reads_keyword(self, name: str, output_attentions: bool | None = None) -> bool:
        """Return whether something in the model reads a keyword argument that its `forward` does not name."""
        return False

    def attention_implementation(self, output_attentions: bool | None = None) -> str:
        """Return the name of the attention function of a call: "eager" where the weights are asked for."""
        shown = self.config.output_attentions if output_attentions is None else output_attentions
        return "eager" if shown else self.config._attn_implementation

    def shown_states(self, output_hidden_states: bool | None, *states: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
        """Return `states` where the call, or else the configuration, asks for `hidden_states`; else None.

        For a model whose states are not the outputs of modules, which `_can_record_outputs` could name.
        """
        asked = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        return states if asked else None

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        # A cache of keys and values is no state of a recurrent model.
        return not cls._is_stateful

    def _prepare_cache_for_generation(
        self, generation_config: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        named = generation_config.cache_implementation
        # transformers would ignore the name, but for a line in the log.
        if named is not None and not self._supports_default_dynamic_cache():
            raise ValueError(
                f"cache_implementation={named!r} names a cache of keys and values, of which {type(self).__name__} has "
                "none; leave it out"
            )
        if named is not None and named.startswith("offloaded") and not torch.accelerator.is_available():
            raise ValueError(
                f"cache_implementation={named!r} moves keys and values from a GPU to the CPU and back, and there is no "
                "GPU; leave it out"
            )
        super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)  # type: ignore[misc]

    def _prepare_position_ids_for_generation(self, inputs_tensor: torch.Tensor, model_kwargs: dict[str, Any]) -> Any:
        # transformers gives padding the position 0, so that what is generated behind padding would begin anew at 1.
        mask = model_kwargs.get("attention_mask")
        if mask is not None:
            return (mask.long().cumsum(-1) - 1).clamp(min=0)
        return super()._prepare_position_ids_for_generation(inputs_tensor, model_kwargs)  # type: ignore[misc]

    def init_continuous_batching(self, *args: Any, workload_hints: Any = None, **kwargs: Any) -> Any:
        """Begin continuous batching, as `generate_batch` and `transformers serve --continuous-batching` do.

        Raises:
            ValueError: the model keeps something else than keys and values, or cannot read as many tokens as announced.
        """
        if not (self._supports_attention_backend and self.can_generate()):
            raise ValueError(
                f"{type(self).__name__} has no keys and values, which continuous batching (generate_batch) keeps in "
                "pages; use generate(), on a padded batch"
            )
        hints = workload_hints
        prompt, new = (hints.max_prompt_length, hints.max_generated_length) if hints else (0, 0)
        # The last token is never read.
        if self.longest_input is not None and prompt + new - 1 > self.longest_input:
            raise ValueError(
                f"a prompt of {prompt} tokens and {new} new ones are more than {type(self).__name__} can read, "
                f"{self.longest_input} in all; set max_new_tokens, or cut the prompt"
            )
        manager = super().init_continuous_batching(*args, workload_hints=workload_hints, **kwargs)  # type: ignore[misc]
        if self.longest_input is not None:
            manager.add_request = self._within_positions(manager)
        return manager

    def _within_positions(self, manager: Any) -> Callable[..., Any]:
        """Limit `manager.add_request` to what the model can read; more would end the thread of all requests."""
        add_request, longest = manager.add_request, self.longest_input or 0

        def add(input_ids: list[int], request_id: Any = None, max_new_tokens: int | None = None, **kwargs: Any) -> Any:
            if len(input_ids) > longest:
                raise ValueError(
                    f"a prompt of {len(input_ids)} tokens is longer than {type(self).__name__} can read, {longest} "
                    "tokens; cut the prompt"
                )
            most = longest + 1 - len(input_ids)  # the last token is never read
            wanted = manager.generation_config.max_new_tokens if max_new_tokens is None else max_new_tokens
            return add_request(input_ids, request_id, most if wanted is None else min(wanted, most), **kwargs)

        return add

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

        The weights of an earlier save of the same `variant` that the new one does not overwrite are removed: shards, or
        the whole file where shards were written. All other files stay.

        Raises:
            NotADirectoryError: `save_directory` is a file.
            ValueError: the configuration could not be loaded again, or asks for other weights than the model has: it
                was changed after the model was built. Nothing is written.
            OSError: the folder cannot be written; what it held before is untouched.
        """
        kwargs.setdefault("save_original_format", False)
        if not is_main_process:
            super().save_pretrained(save_directory, is_main_process=False, **kwargs)
            return
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", os.path.basename(os.path.normpath(save_directory)))
        self.config.check_loadable()
        # An adapter is saved beside the weights, which stay.
        has_adapter = getattr(self, "_hf_peft_config_loaded", False)
        if not (has_adapter or hasattr(self, "hf_device_map") or getattr(self, "hf_quantizer", None)):
            refuse_unloadable(self, kwargs.get("state_dict"))
        replaced = () if has_adapter else weight_file_patterns(kwargs.get("variant"))
        with staged_folder(save_directory, replaces=replaced) as stage:
            super().save_pretrained(stage, **kwargs)

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str] | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load as transformers does, with checks of the files.

        Raises:
            ValueError: the checkpoint is of another model type; a field of its JSON files has a wrong type; its index
                names files outside of its folder; its weights are damaged, of other shapes (a RuntimeError too, which
                transformers raises), or integers for floating numbers; some of the model below the head are missing;
                although it was saved by this very class, some are missing or unknown; two that are one matrix
                differ; or they are NaN or infinite.
        """
        with_info = kwargs.pop("output_loading_info", False)
        any_shape = kwargs.get("ignore_mismatched_sizes", False)
        source = f"the checkpoint {pretrained_model_name_or_path}"
        if pretrained_model_name_or_path is not None and os.path.isdir(pretrained_model_name_or_path):
            folder = os.path.join(pretrained_model_name_or_path, kwargs.get("subfolder", ""))
            check_saved_files(Path(folder), "config.json", "generation_config.json")
            refuse_outside_shards(folder)
        with weights_file_errors(source):
            # transformers' annotation leaves out the pair that output_loading_info=True returns.
            loaded: Any = super().from_pretrained(
                pretrained_model_name_or_path, *args, **kwargs | {"output_loading_info": True}
            )
        model, info = loaded
        if not any_shape:
            refuse_other_shapes(info, source)
        refuse_missing(model, info, source)
        refuse_unexpected(model, info, source)
        refuse_untied(model, source)
        refuse_non_finite(model, source)
        align(model)
        return (model, info) if with_info else model

    @classmethod
    def _load_pretrained_model(  # type: ignore[override]
        cls, model: Any, state_dict: Any, checkpoint_files: list[str] | None, load_config: Any, **options: Any
    ) -> Any:
        if options:  # an adapter's, into a model that is there
            return super()._load_pretrained_model(model, state_dict, checkpoint_files, load_config, **options)
        check_tied_weights(model, load_config.device_map)
        # transformers allocates whatever the files lack, and reports it afterwards. Quantised weights have other names
        # and shapes in the files.
        quantizer = load_config.hf_quantizer
        if checkpoint_files and state_dict is None and not (quantizer and quantizer.pre_quantized):
            source = f"the checkpoint {load_config.pretrained_model_name_or_path}"
            info = compare_with_files(model, checkpoint_files, load_config)
            refuse_other_types(info, source)
            if not load_config.ignore_mismatched_sizes:
                refuse_other_shapes(info, source)
            refuse_missing(model, info, source)
        return super()._load_pretrained_model(model, state_dict, checkpoint_files, load_config)

    @classmethod
    def _finalize_model_loading(cls, model: Any, load_config: Any, loading_info: Any) -> Any:
        # The shapes of what was converted while it was loaded, `from_pretrained` compares.
        load_config = replace(load_config, ignore_mismatched_sizes=True)
        return super()._finalize_model_loading(model, load_config, loading_info)


class LayeredPreTrainedModel(LecturePreTrainedModel):
    """A model with a stack of layers, each a `GradientCheckpointingLayer`, which returns its output first.

    Gradient checkpointing recomputes a layer in the backward pass, and `hidden_states` hold the input of the first
    layer and each layer's output.
    """

    supports_gradient_checkpointing = True
    gradient_checkpointing = False
    _can_record_outputs = {"hidden_states": GradientCheckpointingLayer}


def _checkpoint_leaves(checkpoint: Callable[..., Any], function: Callable[..., Any], *args: Any) -> Any:
    # With use_reentrant=True, gradients flow to tensors among the arguments only, not to those within a tuple.
    leaves, structure = tree_flatten(args)
    return checkpoint(lambda *leaves: function(*tree_unflatten(leaves, structure)), *leaves)
