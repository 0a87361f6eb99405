# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masked words, predicted from the words on both sides."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import MaskedLMOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.model_head import ModelHead


class MaskedLMHead(ModelHead):
    """logits = lm_head(last hidden state of the base model); nothing is shifted, position t predicts its own token.

    A model with this head is these modules and nothing else:

        class XForMaskedLM(MaskedLMHead, XPreTrainedModel):
            base_model_class = XModel
            _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

            def __init__(self, config):
                super().__init__(config)
                self.model = XModel(config)
                self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
                self.post_init()
    """

    lm_head: nn.Module

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput:
        """Predict the token at each position.

        Args:
            input_ids: (batch, seq), with masked tokens.
            attention_mask: (batch, seq), 1 = real token.
            labels: (batch, seq), the tokens that were there; -100 where none is to be predicted.
            num_items_in_batch: the labels of the whole training step that are not -100; the loss is then the sum over
                this batch's divided by this.
            kwargs: the other arguments of the base model; `output_hidden_states`, `output_attentions`.

        Returns:
            `loss` (scalar, nats, float32; the mean over the labels that are not -100; None without labels), `logits`
            (batch, seq, vocab_size), and on request the `hidden_states` and `attentions` of the base model.

        Raises:
            ValueError: labels of another shape, or outside the vocabulary.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.lm_head(outputs.last_hidden_state)
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return MaskedLMOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
