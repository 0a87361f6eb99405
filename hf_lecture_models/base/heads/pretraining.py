# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT's pre-training: whether the second of two texts follows the first, alone or in one step with masked words."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import NextSentencePredictorOutput
from transformers.utils.generic import ModelOutput, can_return_tuple

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.masked_lm import MaskedLMHead, tuple_with_logits
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
        """Return `loss` and `logits` (batch, 2) of pairs of texts, which `token_type_ids` tell apart.

        `labels` (batch,) are 0 where the second text follows the first, 1 where it does not; -100 is not counted.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        logits = self.seq_relationship(self.pool(outputs, attention_mask))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return NextSentencePredictorOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


@dataclass
class PreTrainingOutput(ModelOutput):
    """The outputs of `PreTrainingHead`; the names are those of transformers' `BertForPreTraining`."""

    loss: Tensor | None = None
    prediction_logits: Tensor | None = None
    seq_relationship_logits: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class PreTrainingHead(MaskedLMHead, TextVectorHead):
    """loss = mean loss of the masked words + mean loss of the pairs.

    It has the layers of `MaskedLMHead` and those of `NextSentenceHead`. The two means are over different numbers of
    labels, so no one number divides their sum: `num_items_in_batch` is not taken, and trainers weigh the micro-batches
    of a step as they weigh means.
    """

    accepts_loss_kwargs = False
    """Tells transformers' Trainer to send no `num_items_in_batch`."""
    seq_relationship: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build the layers of `MaskedLMHead`, and `seq_relationship`."""
        super().add_layers(config)
        self.seq_relationship = nn.Linear(config.output_size, 2)

    @tuple_with_logits
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        next_sentence_label: Tensor | None = None,
        logits_to_keep: int | Tensor | None = None,
        **kwargs: Any,
    ) -> PreTrainingOutput:
        """Predict the token at each position, and classify the pairs.

        Args:
            labels, logits_to_keep: those of `MaskedLMHead`.
            next_sentence_label: the labels of `NextSentenceHead`.

        Returns:
            `loss` (the sum of the means whose labels are given), `prediction_logits` (batch, positions kept,
            vocab_size; None where none are), and `seq_relationship_logits` (batch, 2).
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        words, loss = self.predict_words(outputs.last_hidden_state, labels, logits_to_keep)
        pairs = self.seq_relationship(self.pool(outputs, attention_mask))
        if next_sentence_label is not None:
            pair_loss = cross_entropy(pairs, next_sentence_label, name="next_sentence_label")
            loss = pair_loss if loss is None else loss + pair_loss
        return PreTrainingOutput(loss, words, pairs, outputs.get("hidden_states"), outputs.get("attentions"))
