# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The flags, the choice of a kernel and the inputs that Transformers share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicCache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, BaseModelOutputWithPooling

from hf_lecture_models.base.modeling import PASSED_TO_ALL, LayeredPreTrainedModel, model_forward
from hf_lecture_models.io.compat import CACHE, init
from hf_lecture_models.layers.attention import AttentionKernel, SelfAttention
from hf_lecture_models.layers.attention_kernels import ATTENTION_INSTANCES, bidirectional_attention, causal_attention
from hf_lecture_models.layers.attention_keywords import reads_keyword
from hf_lecture_models.layers.growing_cache import use_growing_cache
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.token_positions import bounded_positions, key_positions


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

    def key_positions(self) -> Tensor:
        """Return the position of each token attended to; see `layers.token_positions.key_positions`."""
        return key_positions(self.words, self.positions, self.attention_mask, self.cache)


class TextEncoderPreTrainedModel(BidirectionalPreTrainedModel):
    """A Transformer that reads texts, or pairs of them, in both directions; the base model defines `read`.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), which take the place
    of the word vectors. In `attention_mask` (batch, seq) 1 is a real token; one of four axes says for each position
    what it may attend to (`layers/masks.py`). `token_type_ids` (batch, seq) are 0 in the first text of a pair, and
    everywhere if left out, and 1 in the second. `position_ids` (batch, seq) count the real tokens of each row from 0
    unless given; one that is not below `longest_input` is a ValueError, and a 0 within a row begins another text, which
    attends to none before it.

    It returns `last_hidden_state` (batch, seq, hidden_size), `pooler_output` (batch, hidden_size) if the model makes
    one, and on request `hidden_states` (the input of the first block, each block's output) and `attentions` (batch,
    heads, seq, seq) of each block.
    """

    _supports_attention_backend = True
    embed_tokens: nn.Embedding

    def read(self, text: TextInputs, token_type_ids: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the last hidden state, (batch, seq, hidden), and the vector of the whole, (batch, hidden), or None."""
        raise NotImplementedError(f"{type(self).__name__} must define read: from word vectors to the last hidden state")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Read the sequences."""
        if ATTENTION_INSTANCES in kwargs:
            self.check_served_call(kwargs[ATTENTION_INSTANCES], attention_mask, position_ids, None)
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        counted = attention_mask if position_ids is None else None
        positions = bounded_positions(words, counted, self.position_limit(kwargs), position_ids)
        name, options = self.attention_choice(kwargs)
        attention = partial(
            bidirectional_attention, name, attention_mask=attention_mask, position_ids=position_ids, **options
        )
        text = TextInputs(words, positions, None, attention_mask, attention)
        return BaseModelOutputWithPooling(*self.read(text, token_type_ids))


class CausalPreTrainedModel(AttentionPreTrainedModel):
    """A causal Transformer; the base model of an architecture defines `read`.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), which take the place
    of the word vectors. In `attention_mask` (batch, seen + seq) 1 is a real token; one of four axes says for each
    position what it may attend to (`layers/masks.py`). `position_ids` (batch, seq) count the real tokens of each row
    from 0 unless given; one that is not below `longest_input` is a ValueError. Without a mask, positions that begin
    again at 0 begin another text, which attends to none before it. `past_key_values` holds keys and values of the
    tokens seen before; those of this call are added to it.

    It returns `last_hidden_state` (batch, seq, hidden_size), `past_key_values`, and on request `hidden_states` (the
    input of the first block, each block's output, but last `last_hidden_state`) and `attentions` (batch, heads, seq,
    seen + seq) of each block.
    """

    _supports_attention_backend = True
    _reads_packed_texts = True
    embed_tokens: nn.Module

    def read(self, text: TextInputs) -> Tensor:
        """Return the last hidden state, (batch, seq, hidden)."""
        raise NotImplementedError(f"{type(self).__name__} must define read: from word vectors to the last hidden state")

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Read the sequences."""
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        if ATTENTION_INSTANCES in kwargs:
            self.check_served_call(kwargs[ATTENTION_INSTANCES], attention_mask, position_ids, past_key_values)
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        limit = self.position_limit(kwargs)
        positions = bounded_positions(words, attention_mask, limit, position_ids, past_key_values)
        name, options = self.attention_choice(kwargs)
        options = {**options, "attention_mask": attention_mask, "cache": past_key_values, "position_ids": position_ids}
        attention = partial(causal_attention, name, **options)
        hidden = self.read(TextInputs(words, positions, past_key_values, attention_mask, attention))
        return BaseModelOutputWithPast(hidden, past_key_values if use_cache else None)
