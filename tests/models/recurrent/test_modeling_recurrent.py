# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent networks: what every model must do, and what only they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.exc import Unsupported
from torch.testing import assert_close

from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM, RecurrentModel
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import RecurrentCacheTests, Tensors, TokenTests, token_inputs
from tests.models.recurrent_steps import OnTorchKernels, read, read_both_ways

WORDS = [f"w{number}" for number in range(28)]


def small(**changes: Any) -> RecurrentConfig:
    fields = {"vocab_size": 32, "hidden_size": 12, "num_hidden_layers": 2, "embedding_size": 10}
    ids = {"bos_token_id": 29, "eos_token_id": 30, "pad_token_id": 31}
    return RecurrentConfig(**{**fields, **ids, **changes})


def reference_states(model: RecurrentModel, inputs: Tensors) -> Tensor:
    hidden = model.embed_tokens.weight[inputs["input_ids"]]
    cell_type = model.config.cell_type
    for layer in model.layers:
        if model.config.bidirectional:
            hidden = read_both_ways(cell_type, layer.forwards.rnn, layer.backwards.rnn, hidden)
        else:
            hidden, _ = read(cell_type, layer.rnn, hidden)
    if model.config.output_projection_size:
        projection = model.output_projection
        hidden = hidden @ projection.weight.T + projection.bias
    return hidden


class RecurrentLMTests(OnTorchKernels, RecurrentCacheTests):
    model_class = RecurrentForCausalLM
    # Gated cells start slowly: their gates halve what little the small initial word vectors bring.
    overfit: ClassVar[dict[str, float]] = {"steps": 300, "learning_rate": 0.05}
    contradictory_configs = ({"dropout": 1.0},)

    def reference(self, model: RecurrentForCausalLM, inputs: Tensors) -> Tensors:
        hidden = reference_states(model.model, inputs)
        return {"logits": hidden @ model.lm_head.weight.T + model.lm_head.bias}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    @pytest.mark.slow
    @pytest.mark.xfail(strict=True, raises=Unsupported, reason="torch does not compile its recurrent kernels")
    def test_loss_without_all_logits_compiles_in_one_piece(self) -> None:
        super().test_loss_without_all_logits_compiles_in_one_piece()


class TestElmanForCausalLM(RecurrentLMTests):
    def config(self) -> RecurrentConfig:
        return small(cell_type="elman")


class TestGruForCausalLM(RecurrentLMTests):
    def config(self) -> RecurrentConfig:
        return small(cell_type="gru")


class TestLstmForCausalLM(RecurrentLMTests):
    foreign_states = (
        ({"cell_type": "gru"}, r"shapes \[\(2, 12\)\], but"),
        ({"hidden_size": 7}, r"layer 0 .*\[\(2, 7\), \(2, 7\)\]"),
        ({"projection_size": 5}, r"\[\(2, 5\), \(2, 12\)\]"),
    )

    def config(self) -> RecurrentConfig:
        return small(dropout=0.1)


class TestTiedLstmForCausalLM(RecurrentLMTests):
    def config(self) -> RecurrentConfig:
        return small(embedding_size=None, tie_word_embeddings=True)


class TestProjectedLstmForCausalLM(RecurrentLMTests):
    """Recurrent projection down and output projection up in one, tied."""

    def config(self) -> RecurrentConfig:
        return small(projection_size=5, output_projection_size=10, tie_word_embeddings=True)


COUNTS = torch.arange(32).sub(11).square()
COUNTS[small().pad_token_id] = 0  # padding is never a target


