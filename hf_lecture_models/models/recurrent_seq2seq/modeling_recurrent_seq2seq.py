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

Stacked, each layer reads the one below, layer k of the decoder starts where layer k of the encoder ended, h_j is the
last layer's and s_i in t_i too; c_i is made from, and read by, the decoder's first layer, but in "dot" from the last.
Dropout acts on the word vectors and on each layer's outputs.

Deviations:
- From the slides: N s25 adds the attention to the output, W_o s_i + V_o c_i; here, as in Luong et al., tanh(W_c [c; s])
  stands between. The softmax acts on logits, without bounds on them (N s19).
- From Cho et al. and Bahdanau et al.: any cell, their GRU with the reset gate after the matrix (`recurrent_cells.py`).
  What is said of s_0 holds of an LSTM's cell state too. Bahdanau et al. have s_0 = tanh(W_s h←_1).
- From Luong et al.: the h_j of a bidirectional encoder are twice as wide as s_i, and scored by their "general",
  s_i · W_a h_j. No input feeding, no local attention.
- From Sutskever et al.: `reverse_source` turns round all real tokens, special ones too.
- Weights start normal, recurrent ones uniform within 1/sqrt(hidden_size); forget gates have no extra bias.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import Seq2SeqModelOutput

from hf_lecture_models.base.heads.seq2seq_lm import Seq2SeqLMHead
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent_seq2seq.configuration_recurrent_seq2seq import RecurrentSeq2SeqConfig
from hf_lecture_models.models.recurrent_seq2seq.modeling_recurrent_decoder import DECODERS
from hf_lecture_models.models.recurrent_seq2seq.modeling_recurrent_encoder import (
    RecurrentEncoder,
    RecurrentEncoderOutput,
    RecurrentSeq2SeqPreTrainedModel,
)


class RecurrentSeq2SeqModel(RecurrentSeq2SeqPreTrainedModel):
    """Encoder and decoder without the layer that predicts words.

    It returns t_i as `last_hidden_state` (batch, target, hidden_size), the decoder's state as `past_key_values`, the
    encoder's states h_j as `encoder_last_hidden_state` (batch, source, source_size), and with `output_attentions` the
    weights α as `cross_attentions`, a tuple of one tensor (batch, 1, target, source).

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
        self.gradient_checkpointing = False
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The source's word vectors; with one vocabulary, the target's too."""
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Put others in their place."""
        self.encoder.embed_tokens = value  # type: ignore[assignment]

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: RecurrentEncoderOutput | tuple[Tensor, ...] | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: bool,
    ) -> Seq2SeqModelOutput:
        """Read the source, unless `encoder_outputs` are given, and the target."""
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask, inputs_embeds, return_dict=True, **kwargs)
        encoded = _of_this_encoder(encoder_outputs)
        embeds = self._target_vectors(decoder_input_ids, decoder_inputs_embeds, encoded)
        outputs = self.decoder(
            embeds,
            encoded,
            encoder_attention_mask=attention_mask,
            attention_mask=decoder_attention_mask,
            past_key_values=past_key_values,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=outputs.last_hidden_state,
            past_key_values=outputs.past_key_values,
            decoder_hidden_states=outputs.hidden_states,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.hidden_states,
        )

    def _target_vectors(
        self, decoder_input_ids: Tensor | None, embeds: Tensor | None, source: RecurrentEncoderOutput
    ) -> Tensor:
        words = self.encoder if self.config.decoder_vocab_size is None else self.decoder
        vectors = input_vectors(words.embed_tokens, decoder_input_ids, embeds, "decoder_")
        sources = 0 if source.last_hidden_state is None else source.last_hidden_state.shape[0]
        if vectors.shape[0] != sources:
            raise ValueError(
                f"decoder_input_ids has {vectors.shape[0]} row(s), but the source {sources}: give each a target"
            )
        return vectors


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

    def __init__(self, config: RecurrentSeq2SeqConfig):
        super().__init__(config)
        self.model = RecurrentSeq2SeqModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.target_vocab_size)
        words = "encoder" if config.decoder_vocab_size is None else "decoder"
        self._tied_weights_keys = {"lm_head.weight": f"model.{words}.embed_tokens.weight"}
        self.post_init()


def _of_this_encoder(outputs: Any) -> RecurrentEncoderOutput:
    if isinstance(outputs, tuple):
        outputs = RecurrentEncoderOutput(*outputs[:2])
    if outputs.get("last_states") is None:
        raise ValueError(
            "encoder_outputs must be what model.get_encoder()(input_ids, attention_mask) returns: the decoder starts "
            "from its last_states"
        )
    return outputs
