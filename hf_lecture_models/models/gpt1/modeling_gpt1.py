# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1, a causal Transformer with trained positions, and its language model.

Radford, Narasimhan, Salimans & Sutskever, "Improving language understanding by generative pre-training", 2018,
sections 3.1 and 4.1; the block is the decoder of Vaswani et al., "Attention is all you need", 2017, without its
attention to a source. Slides R:1012-1110, Y:490-560.

With one-hot tokens u_1, ..., u_T, word vectors W_e and position vectors W_p, in K blocks:

    h_t = W_e u_t + W_p[t]                                           (Radford et al., equation 2)
    n = LN_1(h + Attention(h)),  h ← LN_2(n + FFN(n))                K times; the norm comes after the sum
    P(u_{t+1} | u_1 ... u_t) = softmax(W_e^T h_t)

    Attention: o_t = W_o [Σ_{s ≤ t} a_t[s] v_s of each head] + b_o,  a_t = softmax_s(q_t · k_s / √head_dim)
    FFN(n) = W_2 GELU(W_1 n + b_1) + b_2,  GELU(x) = 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

Dropout acts on h_t before the first block, on the weights a_t, and on what Attention and FFN add.

Deviations:
- From the slides: the sum of losses on R:1021 leaves out the first word and the end; with `<s>` in front, both count.
- From the paper: its modified L2 penalty is the optimizer's business (`weight_decay` in a recipe). Its tokenizer is
  transformers' own; any other does.
- The papers could not be opened; their equations and sections are from memory.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicCache
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults

from hf_lecture_models.base.causal_lm import HiddenStateCausalLM
from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import (
    AttentionFunction,
    SelfAttention,
    eager_attention,
    select_attention_kernel,
)
from hf_lecture_models.layers.masks import causal_mask, token_positions
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.models.gpt1.configuration_gpt1 import Gpt1Config


