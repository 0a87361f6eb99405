# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Each check of seq2seq_tests.py fails for a model that breaks its promise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent_seq2seq import (
    RecurrentSeq2SeqConfig,
    RecurrentSeq2SeqForConditionalGeneration,
    RecurrentSeq2SeqModel,
)
from tests.seq2seq_tests import Seq2SeqTests

IDS = {"bos_token_id": 19, "eos_token_id": 20, "pad_token_id": 21, "decoder_start_token_id": 22}


class Sound(RecurrentSeq2SeqForConditionalGeneration):
    base_model_class = RecurrentSeq2SeqModel


class LooksAhead(Sound):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().forward(*args, **kwargs)
        outputs.logits = outputs.logits + 0.01 * outputs.logits.mean(1, keepdim=True)
        return outputs


class ReadsPaddedSources(Sound):
    def forward(self, *args: Any, attention_mask: Tensor | None = None, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)


class ReadsPaddedTargets(Sound):
    def forward(self, *args: Any, decoder_attention_mask: Tensor | None = None, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)


class ShiftsLabels(Sound):
    def forward(self, *args: Any, labels: Tensor | None = None, **kwargs: Any) -> Any:
        return super().forward(*args, labels=None if labels is None else labels.roll(-1, 1), **kwargs)


class CountsItsOwnItems(Sound):
    def forward(self, *args: Any, num_items_in_batch: Any = None, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)


class ForgetfulCache(RecurrentCache):
    def reorder_cache(self, beam_idx: Tensor) -> None:
        pass


class ForgetsToReorder(Sound):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().forward(*args, **kwargs)
        cache = outputs.past_key_values
        if cache is not None:
            outputs.past_key_values = ForgetfulCache.from_states(cache.states, cache.seen_tokens)
        return outputs


class LosesItsState(Sound):
    def forward(self, *args: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
        if past_key_values is not None:
            zeros = [tuple(torch.zeros_like(tensor) for tensor in state) for state in past_key_values.states]
            past_key_values = RecurrentCache.from_states(zeros, past_key_values.seen_tokens)
        return super().forward(*args, past_key_values=past_key_values, **kwargs)


class LeavesPaddingItsWeight(Sound):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().forward(*args, **kwargs)
        if outputs.cross_attentions:
            outputs.cross_attentions = tuple(weights.softmax(-1) for weights in outputs.cross_attentions)
        return outputs


BROKEN = [
    (LooksAhead, "test_causality", ()),
    (LooksAhead, "test_padded_targets", ()),
    (ReadsPaddedSources, "test_source_padded_on_the_left", ()),
    (ReadsPaddedSources, "test_batch_equals_single_rows", ("right",)),
    (ReadsPaddedTargets, "test_padded_targets", ()),
    (ShiftsLabels, "test_labels_are_not_shifted", ()),
    (ShiftsLabels, "test_loss_is_the_mean_over_what_counts", ()),
    (CountsItsOwnItems, "test_micro_batches_add_up", ()),
    (ForgetsToReorder, "test_generate_by_beams", ()),
    (LosesItsState, "test_cache_equals_no_cache", ((3, 1, 2),)),
    (LosesItsState, "test_generate_greedy", ("right",)),
    (LeavesPaddingItsWeight, "test_cross_attentions", ()),
]


def checks(model: type[Sound]) -> Seq2SeqTests:
    class Checks(Seq2SeqTests):
        model_class = model
        source_direction = "forwards"

        def config(self) -> RecurrentSeq2SeqConfig:
            fields = {"vocab_size": 24, "hidden_size": 8, "cell_type": "gru", "attention_type": "dot"}
            return RecurrentSeq2SeqConfig(**fields, **IDS)

    return Checks()


@pytest.mark.parametrize(("model", "check", "arguments"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_a_broken_model_fails(model: type[Sound], check: str, arguments: tuple[Any, ...]) -> None:
    getattr(checks(Sound), check)(*arguments)
    with pytest.raises(AssertionError):
        getattr(checks(model), check)(*arguments)
