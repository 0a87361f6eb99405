# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One input per layer: a network with as many layers as a text has words, each with weights of its own.

Slide R:329-342. No paper is on the slide. With the inputs u_1, ..., u_L in R^n of `modeling_padded_mlp.py`,

    h_0 = 0
    h_l = σ(A_l [h_{l-1}; u_l] + b_l),  l = 1, ..., L                                (slide R:342)
    f(X) = A h_L + b,   P(class k | X) = softmax(f(X))_k

A text of L words runs through L layers and stops there: the classifier reads h_L. Every layer is small, m (m + n + 1)
numbers, but their total grows with the maximum length M (`max_position_embeddings`), and the last layers see only the
few texts that are so long. If all layers share their weights (R:344-350), the network is the Elman network of
`models/recurrent/modeling_recurrent.py`, which reads texts of any length: a test copies one into the other.

Deviations:
- The slide names no σ; it is tanh by default (`hidden_act`), as in the Elman network.
- The slides give no dropout and no initial values. All layers start equal: b = 0, the columns of A for u_l uniform
  within 1/sqrt(m + n), torch's rule, and those for h_{l-1} the identity, as Le, Jaitly and Hinton ("A simple way to
  initialize recurrent networks of rectified linear units", 2015) start a recurrent network: the first state then is a
  sum of the words. If all columns start uniform, early words vanish on their way through the layers (slide R:340).
"""

from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.base.heads.classification import SequenceClassificationHead
from hf_lecture_models.base.word_inputs import WordInputsPreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.initial_weights import StateLinear
from hf_lecture_models.layers.input_codings import zero_pad
from hf_lecture_models.models.padded_mlp.configuration_layer_per_input import LayerPerInputConfig
from hf_lecture_models.models.padded_mlp.modeling_padded_mlp import input_layer


class InputLayer(nn.Module):
    """h_l = σ(A_l [h_{l-1}; u_l] + b_l) where a text has an l-th word; h_{l-1} where it ended before."""

    def __init__(self, config: LayerPerInputConfig, first: StateLinear | None):
        super().__init__()
        self.linear = StateLinear(config.hidden_size, config.input_size, like=first)
        self.activation = ACTIVATIONS[config.hidden_act]()

    def forward(self, h: Tensor, u: Tensor, goes_on: Tensor) -> Tensor:
        """(batch, m), (batch, n), (batch, 1) bool -> (batch, m)."""
        return self.activation(self.linear(torch.cat((h, u), -1))).where(goes_on, h)


class LayerPerInputPreTrainedModel(WordInputsPreTrainedModel):
    """The base of both models with one input per layer."""

    config: LayerPerInputConfig
    _no_split_modules = ["InputLayer"]


class LayerPerInputModel(LayerPerInputPreTrainedModel):
    """The states h_1, ..., h_L of a text.

    `pooler_output` (batch, hidden_size) is each row's h_L, h_0 = 0 in a row without words; `last_hidden_state` (batch,
    seq, hidden_size) is h_l at the l-th word, 0 elsewhere. On request `hidden_states` are the inputs u_l at their
    words, (batch, seq, n), and `last_hidden_state`. A row of more than `max_position_embeddings` words is an error.

    >>> model = LayerPerInputModel(LayerPerInputConfig(vocab_size=9, max_position_embeddings=5, hidden_size=4))
    >>> outputs = model(torch.tensor([[3, 1]]))
    >>> torch.equal(outputs.pooler_output, outputs.last_hidden_state[:, -1])
    True
    """

    def __init__(self, config: LayerPerInputConfig):
        super().__init__(config)
        self.embed_tokens = input_layer(config)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList([InputLayer(config, None)])
        first: Any = self.layers[0].linear
        self.layers.extend(InputLayer(config, first) for _ in range(config.max_position_embeddings - 1))
        self.post_init()

    def read(self, u: Tensor, words: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Read word after word, each by its own layer."""
        u = self.dropout(u.to(self.dtype))
        inputs, lengths = zero_pad(u, words, len(self.layers)), words.sum(1, keepdim=True)
        h = u.new_zeros(u.shape[0], self.config.hidden_size)
        states = [h]
        for number, layer in enumerate(self._layers_for(u.shape[1])):
            h = layer(h, inputs[:, number], lengths > number)
            states.append(h)
        # h_l back to the place of the l-th word.
        places = words.cumsum(1).where(words, 0).unsqueeze(-1).expand(-1, -1, h.shape[-1])
        at_words = torch.stack(states, 1).gather(1, places).where(words.unsqueeze(-1), 0.0)
        return (u, at_words), h

    def _layers_for(self, seq: int) -> nn.ModuleList:
        """The layers for rows of `seq` tokens: all with gradients, for which distributed training waits, or traced."""
        if torch.is_grad_enabled() or is_traced():
            return self.layers
        return self.layers[:seq]


class LayerPerInputForSequenceClassification(SequenceClassificationHead, LayerPerInputPreTrainedModel):
    """The classifier f(X) = A h_L + b.

    >>> config = LayerPerInputConfig(vocab_size=9, max_position_embeddings=5, num_labels=3)
    >>> LayerPerInputForSequenceClassification(config)(torch.tensor([[3, 1], [1, 3]])).logits.shape
    torch.Size([2, 3])
    """

    base_model_class = LayerPerInputModel
