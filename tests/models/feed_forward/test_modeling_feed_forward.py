# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The feed-forward language model: what every model must do, and what only it does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import PreTrainedModel, set_seed

from hf_lecture_models.models.feed_forward import FeedForwardConfig, FeedForwardForCausalLM, FeedForwardModel
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import (
    ModelTests,
    RecurrentCacheTests,
    Tensors,
    assert_initialised,
    token_inputs,
    uninitialised_memory_is_nan,
)

WORDS = [f"w{number}" for number in range(28)]
BOS = 29


def small(**changes: Any) -> FeedForwardConfig:
    fields = {"vocab_size": 32, "order": 4, "hidden_size": 12, "embedding_size": 10}
    ids = {"bos_token_id": BOS, "eos_token_id": 30, "pad_token_id": 31}
    return FeedForwardConfig(**{**fields, **ids, **changes})


def reference_states(model: FeedForwardModel, inputs: Tensors) -> Tensor:
    """The formula of the paper, position by position, on an explicit list of context words; no padding."""
    config, table = model.config, model.embed_tokens.weight
    h, d = model.hidden_layer.weight, model.hidden_layer.bias
    zeros = table.new_zeros(config.input_size)
    rows = []
    for row in inputs["input_ids"].tolist():
        states = []
        for position in range(len(row)):
            context = [row[position - back] if back <= position else None for back in range(config.order - 1)]
            start = zeros if config.bos_token_id is None else table[config.bos_token_id]
            x = torch.cat([start if word is None else table[word] for word in context])
            hidden = torch.tanh(d + h @ x)
            states.append(torch.cat((hidden, x)) if config.direct_connections else hidden)
        rows.append(torch.stack(states))
    return torch.stack(rows)


class FeedForwardLMTests(RecurrentCacheTests):
    model_class = FeedForwardForCausalLM
    contradictory_configs: ClassVar[Sequence[dict[str, Any]]] = ({"dropout": 1.0},)

    def reference(self, model: FeedForwardForCausalLM, inputs: Tensors) -> Tensors:
        states = reference_states(model.model, inputs)
        hidden, x = states.split((self.config().hidden_size, states.shape[-1] - self.config().hidden_size), -1)
        u, w = model.lm_head.weight[:, : hidden.shape[-1]], model.lm_head.weight[:, hidden.shape[-1] :]
        return {"logits": model.lm_head.bias + x @ w.T + hidden @ u.T}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])


class TestFeedForwardForCausalLM(FeedForwardLMTests):
    foreign_states = (({"order": 5}, r"\(2, 3, 10\)"), ({"embedding_size": 7}, r"\(2, 2, 7\)"))

    def config(self) -> FeedForwardConfig:
        return small(dropout=0.1)


class TestDirectConnectionsForCausalLM(FeedForwardLMTests):
    def config(self) -> FeedForwardConfig:
        return small(direct_connections=True)


class TestTiedForCausalLM(FeedForwardLMTests):
    """And all words start from one vector."""

    def config(self) -> FeedForwardConfig:
        return small(embedding_size=None, tie_word_embeddings=True, initialization="one_vector")


class TestStartedEqualForCausalLM(FeedForwardLMTests):
    """And contexts that are longer than most rows."""

    def config(self) -> FeedForwardConfig:
        return small(embedding_size=12, initialization="equal", direct_connections=True, order=9)


class TestOneVectorBigramForCausalLM(FeedForwardLMTests):
    """And no beginning of text: before the first word, zeros. A bigram carries no state but the count."""

    state_matters = False

    def config(self) -> FeedForwardConfig:
        return small(initialization="one_vector", order=2, bos_token_id=None)


class TestZerosBeforeTheFirstWordForCausalLM(FeedForwardLMTests):
    def config(self) -> FeedForwardConfig:
        return small(bos_token_id=None, embedding_size=9)


COUNTS = torch.arange(32).sub(11).square()
COUNTS[small().pad_token_id] = 0  # padding is never a target


