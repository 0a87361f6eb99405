# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transformers whose attention does not compare all tokens with all: seven kinds, and layers that share their weights.

Tay, Dehghani, Bahri & Metzler, "Efficient Transformers: a survey", ACM Comput. Surv. 2022, whose figures the slides
Y:591-607 show: full attention costs O(T^2); "local attention + sentinels, also: random or hierarchical sparse attention
masks, parameter sharing, approximate dot product computation". The file of each kind names its own paper.

With word vectors w_1, ..., w_T, sinusoidal or learned positions p_t, and K blocks (pre-LN, as in GPT-2):

    I_0[t] = √d w_t + p_t  (learned positions: w_t + p_t)            d = hidden_size
    n = h + Attention(LN_1(h)),  h' = n + FFN(LN_2(n))               h = I_{u-1}, h' = I_u
    P(w_{t+1} | w_1 ... w_t) = softmax(W_o LN(I_K[t]) + b_o)         (causal language model: all sums over s ≤ t)
    P(w_t | masked text) = softmax(W_o LN(I_K[t]) + b_o)             (masked language model: over all s)
    `share_layers`: one block is used K times, I_u = Block(I_{u-1})  (Lan et al., "ALBERT", 2020, section 3.1)

and with q, k, v of each head, by `attention_kind`, where a is a softmax of q_t · k_s / √head_dim over what is summed
(hashing: of q_t · k_s, because |k_s| = 1):

    local         o_t = Σ_{s in N(t)} a_s v_s,  N(t) = {|t - s| ≤ w} ∪ sentinels             O(T (w + g))
    random        N(t) also has r blocks that were drawn once                                O(T (w + g + r w))
    hierarchical  the own block's tokens, and the mean key and value of every other block    O(T (b + T / b))
    low_rank      o_t = softmax(q_t (E K)ᵀ / √head_dim) (F V),  E, F of k x T                O(T k)
    linear        o_t = Sᵀφ(q_t) / z·φ(q_t),  S = Σ_s φ(k_s) v_sᵀ,  z = Σ_s φ(k_s),  φ = elu + 1   O(T)
    performer     the same, with φ(x) = exp(ω·x - |x|²/2) / √m of random ω                   O(T m)
    hashing       N(t) = {s: in t's bucket in one of h rounds}, k = x / |x| for the query x  O(T b h²), causal T^2

Dropout acts on I_0 and on what Attention and FFN add; not on the weights a.

Deviations:
- From the slides: "sentinels" are the first tokens of the text (`<s>` is one), and attend by matrices of their own.
- From each paper: the same positions for all kinds, so that they can be compared (Linformer and Performer learn
  theirs, Reformer's are axial); pre-LN and its final norm; the causal forms of local and random attention, which
  Longformer's and BigBird's released models lack; and what the kinds' files say.
- From Reformer: the causal form hides scores rather than sorting, because sorted chunks are not causal; sorted chunks
  see both neighbours; and one softmax over all rounds. No reversible layers.
- From Performer: features are never drawn again in training; nothing is added to keep them from 0.
- From ALBERT: word vectors are as wide as the states, and there is no sentence-order task.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.heads.masked_lm import MaskedLMHead
from hf_lecture_models.base.modeling import LayeredPreTrainedModel
from hf_lecture_models.base.stateful_text import StatefulTextModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.drawn_buffers import DrawnBuffers
from hf_lecture_models.layers.efficient_attention import EfficientAttention, Rows
from hf_lecture_models.layers.hashing_attention import BidirectionalHashingAttention, CausalHashingAttention
from hf_lecture_models.layers.hierarchical_attention import (
    BidirectionalHierarchicalAttention,
    CausalHierarchicalAttention,
)
from hf_lecture_models.layers.linear_attention import BidirectionalLinearAttention, CausalLinearAttention
from hf_lecture_models.layers.local_attention import BidirectionalLocalAttention, CausalLocalAttention
from hf_lecture_models.layers.low_rank_attention import LowRankAttention
from hf_lecture_models.layers.performer_attention import BidirectionalPerformerAttention, CausalPerformerAttention
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.positions import LearnedPositions, SinusoidalPositions
from hf_lecture_models.layers.random_attention import BidirectionalRandomAttention, CausalRandomAttention
from hf_lecture_models.layers.recurrent_cache import State
from hf_lecture_models.layers.token_positions import check_positions
from hf_lecture_models.models.efficient_transformer.configuration_efficient_transformer import (
    EfficientTransformerConfig,
)

AttentionMaker = Callable[..., EfficientAttention]

ATTENTION_KINDS: dict[str, tuple[AttentionMaker | None, AttentionMaker]] = {
    "local": (CausalLocalAttention, BidirectionalLocalAttention),
    "random": (CausalRandomAttention, BidirectionalRandomAttention),
    "hierarchical": (CausalHierarchicalAttention, BidirectionalHierarchicalAttention),
    "low_rank": (None, LowRankAttention),
    "linear": (CausalLinearAttention, BidirectionalLinearAttention),
    "performer": (CausalPerformerAttention, BidirectionalPerformerAttention),
    "hashing": (CausalHashingAttention, BidirectionalHashingAttention),
}
"""The causal and the bidirectional form of each kind; None where there is none."""


def attention_sizes(config: EfficientTransformerConfig, layer: int) -> dict[str, int]:
    """Return what the attention of a layer is built with, beside its width and heads."""
    seed, longest = config.pattern_seed + layer, config.max_position_embeddings
    local = {"window_size": config.window_size, "num_sentinels": config.num_sentinels}
    hashing = {"num_hashes": config.num_hashes, "num_buckets": config.num_buckets, "seed": seed}
    if config.bidirectional:
        hashing["chunk_size"] = config.block_size
    return {
        "local": local,
        "random": {**local, "num_random_blocks": config.num_random_blocks, "longest": longest, "seed": seed},
        "hierarchical": {"block_size": config.block_size},
        "low_rank": {"projected_length": config.projected_length, "longest": longest},
        "linear": {},
        "performer": {"num_features": config.num_random_features, "seed": seed},
        "hashing": hashing,
    }[config.attention_kind]


class EfficientTransformerBlock(GradientCheckpointingLayer):
    """n = h + Attention(LN_1(h)); h' = n + FFN(LN_2(n))."""

    def __init__(self, config: EfficientTransformerConfig, layer: int):
        super().__init__()
        width = config.hidden_size
        self.attention_norm = nn.LayerNorm(width)
        make: Any = ATTENTION_KINDS[config.attention_kind][config.bidirectional]
        self.self_attn = make(width, config.num_attention_heads, **attention_sizes(config, layer))
        self.ffn_norm = nn.LayerNorm(width)
        self.ffn = PositionWise(width, config.intermediate_size or 4 * width, ACTIVATIONS[config.hidden_act]())
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, rows: Rows, state: State | None = None) -> tuple[Tensor, State | None]:
        """Return the next state h', (batch, seq, hidden), and what later calls need."""
        attended, state = self.self_attn(self.attention_norm(hidden), rows, state)
        n = hidden + self.dropout(attended)
        return n + self.dropout(self.ffn(self.ffn_norm(n))), state


class EfficientTransformerPreTrainedModel(LayeredPreTrainedModel):
    """The base class of all Transformers with efficient attention."""

    config: EfficientTransformerConfig
    _is_stateful = True

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load, and check the saved patterns (`LecturePreTrainedModel.from_pretrained`).

        Raises:
            ValueError: a saved pattern is not one of this configuration.
        """
        loaded = super().from_pretrained(*args, **kwargs)
        for module in (loaded[0] if isinstance(loaded, tuple) else loaded).modules():
            if isinstance(module, DrawnBuffers):
                module.check_drawn()
        return loaded


class EfficientTransformerModel(StatefulTextModel, EfficientTransformerPreTrainedModel):
    """Word vectors with positions, and a stack of blocks, or one block used several times.

    Causal models keep in `past_key_values`, a `RecurrentCache`, what their kind of attention needs: a window and the
    sentinels (local), sums of one size (linear, performer), or all keys and values (random, hierarchical, hashing).

    >>> config = EfficientTransformerConfig(vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=2)
    >>> EfficientTransformerModel(config)(torch.tensor([[3, 1, 4]])).last_hidden_state.shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, config: EfficientTransformerConfig):
        config.check_direction(type(self).__name__, config.bidirectional)
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_encoding = (
            LearnedPositions(config.max_position_embeddings, config.hidden_size)
            if config.position_encoding == "learned"
            else SinusoidalPositions(config.hidden_size)
        )
        self.dropout = nn.Dropout(config.dropout)
        blocks = 1 if config.share_layers else config.num_hidden_layers
        self.layers = nn.ModuleList(EfficientTransformerBlock(config, layer) for layer in range(blocks))
        self.final_norm = nn.LayerNorm(config.hidden_size)
        self.post_init()

    def state_shapes(self, batch: int) -> list[list[tuple[int, ...]]]:
        """Return those of each use of a block."""
        block: Any = self.layers[0]
        return [block.self_attn.state_shapes(batch)] * self.config.num_hidden_layers

    def read(
        self, words: Tensor, mask: Tensor | None, states: list[State | None]
    ) -> tuple[Tensor, list[State | None] | None]:
        """Return LN(I_K) of each token, 0 at padding, and what each block needs of the texts so far."""
        batch, seq, _ = words.shape
        real = torch.ones(batch, seq, dtype=torch.bool, device=words.device) if mask is None else mask
        seen = torch.zeros(batch, dtype=torch.long, device=words.device) if states[0] is None else states[0][-1]
        rows = Rows.of(real, seen, padded=mask is not None)
        if self.longest_input is not None and (seq > self.longest_input or states[0] is not None):
            check_positions(rows.positions, self.longest_input)
        hidden, _ = self.position_encoding(words, rows.positions, rows.positions)
        hidden, after = self.dropout(hidden), []
        for use, state in enumerate(states):
            block = self.layers[0 if self.config.share_layers else use]
            hidden, state = block(hidden, rows, state)
            after.append(state)
        hidden = self.final_norm(hidden).masked_fill(~real[..., None], 0.0)
        return hidden, None if self.config.bidirectional else after


class EfficientTransformerForCausalLM(CausalLMHead, EfficientTransformerPreTrainedModel, GenerationMixin):
    """The language model: the next token's probability from those that its attention sees up to this one.

    >>> config = EfficientTransformerConfig(vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=2)
    >>> EfficientTransformerForCausalLM(config)(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 3, 9])
    """

    base_model_class = EfficientTransformerModel

    def add_layers(self, config: EfficientTransformerConfig) -> None:
        """Build `lm_head`."""
        config.check_direction(type(self).__name__, bidirectional=False)
        super().add_layers(config)


class EfficientTransformerForMaskedLM(MaskedLMHead, EfficientTransformerPreTrainedModel):
    """Masked tokens, predicted from both sides; its configuration, a copy of the one given, says `bidirectional`.

    >>> config = EfficientTransformerConfig(vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=2)
    >>> EfficientTransformerForMaskedLM(config)(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 3, 9])
    """

    base_model_class = EfficientTransformerModel

    def __init__(self, config: EfficientTransformerConfig):
        config = deepcopy(config)
        config.bidirectional = True
        super().__init__(config)
        self.model = EfficientTransformerModel(config)
        self.add_layers(config)
        self.post_init()
