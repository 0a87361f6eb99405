# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent encoder-decoders: one network reads a sentence, another writes its translation.

Sutskever, Vinyals & Le, "Sequence to sequence learning with neural networks", NIPS 2014 (the first state, reversed
sources); Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine translation",
EMNLP 2014 (the context at every step); Bahdanau, Cho & Bengio, "Neural machine translation by jointly learning to align
and translate", ICLR 2015, A.1.2 (additive attention); Luong, Pham & Manning, "Effective approaches to attention-based
neural machine translation", EMNLP 2015, equations 5-8 (dot attention). Slides R:1119-1136, N s16-26.

The encoder reads the source's word vectors x_1 ... x_J, the decoder the target's, y_0 the start token's:

    h_j = q(h_{j-1}, x_j), h_0 = 0                               (encoder; in two directions h_j = [h→_j; h←_j])
    s_0 = h_J                                                    (in two directions s_0 = tanh(W_s [h→_J; h←_1]))
    P(w_i | w_1 ... w_{i-1}, source) = softmax(W_o t_i + b_o)    (decoder)

where q is a recurrent function of `layers/recurrent_cells.py` (Elman, GRU, LSTM) and by `attention_type` and `context`

    none, first_state   s_i = q(s_{i-1}, y_{i-1}),  t_i = s_i
    none, every_step    c = tanh(V h_J),  s_0 = tanh(V' c),
                        s_i = q(s_{i-1}, [y_{i-1}; c]),  t_i = maxout(O [s_i; y_{i-1}; c])
    additive            e_ij = v_a · tanh(W_a s_{i-1} + U_a h_j),  α_i = softmax(e_i),  c_i = Σ_j α_ij h_j,
                        s_i = q(s_{i-1}, [y_{i-1}; c_i]),  t_i = maxout(O [s_i; y_{i-1}; c_i])
    dot                 s_i = q(s_{i-1}, y_{i-1}),  e_ij = s_i · h_j,  α_i = softmax(e_i),  c_i = Σ_j α_ij h_j,
                        t_i = tanh(W_c [c_i; s_i])

In a stack, each layer reads the one below, and layer k of the decoder starts from the last state of layer k of the
encoder. h_j, and s_i in t_i, are the last layer's. The decoder's first layer makes and reads c_i; in "dot" c_i is made
by the last. Dropout acts on the word vectors and on each layer's outputs.

Deviations:
- From the slides: N s25 adds the attention to the output, W_o s_i + V_o c_i; here the output layer reads
  tanh(W_c [c; s]), as in Luong et al. The softmax acts on logits without bounds (N s19 has bounds).
- From Cho et al. and Bahdanau et al.: any cell, their GRU with the reset gate after the matrix (`recurrent_cells.py`).
  An LSTM's first cell state is made like s_0. Bahdanau et al. have s_0 = tanh(W_s h←_1).
- From Luong et al.: the h_j of a bidirectional encoder are twice as wide as s_i, and scored by their "general",
  s_i · W_a h_j. There is neither input feeding nor local attention.
- From Sutskever et al.: `reverse_source` reverses all real tokens, special ones too.
- Weights start normal, recurrent ones uniform within 1/sqrt(hidden_size); forget gates have no extra bias.
"""

from typing import Any

from torch import Tensor
from transformers.generation import GenerationMixin

from hf_lecture_models.base.encoder_decoder import EncoderDecoderModel, checked_source
from hf_lecture_models.base.heads.seq2seq_lm import Seq2SeqLMHead
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.models.recurrent_seq2seq.configuration_recurrent_seq2seq import RecurrentSeq2SeqConfig
from hf_lecture_models.models.recurrent_seq2seq.modeling_recurrent_decoder import DECODERS
from hf_lecture_models.models.recurrent_seq2seq.modeling_recurrent_encoder import (
    RecurrentEncoder,
    RecurrentEncoderOutput,
    RecurrentSeq2SeqPreTrainedModel,
)


class RecurrentSeq2SeqModel(EncoderDecoderModel, RecurrentSeq2SeqPreTrainedModel):
    """Encoder and decoder without the layer that predicts words.

    `EncoderDecoderModel` says what `forward` reads. It returns t_i as `last_hidden_state` (batch, target, hidden_size),
    the decoder's state as `past_key_values`, the encoder's states h_j as `encoder_last_hidden_state` (batch, source,
    source_size), and with `output_attentions` the weights α as `cross_attentions`, a tuple of one tensor (batch, 1,
    target, source).

    >>> model = RecurrentSeq2SeqModel(RecurrentSeq2SeqConfig(vocab_size=9, hidden_size=4, attention_type="dot"))
    >>> import torch
    >>> source, target = torch.tensor([[3, 1, 4]]), torch.tensor([[0, 5]])
    >>> outputs = model(source, decoder_input_ids=target, output_attentions=True)
    >>> outputs.last_hidden_state.shape, outputs.cross_attentions[0].shape
    (torch.Size([1, 2, 4]), torch.Size([1, 1, 2, 3]))
    """

    def __init__(self, config: RecurrentSeq2SeqConfig):
        super().__init__(config)
        self.encoder = RecurrentEncoder(config)
        self.decoder = DECODERS[config.attention_type, config.context](config)
        self.post_init()

    def decode(self, encoded: Any, source_mask: Tensor | None, **target: Any) -> Any:
        """Return the decoder's outputs for the word vectors y of the target."""
        words = self.encoder if self.config.decoder_vocab_size is None else self.decoder
        y = input_vectors(words.embed_tokens, target.pop("input_ids"), target.pop("inputs_embeds"), "decoder_")
        checked_source(encoded.last_hidden_state, y)
        return self.decoder(y, encoded, encoder_attention_mask=source_mask, **target)

    def as_encoded(self, encoder_outputs: Any) -> RecurrentEncoderOutput:
        """Return `encoder_outputs` as this encoder returns them."""
        if isinstance(encoder_outputs, tuple):
            encoder_outputs = RecurrentEncoderOutput(*encoder_outputs[:2])
        if encoder_outputs.get("last_states") is None:
            raise ValueError(
                "encoder_outputs must be what model.get_encoder()(input_ids, attention_mask) returns: the decoder "
                "starts from its last_states"
            )
        return encoder_outputs


class RecurrentSeq2SeqForConditionalGeneration(Seq2SeqLMHead, RecurrentSeq2SeqPreTrainedModel, GenerationMixin):
    """The translator: P(w_i | w_1 ... w_{i-1}, source) = softmax(W_o t_i + b_o).

    >>> import torch
    >>> ids = {"decoder_start_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    >>> config = RecurrentSeq2SeqConfig(vocab_size=9, hidden_size=4, attention_type="additive", **ids)
    >>> model = RecurrentSeq2SeqForConditionalGeneration(config)
    >>> loss = model(torch.tensor([[3, 5, 4]]), labels=torch.tensor([[6, 2]])).loss
    >>> model.generate(torch.tensor([[3, 5, 4]]), num_beams=2, min_new_tokens=4, max_new_tokens=4).shape
    torch.Size([1, 5])
    """

    base_model_class = RecurrentSeq2SeqModel
