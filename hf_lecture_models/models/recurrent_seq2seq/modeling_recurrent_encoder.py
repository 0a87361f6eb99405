# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The encoder of the recurrent encoder-decoders; `modeling_recurrent_seq2seq.py` has the equations.

Deviations, which its list has too:
- From Sutskever et al.: `reverse_source` reverses all real tokens, special ones too.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import ModelOutput

from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.base.recurrent_kernels import RecurrentKernelsModel
from hf_lecture_models.layers.inputs import input_vectors, padding_mask
from hf_lecture_models.layers.recurrent_layer import KERNELS, RecurrentLayer
from hf_lecture_models.models.recurrent_seq2seq.configuration_recurrent_seq2seq import RecurrentSeq2SeqConfig


@dataclass
class RecurrentEncoderOutput(ModelOutput):
    """The encoder's outputs.

    Attributes:
        last_hidden_state: (batch, source, source_size), h_j at each token in the source's order; zeros at padding.
        last_states: (batch, num_hidden_layers, 1 or 2, source_size): each layer's h, and an LSTM's c, after the whole
            source; in two directions [h→_J; h←_1].
        hidden_states: the word vectors and each layer's output, if asked for.
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


class RecurrentSeq2SeqPreTrainedModel(RecurrentKernelsModel):
    """The base of all recurrent encoders and decoders."""

    config: RecurrentSeq2SeqConfig


class RecurrentEncoder(RecurrentSeq2SeqPreTrainedModel):
    """Word vectors and a stack of layers, which read the source in one direction or in both."""

    def __init__(self, config: RecurrentSeq2SeqConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.input_size)
        self.dropout = nn.Dropout(config.dropout)
        sizes = [config.input_size] + [config.source_size] * (config.num_hidden_layers - 1)
        self.layers = nn.ModuleList(EncoderLayer(config, size) for size in sizes)
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
