# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A class for each token: parts of speech, names."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.inner_model import Head
from hf_lecture_models.base.heads.losses import cross_entropy


class TokenClassificationHead(Head):
    """logits = classifier(dropout(last hidden state of the inner model)).

    A model's own part is its modules:

        class XForTokenClassification(TokenClassificationHead, XPreTrainedModel):
            def __init__(self, config: XConfig):
                super().__init__(config)
                self.model = XModel(config)
                self.dropout = nn.Dropout(config.dropout)
                self.classifier = nn.Linear(config.hidden_size, config.num_labels)
                self.post_init()
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
    ) -> TokenClassifierOutput:
        """Classify tokens.

        Args:
            input_ids, attention_mask, token_type_ids, position_ids: (batch, seq), where the inner model reads them.
            inputs_embeds: (batch, seq, hidden_size), in place of `input_ids`.
            labels: (batch, seq), classes from 0 to num_labels - 1; -100 where none counts, as at padding and behind the
                first piece of a word.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            kwargs: `output_hidden_states`, `output_attentions` and what else the inner model takes.

        Returns:
            `loss` (scalar, float32; the mean over the labels that are not -100; None without labels), `logits` (batch,
            seq, num_labels), and on request the inner model's `hidden_states` and `attentions`.

        Raises:
            ValueError: labels of another shape or outside the classes, or an input that the inner model does not read.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        outputs = self.inner_outputs(inputs, kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
