# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The flags, the choice of a kernel and the inputs that Transformers share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.modeling import PASSED_TO_ALL, LayeredPreTrainedModel
from hf_lecture_models.io.compat import CACHE, init
from hf_lecture_models.layers.attention import AttentionKernel, SelfAttention
from hf_lecture_models.layers.attention_kernels import ATTENTION_INSTANCES
from hf_lecture_models.layers.attention_keywords import reads_keyword
from hf_lecture_models.layers.growing_cache import use_growing_cache


class AttentionPreTrainedModel(LayeredPreTrainedModel):
    """A stack of blocks with attention, which any attention function of transformers may compute.

    A keyword argument of `forward` that the model does not know goes to the attention function, if that reads it
    (`layers.attention_keywords.reads_keyword`). To show attention weights, a call computes attention the eager way.
    """

    _supports_sdpa = True
    _supports_flex_attn = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": GradientCheckpointingLayer, "attentions": SelfAttention}
    layers: nn.ModuleList
    _reads_packed_texts: ClassVar[bool] = False
    """Whether transformers itself may hand the attention function what it has of packed texts and of pages."""

    def reads_keyword(self, name: str, output_attentions: bool | None = None) -> bool:
        """Return whether the attention function of a call reads this keyword argument."""
        if name == ATTENTION_INSTANCES and not self._supports_attention_backend:
            return False
        return reads_keyword(self.attention_implementation(output_attentions), name, self._reads_packed_texts)

    def attention_choice(self, call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the name of the attention function of a call, and the `dropout` and `options` that it is given.

        Args:
            call: the arguments of `forward` that the model does not know.
        """
        block: Any = self.layers[0]
        dropout = block.self_attn.dropout.p if self.training else 0.0
        options = {name: value for name, value in call.items() if name not in PASSED_TO_ALL}
        return self.attention_implementation(call.get("output_attentions")), {"dropout": dropout, "options": options}

    def position_limit(self, call: dict[str, Any]) -> int | None:
        """Return the number of positions, up to which those of a call are checked; None without a check.

        A server checks them itself: reading them here would wait for the GPU at every step.
        """
        return None if ATTENTION_INSTANCES in call else self.longest_input

    def _prepare_cache_for_generation(
        self, generation_config: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        given = model_kwargs.get(CACHE)
        super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)
        cache = model_kwargs.get(CACHE)
        if given is None and cache is not None:
            use_growing_cache(cache, generation_config.num_beams or 1)


class BidirectionalPreTrainedModel(AttentionPreTrainedModel):
    """A Transformer like BERT: weights start normal, and are drawn again beyond two standard deviations."""

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Linear | nn.Embedding | nn.Conv2d):
            truncated_normal(module.weight, self.config.initializer_range)


def truncated_normal(weight: Tensor, std: float) -> None:
    """Draw a normal distribution of standard deviation `std`, again where a number is beyond 2 `std`."""
    init.trunc_normal_(weight, std=std, a=-2 * std, b=2 * std)


@dataclass
class TextInputs:
    """The tokens of one call, and how they attend to each other and to those before."""

    words: Tensor
    """(batch, seq, hidden), the vectors of the words."""
    positions: Tensor
    """(batch or 1, seq), the position of each in its text."""
    cache: Cache | None
    """Keys and values of the tokens before; those of this call are added to it."""
    attention_mask: Any
    attention: Callable[..., AttentionKernel]
    """From the states (batch, seq, hidden) before the first block, and the position bias if there is one."""
    cross_attention: Any = None
    """The attention of a decoder's states to a source."""