class TestAdaptiveForCausalLM(FeedForwardLMTests):
    """An adaptive softmax, also over direct connections, whose words are not ranked by id."""

    loss_kind = "adaptive"
    contradictory_configs: ClassVar[Sequence[dict[str, Any]]] = (
        {"tie_word_embeddings": True, "direct_connections": False, "embedding_size": None},
        {"initialization": "equal", "direct_connections": False, "embedding_size": None},
    )

    def config(self) -> FeedForwardConfig:
        return small(output_layer="adaptive", adaptive_cutoffs=[6, 14], direct_connections=True)

    def build(self) -> FeedForwardForCausalLM:
        model = super().build()
        model.set_token_counts(COUNTS)
        return model

    def reference(self, model: FeedForwardForCausalLM, inputs: Tensors) -> Tensors:
        p, hidden = dict(model.lm_head.named_parameters()), reference_states(model.model, inputs)
        first = (hidden @ p["head.weight"].T + p["head.bias"]).log_softmax(-1)
        clusters = [
            (hidden @ p[f"tails.{k}.projection.weight"].T @ p[f"tails.{k}.words.weight"].T).log_softmax(-1)
            for k in (0, 1)
        ]
        by_rank = torch.cat((first[..., :6], first[..., 6:7] + clusters[0], first[..., 7:] + clusters[1]), -1)
        words = sorted(range(32), key=lambda word: (-COUNTS[word].item(), word))
        return {"logits": by_rank[..., [words.index(word) for word in range(32)]]}


class TestNoiseContrastiveForCausalLM(FeedForwardLMTests):
    """Evaluated, it is a softmax; the checks that train draw noise."""

    # A word of the text that is also among the noise keeps the loss above zero.
    overfit: ClassVar[dict[str, float]] = {"remaining": 0.2}
    loss_kind = "noise-contrastive"
    contradictory_configs: ClassVar[Sequence[dict[str, Any]]] = ({"adaptive_cutoffs": [8]},)

    def config(self) -> FeedForwardConfig:
        return small(output_layer="noise_contrastive", noise_samples=40)

    def build(self) -> FeedForwardForCausalLM:
        model = super().build()
        model.set_token_counts(COUNTS)
        with torch.no_grad():
            model.lm_head.bias.add_(torch.linspace(-1, 1, 32))
        return model


class TestFeedForwardModel(ModelTests):
    model_class = FeedForwardModel
    sequence_inputs = ("input_ids", "attention_mask")
    pipeline_task = "feature-extraction"
    # The output holds the word vectors of the context, and they are the same for every target at which a word occurs.
    overfit: ClassVar[dict[str, float]] = {"steps": 300, "learning_rate": 0.02, "remaining": 0.6}

    def config(self) -> FeedForwardConfig:
        return small(direct_connections=True)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return token_inputs(self.config(), lengths)

    def reference(self, model: FeedForwardModel, inputs: Tensors) -> Tensors:
        return {"last_hidden_state": reference_states(model, inputs)}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    def pipeline_inputs(self) -> list[str]:
        return ["w1 w2 w3", "w4"]


def build(model_class: type = FeedForwardForCausalLM, **changes: Any) -> Any:
    model = model_class(small(**changes))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model.eval()


def ids(batch: int, length: int) -> Tensor:
    return torch.randint(29, (batch, length))


@pytest.mark.parametrize("direct", [False, True])
def test_number_of_parameters(direct: bool) -> None:
    """The counts of the docstring; with direct connections, the paper's."""
    vocab, n, m, h = 32, 4, 10, 12
    model = build(direct_connections=direct)
    hidden_layer = h * (1 + (n - 1) * m)
    words = vocab * (1 + n * m + h) if direct else vocab * (1 + m + h)
    assert model.num_parameters() == words + hidden_layer
    tied = build(embedding_size=m, hidden_size=m, tie_word_embeddings=True)
    assert tied.num_parameters() == vocab * (1 + m) + m * (1 + (n - 1) * m)


# Initial values


def initial(**changes: Any) -> FeedForwardForCausalLM:
    set_seed(3)
    return FeedForwardForCausalLM(small(hidden_size=64, embedding_size=64, vocab_size=500, **changes))


def test_free_start() -> None:
    model = initial(initializer_range=0.03)
    words, output = model.model.embed_tokens.weight, model.lm_head.weight
    for weight in (words, output, model.model.hidden_layer.weight):
        assert_close(weight.std().item(), 0.03, rtol=0.1, atol=0)
    assert not torch.equal(words, output)
    assert (model.lm_head.bias == 0).all()
    assert (model.model.hidden_layer.bias == 0).all()


@pytest.mark.parametrize("direct", [False, True])
def test_equal_start_is_equal_only_at_the_start(direct: bool) -> None:
    model = initial(initialization="equal", direct_connections=direct)
    words, output = model.model.embed_tokens.weight, model.lm_head.weight
    assert torch.equal(words, output[:, :64])
    if direct:
        assert_close(output[:, 64:].std().item(), 0.05, rtol=0.1, atol=0)
    tokens = ids(2, 8)
    model(tokens, labels=tokens).loss.backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert not torch.equal(words, output[:, :64])


