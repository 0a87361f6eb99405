# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The head of causal language models: its arguments, what it hands on, and its scores of chosen positions."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close
from transformers.utils.generic import find_labels

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    Gpt1Model,
    NGramConfig,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from tests.model_tests import switch_checkpointing

HEAD_ARGUMENTS = ["labels", "logits_to_keep"]


def recurrent(**changes: Any) -> RecurrentForCausalLM:
    torch.manual_seed(0)
    fields = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "bos_token_id": 9, "pad_token_id": 10}
    return RecurrentForCausalLM(RecurrentConfig(**fields | changes)).eval()


def gpt1() -> Gpt1ForCausalLM:
    torch.manual_seed(0)
    return Gpt1ForCausalLM(Gpt1Config(vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=2)).eval()


def names(model_class: type) -> set[str]:
    return set(inspect.signature(model_class.forward).parameters) - {"self", "kwargs"}


# Arguments


@pytest.mark.parametrize("model_class", [Gpt1ForCausalLM, RecurrentForCausalLM, SelfAttentionForCausalLM])
def test_the_head_names_the_arguments_of_its_model(model_class: Any) -> None:
    """`generate()` and Trainer read them there: position_ids where the model takes them, and nowhere else."""
    assert names(model_class) == names(model_class.base_model_class) | set(HEAD_ARGUMENTS)
    assert ("position_ids" in names(model_class)) == (model_class is not RecurrentForCausalLM)
    assert find_labels(model_class) == ["labels"]
    assert "position_ids" not in names(CausalLMHead), "one class's arguments reached the head that all share"


def test_a_subclass_keeps_the_arguments() -> None:
    class Mine(Gpt1ForCausalLM):
        pass

    assert names(Mine) == names(Gpt1ForCausalLM)


@pytest.mark.parametrize("model", [gpt1, recurrent, lambda: NGramForCausalLM(NGramConfig(vocab_size=11, order=2))])
def test_generation_may_know_the_tokenizer(model: Any) -> None:
    """`transformers serve` gives it to `generate()`, which passes it on to the model."""
    ids, options = torch.tensor([[1, 2]]), {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    tokenizer = WordTokenizer.from_words(list("abcdefg"))
    assert model().generate(ids, **options, tokenizer=tokenizer).tolist() == model().generate(ids, **options).tolist()


def test_arguments_of_none_count_as_left_out() -> None:
    model, ids = gpt1(), torch.tensor([[1, 2, 3]])
    model.config.output_hidden_states = True
    given = model(ids, position_ids=None, output_hidden_states=None, output_attentions=None, no_such_argument=None)
    assert len(given.hidden_states) == 3
    assert_close(given.logits, model(ids, output_hidden_states=False).logits, rtol=0, atol=0)


@pytest.mark.parametrize("build", [gpt1, recurrent])
def test_return_dict_in_a_call_and_in_the_configuration(build: Any) -> None:
    model, ids = build(), torch.tensor([[1, 2, 3]])
    expected = model(ids, labels=ids, output_hidden_states=True, use_cache=False)
    model.config.return_dict = False
    for given in (model(ids, labels=ids, output_hidden_states=True, use_cache=False), expected.to_tuple()):
        loss, logits, states = given
        assert_close((loss, logits), (expected.loss, expected.logits))
        assert len(states) == len(expected.hidden_states)
    assert model(ids, return_dict=True).loss is None


def test_states_and_weights_are_shown_under_gradient_checkpointing() -> None:
    model, ids = gpt1(), torch.tensor([[1, 2, 3]])
    switch_checkpointing(model, True)
    plain = model(ids, output_hidden_states=True, output_attentions=True)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    shown = model(ids, output_hidden_states=True, output_attentions=True)
    assert_close(shown.hidden_states, plain.hidden_states)
    assert_close(shown.attentions, plain.attentions)
    shown.hidden_states[1][..., 0].sum().backward()
    assert model.model.layers[0].ffn.up_proj.weight.grad.abs().sum() > 0


# Loss


def test_shifted_labels_take_the_place_of_labels() -> None:
    """The last position of a segment predicts the first token of the next."""
    model, ids = gpt1(), torch.randint(0, 9, (2, 9))
    shifted = model(ids[:, :8], shift_labels=ids[:, 1:]).loss
    assert_close(shifted, model(ids, labels=ids).loss)
    assert_close(model(ids[:, :8], labels=torch.zeros_like(ids[:, :8]), shift_labels=ids[:, 1:]).loss, shifted)


# What a checkpoint must hold


def test_only_the_head_may_be_new(tmp_path: Path) -> None:
    """A model without a head gets one; weights of its own that are missing would be random, and are refused."""
    name = "layers.1.ffn.up_proj.weight"
    gpt1().model.save_pretrained(tmp_path)
    loaded, base = (cls.from_pretrained(tmp_path) for cls in (Gpt1ForCausalLM, Gpt1Model))
    assert torch.equal(loaded.model.get_parameter(name), base.get_parameter(name))
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors[name]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=rf"lacks tensors: model\.{name}"):
        Gpt1ForCausalLM.from_pretrained(tmp_path)


# Scores


def test_wanted_positions_have_their_scores_and_all_others_zero() -> None:
    model = recurrent()
    ids = torch.tensor([[9, 1, 2, 3, 9, 4], [9, 5, 6, 10, 10, 10]])
    wanted = torch.rand(ids.shape, generator=torch.Generator().manual_seed(1)) < 0.5
    scores, some = model.score(ids), model.score(ids, wanted=wanted)
    assert ((scores != 0) & wanted).any()
    assert ((scores != 0) & ~wanted).any()
    assert_close(some, scores.where(wanted, 0.0), rtol=0, atol=1e-6)
    assert (model.score(ids, wanted=torch.zeros_like(wanted)) == 0).all()
