# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Each check of seq2seq_tests.py fails for a model that breaks its promise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from hf_lecture_models.io.compat import CACHE, cache_of
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent_seq2seq import RecurrentSeq2SeqConfig, RecurrentSeq2SeqForConditionalGeneration
from tests.seq2seq_tests import Seq2SeqTests
from tests.test_model_tests import Arguments, altered, cases, checks_of, relabelled


class SmallTests(Seq2SeqTests):
    """Not collected by itself: tests/models/recurrent_seq2seq holds the model's own tests."""

    model_class = RecurrentSeq2SeqForConditionalGeneration
    source_direction = "forwards"

    def config(self) -> RecurrentSeq2SeqConfig:
        ids = {"bos_token_id": 19, "eos_token_id": 20, "pad_token_id": 21, "decoder_start_token_id": 22}
        fields = {"vocab_size": 24, "hidden_size": 8, "cell_type": "gru", "attention_type": "dot"}
        return RecurrentSeq2SeqConfig(**fields, **ids)


class ForgetfulCache(RecurrentCache):
    def reorder_cache(self, beam_idx: Tensor) -> None:
        pass


def broken(given: Any = lambda k: {}, returned: Any = lambda k, out, model: {}) -> Any:
    return altered(RecurrentSeq2SeqForConditionalGeneration, given, returned)


def forgetful(k: Arguments, out: Any, model: Any) -> Arguments:
    cache = cache_of(out)
    return {CACHE: cache and ForgetfulCache.from_states(cache.states, cache.seen_tokens)}


def lost_state(k: Arguments) -> Arguments:
    cache = k.get("past_key_values")
    if cache is None:
        return {}
    zeros = [tuple(torch.zeros_like(tensor) for tensor in state) for state in cache.states]
    return {"past_key_values": RecurrentCache.from_states(zeros, cache.seen_tokens)}


def weight_on_padding(k: Arguments, out: Any, model: Any) -> Arguments:
    return {"cross_attentions": out.cross_attentions and tuple(each.softmax(-1) for each in out.cross_attentions)}


BROKEN: list[tuple[type, *tuple[tuple[Any, ...], ...]]] = [
    (  # looks ahead
        broken(returned=lambda k, out, model: {"logits": out.logits + 0.01 * out.logits.mean(1, keepdim=True)}),
        ("test_causality",),
        ("test_padded_targets",),
    ),
    (
        broken(lambda k: {"attention_mask": None}),
        ("test_source_padded_on_the_left",),
        ("test_batch_equals_single_rows", "right"),
    ),
    (broken(lambda k: {"decoder_attention_mask": None}), ("test_padded_targets",)),
    (
        relabelled(RecurrentSeq2SeqForConditionalGeneration, lambda labels: labels.roll(-1, 1)),
        ("test_labels_are_not_shifted",),
        ("test_loss_is_the_mean_over_what_counts",),
    ),
    (broken(lambda k: {"num_items_in_batch": None}), ("test_micro_batches_add_up",)),
    (broken(returned=forgetful), ("test_generate_by_beams",)),
    (broken(lost_state), ("test_cache_equals_no_cache", (3, 1, 2)), ("test_generate_greedy", "right")),
    (broken(returned=weight_on_padding), ("test_cross_attentions",)),
]


@pytest.mark.parametrize(("model_class", "check", "arguments"), cases(BROKEN))
def test_a_broken_model_fails(model_class: type, check: str, arguments: list[Any]) -> None:
    getattr(SmallTests(), check)(*arguments)
    with pytest.raises(AssertionError):
        getattr(checks_of(SmallTests, model_class), check)(*arguments)
