# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The bag of words: a text is the sum of its words, in no order; linear, or with hidden layers.

Slides R:146-160 (the model) and R:76-108 (a token as a number or as a vector). Trained by cross-entropy, the linear
model is logistic regression on word counts. No paper is on the slides; the name is from Harris, "Distributional
structure", 1954.

For the words w_1, ..., w_L of a text X, each coded as τ(w) in R^n,

    f(X) = b + a · Σ_l τ(w_l)                                     (slide R:152, with a in R^{m × n}, b in R^m)
    P(class k | X) = softmax(f(X))_k

τ is one of two codings, `input_coding`:

    one_hot   τ(w) in R^n is 1 at the id of w and 0 elsewhere (slide R:95). Each word has weights of its own,
              the column a[:, w], and the sum counts the words: f(X)_k = b_k + Σ_l a[k, w_l].
    integer   τ(w) in R is the number of w (slide R:80), so n = 1: f(X)_k = b_k + a_k Σ_l τ(w_l). The slide's
              "doesn't work very well" can be tried: texts whose numbers have one sum are one text.

With `hidden_sizes` m_1, ..., m_K this is the first layer of a network (slide R:158):

    h_1 = b_1 + a · Σ_l τ(w_l)
    h_k = b_k + A_k σ(h_{k-1}),  k = 2, ..., K                    `BagOfWordsModel` returns σ(h_K) as the text's vector
    f(X) = b + A σ(h_K)

A product with a one-hot vector picks a column. So a is stored as a table with a row for each word, and the sum over a
text adds rows up: in a training step this took a tenth of the time of the product with the vector of counts (32 texts
of 25 words, 16,600 words, 3 classes, one core), and as long as torch's EmbeddingBag, which shows no single words.

`<s>`, `</s>` and padding are no words of the text: they are left out of the sum. An unknown word is one, `<unk>`.

Deviations:
- The slide has one scalar output, for two classes or for -1, 0, 1 on a line. Here are num_labels outputs, by default
  two for two classes; only their difference counts. One output is num_labels=1, with
  problem_type="multi_label_classification" for logistic regression and "regression" for labels on a line.
- The slide's integers 1, 2, ... are divided by vocab_size (a is that much larger): their sums run into the hundred
  thousands, where no common learning rate fits.
- Initial values are on no slide. The linear model starts at a = b = 0: all classes equally probable, and a word that
  training never meets says nothing. Hidden layers start normal, biases at zero.
- Dropout, on the output of each hidden layer, is not on the slide.
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
from hf_lecture_models.layers.input_codings import IntegerCoding
from hf_lecture_models.layers.inputs import look_up, token_ids
from hf_lecture_models.models.bag_of_words.configuration_bag_of_words import BagOfWordsConfig


class IntegerWeights(nn.Linear):
    """a τ(w), τ(w) a number: every word is a multiple of one vector, `weight` (width, 1)."""

    def __init__(self, vocab_size: int, width: int):
        super().__init__(1, width, bias=False)
        self.coding = IntegerCoding(vocab_size)

    def forward(self, input_ids: Tensor) -> Tensor:
        """(batch, seq) to (batch, seq, width)."""
        return super().forward(self.coding(input_ids).to(self.weight.dtype))


# From ids (batch, seq) to a τ(w), (batch, seq, width). A one-hot τ(w) picks the row of w in `weight` (vocab, width).
WEIGHTS: dict[str, type[nn.Embedding | IntegerWeights]] = {"one_hot": nn.Embedding, "integer": IntegerWeights}


class BagOfWordsPreTrainedModel(WordInputs, LecturePreTrainedModel):
    """What all bag-of-words models share."""

    config: BagOfWordsConfig
    config_class = BagOfWordsConfig
    base_model_prefix = "model"


class BagOfWordsModel(BagOfWordsPreTrainedModel):
    """The text's vector: f(X) of the linear model, σ(h_K) of one with hidden layers.

    `forward` reads ids (batch, seq); a row without tokens is an empty bag. In `attention_mask` (batch, seq) 1 is a real
    token; without one, all are real. The configuration's `bos_token_id`, `eos_token_id` and `pad_token_id` are left out
    either way.

    It returns `pooler_output` (batch, last hidden size or num_labels), the text's vector, and `last_hidden_state`
    (batch, seq, first hidden size or num_labels), what each token adds to h_1 or f(X), 0 for those left out. On request
    `hidden_states` holds this alone: the hidden layers read the whole text.

    >>> model = BagOfWordsModel(BagOfWordsConfig(vocab_size=9, hidden_sizes=[4], bos_token_id=8))
    >>> outputs = model(torch.tensor([[8, 3, 1]]))
    >>> outputs.pooler_output.shape, outputs.last_hidden_state[0, 0].tolist()
    (torch.Size([1, 4]), [0.0, 0.0, 0.0, 0.0])
    """

    def __init__(self, config: BagOfWordsConfig):
        super().__init__(config)
        self.embed_tokens = WEIGHTS[config.input_coding](config.vocab_size, config.input_width)
        self.bias = nn.Parameter(torch.zeros(config.input_width))
        self.hidden_layers = _hidden_layers(config)
        self.post_init()

    @model_forward
    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: bool
    ) -> BaseModelOutputWithPooling:
        """Add up the words."""
        ids = token_ids(input_ids, allow_empty=True)
        words = look_up(self.embed_tokens, ids).where(self.is_word(ids, attention_mask).unsqueeze(-1), 0.0)
        h = self.bias + words.sum(dim=1)
        states = self.shown_states(kwargs.get("output_hidden_states"), words)
        return BaseModelOutputWithPooling(words, self.hidden_layers(h), states)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self:
            init.zeros_(self.bias)
        if module is self.embed_tokens and not self.config.hidden_sizes:
            init.zeros_(self.embed_tokens.weight)


def _hidden_layers(config: BagOfWordsConfig) -> nn.Sequential:
    """h_1 to σ(h_K), by h_k = b_k + A_k σ(h_{k-1}); the identity of the linear model."""
    layers: list[nn.Module] = []
    for before, width in pairwise(config.hidden_sizes):
        layers += [ACTIVATIONS[config.hidden_act](), nn.Dropout(config.dropout), nn.Linear(before, width)]
    if config.hidden_sizes:
        layers.append(ACTIVATIONS[config.hidden_act]())
    return nn.Sequential(*layers)


class BagOfWordsForSequenceClassification(SequenceClassificationHead, BagOfWordsPreTrainedModel):
    """The classifier: f(X), the linear model's vector itself, or b + A σ(h_K).

    >>> model = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=9, num_labels=2))
    >>> outputs = model(torch.tensor([[3, 1]]), labels=torch.tensor([0]))
    >>> outputs.logits.tolist(), round(outputs.loss.item(), 4)  # untrained, both classes are equally probable: ln 2
    ([[0.0, 0.0]], 0.6931)
    """

    base_model_class = BagOfWordsModel

    def __init__(self, config: BagOfWordsConfig):
        super().__init__(config)
        self.model = BagOfWordsModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = (
            nn.Linear(config.hidden_sizes[-1], config.num_labels) if config.hidden_sizes else nn.Identity()
        )
        self.post_init()

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """The sum of the words, behind the hidden layers: (batch, last hidden size or num_labels)."""
        return outputs.pooler_output
