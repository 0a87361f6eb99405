# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The bag of words: a text is the sum of its words, whatever their order; linear, or with hidden layers.

Slides R:146-160 (the model) and R:76-108 (a token as a number or as a vector). Trained by cross-entropy, the linear
model is logistic regression on word counts. No paper is on the slides; the name is from Harris, "Distributional
structure", 1954.

For the words w_1, ..., w_L of a text X, each coded as τ(w) in R^n,

    f(X) = b + a · Σ_l τ(w_l)                                     (slide R:152, with a in R^{m × n}, b in R^m)
    P(class k | X) = softmax(f(X))_k

τ is one of two codings, `input_coding`:

    one_hot   τ(w) in R^n is 1 at the id of w and 0 elsewhere (slide R:95). Each word has weights of its own,
              the column a[:, w], and the sum counts the words: f(X)_k = b_k + Σ_l a[k, w_l].
    integer   τ(w) in R is the number of w (slide R:80), so n = 1: f(X)_k = b_k + a_k Σ_l τ(w_l). The slide says
              "doesn't work very well": texts whose numbers have the same sum get the same answer.

With `hidden_sizes` m_1, ..., m_K this is the first layer of a network (slide R:158):

    h_1 = b_1 + a · Σ_l τ(w_l)
    h_k = b_k + A_k σ(h_{k-1}),  k = 2, ..., K                    `BagOfWordsModel` returns σ(h_K) as the text's vector
    f(X) = b + A σ(h_K)

A product with a one-hot vector selects a column. So a is stored as a table with a row for each word, and the sum over a
text adds rows up: in a training step this took a tenth of the time of the product with the vector of counts (32 texts
of 25 words, 16,600 words, 3 classes, one core), and as long as torch's EmbeddingBag, which hides the single words.

The sum leaves out `<s>`, `</s>` and padding. An unknown word counts as the word `<unk>`.

Deviations:
- The slide has one scalar output, for two classes or for -1, 0, 1 on a line. Here there are num_labels outputs, by
  default two for two classes, whose difference counts. For one output set num_labels=1, with
  problem_type="multi_label_classification" for logistic regression and "regression" for labels on a line.
- The slide's integers 1, 2, ... are divided by vocab_size (a is that much larger): their sums run into the hundred
  thousands, where no common learning rate fits.
- The slides give no initial values. The linear model starts at a = b = 0: all classes are equally probable, and a word
  that training never meets has no effect. Hidden layers start normal, biases at zero.
- Dropout, on the output of each hidden layer, is not on the slide.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from hf_lecture_models.base.heads.classification import SequenceClassificationHead
from hf_lecture_models.base.word_inputs import WordInputsPreTrainedModel
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.input_codings import IntegerCoding
from hf_lecture_models.models.bag_of_words.configuration_bag_of_words import BagOfWordsConfig


class IntegerWeights(nn.Linear):
    """a τ(w), τ(w) a number: every word is a multiple of one vector, `weight` (width, 1)."""

    def __init__(self, vocab_size: int, width: int):
        super().__init__(1, width, bias=False)
        self.coding = IntegerCoding(vocab_size)

    def forward(self, input_ids: Tensor) -> Tensor:
        """(batch, seq) to (batch, seq, width)."""
        return super().forward(self.coding(input_ids).to(self.weight.dtype))


# From ids (batch, seq) to a τ(w), (batch, seq, width). A one-hot τ(w) selects the row of w in `weight` (vocab, width).
WEIGHTS: dict[str, type[nn.Embedding | IntegerWeights]] = {"one_hot": nn.Embedding, "integer": IntegerWeights}


class BagOfWordsPreTrainedModel(WordInputsPreTrainedModel):
    """The base of both bag-of-words models."""

    config: BagOfWordsConfig


class BagOfWordsModel(BagOfWordsPreTrainedModel):
    """The text's vector: f(X) of the linear model, σ(h_K) of one with hidden layers.

    `pooler_output` (batch, last hidden size or num_labels) is this vector. `last_hidden_state` (batch, seq, first
    hidden size or num_labels) are the summands a τ(w_l) of h_1 or f(X), 0 for tokens that are left out.

    >>> model = BagOfWordsModel(BagOfWordsConfig(vocab_size=9, hidden_sizes=[4], bos_token_id=8))
    >>> outputs = model(torch.tensor([[8, 3, 1]]))
    >>> outputs.pooler_output.shape, outputs.last_hidden_state[0, 0].tolist()
    (torch.Size([1, 4]), [0.0, 0.0, 0.0, 0.0])
    """

    def __init__(self, config: BagOfWordsConfig):
        super().__init__(config)
        self.embed_tokens = WEIGHTS[config.input_coding](config.vocab_size, config.input_width)
        self.bias = nn.Parameter(torch.zeros(config.input_width))
        layers: list[nn.Module] = []  # h_k = b_k + A_k σ(h_{k-1}), and σ(h_K)
        for before, width in pairwise(config.hidden_sizes):
            layers += [ACTIVATIONS[config.hidden_act](), nn.Dropout(config.dropout), nn.Linear(before, width)]
        if config.hidden_sizes:
            layers.append(ACTIVATIONS[config.hidden_act]())
        self.hidden_layers = nn.Sequential(*layers)
        self.post_init()

    def read(self, u: Tensor, words: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Add up the words."""
        h = self.bias + u.sum(dim=1)
        return (u,), self.hidden_layers(h)

    def draw_weights(self) -> None:
        """Start at b = 0, and the linear model at a = 0."""
        init.zeros_(self.bias)
        if not self.config.hidden_sizes:
            init.zeros_(self.get_parameter("embed_tokens.weight"))


class BagOfWordsForSequenceClassification(SequenceClassificationHead, BagOfWordsPreTrainedModel):
    """The classifier: f(X), the linear model's vector itself, or b + A σ(h_K).

    >>> model = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=9, num_labels=2))
    >>> outputs = model(torch.tensor([[3, 1]]), labels=torch.tensor([0]))
    >>> outputs.logits.tolist(), round(outputs.loss.item(), 4)  # untrained, both classes are equally probable: ln 2
    ([[0.0, 0.0]], 0.6931)
    """

    base_model_class = BagOfWordsModel

    def add_layers(self, config: BagOfWordsConfig) -> None:
        """Build A and b after the hidden layers."""
        self.dropout, sizes = nn.Dropout(config.dropout), config.hidden_sizes
        self.classifier = nn.Linear(sizes[-1], config.num_labels) if sizes else nn.Identity()
