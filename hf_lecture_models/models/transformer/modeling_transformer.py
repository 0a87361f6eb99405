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

    or no p, and in Attention and Masked a_t = softmax_s(q_t · k_s + b[bucket(t - s)]), in Cross softmax_s(q_t · k_s)

The last line is T5's (Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
Transformer", JMLR 2020), with one table b for each stack (`layers/positions.py`).

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
- From T5: norms and biases are as above, not RMSNorm and none. First queries are smaller by √head_dim, as there.
- Padding takes no position, on either side.
"""

from typing import Any

from torch import Tensor
from transformers.generation import GenerationMixin

from hf_lecture_models.base.encoder_decoder import EncoderDecoderModel
from hf_lecture_models.base.heads.seq2seq_lm import Seq2SeqLMHead
from hf_lecture_models.models.transformer.configuration_transformer import LectureTransformerConfig
from hf_lecture_models.models.transformer.modeling_transformer_stacks import (
    LectureTransformerPreTrainedModel,
    TransformerDecoder,
    TransformerEncoder,
)


class LectureTransformerModel(EncoderDecoderModel, LectureTransformerPreTrainedModel):
    """Encoder and decoder; `EncoderDecoderModel` has the arguments of `forward`.

    `past_key_values` is an `EncoderDecoderCache` of the target's keys and values and of the source's.

    >>> import torch
    >>> model = LectureTransformerModel(LectureTransformerConfig(hidden_size=8))
    >>> model(torch.tensor([[3, 1, 4, 2]]), decoder_input_ids=torch.tensor([[0, 5]])).last_hidden_state.shape
    torch.Size([1, 2, 8])
    """

    def __init__(self, config: LectureTransformerConfig):
        super().__init__(config)
        self.encoder, self.decoder = TransformerEncoder(config), TransformerDecoder(config)
        if config.decoder_vocab_size is None:
            self._tied_weights_keys = {"decoder.embed_tokens.weight": "encoder.embed_tokens.weight"}
        self.post_init()

    def decode(self, encoded: Any, source_mask: Tensor | None, **target: Any) -> Any:
        """Return the decoder's outputs for targets whose sources are e, `encoded`."""
        e = encoded.last_hidden_state
        return self.decoder(encoder_hidden_states=e, encoder_attention_mask=source_mask, **target)


class LectureTransformerForConditionalGeneration(Seq2SeqLMHead, LectureTransformerPreTrainedModel, GenerationMixin):
    """Translation, or any text from a text: the next target token's probability.

    >>> import torch
    >>> config = LectureTransformerConfig(vocab_size=9, hidden_size=8, decoder_start_token_id=1, pad_token_id=0)
    >>> model = LectureTransformerForConditionalGeneration(config)
    >>> model(torch.tensor([[3, 1, 4, 2]]), labels=torch.tensor([[5, 2]])).logits.shape
    torch.Size([1, 2, 9])
    """

    base_model_class = LectureTransformerModel

    def add_layers(self, config: LectureTransformerConfig) -> None:
        """Build W and b; with one vocabulary, W is also the word vectors of source and target."""
        super().add_layers(config)
        if config.decoder_vocab_size is None:
            self._tied_weights_keys["model.decoder.embed_tokens.weight"] = "model.encoder.embed_tokens.weight"
