# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A configuration alone cannot fill the memory."""

import copy
import inspect
import pickle
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest
import torch
from accelerate import init_empty_weights
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from hf_lecture_models import (
    BagOfWordsConfig,
    FeedForwardConfig,
    Gpt1Config,
    Gpt1ForCausalLM,
    NGramConfig,
    RecurrentConfig,
    RecurrentSeq2SeqConfig,
    RecurrentSeq2SeqModel,
    SelfAttentionConfig,
)
from hf_lecture_models.base.guards import sizes
from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.io.system import resident_bytes

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
def test_absurd_sizes_are_refused_before_memory_is_taken(auto_class, config, monkeypatch):
    monkeypatch.setattr(sizes, "free_bytes", lambda: 2**31)
    before = resident_bytes()
    with pytest.raises(ValueError, match=r"holds .* numbers, \d+ GB, and 2 GB of memory are free: .*sizes, .*vocab_"):
        auto_class.from_config(config)
    assert resident_bytes() - before < 2**29
    # Where nothing is allocated, a program may ask.
    with torch.device("meta"):
        assert auto_class.from_config(config).device.type == "meta"


def test_a_model_is_built_once_unless_it_is_large(monkeypatch):
    built = []
    monkeypatch.setattr(
        Gpt1ForCausalLM,
        "add_layers",
        lambda self, config: built.append(config) or CausalLMHead.add_layers(self, config),
    )
    config = {"vocab_size": 99, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    Gpt1ForCausalLM(Gpt1Config(**config))
    assert len(built) == 1
    monkeypatch.setattr(sizes, "UNCHECKED", 2**10)
    Gpt1ForCausalLM(Gpt1Config(**config))  # it fits
    assert len(built) == 3
    monkeypatch.setattr(sizes, "free_bytes", lambda: 2**11)
    with pytest.raises(ValueError, match="of memory are free"):
        Gpt1ForCausalLM(Gpt1Config(**config))
    for absent in (lambda: None, lambda: 2**40):
        monkeypatch.setattr(sizes, "free_bytes", absent)
        Gpt1ForCausalLM(Gpt1Config(**config))


def test_other_programs_build_what_does_not_fit(monkeypatch, tmp_path):
    monkeypatch.setattr(sizes, "UNCHECKED", 2**10)
    config = Gpt1Config(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    Gpt1ForCausalLM(config).save_pretrained(tmp_path)
    monkeypatch.setattr(sizes, "free_bytes", lambda: 0)
    with init_empty_weights():  # accelerate's
        assert Gpt1ForCausalLM(config).device.type == "meta"
    with FakeTensorMode():
        Gpt1ForCausalLM(config)
    for options in ({}, {"device_map": "cpu"}, {"low_cpu_mem_usage": True}):
        Gpt1ForCausalLM.from_pretrained(tmp_path, **options)
    partitioned = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *args, **kwargs: partitioned(*args, **kwargs))  # as zero.Init does
    Gpt1ForCausalLM(config)


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


class _Mixin(ABC):
    @abstractmethod
    def name(self):
        """Return a name."""


class _Named(Protocol):
    def name(self): ...


@pytest.mark.parametrize("mixin", [_Mixin, _Named])
def test_a_subclass_may_have_a_metaclass_of_its_own(mixin, monkeypatch):
    class Named(Gpt1ForCausalLM, mixin):
        def name(self):
            return "mine"

    config = Gpt1Config(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=2)
    assert Named(config).name() == "mine"
    monkeypatch.setattr(sizes, "UNCHECKED", 2**10)
    monkeypatch.setattr(sizes, "free_bytes", lambda: 2**10)
    with pytest.raises(ValueError, match="a Named of this configuration"):
        Named(Gpt1Config(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=2))


def test_a_model_says_what_it_is_built_from():
    assert list(inspect.signature(Gpt1ForCausalLM).parameters) == ["config"]
    assert list(inspect.signature(RecurrentSeq2SeqModel).parameters) == ["config"]


def test_threads_may_build_models_at_the_same_time(monkeypatch):
    config = Gpt1Config(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    hooks = torch.nn.modules.module._global_parameter_registration_hooks
    before, seen, parts = list(hooks), [], []
    monkeypatch.setattr(sizes, "check_model_size", parts.append)

    def add_layers(self, config):
        # What another thread builds meanwhile is not of this model.
        with ThreadPoolExecutor(1) as other:
            other.submit(torch.nn.Linear, 2**10, 2**10).result()
        seen.append((list(hooks), len(parts)))
        CausalLMHead.add_layers(self, config)

    monkeypatch.setattr(Gpt1ForCausalLM, "add_layers", add_layers)
    monkeypatch.setattr(sizes, "UNCHECKED", 2**20)
    Gpt1ForCausalLM(config)
    assert seen == [(before, 0)]  # torch reads the list while it may not change


def test_the_message_names_the_whole_model(monkeypatch):
    monkeypatch.setattr(sizes, "free_bytes", lambda: 2**31)
    with pytest.raises(ValueError, match="a RecurrentSeq2SeqModel of this configuration"):
        RecurrentSeq2SeqModel(RecurrentSeq2SeqConfig(vocab_size=99, hidden_size=2**17))
