# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A configuration alone cannot fill the memory."""

import copy
import pickle

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from hf_lecture_models import (
    BagOfWordsConfig,
    FeedForwardConfig,
    Gpt1Config,
    Gpt1ForCausalLM,
    NGramConfig,
    RecurrentConfig,
    SelfAttentionConfig,
)

ABSURD = [
    (AutoModelForCausalLM, Gpt1Config(hidden_size=98304, num_attention_heads=64)),
    (AutoModelForCausalLM, SelfAttentionConfig(num_hidden_layers=256, hidden_size=4096)),
    (AutoModelForCausalLM, SelfAttentionConfig(vocab_size=2**28)),
    (AutoModelForCausalLM, RecurrentConfig(hidden_size=2**17)),
    (AutoModelForCausalLM, FeedForwardConfig(order=1024, hidden_size=2**13)),
    (AutoModelForCausalLM, NGramConfig(vocab_size=2**20, order=2, table_sizes=[2**20, 2**34])),
    (AutoModelForSequenceClassification, BagOfWordsConfig(hidden_sizes=[2**17, 2**17, 2**17])),
]


@pytest.mark.parametrize(("auto_class", "config"), ABSURD)
def test_absurd_sizes_are_refused_before_memory_is_taken(auto_class, config):
    with pytest.raises(
        ValueError, match=r"holds .* numbers, \d+ GB in float32; at most .* correct its sizes, .*vocab_"
    ):
        auto_class.from_config(config)
    with torch.device("meta"):  # where nothing is allocated, a program may ask
        assert auto_class.from_config(config).device.type == "meta"


def test_asking_changes_nothing():
    config = Gpt1Config(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=2)
    torch.manual_seed(0)
    model = Gpt1ForCausalLM(config)
    after = torch.rand(1)
    torch.manual_seed(0)
    with torch.device("cpu"):
        again = Gpt1ForCausalLM(config=config)
    assert torch.equal(torch.rand(1), after)
    for copied in (again, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for name, tensor in model.state_dict().items():
            assert torch.equal(copied.state_dict()[name], tensor), name


def test_a_subclass_may_take_arguments_of_its_own():
    class WithMore(Gpt1ForCausalLM):
        def __init__(self, config, factor, offset=0):
            super().__init__(config)
            self.factor = factor + offset

    config = Gpt1Config(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=2)
    assert WithMore(config, 2, offset=3).factor == 5
