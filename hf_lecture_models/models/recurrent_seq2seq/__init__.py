# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent encoder-decoders: fixed context, additive attention, dot attention."""

from transformers import AutoModel, AutoModelForSeq2SeqLM

from hf_lecture_models.io.registration import register
from hf_lecture_models.models.recurrent_seq2seq.configuration_recurrent_seq2seq import RecurrentSeq2SeqConfig
from hf_lecture_models.models.recurrent_seq2seq.modeling_recurrent_seq2seq import (
    RecurrentSeq2SeqForConditionalGeneration,
    RecurrentSeq2SeqModel,
)

register(
    RecurrentSeq2SeqConfig,
    [(AutoModel, RecurrentSeq2SeqModel), (AutoModelForSeq2SeqLM, RecurrentSeq2SeqForConditionalGeneration)],
)

__all__ = ["RecurrentSeq2SeqConfig", "RecurrentSeq2SeqForConditionalGeneration", "RecurrentSeq2SeqModel"]
