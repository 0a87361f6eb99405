# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The padded multi-layer perceptron: a text is filled up with zeros to one length, and read by a network at once.

Slides R:309-327 (texts of unequal length, zero-padded up to the longest), R:76-97 (the codings τ of a token) and
R:670-684 (trained word vectors in their place). No paper is on the slides.

For the words w_1, ..., w_L of a text X with L <= M, and M zero vectors to draw from,

    X̂ = (u_1, ..., u_L, 0, ..., 0) in R^{M n},   u_l in R^n the input of w_l         (slide R:321)
    h_1 = A_1 X̂ + b_1,   h_k = A_k σ(h_{k-1}) + b_k,  k = 2, ..., K                  `PaddedMlpModel` returns σ(h_K)
    f(X) = A σ(h_K) + b,   P(class k | X) = softmax(f(X))_k

M is `max_position_embeddings`: it must be specified, and a longer text is an error. u_l is `input_coding`'s

    one_hot   τ(w) in R^V, 1 at the id of w and 0 elsewhere (slide R:95): n = V
    integer   τ(w) in R, the number of w (slide R:80): n = 1

or, with `embedding_size` n, a trained vector E τ(w) in R^n. A_1 holds weights for every pair of a place and an input:
M n m_1 numbers, which grow with the maximum length ("does not scale well for long sequences", slide R:326), and what is
learnt of a word at one place says nothing of it at another. `modeling_layer_per_input.py` is the next slide's answer.

A tokenizer's padding, on either side, `<s>` and `</s>` are no words: the first word is u_1, whatever stands before it.

Deviations:
- The slide draws inputs up to the longest text of three; a model must know M before it is trained, and says it.
- The slide's integers 1, 2, ... are divided by vocab_size: plain numbers run into the ten thousands, where no common
  learning rate fits. 0 is padding.
- The network behind the padded text, its σ, dropout and initial values are on no slide. Word vectors and the classifier
  start normal, A_k and b_k uniform within 1/sqrt(inputs), torch's rule; the inputs of A_1 are counted as M n.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from hf_lecture_models.base.heads.sequence_classification import SequenceClassificationHead
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.base.word_inputs import WordInputs
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.input_codings import CODINGS, zero_pad
from hf_lecture_models.layers.inputs import look_up, token_ids
from hf_lecture_models.models.padded_mlp.configuration_padded_mlp import PaddedMlpConfig, WordSequenceConfig


class WordSequencePreTrainedModel(WordInputs, LecturePreTrainedModel):
    """What the padded perceptron and one input per layer share: a maximum length, and the inputs u_l."""

    base_model_prefix = "model"
    embed_tokens: nn.Module
    dropout: nn.Module

    @property
    def longest_input(self) -> int:
        """Tokens that are read in any case. `<s>` and `</s>` need no place, so that a word or two more may fit."""
        return self.config.max_position_embeddings

    def word_inputs(self, input_ids: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """u (batch, seq, n), zeros where no word is, and which tokens are words, (batch, seq) bool."""
        ids = token_ids(input_ids, allow_empty=True)
        words = self.is_word(ids, attention_mask)
        u = self.dropout(look_up(self.embed_tokens, ids).to(self.dtype))
        return u.where(words.unsqueeze(-1), 0.0), words

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Linear) and module is not getattr(self, "classifier", None):
            init.uniform_(module.weight, -(bound := module.in_features**-0.5), bound)
            init.uniform_(module.bias, -bound, bound)


def input_layer(config: WordSequenceConfig) -> nn.Module:
    """From ids (batch, seq) to u (batch, seq, n)."""
    if config.embedding_size is not None:
        return nn.Embedding(config.vocab_size, config.embedding_size)
    return CODINGS[config.input_coding](config.vocab_size)


class PaddedMlpPreTrainedModel(WordSequencePreTrainedModel):
    """What the padded perceptrons share."""

    config: PaddedMlpConfig
    config_class = PaddedMlpConfig


class PaddedMlpModel(PaddedMlpPreTrainedModel):
    """The text's vector σ(h_K).

    `forward` reads ids (batch, seq); a row without words is M zero vectors. In `attention_mask` (batch, seq) 1 is a
    real token; without one, all are real. The configuration's `bos_token_id`, `eos_token_id` and `pad_token_id` are
    left out either way. More than `max_position_embeddings` words in a row are an error.

    It returns `pooler_output` (batch, last hidden size), the text's vector, and `last_hidden_state` (batch, seq, n),
    the inputs u_l where their words stand, 0 elsewhere. On request `hidden_states` holds these alone: the layers read
    the whole text.

    >>> model = PaddedMlpModel(PaddedMlpConfig(vocab_size=9, max_position_embeddings=5, hidden_sizes=[4]))
    >>> outputs = model(torch.tensor([[3, 1]]))
    >>> outputs.pooler_output.shape, outputs.last_hidden_state.shape
    (torch.Size([1, 4]), torch.Size([1, 2, 9]))
    """

    def __init__(self, config: PaddedMlpConfig):
        super().__init__(config)
        self.embed_tokens = input_layer(config)
        self.dropout = nn.Dropout(config.dropout)
        layers: list[nn.Module] = []
        for before, width in pairwise([config.padded_size, *config.hidden_sizes]):
            layers += [nn.Linear(before, width), ACTIVATIONS[config.hidden_act](), nn.Dropout(config.dropout)]
        self.layers = nn.Sequential(*layers[:-1])  # the head has a dropout of its own
        self.post_init()

    @model_forward
    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: bool
    ) -> BaseModelOutputWithPooling:
        """Fill up with zeros, and read all at once."""
        u, words = self.word_inputs(input_ids, attention_mask)
        padded = zero_pad(u, words, self.config.max_position_embeddings).flatten(1)  # (batch, M n)
        return BaseModelOutputWithPooling(
            u, self.layers(padded), self.shown_states(kwargs.get("output_hidden_states"), u)
        )


class PaddedMlpForSequenceClassification(SequenceClassificationHead, PaddedMlpPreTrainedModel):
    """The classifier f(X) = A σ(h_K) + b.

    >>> config = PaddedMlpConfig(vocab_size=9, max_position_embeddings=5, num_labels=3)
    >>> PaddedMlpForSequenceClassification(config)(torch.tensor([[3, 1], [1, 3]])).logits.shape
    torch.Size([2, 3])
    """

    base_model_class = PaddedMlpModel

    def __init__(self, config: PaddedMlpConfig):
        super().__init__(config)
        self.model = PaddedMlpModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_sizes[-1], config.num_labels)
        self.post_init()

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """The text's vector: (batch, last hidden size)."""
        return outputs.pooler_output
