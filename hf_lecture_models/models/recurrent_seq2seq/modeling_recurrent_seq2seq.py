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

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import ModelOutput

from hf_lecture_models.base.encoder_decoder import EncoderDecoderModel, checked_source
from hf_lecture_models.base.heads.seq2seq_lm import Seq2SeqLMHead
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.inputs import input_vectors, padding_mask
from hf_lecture_models.layers.recurrent_layer import KERNELS, RecurrentLayer
from hf_lecture_models.models.recurrent_seq2seq.configuration_recurrent_seq2seq import RecurrentSeq2SeqConfig
from hf_lecture_models.models.recurrent_seq2seq.modeling_recurrent_decoder import (
    DECODERS,
    RecurrentSeq2SeqPreTrainedModel,
)


@dataclass
class RecurrentEncoderOutput(ModelOutput):
    """The encoder's outputs.

    Attributes:
        last_hidden_state: (batch, source, source_size), h_j at each token in the source's order; zeros at padding.
        last_states: (batch, num_hidden_layers, 1 or 2, source_size): each layer's h, and an LSTM's c, after the whole
            source; in two directions [h→_J; h←_1].
    """

    last_hidden_state: Tensor | None = None
    last_states: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class EncoderLayer(GradientCheckpointingLayer):
    """h_j = q(h_{j-1}, x_j), from the first token on, from the last one back, or both."""

    def __init__(self, config: RecurrentSeq2SeqConfig, input_size: int):
        super().__init__()
        kernel, sizes = KERNELS[config.cell_type], (input_size, config.hidden_size)
        both, back = config.bidirectional_encoder, config.reverse_source
        self.forwards = None if back else RecurrentLayer(kernel(*sizes, batch_first=True))
        self.backwards = RecurrentLayer(kernel(*sizes, batch_first=True)) if both or back else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """(batch, source, input_size) -> the outputs (batch, source, source_size), and `last_states` of this layer."""
        outputs, last = [], []
        if self.forwards is not None:
            ahead, state = self.forwards(hidden, None, mask)
            outputs, last = [ahead], [torch.stack(state, 1)]
        if self.backwards is not None:
            # In the flipped row the last real token comes first, after any padding.
            back, state = self.backwards(hidden.flip(1), None, None if mask is None else mask.flip(1))
            outputs, last = [*outputs, back.flip(1)], [*last, torch.stack(state, 1)]
        return self.dropout(torch.cat(outputs, -1)), torch.cat(last, -1)


class RecurrentEncoder(RecurrentSeq2SeqPreTrainedModel):
    """Word vectors and a stack of layers, which read the source in one direction or in both."""

    def __init__(self, config: RecurrentSeq2SeqConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.input_size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList([EncoderLayer(config, config.input_size)])
        for _ in range(config.num_hidden_layers - 1):
            self.layers.append(EncoderLayer(config, config.source_size))
        self.post_init()

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: bool,
    ) -> RecurrentEncoderOutput:
        """Read sources (batch, source), whose real tokens `attention_mask` marks with 1."""
        hidden = self.dropout(input_vectors(self.embed_tokens, input_ids, inputs_embeds))
        mask, last = padding_mask(attention_mask, hidden), []
        for layer in self.layers:
            hidden, states = layer(hidden, mask)
            last.append(states)
        return RecurrentEncoderOutput(hidden, torch.stack(last, 1))


class RecurrentSeq2SeqModel(EncoderDecoderModel, RecurrentSeq2SeqPreTrainedModel):
    """Encoder and decoder without the layer that predicts words.

    `EncoderDecoderModel` says what `forward` reads. It returns t_i as `last_hidden_state` (batch, target, hidden_size),
    the decoder's state as `past_key_values`, the encoder's states h_j as `encoder_last_hidden_state` (batch, source,
    source_size), and with `output_attentions` the weights α as `cross_attentions`, a tuple of one tensor (batch, 1,
    target, source).

    >>> model = RecurrentSeq2SeqModel(RecurrentSeq2SeqConfig(vocab_size=9, hidden_size=4, attention_type="dot"))
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

    >>> ids = {"decoder_start_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    >>> config = RecurrentSeq2SeqConfig(vocab_size=9, hidden_size=4, attention_type="additive", **ids)
    >>> model = RecurrentSeq2SeqForConditionalGeneration(config)
    >>> loss = model(torch.tensor([[3, 5, 4]]), labels=torch.tensor([[6, 2]])).loss
    >>> model.generate(torch.tensor([[3, 5, 4]]), num_beams=2, min_new_tokens=4, max_new_tokens=4).shape
    torch.Size([1, 5])
    """

    base_model_class = RecurrentSeq2SeqModel
