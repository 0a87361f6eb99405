# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The smallest recurrent language model that passes every check; test_model_tests.py breaks it on purpose.

h_t = tanh(u_t + W h_{t-1} + b) with u_t the embedding of token t; logits V h_t. Deviations: none, it is on no slide.
"""

from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import GenerationMixin
from transformers import initialization as init
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.generation import next_token_labels
from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.modeling import LecturePreTrainedModel, given_arguments
from hf_lecture_models.base.scoring import score_from_logits
from hf_lecture_models.io.compat import with_past_key_values
from hf_lecture_models.layers.inputs import input_vectors, padding_mask


@strict
class StandInConfig(LectureConfig):
    model_type = "lecture_stand_in"
    allowed_values: ClassVar[dict[str, tuple[Any, ...]]] = {"activation": ("tanh", "sigmoid")}
    positive_fields: ClassVar[tuple[str, ...]] = ("vocab_size", "hidden_size")

    vocab_size: int = 20
    hidden_size: int = 8
    activation: str = "tanh"
    pad_token_id: int | None = 19
    bos_token_id: int | None = 17
    eos_token_id: int | None = 18


class StandInCache:
    """The state after the tokens seen so far: (batch, hidden)."""

    def __init__(self, state: Tensor, seen: int) -> None:
        self.state, self.seen = state, seen

    def get_seq_length(self) -> int:
        return self.seen

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.state = self.state.index_select(0, beam_idx)


class StandInForCausalLM(LecturePreTrainedModel, GenerationMixin):
    config: StandInConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _is_stateful = True

    def __init__(self, config: StandInConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.recurrent = nn.Linear(config.hidden_size, config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.gradient_checkpointing = False
        self.register_buffer("scale", torch.ones(config.hidden_size), persistent=False)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self:
            init.ones_(self.scale)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: StandInCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        kwargs = with_past_key_values({"past_key_values": past_key_values, **kwargs})
        past_key_values = kwargs.pop("past_key_values")
        kwargs = given_arguments(self, kwargs, frozenset({"num_items_in_batch", "shift_labels"}))
        embedded = input_vectors(self.embed_tokens, input_ids, None) * self.scale
        real = self.real_tokens(input_ids, attention_mask)
        state = torch.zeros_like(embedded[:, 0]) if past_key_values is None else past_key_values.state
        states = []
        for position, embedding in enumerate(embedded.unbind(dim=1)):
            if self.gradient_checkpointing and self.training:
                new = self._gradient_checkpointing_func(self.step, embedding, state)
            else:
                new = self.step(embedding, state)
            state = torch.where(real[:, position, None], new, state)
            states.append(state)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits, loss = self.lm_head(torch.stack(states, dim=1)), None
        targets = next_token_labels(labels, kwargs.get("shift_labels"), real.shape, self.config.vocab_size)
        if targets is not None:
            # The first token of a row follows nothing, wherever padding has put it.
            targets = targets.masked_fill(real.cumsum(dim=1) == 0, -100)
            loss = cross_entropy(logits, targets, kwargs.get("num_items_in_batch"))
        seen = input_ids.shape[1] + (0 if past_key_values is None else past_key_values.get_seq_length())
        shown = self.shown_states(kwargs.get("output_hidden_states"), embedded, torch.stack(states, dim=1))
        return CausalLMOutputWithPast(loss, logits[:, kept], StandInCache(state, seen) if use_cache else None, shown)

    @torch.no_grad()
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return score_from_logits(self, input_ids, attention_mask)

    def step(self, embedding: Tensor, state: Tensor) -> Tensor:
        return getattr(torch, self.config.activation)(embedding + self.recurrent(state))

    def real_tokens(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        mask = padding_mask(attention_mask, input_ids[..., None])
        return torch.ones_like(input_ids, dtype=torch.bool) if mask is None else mask
