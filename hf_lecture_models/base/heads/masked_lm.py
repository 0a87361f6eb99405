# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masked words, predicted from the words on both sides."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import MaskedLMOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import NOT_COUNTED, class_labels, cross_entropy, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.io.compat import slice_logits_to_keep
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy

_PLACE_OF_LOGITS_TO_KEEP = 5  # among the arguments of `forward`


def tuple_with_logits(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the `forward` of a head that computes no logits in training: a tuple, read by places, holds them."""

    @wraps(forward)
    def complete_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked = kwargs.get("return_dict")
        as_tuple = not (self.config.return_dict if asked is None else asked)
        if as_tuple and kwargs.get("logits_to_keep") is None and len(args) < _PLACE_OF_LOGITS_TO_KEEP:
            kwargs["logits_to_keep"] = 0
        return forward(self, *args, **kwargs)

    return complete_forward


class MaskedLMHead(ModelHead):
    """logits = lm_head(word_states(last hidden state)); nothing is shifted, position t predicts its own token.

    A model with layers of its own between states and `lm_head` defines `word_states`. With `tie_word_embeddings`, the
    matrix of `lm_head` is the base model's `embed_tokens`.

    Few positions are masked, and only they have a loss. So in training the logits of all others are not computed
    (`logits_to_keep`).
    """

    loss_without_logits = True
    """The loss does not need the logits; in training, none are returned beside it."""
    config: Any
    lm_head: nn.Module
    training: bool
    _tied_weights_keys: Any = {"lm_head.weight": "model.embed_tokens.weight"}

    def add_layers(self, config: Any) -> None:
        """Build `lm_head`."""
        self.lm_head = nn.Linear(config.output_size, config.vocab_size)

    @tuple_with_logits
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        logits_to_keep: int | Tensor | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput:
        """Predict the token at each position.

        Args:
            input_ids: (batch, seq), with masked tokens.
            labels: (batch, seq), the tokens that were there; -100 where none is to be predicted.
            logits_to_keep: the last so many positions, or a tensor of positions, to compute logits for; 0 for all. Left
                out: all, but in training with labels none, unless a tuple is asked for. The loss is the same.

        Returns:
            `loss`, and `logits` (batch, positions kept, vocab_size; None where none are).

        Raises:
            ValueError: labels of another shape, or outside the vocabulary.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits, loss = self.predict_words(outputs.last_hidden_state, labels, logits_to_keep, num_items_in_batch)
        return MaskedLMOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))

    def predict_words(
        self,
        hidden: Tensor,
        labels: Tensor | None = None,
        logits_to_keep: int | Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> tuple[Tensor | None, Tensor | None]:
        """Logits and loss of the states `hidden` (batch, seq, hidden_size), as `forward` returns them."""
        keep = 0 if logits_to_keep is None else logits_to_keep
        all_kept, logits = isinstance(keep, int) and keep == 0, None
        if labels is None or logits_to_keep is not None or not self.training:
            logits = self.lm_head(self.word_states(slice_logits_to_keep(hidden, keep)))
        if labels is None:
            return logits, None
        if all_kept and logits is not None:
            return logits, cross_entropy(logits, labels, num_items_in_batch)
        labels = class_labels(labels, hidden.shape[:2], self.config.vocab_size).flatten().to(hidden.device)
        counted = labels != NOT_COUNTED
        places = counted.nonzero().squeeze(1)
        states = self.word_states(hidden.flatten(0, 1).index_select(0, places))
        total = linear_cross_entropy(states, self.lm_head, labels.index_select(0, places))
        return logits, mean_over_items(total, counted.sum(), num_items_in_batch)

    def word_states(self, hidden: Tensor) -> Tensor:
        """Return the input of `lm_head`: the states `hidden` (..., hidden_size) themselves, unless overridden."""
        return hidden
