# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The self-attention language model: a causal Transformer with the choices that the slides name.

Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3; slides R:775-912, Y:480-570. Post-LN is theirs;
pre-LN and its final norm: Radford et al., "Language models are unsupervised multitask learners", 2019, section 2.3, and
Xiong et al., "On layer normalization in the Transformer architecture", ICML 2020. The four kinds of positions and their
papers are in `layers/positions.py`.

With word vectors w_1, ..., w_T and K blocks:

    I_0[t] = √d w_t + p_t (sinusoidal), w_t + p_t (learned) or w_t   d = hidden_size
    post-LN: n = LN_1(h + Attention(h)),  h' = LN_2(n + FFN(n))      h = I_{u-1}, h' = I_u; the norm after the sum
    pre-LN:  n = h + Attention(LN_1(h)),  h' = n + FFN(LN_2(n))      and LN(I_u) in the place of I_u from here on
    P(w_{t+1} | w_1 ... w_t) = softmax(W_o I_K[t] + b_o)
    or with `layer_mix`:       softmax(W_o Σ_u θ_u I_u[t] + b_o)     u = 0 ... K (slide Y:561)

    Attention: o_t = W [Σ_{s ≤ t} a_t[s] v_s of each head] + b,  a_t = softmax_s(q_t · k_s / √head_dim + bias[t, s])
               bias: -m_head (t - s) (alibi), b_head[bucket(t - s)] (relative) or 0
    FFN(n) = W_2 φ(W_1 n + b_1) + b_2                                φ: ReLU, GELU, SiLU or Swish_β (slide R:882)
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

Dropout acts on I_0 and on what Attention and FFN add (Vaswani et al. 5.4); not on the weights a_t.

Deviations:
- From the slides: the scores are JᵀK / √l with l the width of the keys, the softmax runs over the keys, O = L D̃ᵀ, and
  the heads go through an output matrix (Y:495-514 have J Kᵀ, √d, columns, D̃ L, none); the feed-forward network reads
  the sum O' (there O) and has biases; sinusoids count k from 0 (R:912 from 1); the model of Y:561 is causal, no MLM,
  and the undefined g around its output is the identity.
- √d before w_t is Vaswani et al.'s (3.4) and on no slide: sinusoids have a fixed size, and word vectors, being the
  output matrix too, start small. The other kinds take w_t as it is.
- From T5, whose buckets the relative positions are: its scores are not divided by √head_dim; these are.
- With pre-LN, the mix is of the normalised I_u, so that θ compares layers of one scale.
- The papers could not be opened; their equations and sections are from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults

from hf_lecture_models.base.causal_lm import HiddenStateCausalLM
from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS, Swish
from hf_lecture_models.layers.attention import (
    AttentionFunction,
    SelfAttention,
    eager_attention,
    select_attention_kernel,
)
from hf_lecture_models.layers.layer_mix import LayerMix
from hf_lecture_models.layers.masks import causal_mask, token_positions
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.positions import (
    AlibiPositions,
    LearnedPositions,
    RelativePositions,
    SinusoidalPositions,
)
from hf_lecture_models.models.self_attention.configuration_self_attention import SelfAttentionConfig

POSITION_ENCODINGS: dict[str, Callable[[SelfAttentionConfig], nn.Module]] = {
    "sinusoidal": lambda config: SinusoidalPositions(config.hidden_size),
    "learned": lambda config: LearnedPositions(config.max_position_embeddings, config.hidden_size),
    "relative": lambda config: RelativePositions(
        config.num_attention_heads, config.relative_attention_num_buckets, config.relative_attention_max_distance
    ),
    "alibi": lambda config: AlibiPositions(config.num_attention_heads),
}


class Block(GradientCheckpointingLayer):
    """The parts of a block; how they are wired is for the two classes below to say."""

    def __init__(self, config: SelfAttentionConfig, layer_index: int):
        super().__init__()
        width = config.hidden_size
        self.attention_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.self_attn = SelfAttention(width, config.num_attention_heads, layer_index)
        self.ffn_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.ffn = PositionWise(width, config.intermediate_size or 4 * width, ACTIVATIONS[config.hidden_act]())
        self.dropout = nn.Dropout(config.dropout)