class Gpt1Block(GradientCheckpointingLayer):
    """n = LN_1(h + Attention(h)); h = LN_2(n + FFN(n))."""

    def __init__(self, config: Gpt1Config, layer_index: int):
        super().__init__()
        width = config.hidden_size
        self.self_attn = SelfAttention(width, config.num_attention_heads, layer_index, config.attention_dropout)
        self.attention_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.ffn = PositionWise(width, config.intermediate_size or 4 * width, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        hidden: Tensor,
        attention_function: AttentionFunction,
        mask: Any = None,
        past_key_values: Cache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The next state (batch, seq, hidden), and the attention weights if `attention_function` gives them."""
        attended, weights = self.self_attn(hidden, attention_function, mask, past_key_values)
        n = self.attention_norm(hidden + self.dropout(attended))
        return self.ffn_norm(n + self.dropout(self.ffn(n))), weights


class Gpt1PreTrainedModel(LecturePreTrainedModel):
    """What all GPT-1 models share."""

    config: Gpt1Config
    config_class = Gpt1Config
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flex_attn = True
    _no_split_modules = ["Gpt1Block"]
    _skip_keys_device_placement = ["past_key_values"]
    # The causal mask and the positions, which openai-gpt checkpoints hold beside the weights.
    _keys_to_ignore_on_load_unexpected = [r"\.attn\.bias$", r"(^|\.)position_ids$"]

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str] | None, *args: Any, **kwargs: Any
    ) -> Any:
        """As every model's; whoever saved the checkpoint, it must hold all weights of `Gpt1Model`.

        Raises:
            ValueError: some are missing, or for another reason of `LecturePreTrainedModel.from_pretrained`.
        """
        with_info = kwargs.pop("output_loading_info", False)
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, output_loading_info=True, **kwargs)
        model, info = loaded
        inner = {name.removeprefix("model.") for name in info["missing_keys"]} & model.base_model.state_dict().keys()
        if inner:
            raise ValueError(
                f"the checkpoint {pretrained_model_name_or_path} lacks tensors: {', '.join(sorted(inner)[:5])}. Its "
                "weights file is not whole, or does not belong to its config.json; restore it"
            )
        return loaded if with_info else model


class Gpt1Model(Gpt1PreTrainedModel):
    """Word and position vectors and a stack of blocks.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), which take the place
    of the word vectors. In `attention_mask` (batch, seen + seq) 1 is a real token. `position_ids` (batch, seq) count
    the real tokens of each row from 0 unless given; one beyond `max_position_embeddings` is a ValueError.
    `past_key_values` holds keys and values of the tokens seen before; those of this call are added to it.
    """

    def __init__(self, config: Gpt1Config):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layers = nn.ModuleList(Gpt1Block(config, index) for index in range(config.num_hidden_layers))
        self.gradient_checkpointing = False
        self.post_init()

    @can_return_tuple
    @merge_with_config_defaults
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Read the sequences; `output_attentions` makes this call compute attention the eager way, to show the weights.

        Returns:
            `last_hidden_state` (batch, seq, hidden_size), `past_key_values`, and on request `hidden_states` (the input
            of the first block, each block's output) and `attentions` (batch, heads, seq, seen + seq) of each block.
        """
        if output_attentions is None:
            output_attentions = self.config.output_attentions
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        hidden = self._embed(input_ids, inputs_embeds, attention_mask, position_ids, past_key_values)
        implementation = "eager" if output_attentions else self._implementation(hidden)
        attention_function = ALL_ATTENTION_FUNCTIONS.get_interface(implementation, eager_attention)
        mask = causal_mask(implementation, hidden, attention_mask, past_key_values)
        states, attentions = [hidden], []
        for layer in self.layers:
            hidden, weights = layer(hidden, attention_function, mask, past_key_values=past_key_values)
            if output_hidden_states:
                states.append(hidden)
            attentions.append(weights)
        return BaseModelOutputWithPast(
            last_hidden_state=hidden,
            past_key_values=past_key_values if use_cache else None,
            hidden_states=tuple(states) if output_hidden_states else None,
            attentions=tuple(attentions) if output_attentions else None,
        )

    def _embed(
        self,
        input_ids: Tensor | None,
        inputs_embeds: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        cache: Cache | None,
    ) -> Tensor:
        """h_t = W_e u_t + W_p[t]: (batch, seq, hidden_size)."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        seen_tokens = 0 if cache is None else int(cache.get_seq_length())
        # Asking for values waits for a GPU: it is done only where they could be too large.
        to_check = position_ids is not None or seen_tokens + words.shape[1] > self.config.max_position_embeddings
        if position_ids is None:
            position_ids = token_positions(words, attention_mask, seen_tokens)[:, seen_tokens:]
        if to_check:
            self._check_positions(position_ids)
        return self.dropout(words + self.embed_positions(position_ids))

    def _implementation(self, hidden: Tensor) -> str:
        dropped = self.training and self.config.attention_dropout > 0
        return select_attention_kernel(self.config._attn_implementation, hidden, materializes_scores=dropped)

    def _check_positions(self, position_ids: Tensor) -> None:
        # Tracing cannot ask for values, and nothing is there to ask for.
        if torch.compiler.is_compiling() or position_ids.numel() == 0:
            return
        limit = self.config.max_position_embeddings
        lowest, highest = (int(bound) for bound in position_ids.aminmax())
        if lowest < 0 or highest >= limit:
            raise ValueError(
                f"the input has a token at position {highest if highest >= limit else lowest}; the model has vectors "
                f"for positions 0 to {limit - 1} (max_position_embeddings={limit}): cut the input, or count from 0"
            )


class Gpt1ForCausalLM(HiddenStateCausalLM, Gpt1PreTrainedModel, GenerationMixin):
    """The language model: the next token's probability from the last block's state."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: Gpt1Config):
        super().__init__(config)
        self.model = Gpt1Model(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    @property
    def longest_input(self) -> int:
        """Tokens that the model can read: it has vectors for so many positions."""
        return self.config.max_position_embeddings

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """Predict the next token at each position.

        Args:
            labels: (batch, seq), see `HiddenStateCausalLM.loss_and_logits`, which also tells of `logits_to_keep`.
            kwargs: `output_hidden_states`, `output_attentions`; `shift_labels`, `num_items_in_batch`.

        Returns:
            `loss` (scalar, nats, float32), `logits` (batch, positions kept, vocab_size), and the model's outputs.
        """
        inputs = (input_ids, attention_mask, position_ids, past_key_values, inputs_embeds, use_cache)
        shown = {name: kwargs.get(name) for name in ("output_attentions", "output_hidden_states")}
        outputs = self.model(*inputs, **shown, return_dict=True)
        loss, logits = self.loss_and_logits(outputs.last_hidden_state, attention_mask, labels, logits_to_keep, kwargs)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
