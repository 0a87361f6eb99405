# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which of several continuations is right."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import MultipleChoiceModelOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.inner_model import INPUTS, TextVectorHead
from hf_lecture_models.base.heads.losses import cross_entropy


class MultipleChoiceHead(TextVectorHead):
    """The score of a choice is classifier(dropout(pool(outputs of the inner model for it))), one number.

    A model's own part is its modules, and how a text becomes a vector:

        class XForMultipleChoice(MultipleChoiceHead, XPreTrainedModel):
            def __init__(self, config: XConfig):
                super().__init__(config)
                self.model = XModel(config)
                self.dropout = nn.Dropout(config.dropout)
                self.classifier = nn.Linear(config.hidden_size, 1)
                self.post_init()

            def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
                return outputs.pooler_output
    """

    dropout: nn.Module
    classifier: nn.Module

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> MultipleChoiceModelOutput:
        """Score the choices of each example.

        Args:
            input_ids, attention_mask, token_type_ids, position_ids: (batch, choices, seq), each choice behind what it
                continues, where the inner model reads them.
            inputs_embeds: (batch, choices, seq, hidden_size), in place of `input_ids`.
            labels: (batch,), the right choices, from 0; -100 is not counted.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            kwargs: `output_hidden_states`, `output_attentions` and what else the inner model takes.

        Returns:
            `loss` (scalar, nats, float32; the mean over examples; None without labels), `logits` (batch, choices), and
            on request the inner model's `hidden_states` and `attentions`, whose first axis is batch * choices.

        Raises:
            ValueError: inputs without the axis of choices, labels of another shape or outside the choices, or an input
                that the inner model does not read.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        batch, choices = _batch_and_choices(inputs)
        flat = [None if value is None else value.flatten(0, 1) for value in inputs]  # (batch * choices, seq)
        outputs = self.inner_outputs(flat, kwargs)
        scores = self.classifier(self.dropout(self.pool(outputs, flat[1])))  # (batch * choices, 1)
        logits = scores.view(batch, choices)
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return MultipleChoiceModelOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


def _batch_and_choices(inputs: Sequence[Tensor | None]) -> tuple[int, int]:
    shapes = {name: tuple(value.shape) for name, value in zip(INPUTS, inputs, strict=True) if value is not None}
    for name, shape in shapes.items():
        axes = ("batch", "choices", "seq", "hidden_size")[: 4 if name == "inputs_embeds" else 3]
        if len(shape) != len(axes):
            raise ValueError(f"{name} has shape {shape}; multiple choice reads ({', '.join(axes)})")
    if not shapes.keys() & {"input_ids", "inputs_embeds"}:
        raise ValueError("give either input_ids or inputs_embeds")
    batch, choices, *_ = next(iter(shapes.values()))
    return batch, choices
