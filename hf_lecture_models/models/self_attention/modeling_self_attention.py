# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The self-attention language model: a causal Transformer with the choices that the slides name.

Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3; slides R:772-934, Y:477-567. Post-LN is theirs;
pre-LN and its final norm: Radford et al., "Language models are unsupervised multitask learners", 2019, section 2.3, and
Xiong et al., "On layer normalization in the Transformer architecture", ICML 2020. The kinds of positions and their
papers are in `layers/positions.py`.

With word vectors w_1, ..., w_T and K blocks:

    I_0[t] = √d w_t + p_t (sinusoidal), w_t + p_t (learned) or w_t   d = hidden_size
    post-LN: n = LN_1(h + Attention(h)),  h' = LN_2(n + FFN(n))      h = I_{u-1}, h' = I_u; the norm after the sum
    pre-LN:  n = h + Attention(LN_1(h)),  h' = n + FFN(LN_2(n))      and LN(I_u) in the place of I_u from here on
    P(w_{t+1} | w_1 ... w_t) = softmax(W_o I_K[t] + b_o)
    or with `layer_mix`:       softmax(W_o Σ_u θ_u I_u[t] + b_o)     u = 0 ... K (slide Y:563)

    Attention: o_t = W [Σ_{s ≤ t} a_t[s] v_s of each head] + b,  a_t = softmax_s(q_t · k_s / √head_dim + bias[t, s])
               bias: -m_head (t - s) (alibi), b_head[bucket(t - s)] (relative) or 0
    FFN(n) = W_2 φ(W_1 n + b_1) + b_2                                φ: GELU, ReLU, SiLU or Swish_β (slides R:878-882)
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
- From the slides: R:878 has the exact GELU ("gelu"); the default is its tanh form, as GPT-2's.
- With pre-LN, the mix is of the normalised I_u, so that θ compares layers of one scale.
"""

from collections.abc import Callable

from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.attention_models import TextInputs
from hf_lecture_models.base.configuration import OUTPUT_LAYER_TP_PLAN
from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.text_decoder import CausalPreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.causal_attention import CausalSelfAttention
from hf_lecture_models.layers.key_positions import key_positions
from hf_lecture_models.layers.layer_mix import LayerMix
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.positions import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
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
    "none": lambda config: NoPositions(),
}


class Block(GradientCheckpointingLayer):
    """The parts of a block; how they are wired is for the two classes below to say."""

    def __init__(self, config: SelfAttentionConfig, layer_index: int):
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.attention_norm = nn.LayerNorm(width, eps)
        self.self_attn = CausalSelfAttention(width, config.num_attention_heads, layer_index=layer_index)
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size or 4 * width, ACTIVATIONS[config.hidden_act]())
        self.dropout = nn.Dropout(config.dropout)


class PreNormBlock(Block):
    """n = h + Attention(LN_1(h)); h' = n + FFN(LN_2(n))."""

    def forward(self, hidden: Tensor, attention: AttentionKernel, layer_past: Cache | None = None) -> Tensor:
        """The next state, (batch, seq, hidden)."""
        attended, _ = self.self_attn(self.attention_norm(hidden), attention, layer_past)
        n = hidden + self.dropout(attended)
        return n + self.dropout(self.ffn(self.ffn_norm(n)))


class PostNormBlock(Block):
    """n = LN_1(h + Attention(h)); h' = LN_2(n + FFN(n))."""

    def forward(self, hidden: Tensor, attention: AttentionKernel, layer_past: Cache | None = None) -> Tensor:
        """The next state, (batch, seq, hidden)."""
        attended, _ = self.self_attn(hidden, attention, layer_past)
        n = self.attention_norm(hidden + self.dropout(attended))
        return self.ffn_norm(n + self.dropout(self.ffn(n)))


BLOCKS: dict[str, type[Block]] = {"pre": PreNormBlock, "post": PostNormBlock}


class SelfAttentionPreTrainedModel(CausalPreTrainedModel):
    """The base class of all self-attention models."""

    config: SelfAttentionConfig
    unserved = {"sglang": "it would leave out b_o, the bias of the output layer"}

    @property
    def adds_position_bias(self) -> bool:
        """Return True if the positions are the bias of the equations, not vectors added to the words."""
        return self.config.position_encoding in ("relative", "alibi")


class SelfAttentionModel(SelfAttentionPreTrainedModel):
    """Word vectors with positions, a stack of blocks, and the state that predicts: of the last layer, or a mix of all.

    `CausalPreTrainedModel` has the arguments of `forward`.

    >>> import torch
    >>> config = SelfAttentionConfig(vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=2)
    >>> len(SelfAttentionModel(config)(torch.tensor([[3, 1, 4]]), output_hidden_states=True).hidden_states)
    3
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
        self.post_init()

    def read(self, text: TextInputs) -> Tensor:
        """LN(I_K), or the mix Σ_u θ_u LN(I_u), of each token: (batch, seq, hidden)."""
        hidden, bias = self.position_encoding(
            text.words, text.positions, key_positions(text.words, text.positions, text.attention_mask, text.cache)
        )
        hidden = self.dropout(hidden)
        attention = text.attention(hidden, bias)
        states = [hidden]
        for layer in self.layers:
            hidden = layer(hidden, attention, layer_past=text.cache)
            # Without a mix, only the last one is read.
            states = [*states, hidden] if self.layer_mix else [hidden]
        if self.layer_mix is None:
            return self.final_norm(states[-1])
        return self.layer_mix([self.final_norm(state) for state in states])


class SelfAttentionForCausalLM(CausalLMHead, SelfAttentionPreTrainedModel, GenerationMixin):
    """The self-attention language model: the next token's probability from all tokens up to this one.

    >>> import torch
    >>> config = SelfAttentionConfig(vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=2)
    >>> SelfAttentionForCausalLM(config)(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 3, 9])
    """

    base_model_class = SelfAttentionModel
    _tp_plan = OUTPUT_LAYER_TP_PLAN
