# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The part of a text that answers a question: where it begins and where it ends."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import QuestionAnsweringModelOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import NOT_COUNTED, mean_over_items, no_tensor
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.layers.execution import at_least_float32, is_traced


class QuestionAnsweringHead(ModelHead):
    """start_logits, end_logits = the two columns of qa_outputs(last hidden state of the base model).

    transformers' Trainer counts `labels` only, so it sends no `num_items_in_batch` here, and gives the micro-batches of
    a step equal weights: right where all examples count.
    """

    qa_outputs: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `qa_outputs`."""
        self.qa_outputs = nn.Linear(config.output_size, 2)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """Return `loss`, and each position's score as the first and as the last token of the answer, (batch, seq).

        Args:
            start_positions, end_positions: (batch,), see `question_answering_loss`; both or neither.
            num_items_in_batch: the number of examples, not of their labels.

        Raises:
            ValueError: one of the positions without the other, of another shape, or negative but not -100.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.qa_outputs(outputs.last_hidden_state)  # (batch, seq, 2)
        loss = None
        if start_positions is not None or end_positions is not None:
            positions = _both(start_positions, end_positions, logits)
            loss = question_answering_loss(logits, positions, attention_mask, num_items_in_batch)
        states = outputs.get("hidden_states"), outputs.get("attentions")
        return QuestionAnsweringModelOutput(loss, logits[..., 0], logits[..., 1], *states)


def question_answering_loss(
    logits: Tensor,
    positions: Tensor,
    attention_mask: Tensor | None = None,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor:
    """Mean over examples of (-ln p(start) - ln p(end)) / 2, in float32 or wider.

    Both are softmaxes over the example's real tokens: padding takes no probability. An example counts if both positions
    are among them, so -100 and an answer that truncation has cut off do not. (transformers counts start and end apart
    and takes a negative position for the first token.)

    >>> uniform = torch.zeros(1, 4, 2)
    >>> question_answering_loss(uniform, torch.tensor([[1, 2]]))  # ln 4
    tensor(1.3863)

    `logits` are (batch, seq, 2), for start and end, and `positions` (batch, 2) integers.
    """
    seq = logits.shape[1]
    real = torch.ones(logits.shape[:2], dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    real = real.to(logits.device)
    inside = (positions >= 0) & (positions < seq)
    counted = (inside & real.gather(1, positions.where(inside, 0))).all(dim=1)  # (batch,)
    targets = positions.masked_fill(~counted[:, None], NOT_COUNTED)
    # Not -inf, which makes the gradient of a row of padding NaN.
    scores = at_least_float32(logits)
    scores = scores.masked_fill(~real[..., None], torch.finfo(scores.dtype).min)
    total = F.cross_entropy(scores, targets, ignore_index=NOT_COUNTED, reduction="sum") / 2  # classes are axis 1
    return mean_over_items(total, counted.sum(), num_items_in_batch)


def _both(start: Tensor | None, end: Tensor | None, logits: Tensor) -> Tensor:
    batch = logits.shape[0]
    for name, given in (("start_positions", start), ("end_positions", end)):
        if given is not None and not isinstance(given, Tensor):
            raise no_tensor(given, name)
        if given is None or given.numel() != batch or given.is_floating_point() or given.dtype == torch.bool:
            found = "missing" if given is None else f"{given.dtype} of shape {tuple(given.shape)}"
            raise ValueError(f"{name} are {found}; start_positions and end_positions are integers of shape ({batch},)")
        # As in `class_labels`: tracing and GPUs are not asked for values.
        if not is_traced() and given.device.type == "cpu":
            wrong = given[(given < 0) & (given != NOT_COUNTED)]
            if wrong.numel():
                raise ValueError(
                    f"{name} hold {int(wrong[0])}; positions count from 0, and {NOT_COUNTED} is not counted"
                )
    return torch.stack((start.reshape(batch), end.reshape(batch)), dim=1).long().to(logits.device)  # type: ignore[union-attr]
