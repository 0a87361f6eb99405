# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Transformer, an encoder and a decoder of attention alone, and its model for translation.

Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3; slides R:772-934, N s27-58. Pre-LN: Xiong et al.,
"On layer normalization in the Transformer architecture", ICML 2020.

With source tokens x_1 ... x_m and target tokens y_0 ... y_n, y_0 the start, and K blocks each:

    e_s = √d w_{x_s} + p_s,  h_t = √d w_{y_t} + p_t                  d = hidden_size; the vectors w are shared
    encoder block    n = LN_1(e + Attention(e)),  e ← LN_2(n + FFN(n))
    decoder block    n = LN_1(h + Masked(h)),  c = LN_2(n + Cross(n, e)),  h ← LN_3(c + FFN(c))
    P(y_{t+1} | x, y_0 ... y_t) = softmax(W h_t + b)                 W: the vectors w of the target

    Attention, Masked, Cross: o_t = W_o [Σ_s a_t[s] v_s of each head] + b_o,  a_t = softmax_s(q_t · k_s / √head_dim)
    Attention: all s of the source; Masked: s ≤ t of the target; Cross: q_t of the target, k_s and v_s of the source
    FFN(n) = W_2 φ(W_1 n + b_1) + b_2                                φ: ReLU; GELU, SiLU or Swish_β (slides R:878-882)
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

    or x_t = Σ_s T[t, s] e_s, T trained; in Cross q_t = U_q x_t, k_s = U_k x_s, s ≤ t, v_s = U_v n_s (slides N s44-46)

These are post-LN, the paper's. Pre-LN: each sublayer f is n = h + f(LN(h)) in the place of LN(h + f(h)), and one more
LN follows the last block. Dropout acts on the first e and h and on what each sublayer adds (5.4).

Deviations:
- From the slides: N s41 has a mask of n × d; it is n × n, and is added before the softmax. N s47 flattens the decoder's
  output; here one matrix reads each position. N s50 leaves padding in as zeros, which would still weigh exp(0): it is
  masked. R:912 counts sinusoids from k = 1; they begin with 0.
- From N s44-46, which states no mask: without one, a word would see the words behind it, and so itself. With s ≤ t the
  first prediction cannot depend on the source. T is one table of the longest lengths for all blocks, sliced.
- Not in the paper: the output's b, which Marian's checkpoints have; learned positions (its table 3) beside sinusoids;
  dropout of the weights a_t, off unless asked for (`attention_dropout`).
- The paper does not say how weights start: matrices as Glorot & Bengio (2010) have it, uniform, and word vectors normal
  with variance 1/d, so that those of √d w are 1.
- Padding takes no position, on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqModelOutput,
)
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.seq2seq_lm import Seq2SeqLMHead
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.layers.activations import ACTIVATIONS, Swish
from hf_lecture_models.layers.attention import AttentionKernel, BidirectionalSelfAttention, CausalSelfAttention
from hf_lecture_models.layers.attention_kernels import bidirectional_attention, causal_attention
from hf_lecture_models.layers.cross_attention import CrossAttention, LengthTransform, SourceQueryKeyAttention
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.positions import LearnedPositions, SinesFirstPositions, SinusoidalPositions
from hf_lecture_models.layers.token_positions import bounded_positions
from hf_lecture_models.models.transformer.configuration_transformer import LectureTransformerConfig

POSITION_ENCODINGS: dict[str, Callable[[LectureTransformerConfig], nn.Module]] = {
    # The word vectors that these get are multiplied by √d already, if they are to be.
    "sinusoidal": lambda config: SinusoidalPositions(config.hidden_size, factor=1.0),
    "sines_first": lambda config: SinesFirstPositions(config.hidden_size, factor=1.0),
    "learned": lambda config: LearnedPositions(config.max_position_embeddings, config.hidden_size),
}


class EncoderBlock(GradientCheckpointingLayer):
    """The parts of an encoder block; how they are wired is for the two classes below to say."""

    def __init__(self, config: LectureTransformerConfig):
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.self_attn = BidirectionalSelfAttention(width, config.num_attention_heads, config.attention_dropout)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.dropout)


class PostNormEncoderBlock(EncoderBlock):
    """n = LN_1(e + Attention(e)); e = LN_2(n + FFN(n))."""

    def forward(self, hidden: Tensor, attention: AttentionKernel) -> Tensor:
        """The next state, (batch, source, hidden)."""
        n = self.attention_norm(hidden + self.dropout(self.self_attn(hidden, attention)[0]))
        return self.ffn_norm(n + self.dropout(self.ffn(n)))


