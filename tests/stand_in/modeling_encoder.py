# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The smallest encoder with every head of base/heads; test_model_tests.py breaks it on purpose.

h_t = E u_t + S[type of t]; a_t = softmax_s(h_t · h_s) over the real tokens s; h'_t = tanh(h_t + W Σ_s a_t[s] h_s + b).
A text's vector is the mean of its h'. Deviations: none, it is on no slide.
"""

from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.heads.classification import SequenceClassificationHead, TokenClassificationHead
from hf_lecture_models.base.heads.masked_lm import MaskedLMHead
from hf_lecture_models.base.heads.multiple_choice import MultipleChoiceHead
from hf_lecture_models.base.heads.question_answering import QuestionAnsweringHead
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.layers.inputs import input_vectors, padding_mask


@strict
class EncoderConfig(LectureConfig):
    model_type = "lecture_stand_in_encoder"
    positive_fields: ClassVar[tuple[str, ...]] = ("vocab_size", "hidden_size")

    vocab_size: int = 20
    hidden_size: int = 8
    dropout: float | int = 0.0
    pad_token_id: int | None = 19


class EncoderBlock(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.projection = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        scores = hidden @ hidden.mT
        weights = scores.masked_fill(~real[:, None], torch.finfo(scores.dtype).min).softmax(dim=-1)
        return torch.tanh(hidden + self.projection(weights @ hidden)), weights


class EncoderPreTrainedModel(LecturePreTrainedModel):
    config: EncoderConfig
    config_class = EncoderConfig
    base_model_prefix = "model"
    _can_record_outputs = {"hidden_states": EncoderBlock, "attentions": EncoderBlock}


class EncoderModel(EncoderPreTrainedModel):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_types = nn.Embedding(2, config.hidden_size)
        self.block = EncoderBlock(config)
        self.post_init()

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: bool,
    ) -> BaseModelOutput:
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        if token_type_ids is None:
            token_type_ids = words.new_zeros(words.shape[:2], dtype=torch.long)
        real = padding_mask(attention_mask, words)
        real = torch.ones_like(token_type_ids, dtype=torch.bool) if real is None else real
        hidden, _ = self.block(words + self.embed_types(token_type_ids), real)
        return BaseModelOutput(last_hidden_state=hidden)


def mean_of_real(outputs: Any, attention_mask: Tensor | None) -> Tensor:
    hidden = outputs.last_hidden_state
    if attention_mask is None:
        return hidden.mean(dim=1)
    real = attention_mask[..., None].to(hidden.dtype)
    return (hidden * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


class EncoderForSequenceClassification(SequenceClassificationHead, EncoderPreTrainedModel):
    base_model_class = EncoderModel

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.model = EncoderModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        return mean_of_real(outputs, attention_mask)


class EncoderForMultipleChoice(MultipleChoiceHead, EncoderPreTrainedModel):
    base_model_class = EncoderModel

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.model = EncoderModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        return mean_of_real(outputs, attention_mask)


class EncoderForTokenClassification(TokenClassificationHead, EncoderPreTrainedModel):
    base_model_class = EncoderModel

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.model = EncoderModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()


class EncoderForQuestionAnswering(QuestionAnsweringHead, EncoderPreTrainedModel):
    base_model_class = EncoderModel

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.model = EncoderModel(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()


class EncoderForMaskedLM(MaskedLMHead, EncoderPreTrainedModel):
    base_model_class = EncoderModel

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.model = EncoderModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()
