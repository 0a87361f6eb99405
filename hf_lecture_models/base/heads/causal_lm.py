# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The head of causal language models: the next token's probability, the loss, and the score of each token."""

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.cache_utils import Cache
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.generation import PredictsNextToken, next_token_labels
from hf_lecture_models.base.heads.losses import NOT_COUNTED, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.io.compat import cache_of, slice_logits_to_keep
from hf_lecture_models.layers.execution import at_least_float32, has_own_loss
from hf_lecture_models.layers.few_rows import FewRowsLinear
from hf_lecture_models.layers.inputs import (
    is_prepared,
    last_token_index,
    padding_mask,
    real_token_mask,
    scored_positions,
)
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.word_scores import target_log_probs


class CausalLMHead(PredictsNextToken, ModelHead):
    """A language model whose output layer `lm_head` reads the last hidden state of the base model.

    A model with this head has `GenerationMixin` as its last base class. With `tie_word_embeddings`, the matrix of
    `lm_head` is the base model's `embed_tokens`.

    The base model takes `past_key_values` and `use_cache`, and returns `past_key_values`: all that it must know of the
    text so far. Where that is a `RecurrentCache`, `_is_stateful = True` tells `generate()`.

    Arguments of `forward`, beside those of the base model, to which it hands them on:

        labels: (batch, seq), the ids to predict, -100 where none is; `labels[:, t]` is predicted from the last real
            token before t, across padding. A label with no real token of this call before it does not count.
        shift_labels: (batch, seq), keyword, in the place of `labels`: `shift_labels[:, t]` is what comes after t.
        num_items_in_batch: keyword; divides the summed loss. Without it, the number of labels does.
        logits_to_keep: the last so many positions, or a tensor of positions, to compute logits for; 0 for all. The loss
            always counts all labels; if not all logits are kept, it is computed in pieces, and the logits of all
            positions never exist at once.

    It returns `loss` (scalar, nats, float32 or wider; None without labels), `logits` (batch, positions kept,
    vocab_size), and what the base model returns.
    """

    loss_without_logits = True
    """The loss does not need the logits; keeping 1 of them makes training faster and smaller."""
    config: Any
    model: Any
    lm_head: Any
    _tied_weights_keys: Any = {"lm_head.weight": "model.embed_tokens.weight"}

    no_output_matrix: Any = None
    """The loss is that of softmax(W h + b), W and b of `lm_head`; a model with another `lm_head` says why not."""

    def add_layers(self, config: Any) -> None:
        """Build `lm_head`."""
        self.lm_head = FewRowsLinear(config.output_size, config.vocab_size)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """Predict the next token at each position; arguments and outputs are those of the class's docstring."""
        shift_labels, items = kwargs.pop("shift_labels", None), kwargs.pop("num_items_in_batch", None)
        inputs = {"attention_mask": attention_mask, "past_key_values": past_key_values, "inputs_embeds": inputs_embeds}
        outputs = self.model(input_ids, **inputs, use_cache=use_cache, return_dict=True, **kwargs)
        hidden, loss = outputs.last_hidden_state, None
        logits = self.lm_head(slice_logits_to_keep(hidden, logits_to_keep))
        targets = next_token_labels(labels, shift_labels, hidden.shape[:2], self.config.vocab_size)
        if targets is not None:
            all_logits = logits if isinstance(logits_to_keep, int) and logits_to_keep == 0 else None
            # A prepared mask does not mark padding: there, labels do.
            padded = attention_mask is not None and not is_prepared(attention_mask)
            real = padding_mask(attention_mask, hidden) if padded else None
            loss = self._loss(hidden, all_logits, targets, real, items)
        return CausalLMOutputWithPast(loss, logits, cache_of(outputs), outputs.hidden_states, outputs.attentions)

    def _loss(
        self, hidden: Tensor, logits: Tensor | None, targets: Tensor, real: Tensor | None, items: Tensor | int | None
    ) -> Tensor:
        if logits is None or has_own_loss(self.lm_head):
            source, targets = gather_predicting_states(hidden, targets, real)
            total = linear_cross_entropy(source, self.lm_head, targets)
        else:
            source, targets = gather_predicting_states(logits, targets, real)
            total = F.cross_entropy(at_least_float32(source), targets, ignore_index=NOT_COUNTED, reduction="sum")
        return mean_over_items(total, (targets != NOT_COUNTED).sum(), items)

    def _prepare_generated_length(self, *args: Any, **kwargs: Any) -> Any:
        # Other programs ask for a thousand tokens where nobody gave a number: `generate()` stops at the longest input.
        config = super()._prepare_generated_length(*args, **kwargs)  # type: ignore[misc]
        longest, given = getattr(self, "longest_input", None), kwargs["input_ids_length"]
        # The last token is never read.
        if longest is not None and given <= longest < config.max_length - 1:
            more = f"{config.max_length - given} new tokens after {given} are more than the model can read"
            warnings.warn(f"{more}, {longest} in all; generation stops there", stacklevel=4)
            config.max_length = longest + 1
        return config

    @torch.no_grad()
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None, wanted: Tensor | None = None) -> Tensor:
        """Natural log-probability of each token given all before it in its row; rows may be long.

        Args:
            input_ids: (batch, seq), as `attention_mask`, without which everything but `pad_token_id` is real.
            wanted: (batch, seq) bool, the positions to score; all others cost no softmax and get 0.

        Returns:
            (batch, seq), float32 or wider: ln p(`input_ids[:, t]` | before); 0 at the first real token of each row, at
            `<s>` wherever it stands and at padding; -inf where the probability is 0.
        """
        real = real_token_mask(input_ids, attention_mask, self.config.pad_token_id)
        hidden = self.model(input_ids, real.long(), use_cache=False).last_hidden_state
        # The last real position before a token predicts it; a hole in the mask may be between them.
        before = last_token_index(real).roll(1, 1)  # (batch, seq); nothing asks for the first
        hidden = hidden.gather(1, before.unsqueeze(-1).expand_as(hidden))
        scored = scored_positions(real, input_ids, self.config.bos_token_id, self.config.eos_token_id)
        if wanted is not None:
            scored = scored & wanted
        scores = at_least_float32(hidden.new_zeros(input_ids.shape))
        if bool(scored.any()):
            found = target_log_probs(hidden[scored], self.lm_head, input_ids[scored], self.config.vocab_size)
            scores[scored] = found
        return scores


def gather_predicting_states(source: Tensor, targets: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the state that predicts each target, (batch * seq, width), and the targets, (batch * seq,)."""
    targets, source = targets.to(source.device), source.flatten(0, 1)
    if real is not None:
        real = real.to(source.device)
        targets = targets.masked_fill(real.cumsum(1) == 0, NOT_COUNTED)
        rows = torch.arange(real.shape[0], device=real.device)[:, None] * real.shape[1]
        source = source.index_select(0, (rows + last_token_index(real)).flatten())
    return source, targets.flatten()