class PreNormEncoderBlock(EncoderBlock):
    """n = e + Attention(LN_1(e)); e = n + FFN(LN_2(n))."""

    def forward(self, hidden: Tensor, attention: AttentionKernel) -> Tensor:
        """The next state, (batch, source, hidden)."""
        n = hidden + self.dropout(self.self_attn(self.attention_norm(hidden), attention)[0])
        return n + self.dropout(self.ffn(self.ffn_norm(n)))


class DecoderBlock(GradientCheckpointingLayer):
    """The parts of a decoder block; how they are wired is for the two classes below to say."""

    def __init__(self, config: LectureTransformerConfig, layer_index: int):
        super().__init__()
        width, eps, dropout = config.hidden_size, config.layer_norm_eps, config.attention_dropout
        heads = config.decoder_attention_heads or config.num_attention_heads
        self.self_attn = CausalSelfAttention(width, heads, dropout, layer_index)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.cross_attn: nn.Module = CrossAttention(width, heads, dropout, layer_index)
        if config.cross_attention == "source_query_key":
            # Its keys and values are the target's, and are kept behind those of all blocks' masked attention.
            kept = layer_index + (config.decoder_layers or config.num_hidden_layers)
            self.cross_attn = SourceQueryKeyAttention(width, heads, dropout, kept)
        self.cross_attention_norm = nn.LayerNorm(width, eps)
        inner = config.decoder_ffn_dim or config.intermediate_size
        self.ffn = PositionWise(width, inner, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.dropout)


class PostNormDecoderBlock(DecoderBlock):
    """n = LN_1(h + Masked(h)); c = LN_2(n + Cross(n, source)); h = LN_3(c + FFN(c))."""

    def forward(
        self,
        hidden: Tensor,
        masked: AttentionKernel,
        source: Tensor,
        cross: AttentionKernel,
        past_key_values: EncoderDecoderCache | None = None,
    ) -> Tensor:
        """The next state, (batch, target, hidden); `source` is (batch, source, hidden)."""
        n = self.attention_norm(hidden + self.dropout(self.self_attn(hidden, masked, target_cache(past_key_values))[0]))
        c = self.cross_attention_norm(n + self.dropout(self.cross_attn(n, source, cross, past_key_values)[0]))
        return self.ffn_norm(c + self.dropout(self.ffn(c)))


class PreNormDecoderBlock(DecoderBlock):
    """n = h + Masked(LN_1(h)); c = n + Cross(LN_2(n), source); h = c + FFN(LN_3(c))."""

    def forward(
        self,
        hidden: Tensor,
        masked: AttentionKernel,
        source: Tensor,
        cross: AttentionKernel,
        past_key_values: EncoderDecoderCache | None = None,
    ) -> Tensor:
        """The next state, (batch, target, hidden); `source` is (batch, source, hidden)."""
        normed = self.attention_norm(hidden)
        n = hidden + self.dropout(self.self_attn(normed, masked, target_cache(past_key_values))[0])
        normed = self.cross_attention_norm(n)
        c = n + self.dropout(self.cross_attn(normed, source, cross, past_key_values)[0])
        return c + self.dropout(self.ffn(self.ffn_norm(c)))


ENCODER_BLOCKS: dict[str, type[EncoderBlock]] = {"post": PostNormEncoderBlock, "pre": PreNormEncoderBlock}
DECODER_BLOCKS: dict[str, type[DecoderBlock]] = {"post": PostNormDecoderBlock, "pre": PreNormDecoderBlock}


def target_cache(cache: EncoderDecoderCache | None) -> Cache | None:
    """Keys and values of the target, of a cache that has those of the source beside them."""
    return None if cache is None else cache.self_attention_cache


class LectureTransformerPreTrainedModel(LecturePreTrainedModel):
    """What encoder, decoder, and the models of both share."""

    config: LectureTransformerConfig
    config_class = LectureTransformerConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flex_attn = True
    _can_compile_fullgraph = True
    _no_split_modules = [cls.__name__ for cls in (*ENCODER_BLOCKS.values(), *DECODER_BLOCKS.values())]
    # Marian's sinusoids, which are computed here.
    _keys_to_ignore_on_load_unexpected = [r"(^|\.)(en|de)coder\.embed_positions\.weight$"]

    @property
    def longest_input(self) -> int | None:
        """Tokens of a source, or of a target, that the model can read: learned positions end, and so does T."""
        ends = self.config.position_encoding == "learned" or self.config.cross_attention == "source_query_key"
        return self.config.max_position_embeddings if ends else None

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Linear):
            init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=self.config.hidden_size**-0.5)
        elif isinstance(module, Swish):
            init.ones_(module.beta)
        elif isinstance(module, LengthTransform):
            init.eye_(module.weight)


