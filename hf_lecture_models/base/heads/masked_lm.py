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

    A model with this head is these modules and nothing else:

        class XForMaskedLM(MaskedLMHead, XPreTrainedModel):
            base_model_class = XModel
            _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

            def __init__(self, config):
                super().__init__(config)
                self.model = XModel(config)
                self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
                self.post_init()

    A model with layers of its own between states and `lm_head` defines `word_states`.

    Few positions are masked, and only they have a loss. So in training the logits of all others are not computed
    (`logits_to_keep`).
    """

    loss_without_logits = True
    """The loss does not need the logits; in training, none are returned beside it."""
    config: Any
    lm_head: nn.Module
    training: bool

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
            attention_mask: (batch, seq), 1 = real token.
            labels: (batch, seq), the tokens that were there; -100 where none is to be predicted.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            logits_to_keep: the last so many positions, or a tensor of positions, to compute logits for; 0 for all. Left
                out: all, but in training with labels none, unless a tuple is asked for. The loss is the same.
            kwargs: the other arguments of the base model; `output_hidden_states`, `output_attentions`.

        Returns:
            `loss` (scalar, nats, float32; the mean over the labels that are not -100; None without labels), `logits`
            (batch, positions kept, vocab_size; None where none are), and on request the `hidden_states` and
            `attentions` of the base model.

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
        """What `lm_head` reads of the states `hidden` (..., hidden_size): the states themselves, unless overridden."""
        return hidden
