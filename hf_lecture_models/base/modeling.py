# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of every model: the decorator of its forward pass, and saving and loading with checks."""

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.guards.model import ModelGuards
from hf_lecture_models.io.compat import capture_outputs, init, merge_with_config_defaults, with_past_key_values

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


class LecturePreTrainedModel(ModelGuards):
    """`PreTrainedModel` with what every model of the package has; the models of one architecture share a subclass.

    class XPreTrainedModel(LecturePreTrainedModel):
        config: XConfig  # the class itself: no `from __future__ import annotations` in its file

    A layer that has a method `draw_weights` draws its own initial weights, through `io.compat.init`.
    """

    base_model_prefix = "model"
    _skip_keys_device_placement = ["past_key_values", "cache"]

    def __init__(self, config: Any, *args: Any, **kwargs: Any) -> None:
        self._asked_to_recompute = bool(getattr(config, "gradient_checkpointing", False))
        super().__init__(config, *args, **kwargs)
        # transformers takes it from the name of the class, and its Trainer then leaves labels out of the count. Heads
        # compute their own losses, and a causal one sets to -100 what is not counted.
        self.loss_type: Any = None

    def post_init(self) -> None:
        """Build the model as transformers does; the configuration's `gradient_checkpointing=True` holds in every part.

        Raises:
            ValueError: the configuration asks for it, and the model cannot do it; or it asks for the attention of a
                server that cannot serve the model.
        """
        if self._asked_to_recompute:
            self.check_recomputes()
            self.config.gradient_checkpointing = True  # which the first part has taken out
        # A layer is never split over devices.
        layers = {type(module).__name__ for module in self.modules() if isinstance(module, GradientCheckpointingLayer)}
        if layers:
            self._no_split_modules = {*(self._no_split_modules or ()), *layers}
        super().post_init()

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

    def _set_gradient_checkpointing(
        self,
        enable: bool = True,
        gradient_checkpointing_func: Callable[..., Any] = checkpoint,
        every_n_layers: int = 1,
    ) -> None:
        recompute = partial(_checkpoint_leaves, gradient_checkpointing_func)
        super()._set_gradient_checkpointing(enable, recompute, every_n_layers)


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