class TransformerStack(LectureTransformerPreTrainedModel):
    """What encoder and decoder share: word vectors with positions, a stack of blocks, and pre-LN's last norm."""

    def __init__(self, config: LectureTransformerConfig, vocab_size: int, blocks: list[nn.Module]):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(vocab_size, config.hidden_size)
        self.word_factor = math.sqrt(config.hidden_size) if config.scale_embedding else 1.0
        self.position_encoding = POSITION_ENCODINGS[config.position_encoding](config)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(blocks)
        self.final_norm: nn.Module = nn.Identity()
        if config.norm_position == "pre":
            self.final_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.gradient_checkpointing = False
        self.post_init()

    def embed(
        self, ids: Tensor | None, embeds: Tensor | None, attention_mask: Tensor | None, cache: Cache | None = None
    ) -> Tensor:
        """√d w + p, (batch, seq, hidden), with dropout."""
        words = self.word_factor * input_vectors(self.embed_tokens, ids, embeds)
        positions = bounded_positions(words, attention_mask, self.longest_input, cache=cache)
        hidden, _ = self.position_encoding(words, positions, positions[:, None])
        return self.dropout(hidden)

    def weights_dropout(self) -> float:
        """Dropout probability of the attention weights in this call."""
        block: Any = self.layers[0]
        return block.self_attn.dropout.p if self.training else 0.0


class TransformerEncoder(TransformerStack):
    """Reads the source: ids or `inputs_embeds` (batch, source), and `attention_mask`, 1 = real token.

    It returns `last_hidden_state` (batch, source, hidden_size) and on request `hidden_states` and `attentions`.
    """

    _can_record_outputs = {"hidden_states": EncoderBlock, "attentions": BidirectionalSelfAttention}

    def __init__(self, config: LectureTransformerConfig):
        block = ENCODER_BLOCKS[config.norm_position]
        super().__init__(config, config.vocab_size, [block(config) for _ in range(config.num_hidden_layers)])

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        **kwargs: bool,
    ) -> BaseModelOutput:
        """Read the sources; to show attention weights, this call computes attention the eager way."""
        hidden = self.embed(input_ids, inputs_embeds, attention_mask)
        implementation = self.attention_implementation(output_attentions)
        dropout = self.weights_dropout()
        attention = bidirectional_attention(implementation, hidden, attention_mask, dropout=dropout)
        for layer in self.layers:
            hidden = layer(hidden, attention)
        return BaseModelOutput(last_hidden_state=self.final_norm(hidden))


