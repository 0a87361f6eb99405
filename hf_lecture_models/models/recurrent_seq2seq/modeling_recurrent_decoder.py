# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The decoders of the recurrent encoder-decoders, one for each use of the source.

`modeling_recurrent_seq2seq.py` has the equations.

Deviations: those of `modeling_recurrent_seq2seq.py`.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

from hf_lecture_models.base.modeling import LayeredPreTrainedModel, model_forward
from hf_lecture_models.layers.inputs import padding_mask
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, State, carried_states, seen_tokens
from hf_lecture_models.layers.recurrent_layer import KERNELS, RecurrentLayer
from hf_lecture_models.layers.source_attention import AdditiveScore, Maxout, attention_weights
from hf_lecture_models.models.recurrent_seq2seq.configuration_recurrent_seq2seq import RecurrentSeq2SeqConfig


class RecurrentSeq2SeqPreTrainedModel(LayeredPreTrainedModel):
    """The base of all recurrent encoders and decoders."""

    config: RecurrentSeq2SeqConfig
    _is_stateful = True


@dataclass
class Source:
    """The source, as the decoder reads it.

    Attributes:
        states: (batch, source, source_size), all h_j.
        last: the encoder's `last_states`.
        mask: (batch, source) bool, True = real token; None where all are.
        keys: (batch, source, hidden_size), compared by attention with the decoder's states; None without attention.
    """

    states: Tensor
    last: Tensor
    mask: Tensor | None
    keys: Tensor | None = None


class DecoderLayer(GradientCheckpointingLayer):
    """s_i = q(s_{i-1}, y_{i-1}), or with a context q(s_{i-1}, [y_{i-1}; c])."""

    def __init__(self, config: RecurrentSeq2SeqConfig, input_size: int):
        super().__init__()
        kernel = KERNELS[config.cell_type](input_size, config.hidden_size, batch_first=True)
        self.recurrence = RecurrentLayer(kernel, config.dropout)

    def forward(self, hidden: Tensor, state: State, mask: Tensor | None) -> tuple[Tensor, State]:
        """(batch, target, input_size) -> (batch, target, hidden_size), and the state after it."""
        return self.recurrence(hidden, state, mask)


class AdditiveLayer(GradientCheckpointingLayer):
    """s_i = q(s_{i-1}, [y_{i-1}; c_i]) with c_i = Σ_j α_ij h_j, step by step: c_i depends on s_{i-1}."""

    def __init__(self, config: RecurrentSeq2SeqConfig):
        super().__init__()
        sizes = (config.input_size + config.source_size, config.hidden_size)
        self.recurrence = RecurrentLayer(KERNELS[config.cell_type](*sizes, batch_first=True), config.dropout)
        self.score = AdditiveScore(config.hidden_size, config.hidden_size)

    def forward(
        self, words: Tensor, state: State, mask: Tensor | None, memory: Tensor, keys: Tensor, source_mask: Tensor | None
    ) -> tuple[Tensor, State, Tensor, Tensor]:
        """The outputs, the state after them, all contexts c_i (batch, target, source_size) and the weights α."""
        steps: list[tuple[Tensor, Tensor, Tensor]] = []
        for step in range(words.shape[1]):
            alpha = attention_weights(self.score(state[0], keys).unsqueeze(1), source_mask)  # (batch, 1, source)
            context = alpha @ memory
            given = torch.cat((words[:, step : step + 1], context), -1)
            output, state = self.recurrence(given, state, None if mask is None else mask[:, step : step + 1])
            steps.append((output, context, alpha))
        outputs, contexts, weights = zip(*steps, strict=True)
        return torch.cat(outputs, 1), state, torch.cat(contexts, 1), torch.cat(weights, 1)


