# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts to classes, to several classes at once, or to numbers; and tokens to classes: parts of speech, names."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import SequenceClassifierOutput, TokenClassifierOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import NOT_COUNTED, cross_entropy, mean_over_items, no_tensor
from hf_lecture_models.base.heads.model_head import ModelHead, TextVectorHead
from hf_lecture_models.layers.execution import at_least_float32, is_traced


class SequenceClassificationHead(TextVectorHead):
    """logits = classifier(dropout(pool(outputs of the base model))).

    A model whose base model has no `pooler_output` says in `pool` how a text becomes a vector.
    """

    dropout: nn.Module
    classifier: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `dropout` and `classifier`."""
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.output_size, config.num_labels)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Return `loss` and `logits` (batch, num_labels); `labels` are those of `sequence_classification_loss`."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, **kwargs}
        outputs, vectors = self.read_texts(inputs)
        logits, loss = self.classifier(self.dropout(vectors)), None
        if labels is not None:
            problem_type = self.config.problem_type or default_problem_type(logits, labels)
            loss = sequence_classification_loss(logits, labels, problem_type, num_items_in_batch)
            if self.auxiliary_loss is not None:
                counts = _labels_per_text(logits, labels, problem_type)
                loss = self.with_auxiliary_loss(loss, outputs, inputs, counts, num_items_in_batch)
        return SequenceClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


class TokenClassificationHead(ModelHead):
    """logits = classifier(dropout(last hidden state of the base model))."""

    dropout: nn.Module
    classifier: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `dropout` and `classifier`."""
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.output_size, config.num_labels)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Return `loss` and `logits` (batch, seq, num_labels).

        `labels` (batch, seq) are classes from 0 to num_labels - 1, or -100 at padding and after a word's first piece.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


def sequence_classification_loss(
    logits: Tensor,
    labels: Tensor,
    problem_type: str | None = None,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor:
    """Return the mean loss per label, in float32 or wider; `problem_type` names the loss.

    - "single_label_classification": -ln softmax(logits)[label]; labels (batch,), integers.
    - "multi_label_classification": -ln σ(logit) where the label is 1, -ln(1 - σ(logit)) where it is 0; labels (batch,
      num_labels) from 0 to 1. With one logit this is logistic regression, whose labels may be (batch,).
    - "regression": (logit - label)²; labels (batch, num_labels), or (batch,) with one logit.
    - None: regression with one logit, else the first with labels of integers and the second with others, as
      transformers chooses. The configuration keeps its None, and another call may have labels of another kind.

    `logits` are (batch, num_labels). A label of -100 is not counted, but for regression, where it is a number.

    >>> sequence_classification_loss(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]))
    tensor(0.2201)

    Raises:
        ValueError: labels that are not a tensor, of another shape or type, or outside the values above.
    """
    problem_type = problem_type or default_problem_type(logits, labels)
    if not isinstance(labels, Tensor):
        raise no_tensor(labels)
    labels = _one_per_logit(labels.to(logits.device), logits, problem_type)
    if problem_type == "single_label_classification":
        return cross_entropy(logits, labels, num_items_in_batch)
    logits = at_least_float32(logits)
    labels = labels.to(logits.dtype)
    if problem_type == "regression":
        return mean_over_items(F.mse_loss(logits, labels, reduction="sum"), labels.numel(), num_items_in_batch)
    counted = labels != NOT_COUNTED
    labels = labels.where(counted, 0.0)
    _check_truth_values(labels)
    losses = F.binary_cross_entropy_with_logits(logits, labels, reduction="none").where(counted, 0.0)
    return mean_over_items(losses.sum(), counted.sum(), num_items_in_batch)


def default_problem_type(logits: Tensor, labels: Tensor) -> str:
    """Return the type that `sequence_classification_loss` assumes where `problem_type` is None."""
    if not isinstance(labels, Tensor):
        raise no_tensor(labels)
    if logits.shape[-1] == 1:
        return "regression"
    integers = not labels.is_floating_point() and labels.dtype != torch.bool
    return "single_label_classification" if integers else "multi_label_classification"


def _labels_per_text(logits: Tensor, labels: Tensor, problem_type: str) -> Tensor:
    """(batch,): how many labels of each text count."""
    labels = labels.to(logits.device).reshape(logits.shape[0], -1)
    return (torch.ones_like(labels) if problem_type == "regression" else labels != NOT_COUNTED).sum(1)


def _one_per_logit(labels: Tensor, logits: Tensor, problem_type: str) -> Tensor:
    """The labels as (batch,) classes, or in the shape of the logits."""
    batch, num_labels = logits.shape
    needed = (batch,) if problem_type == "single_label_classification" else (batch, num_labels)
    # One label for each text may come as a row or as a column.
    if labels.shape == needed or (labels.shape in ((batch,), (batch, 1)) and math.prod(needed) == batch):
        return labels.reshape(needed)
    raise ValueError(
        f"labels have shape {tuple(labels.shape)}; {problem_type} with num_labels={num_labels} needs {needed}: "
        "correct the labels, or set num_labels or problem_type in the configuration"
    )


def _check_truth_values(labels: Tensor) -> None:
    # Tracing cannot ask for values.
    if is_traced() or labels.numel() == 0:
        return
    lowest, highest = (float(bound) for bound in labels.aminmax())
    if lowest < 0 or highest > 1:
        raise ValueError(
            f"labels hold {lowest if lowest < 0 else highest}; multi_label_classification wants 0 or 1 for each label, "
            f"or {NOT_COUNTED} where it is unknown: correct the labels, or set problem_type in the configuration"
        )
