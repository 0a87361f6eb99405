# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent networks and the recurrent language model.

Elman, "Finding structure in time", Cognitive Science 14, 1990; Mikolov et al., "Recurrent neural network based language
model", Interspeech 2010; Hochreiter & Schmidhuber, "Long short-term memory", Neural Computation 9, 1997, with the
forget gate of Gers, Schmidhuber & Cummins, Neural Computation 12, 2000; Cho et al., "Learning phrase representations
using RNN encoder-decoder", EMNLP 2014, section 2.3 (GRU); Sak, Senior & Beaufays, "Long short-term memory recurrent
neural network architectures for large scale acoustic modeling", Interspeech 2014 (recurrent projection); Zaremba,
Sutskever & Vinyals, "Recurrent neural network regularization", 2014 (dropout). Slides R:340-670, Y:405-450.

With word vectors u_1, ..., u_L, K layers and h_l^0 = u_l:

    h_l^k = q_k(h_{l-1}^k, h_l^{k-1}),  h_0^k = 0                    (stacked recurrence)
    P(w_{l+1} | w_1 ... w_l) = softmax(W_o h_l^K + b_o)              (language model)

where q is one of (`layers/recurrent_cells.py` holds them as code)

    Elman: h = tanh(W [h; u] + b)
    GRU:   z, r = σ(W [h; u] + b);  n = tanh(A u + a + r ⊙ (B h + b'));  h = (1 - z) ⊙ n + z ⊙ h
    LSTM:  f, i, g, o = W [h; u] + b;  c = σ(f) ⊙ c + σ(i) ⊙ tanh(g);  h = σ(o) ⊙ tanh(c)
           with `projection_size`: h = P (σ(o) ⊙ tanh(c))

and `output_projection_size` puts V h + v in the place of the last layer's h, outside the recurrence. Dropout acts on
u_l and on every h_l^k on its way up, never on its way to the next step.

Deviations:
- From the slides: the loss acts on the logits W_o h + b_o, not on h (R:637), and also counts the first word and the
  end, given `<s>` (R:637); the LSTM joins h and u along the feature axis and splits the four gates along it (R:533
  names the batch axis); its cell has an input gate (R:501 has c ⊙ f + g); the logarithm of the softmax is
  o[w] - log Σ exp o (Y:425).
- torch's kernels keep two biases whose sum is the b above, and order the gates r, z, n and i, f, g, o.
- The GRU's reset gate acts after the matrix product, as in torch and cuDNN; Cho et al. write it before: B (r ⊙ h).
- No peephole connections, and no extra forget bias: all recurrent weights and biases start uniform within
  1/sqrt(hidden_size), torch's rule.
- Elman's and Mikolov's hidden units are logistic; here, as on the slide Y:415, tanh.
- The papers could not be opened; what is said of them and their sections is from memory and second-hand accounts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults

from hf_lecture_models.base.causal_lm import HiddenStateCausalLM
from hf_lecture_models.base.large_vocabulary import LargeVocabularyLM
from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.layers.adaptive_softmax import AdaptiveSoftmax
from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.layers.recurrent_layer import BidirectionalLayer, RecurrentLayer
from hf_lecture_models.layers.recurrent_padding import padding_mask
from hf_lecture_models.models.recurrent.configuration_recurrent import RecurrentConfig

KERNELS: dict[str, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
OUTPUT_LAYERS: dict[str, Callable[[RecurrentConfig], nn.Module]] = {
    "softmax": lambda config: nn.Linear(config.output_size, config.vocab_size),
    "adaptive": lambda config: AdaptiveSoftmax(config.output_size, config.vocab_size, config.adaptive_cutoffs),
    "noise_contrastive": lambda config: NoiseContrastiveLinear(
        config.output_size, config.vocab_size, config.noise_samples
    ),
}


class RecurrentPreTrainedModel(LecturePreTrainedModel):
    """What all recurrent models share."""

    config: RecurrentConfig
    config_class = RecurrentConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _is_stateful = True
    _no_split_modules = ["RecurrentLayer", "BidirectionalLayer"]
    _skip_keys_device_placement = ["past_key_values"]

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False


class RecurrentModel(RecurrentPreTrainedModel):
    """Word vectors, a stack of recurrent layers, and, if `output_projection_size` is set, a linear map at the end.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, input_size). In `attention_mask`
    (batch, seq) 1 is a real token; a mask that also covers what the cache has seen is cut to the last steps. Padding,
    wherever it stands, outputs zeros and leaves the state as it was. `past_key_values` is the state to start from and
    is not changed; with `use_cache` the state at the end comes back as a new one (not if bidirectional).
    """

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.input_size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList()
        input_size = config.input_size
        for _ in range(config.num_hidden_layers):
            if config.bidirectional:
                self.layers.append(BidirectionalLayer(_layer(config, input_size), _layer(config, input_size)))
            else:
                self.layers.append(_layer(config, input_size))
            input_size = config.layer_output_size
        self.output_projection: nn.Module = nn.Identity()
        if config.output_projection_size is not None:
            self.output_projection = nn.Linear(input_size, config.output_projection_size)
        self.gradient_checkpointing = False
        self.post_init()

    @can_return_tuple
    @merge_with_config_defaults
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Read the sequences, from zero states or from those in `past_key_values`.

        Returns:
            `last_hidden_state` (batch, seq, config.output_size), `past_key_values`, and on request `hidden_states`: the
            word vectors and each layer's output, the last one being `last_hidden_state`.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        hidden = self.dropout(self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds)
        mask = padding_mask(attention_mask, hidden)
        states, seen_tokens = self._states_before(past_key_values, hidden)
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        shown, after = [hidden], []
        for layer, state in zip(self.layers, states, strict=True):
            recomputed = self.gradient_checkpointing and self.training
            read = partial(self._gradient_checkpointing_func, layer) if recomputed else layer
            hidden, state = read(hidden, state, mask)
            hidden = self.dropout(hidden)
            after.append(state)
            if output_hidden_states:
                shown.append(hidden)
        shown[-1] = hidden = self._project(hidden, mask)
        use_cache = use_cache and not self.config.bidirectional
        return BaseModelOutputWithPast(
            last_hidden_state=hidden,
            past_key_values=RecurrentCache.from_states(after, seen_tokens + hidden.shape[1]) if use_cache else None,
            hidden_states=tuple(shown) if output_hidden_states else None,
        )

    def _project(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        if self.config.output_projection_size is None:
            return hidden
        hidden = self.output_projection(hidden)
        # Padding is zeros to the projection too, but for its bias.
        return hidden if mask is None else hidden.masked_fill(~mask.unsqueeze(-1), 0.0)

    def _states_before(self, cache: Any, hidden: Tensor) -> tuple[list[tuple[Tensor, ...] | None], int]:
        if cache is None:
            return [None] * len(self.layers), 0
        if self.config.bidirectional:
            raise ValueError("a bidirectional model cannot go on from past_key_values: it reads the whole text at once")
        if not isinstance(cache, RecurrentCache):
            raise TypeError(
                f"past_key_values is a {type(cache).__name__}, but a recurrent model's state is a RecurrentCache: pass "
                "the one that an earlier call returned, or None"
            )
        if len(cache) != len(self.layers) or cache.batch_size not in (-1, len(hidden)):
            raise ValueError(
                f"past_key_values holds {len(cache)} layers of {cache.batch_size} rows; the model has "
                f"{len(self.layers)} layers and the input {len(hidden)} rows"
            )
        for number, (state, layer) in enumerate(zip(cache.states, self.layers, strict=True)):
            sizes = layer.state_sizes if state is None else tuple(tensor.shape[-1] for tensor in state)
            if sizes != layer.state_sizes:
                raise ValueError(
                    f"past_key_values is of another model: its layer {number} has states of sizes {sizes}, this "
                    f"{self.config.cell_type} model's {layer.state_sizes}"
                )
        return cache.states, cache.seen_tokens


class RecurrentForCausalLM(LargeVocabularyLM, HiddenStateCausalLM, RecurrentPreTrainedModel, GenerationMixin):
    """The recurrent language model: the next word's probability from the state after all words before it."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        if config.bidirectional:
            raise ValueError(
                "RecurrentForCausalLM predicts from the left context only: set bidirectional=False "
                "(RecurrentModel takes bidirectional=True)"
            )
        self.model = RecurrentModel(config)
        self.lm_head = OUTPUT_LAYERS[config.output_layer](config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """As `RecurrentModel.forward`; `labels`, `logits_to_keep` and the keywords `shift_labels` and
        `num_items_in_batch` as in `HiddenStateCausalLM.loss_and_logits`.

        Returns:
            `loss` (scalar, nats, float32), `logits` (batch, positions kept, vocab_size), and the model's outputs.
        """
        outputs = self.model(
            input_ids, attention_mask, past_key_values, inputs_embeds, use_cache, output_hidden_states, return_dict=True
        )
        loss, logits = self.loss_and_logits(outputs.last_hidden_state, attention_mask, labels, logits_to_keep, kwargs)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
        )


def _layer(config: RecurrentConfig, input_size: int) -> RecurrentLayer:
    projection = {} if config.projection_size is None else {"proj_size": config.projection_size}
    return RecurrentLayer(KERNELS[config.cell_type](input_size, config.hidden_size, batch_first=True, **projection))