class TestAdaptiveLstmForCausalLM(RecurrentLMTests):
    """An adaptive softmax whose words are not ranked by id."""

    loss_kind = "adaptive"
    contradictory_configs = ({"tie_word_embeddings": True},)

    def config(self) -> RecurrentConfig:
        # Wide enough for a second cluster of a sixteenth of the width.
        return small(output_layer="adaptive", adaptive_cutoffs=[6, 14], output_projection_size=48)

    def build(self) -> RecurrentForCausalLM:
        model = super().build()
        model.set_token_counts(COUNTS)
        return model

    def reference(self, model: RecurrentForCausalLM, inputs: Tensors) -> Tensors:
        """Word by word: which cluster, how likely that is, how likely the word is in it."""
        p, hidden = dict(model.lm_head.named_parameters()), reference_states(model.model, inputs)
        slots = (hidden @ p["head.weight"].T + p["head.bias"]).softmax(-1)
        clusters = [
            (hidden @ p[f"tails.{k}.projection.weight"].T @ p[f"tails.{k}.words.weight"].T).softmax(-1) for k in (0, 1)
        ]
        probabilities = {}
        for rank, word in enumerate(sorted(range(32), key=lambda word: (-COUNTS[word].item(), word))):
            if rank < 6:
                probabilities[word] = slots[..., rank]
            elif rank < 14:
                probabilities[word] = slots[..., 6] * clusters[0][..., rank - 6]
            else:
                probabilities[word] = slots[..., 7] * clusters[1][..., rank - 14]
        return {"logits": torch.stack([probabilities[word] for word in range(32)], -1).log()}


class TestNoiseContrastiveLstmForCausalLM(RecurrentLMTests):
    """Evaluated, it is a softmax; the checks that train draw noise."""

    loss_kind = "noise-contrastive"
    contradictory_configs = ({"adaptive_cutoffs": [8]},)

    def config(self) -> RecurrentConfig:
        return small(output_layer="noise_contrastive", noise_samples=40)

    def build(self) -> RecurrentForCausalLM:
        model = super().build()
        model.set_token_counts(COUNTS)
        with torch.no_grad():
            model.lm_head.bias.add_(torch.linspace(-1, 1, 32))
        return model


class RecurrentModelTests(OnTorchKernels, TokenTests):
    model_class = RecurrentModel
    sequence_inputs = ("input_ids", "attention_mask")
    overfit: ClassVar[dict[str, float]] = {"steps": 300, "learning_rate": 0.05}
    pipeline_task = "feature-extraction"

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return token_inputs(self.config(), lengths)

    def reference(self, model: RecurrentModel, inputs: Tensors) -> Tensors:
        return {"last_hidden_state": reference_states(model, inputs)}

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])

    def pipeline_inputs(self) -> list[str]:
        return ["w1 w2 w3", "w4"]


class TestLstmModel(RecurrentModelTests):
    bidirectional = False

    def config(self) -> RecurrentConfig:
        return small(output_projection_size=9)


class TestBidirectionalGruModel(RecurrentModelTests):
    bidirectional = True

    def config(self) -> RecurrentConfig:
        return small(cell_type="gru", bidirectional=True)


def build(model_class: type = RecurrentForCausalLM, **changes: Any) -> Any:
    model = model_class(small(**changes))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model.eval()


def ids(batch: int, length: int) -> Tensor:
    return torch.randint(29, (batch, length))


# Inputs and outputs


@pytest.mark.parametrize("bidirectional", [False, True])
def test_hidden_states(bidirectional: bool) -> None:
    model = build(RecurrentModel, bidirectional=bidirectional, output_projection_size=7)
    outputs = model(ids(2, 5), output_hidden_states=True)
    width = 24 if bidirectional else 12
    assert [tuple(h.shape) for h in outputs.hidden_states] == [(2, 5, 10), (2, 5, width), (2, 5, 7)]
    assert outputs.hidden_states[-1] is outputs.last_hidden_state
    assert model(ids(2, 5)).hidden_states is None


@pytest.mark.parametrize("bidirectional", [False, True])
def test_padding_outputs_zeros(bidirectional: bool) -> None:
    model, mask = build(RecurrentModel, bidirectional=bidirectional, output_projection_size=7), torch.ones(3, 5)
    assert (model.output_projection.bias != 0).all()
    mask[0], mask[1, :2], mask[2, 3] = 0, 0, 0
    outputs = model(ids(3, 5), attention_mask=mask, output_hidden_states=True)
    assert (outputs.last_hidden_state[mask == 0] == 0).all()
    assert (outputs.last_hidden_state[mask == 1] != 0).all()
    assert outputs.hidden_states[-1] is outputs.last_hidden_state


