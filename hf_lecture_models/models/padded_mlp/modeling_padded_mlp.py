# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The padded multi-layer perceptron: a text is filled up with zeros to a fixed length, and read all at once.

Slides R:309-327 (texts of unequal length, zero-padded up to the longest), R:76-97 (the codings τ of a token) and
R:670-684 (trained word vectors in their place). No paper is on the slides.

For the words w_1, ..., w_L of a text X with L <= M, filled up with M - L zero vectors,

    X̂ = (u_1, ..., u_L, 0, ..., 0) in R^{M n},   u_l in R^n the input of w_l         (slide R:321)
    h_1 = A_1 X̂ + b_1,   h_k = A_k σ(h_{k-1}) + b_k,  k = 2, ..., K                  `PaddedMlpModel` returns σ(h_K)
    f(X) = A σ(h_K) + b,   P(class k | X) = softmax(f(X))_k

M is `max_position_embeddings`: it must be specified, and a longer text is an error. u_l is by `input_coding`

    one_hot   τ(w) in R^V, 1 at the id of w and 0 elsewhere (slide R:95): n = V
    integer   τ(w) in R, the number of w (slide R:80): n = 1

or, with `embedding_size` n, a trained vector E τ(w) in R^n. A_1 holds weights for every pair of a place and an input:
M n m_1 numbers, which grow with the maximum length ("does not scale well for long sequences", slide R:326), and what is
learnt of a word at one place says nothing of it at another. `modeling_layer_per_input.py` is the next slide's answer.

Padding on either side, `<s>` and `</s>` are left out: u_1 is the first word, whatever comes before it.

Deviations:
- The slide draws inputs up to the longest text of three; a model must know M before it is trained.
- The slide's integers 1, 2, ... are divided by vocab_size: plain numbers run into the ten thousands, where no common
  learning rate fits. 0 is padding.
- The slides do not give the network after the padded text, its σ, dropout and initial values. Word vectors and the
  classifier start normal, A_k and b_k uniform within 1/sqrt(inputs), torch's rule; A_1 has M n inputs.
"""

from itertools import pairwise

from torch import Tensor, nn

from hf_lecture_models.base.heads.classification import SequenceClassificationHead
from hf_lecture_models.base.word_inputs import WordInputsPreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.initial_weights import UniformLinear
from hf_lecture_models.layers.input_codings import CODINGS, zero_pad
from hf_lecture_models.models.padded_mlp.configuration_padded_mlp import PaddedMlpConfig, WordSequenceConfig


def input_layer(config: WordSequenceConfig) -> nn.Module:
    """From ids (batch, seq) to u (batch, seq, n)."""
    if config.embedding_size is not None:
        return nn.Embedding(config.vocab_size, config.embedding_size)
    return CODINGS[config.input_coding](config.vocab_size)


class PaddedMlpPreTrainedModel(WordInputsPreTrainedModel):
    """The base of both padded perceptrons."""

    config: PaddedMlpConfig


class PaddedMlpModel(PaddedMlpPreTrainedModel):
    """The text's vector σ(h_K).

    `pooler_output` (batch, last hidden size) is this vector; `last_hidden_state` (batch, seq, n) are the inputs u_l at
    their words, 0 elsewhere. A row of more than `max_position_embeddings` words is an error.

    >>> import torch
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
            layers += [UniformLinear(before, width), ACTIVATIONS[config.hidden_act](), nn.Dropout(config.dropout)]
        self.layers = nn.Sequential(*layers[:-1])  # the head has a dropout of its own
        self.post_init()

    def read(self, u: Tensor, words: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Fill up with zeros, and read all at once."""
        u = self.dropout(u.to(self.dtype))
        padded = zero_pad(u, words, self.config.max_position_embeddings).flatten(1)  # (batch, M n)
        return (u,), self.layers(padded)


class PaddedMlpForSequenceClassification(SequenceClassificationHead, PaddedMlpPreTrainedModel):
    """The classifier f(X) = A σ(h_K) + b.

    >>> import torch
    >>> config = PaddedMlpConfig(vocab_size=9, max_position_embeddings=5, num_labels=3)
    >>> PaddedMlpForSequenceClassification(config)(torch.tensor([[3, 1], [1, 3]])).logits.shape
    torch.Size([2, 3])
    """

    base_model_class = PaddedMlpModel

    def add_layers(self, config: PaddedMlpConfig) -> None:
        """Build A and b."""
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_sizes[-1], config.num_labels)
