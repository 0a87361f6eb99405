# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which of several continuations is right."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import MultipleChoiceModelOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.model_head import TextVectorHead


class MultipleChoiceHead(TextVectorHead):
    """The score of a choice is classifier(dropout(pool(outputs of the base model for it))), one number.

    A model's own part is its modules, and how a text becomes a vector:

        class XForMultipleChoice(MultipleChoiceHead, XPreTrainedModel):
            base_model_class = XModel

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
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> MultipleChoiceModelOutput:
        """Score the choices of each example.

        Args:
            input_ids: (batch, choices, seq), each choice behind what it continues; attention_mask: the same shape, 1 =
                real token.
            inputs_embeds: (batch, choices, seq, hidden_size), in place of `input_ids`.
            labels: (batch,), the right choices, from 0; -100 is not counted.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            kwargs: what else the base model reads (`token_type_ids`, `position_ids`, of the shape of `input_ids`),
                `output_hidden_states`, `output_attentions`.

        Returns:
            `loss` (scalar, nats, float32; the mean over examples; None without labels), `logits` (batch, choices), and
            on request the base model's `hidden_states` and `attentions`, whose first axis is batch * choices.

        Raises:
            TypeError: an input that the base model does not read.
            ValueError: inputs without the axis of choices, labels of another shape or outside the choices.
        """
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "inputs_embeds": inputs_embeds, **kwargs}
        tensors = {name: value for name, value in inputs.items() if isinstance(value, Tensor)}
        batch, choices = _batch_and_choices(tensors)
        flat = {name: value.flatten(0, 1) for name, value in tensors.items()}  # (batch * choices, seq)
        outputs = self.read(**{**inputs, **flat})
        vectors = self.pool(outputs, flat.get("attention_mask"))
        logits = self.classifier(self.dropout(vectors)).view(batch, choices)
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return MultipleChoiceModelOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


def _batch_and_choices(inputs: dict[str, Tensor]) -> tuple[int, int]:
    for name, value in inputs.items():
        axes = ("batch", "choices", "seq", "hidden_size")[: 4 if name == "inputs_embeds" else 3]
        if value.dim() != len(axes):
            raise ValueError(f"{name} has shape {tuple(value.shape)}; multiple choice reads ({', '.join(axes)})")
    if not inputs.keys() & {"input_ids", "inputs_embeds"}:
        raise ValueError("give either input_ids or inputs_embeds")
    batch, choices, *_ = next(iter(inputs.values())).shape
    return batch, choices