class FirstStateDecoder(RecurrentSeq2SeqPreTrainedModel):
    """t_i = s_i: the source gives only the first state. The other decoders differ in a few methods."""

    caches_keys = False

    def __init__(self, config: RecurrentSeq2SeqConfig):
        super().__init__(config)
        if config.decoder_vocab_size is not None:
            self.embed_tokens = nn.Embedding(config.decoder_vocab_size, config.input_size)
        self.dropout = nn.Dropout(config.dropout)
        self.num_states = 2 if config.cell_type == "lstm" else 1
        self.layers = nn.ModuleList([self.make_first_layer(config)])
        for _ in range(config.num_hidden_layers - 1):
            self.layers.append(DecoderLayer(config, config.hidden_size))
        self.make_modules(config)
        self.post_init()

    def make_first_layer(self, config: RecurrentSeq2SeqConfig) -> nn.Module:
        """Return the layer that reads the words."""
        return DecoderLayer(config, config.input_size)

    def make_modules(self, config: RecurrentSeq2SeqConfig) -> None:
        """Build all modules but the layers: W_s, if the encoder's states are wider than the decoder's."""
        if config.source_size != config.hidden_size:
            self.W_s = self.state_matrices(config.source_size)

    def state_matrices(self, size: int) -> nn.ModuleList:
        """Return linear maps from vectors of `size` to each tensor of each layer's first state."""
        count = len(self.layers) * self.num_states
        return nn.ModuleList(nn.Linear(size, self.config.hidden_size) for _ in range(count))

    def first_states(self, source: Source) -> list[Tensor]:
        """s_0: each layer's h, followed by an LSTM's c; each is (batch, hidden_size)."""
        last = source.last.flatten(1, 2).unbind(1)
        if self.config.source_size == self.config.hidden_size:
            return list(last)
        return [torch.tanh(W(states)) for W, states in zip(self.W_s, last, strict=True)]

    def keys(self, source: Source) -> Tensor | None:
        """`Source.keys`."""
        return None

    def first_layer(self, words: Tensor, state: State, mask: Tensor | None, source: Source) -> tuple[Any, ...]:
        """Return the first layer's outputs, its state, and the arguments `seen` of `output`."""
        return self.layers[0](words, state, mask)

    def output(self, hidden: Tensor, words: Tensor, source: Source, *seen: Tensor) -> tuple[Tensor, Tensor | None]:
        """All t_i (batch, target, hidden_size), and the weights α (batch, target, source) or None."""
        return hidden, None

    @model_forward
    def forward(
        self,
        inputs_embeds: Tensor,
        encoder_outputs: Any,
        encoder_attention_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        **kwargs: bool,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Read the target's word vectors (batch, target, input_size), from s_0 on or from `past_key_values`."""
        words = self.dropout(inputs_embeds)
        mask = padding_mask(attention_mask, words, seen_tokens(past_key_values))
        memory = encoder_outputs.last_hidden_state
        source = Source(memory, encoder_outputs.last_states, padding_mask(encoder_attention_mask, memory))
        states = self._start(past_key_values, source)
        hidden, state, *seen = self.first_layer(words, states[0], mask, source)
        after = [state]
        for layer, state in zip(self.layers[1:], states[1:], strict=True):
            hidden, state = layer(hidden, state, mask)
            after.append(state)
        hidden, weights = self.output(hidden, words, source, *seen)
        if self.caches_keys:
            after.append((source.keys,))
        shown = self.config.output_attentions if output_attentions is None else output_attentions
        return BaseModelOutputWithPastAndCrossAttentions(
            hidden,
            RecurrentCache.after(past_key_values, after, words.shape[1]) if use_cache else None,
            cross_attentions=(weights.unsqueeze(1),) if shown and weights is not None else None,
        )

    def _start(self, cache: RecurrentCache | None, source: Source) -> list[State]:
        """Return each layer's state before these words, and set the source's keys: the cache's, or those of s_0."""
        n, size = self.num_states, self.config.hidden_size
        if cache is not None:
            batch, length, _ = source.states.shape
            shapes: list[list[tuple[int, ...]]] = [[(batch, size)] * n] * len(self.layers)
            if self.caches_keys:
                shapes.append([(batch, length, size)])
            states: Any = carried_states(cache, shapes)
            if None not in states:
                source.keys = states.pop()[0] if self.caches_keys else self.keys(source)
                return states
        source.keys, first = self.keys(source), self.first_states(source)
        return [tuple(first[k : k + n]) for k in range(0, len(first), n)]


class EveryStepDecoder(FirstStateDecoder):
    """c = tanh(V h_J), s_0 = tanh(V' c), s_i = q(s_{i-1}, [y_{i-1}; c]), t_i = maxout(O [s_i; y_{i-1}; c])."""

    def make_first_layer(self, config: RecurrentSeq2SeqConfig) -> nn.Module:
        """Return a layer that reads [y; c]."""
        return DecoderLayer(config, config.input_size + config.hidden_size)

    def make_modules(self, config: RecurrentSeq2SeqConfig) -> None:
        """Build V, V' and O."""
        self.V = nn.Linear(config.source_size, config.hidden_size)
        self.W_s = self.state_matrices(config.hidden_size)
        self.O = Maxout(2 * config.hidden_size + config.input_size, config.hidden_size)

    def context(self, source: Source) -> Tensor:
        """c, (batch, hidden_size)."""
        return torch.tanh(self.V(source.last[:, -1, 0]))

    def first_states(self, source: Source) -> list[Tensor]:
        """s_0 = tanh(V' c), a V' for each layer."""
        context = self.context(source)
        return [torch.tanh(W(context)) for W in self.W_s]

    def first_layer(self, words: Tensor, state: State, mask: Tensor | None, source: Source) -> tuple[Any, ...]:
        """Read [y; c]."""
        context, shape = self.context(source).unsqueeze(1), (-1, words.shape[1], -1)
        given = torch.cat((words, context.expand(shape)), -1)
        return *self.layers[0](given, state, mask), context.expand(shape)

    def output(self, hidden: Tensor, words: Tensor, source: Source, *seen: Tensor) -> tuple[Tensor, Tensor | None]:
        """t_i of s_i, y_{i-1} and c."""
        return self.O(torch.cat((hidden, words, *seen), -1)), None


class AdditiveDecoder(FirstStateDecoder):
    """e_ij = v_a · tanh(W_a s_{i-1} + U_a h_j), s_i = q(s_{i-1}, [y_{i-1}; c_i]), t_i = maxout(O [s_i; y; c_i])."""

    caches_keys = True

    def make_first_layer(self, config: RecurrentSeq2SeqConfig) -> nn.Module:
        """Return the layer with the attention."""
        return AdditiveLayer(config)

    def make_modules(self, config: RecurrentSeq2SeqConfig) -> None:
        """Build U_a and O, beside W_s."""
        super().make_modules(config)
        self.U_a = nn.Linear(config.source_size, config.hidden_size, bias=False)
        self.O = Maxout(config.hidden_size + config.input_size + config.source_size, config.hidden_size)

    def keys(self, source: Source) -> Tensor | None:
        """U_a h_j."""
        return self.U_a(source.states)

    def first_layer(self, words: Tensor, state: State, mask: Tensor | None, source: Source) -> tuple[Any, ...]:
        """Read [y; c_i], and return c_i and α_i too."""
        return self.layers[0](words, state, mask, source.states, source.keys, source.mask)

    def output(self, hidden: Tensor, words: Tensor, source: Source, *seen: Tensor) -> tuple[Tensor, Tensor | None]:
        """t_i of s_i, y_{i-1} and c_i."""
        contexts, weights = seen
        return self.O(torch.cat((hidden, words, contexts), -1)), weights


class DotDecoder(FirstStateDecoder):
    """e_ij = s_i · h_j, c_i = Σ_j α_ij h_j, t_i = tanh(W_c [c_i; s_i])."""

    def make_modules(self, config: RecurrentSeq2SeqConfig) -> None:
        """Build W_c, and if the h_j are wider than s_i, W_a, beside W_s."""
        super().make_modules(config)
        self.caches_keys = config.source_size != config.hidden_size
        if self.caches_keys:
            self.W_a = nn.Linear(config.source_size, config.hidden_size, bias=False)
        self.W_c = nn.Linear(config.source_size + config.hidden_size, config.hidden_size, bias=False)

    def keys(self, source: Source) -> Tensor | None:
        """h_j, or W_a h_j."""
        return self.W_a(source.states) if self.caches_keys else source.states

    def output(self, hidden: Tensor, words: Tensor, source: Source, *seen: Tensor) -> tuple[Tensor, Tensor | None]:
        """t_i of c_i and s_i."""
        keys: Any = source.keys
        weights = attention_weights(hidden @ keys.transpose(1, 2), source.mask)
        return torch.tanh(self.W_c(torch.cat((weights @ source.states, hidden), -1))), weights


DECODERS: dict[tuple[str, str], type[FirstStateDecoder]] = {
    ("none", "first_state"): FirstStateDecoder,
    ("none", "every_step"): EveryStepDecoder,
    ("additive", "first_state"): AdditiveDecoder,
    ("dot", "first_state"): DotDecoder,
}