def test_one_vector_start() -> None:
    """All words begin as one vector; what occurs in a context moves away, what does not stays with the others."""
    model = initial(initialization="one_vector")
    words, output = model.model.embed_tokens.weight, model.lm_head.weight
    assert (words == words[0]).all()
    assert_close(words[0].std().item(), 0.05, rtol=0.3, atol=0)
    assert_close(output.std(0).mean().item(), 0.05, rtol=0.1, atol=0)
    start = words[0].detach().clone()
    tokens = ids(4, 8)
    model(tokens, labels=tokens).loss.backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    seen = torch.zeros(500, dtype=torch.bool)
    seen[tokens[:, :-1]] = seen[BOS] = True
    moved = (words != start).any(1)
    assert torch.equal(moved, seen)


@pytest.mark.parametrize("initialization", ["free", "equal", "one_vector"])
def test_the_start_of_what_a_checkpoint_lacks(initialization: str) -> None:
    """Built without memory: all from nothing, or the output layer alone, to word vectors that the file holds."""
    config = small(initialization=initialization, hidden_size=10)
    load = PreTrainedModel.from_pretrained.__func__  # below our own refusal of incomplete checkpoints
    trained = build(hidden_size=10, initialization=initialization)
    held = {name: tensor for name, tensor in trained.state_dict().items() if not name.startswith("lm_head")}
    for state in ({}, held):
        with uninitialised_memory_is_nan():
            model = load(FeedForwardForCausalLM, None, config=config, state_dict=dict(state))
        assert_initialised(model)
        words = model.model.embed_tokens.weight
        for name, tensor in state.items():
            assert torch.equal(model.get_parameter(name), tensor), f"{name} was overwritten"
        assert torch.equal(words, model.lm_head.weight) == (initialization == "equal")
        assert state or bool((words == words[0]).all()) == (initialization == "one_vector")


def test_a_trained_output_matrix_is_loaded_as_it_is(tmp_path: Path) -> None:
    model = build(hidden_size=10, initialization="equal")
    model.save_pretrained(tmp_path)
    assert torch.equal(FeedForwardForCausalLM.from_pretrained(tmp_path).lm_head.weight, model.lm_head.weight)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["lm_head.bias"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    # As of another head: this very class must find all of its weights.
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(
        json.dumps(config | {"architectures": ["FeedForwardModel"]}), encoding="utf-8"
    )
    loaded, info = FeedForwardForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert info["missing_keys"] == {"lm_head.bias"}
    assert torch.equal(loaded.lm_head.weight, model.lm_head.weight)


TIED, EQUAL = {"tie_word_embeddings": True}, {"initialization": "equal"}
CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "order is 1; .* at least 2": {"order": 1},
    "tie_word_embeddings=True needs .*embedding_size is 10 and hidden_size 12; make them equal": TIED,
    "initialization='equal' needs .*embedding_size is 10 and hidden_size 12; make them equal": EQUAL,
    "set tie_word_embeddings=False, or initialization='equal'": TIED | {"direct_connections": True, "hidden_size": 10},
    "set only one of the two": TIED | EQUAL | {"hidden_size": 10},
}


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_contradictions_name_the_fix(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**CONTRADICTIONS[message])


@torch.no_grad()
@pytest.mark.parametrize("direct", [False, True])
def test_a_larger_vocabulary(direct: bool) -> None:
    model, tokens = build(direct_connections=direct), ids(2, 5)
    logits = model(tokens).logits
    model.resize_token_embeddings(40)
    assert model.config.vocab_size == 40
    assert_close(model(tokens).logits[..., :32], logits)
    assert model(torch.full((1, 3), 39)).logits.shape == (1, 3, 40)


def test_hidden_states() -> None:
    model, tokens = build(FeedForwardModel, direct_connections=True), ids(2, 5)
    outputs = model(tokens, output_hidden_states=True)
    assert [tuple(h.shape) for h in outputs.hidden_states] == [(2, 5, 10), (2, 5, 42)]
    assert outputs.hidden_states[-1] is outputs.last_hidden_state
    assert model(tokens).hidden_states is None


# Inputs and outputs


def test_padding_outputs_zeros() -> None:
    model, mask = build(FeedForwardModel, direct_connections=True), torch.ones(3, 5)
    mask[0], mask[1, :2], mask[2, 3] = 0, 0, 0
    states = model(ids(3, 5), attention_mask=mask).last_hidden_state
    assert (states[mask == 0] == 0).all()
    assert (states[mask == 1] != 0).all()


def test_dropout_acts_on_the_context_and_the_hidden_layer() -> None:
    model = build(FeedForwardModel, dropout=0.5, direct_connections=True).train()
    states = torch.cat([model(ids(4, 8)).last_hidden_state for _ in range(10)])
    for part in states.split((12, 30), -1):
        assert 0.4 < (part == 0).float().mean() < 0.6
    assert (model(ids(1, 4)).past_key_values.states[0][0] != 0).all(), "dropout reached the state"
