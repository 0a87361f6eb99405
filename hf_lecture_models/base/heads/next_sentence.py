# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Whether the second of two texts follows the first."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import NextSentencePredictorOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.model_head import TextVectorHead


class NextSentenceHead(TextVectorHead):
    """logits = seq_relationship(pool(outputs of the base model)); class 0: it follows, class 1: it does not."""

    seq_relationship: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `seq_relationship`."""
        self.seq_relationship = nn.Linear(config.output_size, 2)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> NextSentencePredictorOutput:
        """Classify pairs of texts.

        Args:
            input_ids: (batch, seq), both texts of a pair; `token_type_ids` tell them apart.
            attention_mask: (batch, seq), 1 = real token.
            labels: (batch,), 0 where the second text follows the first, 1 where it does not; -100 is not counted.
            num_items_in_batch, kwargs: see `ModelHead`.

        Returns:
            `loss` and `logits` (batch, 2).

        Raises:
            ValueError: labels of another shape, or that are neither 0 nor 1.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.seq_relationship(self.pool(outputs, attention_mask))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return NextSentencePredictorOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