class PreNormBlock(Block):
    """n = h + Attention(LN_1(h)); h' = n + FFN(LN_2(n))."""

    def forward(
        self,
        hidden: Tensor,
        attention_function: AttentionFunction,
        mask: Any,
        position_bias: Tensor | None,
        past_key_values: Cache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The next state (batch, seq, hidden), and the attention weights if `attention_function` gives them."""
        normed = self.attention_norm(hidden)
        attended, weights = self.self_attn(normed, attention_function, mask, past_key_values, position_bias)
        n = hidden + self.dropout(attended)
        return n + self.dropout(self.ffn(self.ffn_norm(n))), weights


class PostNormBlock(Block):
    """n = LN_1(h + Attention(h)); h' = LN_2(n + FFN(n))."""

    def forward(
        self,
        hidden: Tensor,
        attention_function: AttentionFunction,
        mask: Any,
        position_bias: Tensor | None,
        past_key_values: Cache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The next state (batch, seq, hidden), and the attention weights if `attention_function` gives them."""
        attended, weights = self.self_attn(hidden, attention_function, mask, past_key_values, position_bias)
        n = self.attention_norm(hidden + self.dropout(attended))
        return self.ffn_norm(n + self.dropout(self.ffn(n))), weights


BLOCKS: dict[str, type[Block]] = {"pre": PreNormBlock, "post": PostNormBlock}


class SelfAttentionPreTrainedModel(LecturePreTrainedModel):
    """What all self-attention models share."""

    config: SelfAttentionConfig
    config_class = SelfAttentionConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flex_attn = True
    _no_split_modules = ["PreNormBlock", "PostNormBlock"]
    _skip_keys_device_placement = ["past_key_values"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, LayerMix):
            init.copy_(module.theta, module.initial_theta(len(module.theta)))
        elif isinstance(module, Swish):
            init.ones_(module.beta)


class SelfAttentionModel(SelfAttentionPreTrainedModel):
    """Word vectors with positions, a stack of blocks, and what prediction reads: the last layer, or a mix of all.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), which take the place
    of the word vectors. In `attention_mask` (batch, seen + seq) 1 is a real token; positions count the real tokens of
    each row from 0. `past_key_values` holds keys and values of the tokens seen before; those of this call are added to
    it.
    """

    def __init__(self, config: SelfAttentionConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_encoding = POSITION_ENCODINGS[config.position_encoding](config)
        self.dropout = nn.Dropout(config.dropout)
        block = BLOCKS[config.norm_position]
        self.layers = nn.ModuleList(block(config, index) for index in range(config.num_hidden_layers))
        self.final_norm: nn.Module = nn.Identity()
        if config.norm_position == "pre":
            self.final_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.layer_mix = LayerMix(config.num_hidden_layers + 1) if config.layer_mix else None
        self.gradient_checkpointing = False
        self.post_init()

    @can_return_tuple
    @merge_with_config_defaults
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Read the sequences; weights are shown (`output_attentions`) by computing them the eager way in this call.

        Returns:
            `last_hidden_state` (batch, seq, hidden_size), `past_key_values`, and on request `hidden_states` (I_0 and
            each block's output, but last `last_hidden_state`) and `attentions`, each (batch, heads, seq, seen + seq).

        Raises:
            ValueError: learned positions end before the input; neither or both of ids and vectors.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        show_weights = self.config.output_attentions if output_attentions is None else output_attentions
        show_states = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        implementation = (
            "eager"
            if show_weights
            else select_attention_kernel(self.config._attn_implementation, words, materializes_scores=False)
        )
        hidden, position_bias = self._embed(words, attention_mask, past_key_values, implementation)
        mask = causal_mask(implementation, hidden, attention_mask, past_key_values)
        attention_function = ALL_ATTENTION_FUNCTIONS.get_interface(implementation, eager_attention)
        states, weights = [hidden], []
        keep_states = show_states or self.layer_mix is not None
        for layer in self.layers:
            hidden, layer_weights = layer(
                hidden, attention_function, mask, position_bias, past_key_values=past_key_values
            )
            states = [*states, hidden] if keep_states else [hidden]
            weights.append(layer_weights)
        states[-1] = hidden = self._output_state(states)
        shown = (tuple(states) if show_states else None, tuple(weights) if show_weights else None)
        return BaseModelOutputWithPast(hidden, past_key_values if use_cache else None, *shown)

    def _embed(
        self, words: Tensor, attention_mask: Tensor | None, cache: Cache | None, implementation: str
    ) -> tuple[Tensor, Tensor | None]:
        """I_0 (batch, seq, hidden), and what the positions add to the scores, if anything."""
        seen_tokens = 0 if cache is None else int(cache.get_seq_length())
        positions = token_positions(words, attention_mask, seen_tokens)
        hidden, bias = self.position_encoding(words, positions[:, seen_tokens:], positions)
        if bias is not None and implementation == "flex_attention":
            # It reads the bias row by row, and one row serves all only where the others broadcast.
            bias = bias.expand(words.shape[0], -1, -1, -1)
        return self.dropout(hidden), bias

    def _output_state(self, states: list[Tensor]) -> Tensor:
        """What prediction reads, (batch, seq, hidden)."""
        if self.layer_mix is None:
            return self.final_norm(states[-1])
        return self.layer_mix([self.final_norm(state) for state in states])


class SelfAttentionForCausalLM(HiddenStateCausalLM, SelfAttentionPreTrainedModel, GenerationMixin):
    """The self-attention language model: the next token's probability from all tokens up to this one."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: SelfAttentionConfig):
        super().__init__(config)
        self.model = SelfAttentionModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read: only learned positions end."""
        return self.config.max_position_embeddings if self.config.position_encoding == "learned" else None

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
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
        inputs = (input_ids, attention_mask, past_key_values, inputs_embeds, use_cache)
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
