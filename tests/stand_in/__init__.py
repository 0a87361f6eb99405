# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models outside the package, laid out and registered as a user's own would be."""

from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedTokenizerFast,
)

from hf_lecture_models.io.registration import register
from tests.stand_in.modeling_encoder import (
    EncoderConfig,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    EncoderModel,
)
from tests.stand_in.modeling_stand_in import StandInCache, StandInConfig, StandInForCausalLM

__all__ = [
    "EncoderConfig",
    "EncoderForMaskedLM",
    "EncoderForMultipleChoice",
    "EncoderForQuestionAnswering",
    "EncoderForSequenceClassification",
    "EncoderForTokenClassification",
    "EncoderModel",
    "StandInCache",
    "StandInConfig",
    "StandInForCausalLM",
    "encoder_tokenizer",
    "stand_in_tokenizer",
]

register(StandInConfig, [(AutoModelForCausalLM, StandInForCausalLM)])
register(
    EncoderConfig,
    [
        (AutoModel, EncoderModel),
        (AutoModelForSequenceClassification, EncoderForSequenceClassification),
        (AutoModelForTokenClassification, EncoderForTokenClassification),
        (AutoModelForQuestionAnswering, EncoderForQuestionAnswering),
        (AutoModelForMultipleChoice, EncoderForMultipleChoice),
        (AutoModelForMaskedLM, EncoderForMaskedLM),
    ],
)


def stand_in_tokenizer() -> PreTrainedTokenizerFast:
    """Words w0 to w16 and three special tokens."""
    words = {f"w{number}": number for number in range(17)} | {"<s>": 17, "</s>": 18, "<pad>": 19}
    backend = Tokenizer(WordLevel(words))
    backend.pre_tokenizer = WhitespaceSplit()
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, padding_side="left", **special)


def encoder_tokenizer(**options: Any) -> PreTrainedTokenizerFast:
    """Words w0 to w17, a mask and padding."""
    words = {f"w{number}": number for number in range(18)} | {"<mask>": 18, "<pad>": 19}
    backend = Tokenizer(WordLevel(words))
    backend.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="<mask>", pad_token="<pad>", **options)