def test_dropout_spares_the_recurrence() -> None:
    """With all but the recurrent connections dropped nearly always, a carried state still reaches the next step."""
    model = build(RecurrentModel, dropout=0.5, num_hidden_layers=1).train()
    torch.manual_seed(1)
    first = model(ids(1, 4)).past_key_values.states[0][0]
    assert (first != 0).all(), "dropout reached the state"
    outputs = torch.stack([model(ids(1, 4)).last_hidden_state for _ in range(20)])
    assert 0.4 < (outputs == 0).float().mean() < 0.6


def test_dropout_acts_on_the_word_vectors() -> None:
    """In training a part of them is zero and the rest grows by 1 / (1 - p), whether they are looked up or given."""
    model, words = build(RecurrentModel, dropout=0.25), ids(20, 10)
    vectors = model.embed_tokens(words)
    for given in ({"input_ids": words}, {"inputs_embeds": vectors}):
        dropped = model.train()(**given, output_hidden_states=True).hidden_states[0]
        zero = dropped == 0
        assert 0.2 < zero.float().mean() < 0.3
        assert_close(dropped, torch.where(zero, 0.0, vectors / 0.75))
        kept = model.eval()(**given, output_hidden_states=True).hidden_states[0]
        assert_close(kept, vectors, rtol=0, atol=0)


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("cell_type", ["lstm", "gru", "elman"])
def test_compiled_where_torch_can(cell_type: str) -> None:
    """In pieces around torch's kernels; in one piece, without padding, once torch is told to try."""
    model, words = build(cell_type=cell_type), ids(2, 5)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager")
    for given in ({"labels": words}, {"labels": words, "attention_mask": mask, "logits_to_keep": 1}):
        ours, theirs = compiled(words, **given), model(words, **given)
        assert_close((ours.loss, ours.logits), (theirs.loss, theirs.logits))
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with torch._dynamo.config.patch(allow_rnn=True):
        for given in ({"labels": words}, {"labels": words, "logits_to_keep": 1}):
            ours, theirs = compiled(words, **given), model(words, **given)
            assert_close((ours.loss, ours.logits), (theirs.loss, theirs.logits))


def test_a_batch_of_nothing_but_padding() -> None:
    model = build()
    outputs = model(ids(2, 4), attention_mask=torch.zeros(2, 4, dtype=torch.long), labels=torch.full((2, 4), -100))
    assert outputs.logits.isfinite().all()
    assert outputs.loss == 0
    assert all((tensor == 0).all() for state in outputs.past_key_values.states for tensor in state)


# Configuration


def test_a_bidirectional_model_goes_on_from_nothing() -> None:
    model = build(RecurrentModel, bidirectional=True)
    assert model(ids(1, 3), use_cache=True).past_key_values is None
    with pytest.raises(ValueError, match="whole text at once"):
        model(ids(1, 3), past_key_values=RecurrentCache(2))


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "'elman', 'gru', 'lstm'": {"cell_type": "rnn"},
    "set cell_type='lstm', or projection_size=None": {"cell_type": "gru", "projection_size": 4},
    "smaller than hidden_size=12": {"projection_size": 12},
    "set embedding_size=12, or output_projection_size=10, or tie_word_embeddings": {"tie_word_embeddings": True},
    "set bidirectional=False": {"bidirectional": True},
}


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_contradictions_name_the_fix(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecurrentForCausalLM(small(**CONTRADICTIONS[message]))


def test_initial_weights() -> None:
    """Recurrent weights and biases fill ±1/sqrt(hidden), word vectors have the configured spread."""
    model = RecurrentForCausalLM(small(hidden_size=64, vocab_size=500, initializer_range=0.03, cell_type="gru"))
    for layer in model.model.layers:
        for parameter in layer.rnn.parameters():
            assert 0.9 / 8 < parameter.abs().max() <= 1 / 8
    assert_close(model.model.embed_tokens.weight.std().item(), 0.03, rtol=0.1, atol=0)