class TransformerDecoder(TransformerStack):
    """Reads the target so far, ids or `inputs_embeds` (batch, target), and of the source what the encoder returned.

    It returns `last_hidden_state` (batch, target, hidden_size), `past_key_values`, and on request `hidden_states`,
    `attentions` (batch, heads, target, seen + target) and `cross_attentions` (batch, heads, target, source).
    """

    _can_record_outputs = {
        "hidden_states": DecoderBlock,
        "attentions": CausalSelfAttention,
        "cross_attentions": [CrossAttention, SourceQueryKeyAttention],
    }

    def __init__(self, config: LectureTransformerConfig):
        block, count = DECODER_BLOCKS[config.norm_position], config.decoder_layers or config.num_hidden_layers
        vocab_size = config.decoder_vocab_size or config.vocab_size
        super().__init__(config, vocab_size, [block(config, index) for index in range(count)])
        self.length_transform: LengthTransform | None = None
        if config.cross_attention == "source_query_key":
            self.length_transform = LengthTransform(config.max_position_embeddings)
            self.post_init()

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        **kwargs: bool,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Read the targets; to show attention weights, this call computes attention the eager way."""
        if encoder_hidden_states is None:
            raise ValueError("the decoder reads a source: give encoder_hidden_states, the encoder's last_hidden_state")
        if past_key_values is not None and not isinstance(past_key_values, EncoderDecoderCache):
            raise ValueError(
                f"past_key_values is a {type(past_key_values).__name__}; keys and values of target and source are "
                "needed, EncoderDecoderCache(DynamicCache(), DynamicCache())"
            )
        if use_cache and past_key_values is None:
            config = self.config.get_text_config(decoder=True)
            past_key_values = EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))
        seen = target_cache(past_key_values)
        hidden = self.embed(input_ids, inputs_embeds, attention_mask, seen)
        implementation = self.attention_implementation(output_attentions)
        dropout = self.weights_dropout()
        masked = causal_attention(implementation, hidden, attention_mask, seen, dropout=dropout)
        source, cross = encoder_hidden_states, masked
        if self.length_transform is None:
            cross = bidirectional_attention(implementation, hidden, encoder_attention_mask, source, dropout=dropout)
        else:
            places = (bounded_positions(source, encoder_attention_mask, self.longest_input),)
            places += (bounded_positions(hidden, attention_mask, self.longest_input, cache=seen),)
            source = self.length_transform(source, encoder_attention_mask, *places)
        for layer in self.layers:
            hidden = layer(hidden, masked, source, cross, past_key_values=past_key_values)
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=self.final_norm(hidden), past_key_values=past_key_values if use_cache else None
        )


class LectureTransformerModel(LectureTransformerPreTrainedModel):
    """Encoder and decoder.

    `forward` reads sources, ids (batch, source) or `inputs_embeds`, with `attention_mask`, 1 = real token; or
    `encoder_outputs` in their place. Of the targets it reads `decoder_input_ids` (batch, target), which begin with
    the start token, or `decoder_inputs_embeds`, with `decoder_attention_mask` (batch, seen + target); and goes on from
    `past_key_values`, an `EncoderDecoderCache` of the target's keys and values and of the source's.

    It returns a `Seq2SeqModelOutput`: `last_hidden_state` (batch, target, hidden_size), `past_key_values`,
    `encoder_last_hidden_state`, and on request `encoder_hidden_states`, `encoder_attentions`, `decoder_hidden_states`,
    `decoder_attentions` and `cross_attentions`.

    >>> shape = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2}
    >>> model = LectureTransformerModel(LectureTransformerConfig(**shape))
    >>> outputs = model(torch.tensor([[3, 1, 4, 2]]), decoder_input_ids=torch.tensor([[0, 5]]), output_attentions=True)
    >>> outputs.last_hidden_state.shape, outputs.cross_attentions[0].shape
    (torch.Size([1, 2, 4]), torch.Size([1, 2, 2, 4]))
    """

    def __init__(self, config: LectureTransformerConfig):
        super().__init__(config)
        self.encoder, self.decoder = TransformerEncoder(config), TransformerDecoder(config)
        if config.decoder_vocab_size is None:
            self._tied_weights_keys = {"decoder.embed_tokens.weight": "encoder.embed_tokens.weight"}
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The source's word vectors, which in a shared vocabulary are the target's too."""
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: Any) -> None:
        """Take other word vectors for the source; in a shared vocabulary, for both."""
        self.encoder.embed_tokens = value
        if self.config.decoder_vocab_size is None:
            self.decoder.embed_tokens = value

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: bool,
    ) -> Seq2SeqModelOutput:
        """Read the sources, unless what the encoder made of them is given, and the targets."""
        read: Any = encoder_outputs
        if read is None:
            read = self.encoder(input_ids, attention_mask, inputs_embeds, **kwargs)
        elif isinstance(read, tuple):
            read = BaseModelOutput(*read)
        outputs = self.decoder(
            decoder_input_ids,
            decoder_attention_mask,
            read.last_hidden_state,
            attention_mask,
            past_key_values,
            decoder_inputs_embeds,
            use_cache=use_cache,
            **kwargs,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=outputs.last_hidden_state,
            past_key_values=outputs.past_key_values,
            decoder_hidden_states=outputs.hidden_states,
            decoder_attentions=outputs.attentions,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=read.last_hidden_state,
            encoder_hidden_states=read.hidden_states,
            encoder_attentions=read.attentions,
        )


class LectureTransformerForConditionalGeneration(Seq2SeqLMHead, LectureTransformerPreTrainedModel, GenerationMixin):
    """Translation, or any text from a text: the next target token's probability.

    >>> shape = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2}
    >>> config = LectureTransformerConfig(**shape, decoder_start_token_id=1, pad_token_id=0)
    >>> model = LectureTransformerForConditionalGeneration(config)
    >>> model(torch.tensor([[3, 1, 4, 2]]), labels=torch.tensor([[5, 2]])).logits.shape
    torch.Size([1, 2, 9])
    """

    base_model_class = LectureTransformerModel
    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: LectureTransformerConfig):
        super().__init__(config)
        self.model = LectureTransformerModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.decoder_vocab_size or config.vocab_size)
        if config.decoder_vocab_size is None:
            shared = "model.encoder.embed_tokens.weight"
            self._tied_weights_keys = {"lm_head.weight": shared, "model.decoder.embed_tokens.weight": shared}
        self.post_init()
