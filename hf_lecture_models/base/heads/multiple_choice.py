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

    A model with this head is these modules, and how a text becomes a vector:

        class XForMultipleChoice(MultipleChoiceHead, XPreTrainedModel):
            base_model_class = XModel

            def __init__(self, config):
                super().__init__(config)
                self.model = XModel(config)
                self.dropout = nn.Dropout(config.dropout)
                self.classifier = nn.Linear(config.hidden_size, 1)
                self.post_init()

            def pool(self, outputs, attention_mask):
                return outputs.pooler_output
    """

    dropout: nn.Module
    classifier: nn.Module

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
            input_ids: (batch, choices, seq), each choice behind what it continues.
            attention_mask: (batch, choices, seq), 1 = real token.
            labels: (batch,), the right choices, from 0; -100 is not counted.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            kwargs: the other arguments of the base model, tensors with an axis of choices too, which it must know;
                `output_hidden_states`, `output_attentions`.

        Returns:
            `loss` (scalar, nats, float32; the mean over examples; None without labels), `logits` (batch, choices), and
            on request the `hidden_states` and `attentions` of the base model, whose first axis is batch * choices.

        Raises:
            ValueError: inputs without the axis of choices, labels of another shape, or that are no choices.
        """
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, **kwargs}
        flat = {name: _flat(name, value) for name, value in inputs.items()}
        outputs, vectors = self.read_texts(flat)
        scores = self.classifier(self.dropout(vectors))  # (batch * choices, 1)
        choices = next(value.shape[1] for value in inputs.values() if isinstance(value, Tensor))
        logits, loss = scores.view(-1, choices), None
        if labels is not None:
            loss = cross_entropy(logits, labels, num_items_in_batch)
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
