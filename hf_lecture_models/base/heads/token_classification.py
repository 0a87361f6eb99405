# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A class for each token: parts of speech, names."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.model_head import ModelHead


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
        """Classify tokens.

        Args:
            labels: (batch, seq), classes from 0 to num_labels - 1; -100 where none counts: at padding, and after the
                first piece of a word.

        Returns:
            `loss` and `logits` (batch, seq, num_labels).

        Raises:
            ValueError: labels of another shape, or outside the classes.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
