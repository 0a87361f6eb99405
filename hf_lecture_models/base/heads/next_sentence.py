# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Whether the second of two texts follows the first."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import NextSentencePredictorOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.model_head import TextVectorHead


class NextSentenceHead(TextVectorHead):
    """logits = seq_relationship(pool(outputs of the base model)); class 0: it follows, class 1: it does not.

    A model with this head is these modules, and how a pair of texts becomes a vector:

        class XForNextSentencePrediction(NextSentenceHead, XPreTrainedModel):
            base_model_class = XModel

            def __init__(self, config):
                super().__init__(config)
                self.model = XModel(config)
                self.seq_relationship = nn.Linear(config.hidden_size, 2)
                self.post_init()

            def pool(self, outputs, attention_mask):
                return outputs.pooler_output
    """

    seq_relationship: nn.Module

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
            input_ids: (batch, seq), both texts of a pair; which is which, `token_type_ids` say.
            attention_mask: (batch, seq), 1 = real token.
            labels: (batch,), 0 where the second text follows the first, 1 where it does not; -100 is not counted.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            kwargs: the other arguments of the base model; `output_hidden_states`, `output_attentions`.

        Returns:
            `loss` (scalar, nats, float32; the mean over pairs; None without labels), `logits` (batch, 2), and on
            request the `hidden_states` and `attentions` of the base model.

        Raises:
            ValueError: labels of another shape, or that are neither 0 nor 1.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.seq_relationship(self.pool(outputs, attention_mask))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return NextSentencePredictorOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
