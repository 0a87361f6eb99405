# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One input per layer: a network with as many layers as a text has words, each with weights of its own.

Slide R:329-342. No paper is on the slide. The inputs u_1, ..., u_L in R^n are those of `modeling_padded_mlp.py`; then

    h_0 = 0
    h_l = σ(A_l [h_{l-1}; u_l] + b_l),  l = 1, ..., L                                (slide R:342)
    f(X) = A h_L + b,   P(class k | X) = softmax(f(X))_k

A text of L words runs through L layers and stops there: the classifier reads h_L. Every layer is small, m (m + n + 1)
numbers, but their total grows with the maximum length M (`max_position_embeddings`), and the last layers see the few
texts only that are so long. Layers that share their weights (R:344-350) are the Elman network of
`models/recurrent/modeling_recurrent.py`, which reads texts of any length: a test copies one into the other.

Deviations:
- The slide names no σ; it is tanh, as in its successor, unless `hidden_act` says otherwise.
- Dropout and initial values are on no slide. All layers start equal: b = 0, the columns of A for u_l uniform within
  1/sqrt(m + n), torch's rule, and those for h_{l-1} the identity, as Le, Jaitly and Hinton ("A simple way to initialize
  recurrent networks of rectified linear units", 2015) start a recurrent network: the first state then is a sum of the
  words. Uniform in all columns, what is read early vanishes on its way through the layers (slide R:340).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from hf_lecture_models.base.heads.sequence_classification import SequenceClassificationHead
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.input_codings import zero_pad
from hf_lecture_models.models.padded_mlp.configuration_layer_per_input import LayerPerInputConfig
from hf_lecture_models.models.padded_mlp.modeling_padded_mlp import WordSequencePreTrainedModel, input_layer


class InputLayer(nn.Module):
    """h_l = σ(A_l [h_{l-1}; u_l] + b_l) where a text has an l-th word; h_{l-1} where it ended before."""

    def __init__(self, config: LayerPerInputConfig):
        super().__init__()
        self.linear = nn.Linear(config.hidden_size + config.input_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.hidden_act]()

    def forward(self, h: Tensor, u: Tensor, goes_on: Tensor) -> Tensor:
        """(batch, m), (batch, n), (batch, 1) bool -> (batch, m)."""
        return self.activation(self.linear(torch.cat((h, u), -1))).where(goes_on, h)


class LayerPerInputPreTrainedModel(WordSequencePreTrainedModel):
    """What the models with one input per layer share."""

    config: LayerPerInputConfig
    config_class = LayerPerInputConfig
    _no_split_modules = ["InputLayer"]


class LayerPerInputModel(LayerPerInputPreTrainedModel):
    """The states h_1, ..., h_L of a text.

    `forward` reads ids (batch, seq); a row without words keeps h_0 = 0. In `attention_mask` (batch, seq) 1 is a real
    token; without one, all are real. The configuration's `bos_token_id`, `eos_token_id` and `pad_token_id` are left out
    either way. More than `max_position_embeddings` words in a row are an error.

    It returns `pooler_output` (batch, hidden_size), each row's h_L, and `last_hidden_state` (batch, seq, hidden_size),
    h_l where the l-th word stands, 0 where no word is. On request `hidden_states` are the inputs u_l where
    their words stand, (batch, seq, n), and `last_hidden_state`.

    >>> model = LayerPerInputModel(LayerPerInputConfig(vocab_size=9, max_position_embeddings=5, hidden_size=4))
    >>> outputs = model(torch.tensor([[3, 1]]))
    >>> torch.equal(outputs.pooler_output, outputs.last_hidden_state[:, -1])
    True
    """

    def __init__(self, config: LayerPerInputConfig):
        super().__init__(config)
        self.embed_tokens = input_layer(config)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(InputLayer(config) for _ in range(config.max_position_embeddings))
        self.post_init()

    @model_forward
    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: bool
    ) -> BaseModelOutputWithPooling:
        """Read word after word, each by its own layer."""
        u, words = self.word_inputs(input_ids, attention_mask)
        inputs, lengths = zero_pad(u, words, len(self.layers)), words.sum(1, keepdim=True)
        h = u.new_zeros(u.shape[0], self.config.hidden_size)
        states = [h]
        for number, layer in enumerate(self._layers_for(u.shape[1])):
            h = layer(h, inputs[:, number], lengths > number)
            states.append(h)
        # h_l back to where the l-th word stands.
        places = words.cumsum(1).where(words, 0).unsqueeze(-1).expand(-1, -1, h.shape[-1])
        at_words = torch.stack(states, 1).gather(1, places).where(words.unsqueeze(-1), 0.0)
        return BaseModelOutputWithPooling(
            at_words, h, self.shown_states(kwargs.get("output_hidden_states"), u, at_words)
        )

    def _layers_for(self, seq: int) -> nn.ModuleList:
        """The layers that rows of `seq` tokens may need.

        All of them where gradients are taken, since distributed training waits for every layer's, and while tracing, so
        that one graph serves for all lengths.
        """
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return self.layers
        return self.layers[:seq]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if not isinstance(module, nn.Linear):
            return
        first: Any = self.layers[0].linear
        if module is first:
            identity = torch.eye(self.config.hidden_size, dtype=module.weight.dtype, device=module.weight.device)
            init.copy_(module.weight, torch.cat((identity, module.weight[:, len(identity) :]), 1))
            init.zeros_(module.bias)
        init.copy_(module.weight, first.weight)
        init.copy_(module.bias, first.bias)


class LayerPerInputForSequenceClassification(SequenceClassificationHead, LayerPerInputPreTrainedModel):
    """The classifier f(X) = A h_L + b.

    >>> config = LayerPerInputConfig(vocab_size=9, max_position_embeddings=5, num_labels=3)
    >>> LayerPerInputForSequenceClassification(config)(torch.tensor([[3, 1], [1, 3]])).logits.shape
    torch.Size([2, 3])
    """

    base_model_class = LayerPerInputModel

    def __init__(self, config: LayerPerInputConfig):
        super().__init__(config)
        self.model = LayerPerInputModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """The last state h_L: (batch, hidden_size)."""
        return outputs.pooler_output
