# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which of several continuations is right."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import MultipleChoiceModelOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import NOT_COUNTED, cross_entropy
from hf_lecture_models.base.heads.model_head import TextVectorHead


class MultipleChoiceHead(TextVectorHead):
    """The score of a choice is classifier(dropout(pool(outputs of the base model for it))), one number.

    A model whose base model has no `pooler_output` says in `pool` how a text becomes a vector.
    """

    dropout: nn.Module
    classifier: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `dropout` and `classifier`."""
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.output_size, 1)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> MultipleChoiceModelOutput:
        """Score the choices of each example.

        Args:
            input_ids: (batch, choices, seq), each choice after the text that it continues.
            labels: (batch,), the right choices, from 0; -100 is not counted.
            kwargs: all tensors have an axis of choices too.

        Returns:
            `loss` and `logits` (batch, choices). The first axis of `hidden_states` and `attentions` is batch * choices.
        """
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, **kwargs}
        flat = {name: _flat(name, value) for name, value in inputs.items()}
        outputs, vectors = self.read_texts(flat)
        scores = self.classifier(self.dropout(vectors))  # (batch * choices, 1)
        choices = next(value.shape[1] for value in inputs.values() if isinstance(value, Tensor))
        logits, loss = scores.view(-1, choices), None
        if labels is not None:
            loss = cross_entropy(logits, labels, num_items_in_batch)
            if self.auxiliary_loss is not None:
                # The texts of an example count as one.
                counts = (labels.to(logits.device) != NOT_COUNTED).repeat_interleave(choices) / choices
                loss = self.with_auxiliary_loss(loss, outputs, flat, counts, num_items_in_batch)
        return MultipleChoiceModelOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


def _flat(name: str, value: Any) -> Any:
    """(batch, choices, ...) to (batch * choices, ...)."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() < 3:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; multiple choice reads (batch, choices, seq)")
    return value.flatten(0, 1)
