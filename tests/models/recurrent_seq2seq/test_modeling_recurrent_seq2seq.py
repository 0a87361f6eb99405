# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent encoder-decoders: the common checks, step loops that they must equal, and what is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import AutoModelForSeq2SeqLM
from transformers.modeling_outputs import BaseModelOutput

from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent_seq2seq import (
    RecurrentSeq2SeqConfig,
    RecurrentSeq2SeqForConditionalGeneration,
    RecurrentSeq2SeqModel,
)
from tests.model_tests import ModelTests, Tensors, perturb
from tests.models.recurrent_steps import OnTorchKernels, read, step
from tests.seq2seq_tests import Seq2SeqTests

IDS = {"bos_token_id": 19, "eos_token_id": 20, "pad_token_id": 21, "decoder_start_token_id": 22}


def small(**changes: Any) -> RecurrentSeq2SeqConfig:
    fields = {"vocab_size": 24, "hidden_size": 8, "num_hidden_layers": 2, "embedding_size": 6}
    return RecurrentSeq2SeqConfig(**{**fields, **IDS, **changes})


def encode(model: RecurrentSeq2SeqModel, ids: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
    """All h_j (batch, source, size), and of each layer what the decoder starts from."""
    cell_type, hidden = model.config.cell_type, model.encoder.embed_tokens.weight[ids]
    last = []
    for layer in model.encoder.layers:
        outputs, states = [], []
        if layer.forwards is not None:
            h, state = read(cell_type, layer.forwards.rnn, hidden)
            outputs.append(h)
            states.append(state)
        if layer.backwards is not None:
            h, state = read(cell_type, layer.backwards.rnn, hidden.flip(1))
            outputs.append(h.flip(1))
            states.append(state)
        hidden = torch.cat(outputs, -1)
        last.append([torch.cat(both, 1) for both in zip(*states, strict=True)])
    return hidden, last


def translate(model: RecurrentSeq2SeqModel, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor | None]:
    """All t_i and the weights α, one step and one equation after the other."""
    config, decoder = model.config, model.decoder
    states, last = encode(model, source)
    memory = states.unbind(1)
    start = [tensor for state in last for tensor in state]
    context = None
    if config.context == "every_step":
        context = (last[-1][0] @ decoder.V.weight.T + decoder.V.bias).tanh()
        start = [context] * len(start)
    if hasattr(decoder, "W_s"):
        start = [(x @ W.weight.T + W.bias).tanh() for x, W in zip(start, decoder.W_s, strict=True)]
    n = len(last[0])
    states = [start[k : k + n] for k in range(0, len(start), n)]
    words = model.encoder if config.decoder_vocab_size is None else decoder
    outputs, weights = [], []
    for i in range(target.shape[1]):
        y = words.embed_tokens.weight[target[:, i]]
        if config.attention_type == "additive":
            score, s = decoder.layers[0].score, states[0][0]
            e = [(s @ score.W_a.weight.T + h @ decoder.U_a.weight.T).tanh() @ score.v_a.weight[0] for h in memory]
            alpha = torch.stack(e, 1).softmax(1)
            context = sum(alpha[:, j : j + 1] * h for j, h in enumerate(memory))
        u = y if context is None else torch.cat((y, context), 1)
        for k, layer in enumerate(decoder.layers):
            states[k] = step(config.cell_type, dict(layer.recurrence.rnn.named_parameters()), u, states[k])
            u = states[k][0]
        if config.attention_type == "dot":
            keys = [h @ decoder.W_a.weight.T if hasattr(decoder, "W_a") else h for h in memory]
            alpha = torch.stack([(u * key).sum(1) for key in keys], 1).softmax(1)
            seen = sum(alpha[:, j : j + 1] * h for j, h in enumerate(memory))
            u = (torch.cat((seen, u), 1) @ decoder.W_c.weight.T).tanh()
        elif context is not None:
            x = torch.cat((u, y, context), 1) @ decoder.O.linear.weight.T + decoder.O.linear.bias
            u = torch.maximum(x[:, 0::2], x[:, 1::2])
        outputs.append(u)
        if config.attention_type != "none":
            weights.append(alpha)
    return torch.stack(outputs, 1), torch.stack(weights, 1) if weights else None


class RecurrentSeq2SeqTests(OnTorchKernels, Seq2SeqTests):
    model_class = RecurrentSeq2SeqForConditionalGeneration
    source_direction = "forwards"
    overfit: ClassVar[dict[str, float]] = {"steps": 300, "learning_rate": 0.05}
    contradictory_configs = (
        {"attention_type": "dot", "context": "every_step"},
        {"bidirectional_encoder": True, "reverse_source": True},
        {"tie_word_embeddings": True, "embedding_size": 5},
        {"is_encoder_decoder": False},
        {"decoder_vocab_size": 20, "eos_token_id": 20},
        {"dropout": 1.0},
    )

    def reference(self, model: RecurrentSeq2SeqForConditionalGeneration, inputs: Tensors) -> Tensors:
        states, _ = translate(model.model, inputs["input_ids"], inputs["decoder_input_ids"])
        return {"logits": states @ model.lm_head.weight.T + model.lm_head.bias}

    @torch.no_grad()
    def test_weights_equal_reference(self) -> None:
        if not self.shows_cross_attentions:
            return
        model, inputs = self.build(), self.make_inputs(2, (5, 5))
        _, expected = translate(model.model, inputs["input_ids"], inputs["decoder_input_ids"])
        found = model(**inputs, output_attentions=True).cross_attentions
        assert len(found) == 1
        assert_close(found[0][:, 0], expected)


class TestAdditive(RecurrentSeq2SeqTests):
    """Bahdanau et al. 2015, stacked, its output matrix tied."""

    source_direction = "both"

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(
            cell_type="gru",
            attention_type="additive",
            bidirectional_encoder=True,
            embedding_size=None,
            tie_word_embeddings=True,
            dropout=0.1,
        )


class TestModel(OnTorchKernels, ModelTests):
    """Without the head; padding and the rest of what a head's checks see are seen there."""

    model_class = RecurrentSeq2SeqModel

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(attention_type="dot")

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return TestAdditive().make_inputs(batch, [5] * len(lengths))

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        states, _ = translate(model, inputs["input_ids"], inputs["decoder_input_ids"])
        return {"last_hidden_state": states}


class TestFirstState(RecurrentSeq2SeqTests):
    """Sutskever et al. 2014: stacked LSTMs, the source reversed."""

    shows_cross_attentions = False
    source_direction = "backwards"
    # With dropout, one state for the whole source learns slowly: after 300 steps 0.14 to 0.25 remain, by seed.
    overfit = {"remaining": 0.3}

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(reverse_source=True, dropout=0.1)


class TestEveryStep(RecurrentSeq2SeqTests):
    """Cho et al. 2014, with two vocabularies."""

    shows_cross_attentions = False

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(cell_type="gru", context="every_step", decoder_vocab_size=23)


class TestDot(RecurrentSeq2SeqTests):
    """Luong et al. 2015."""

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(attention_type="dot")


class TestDotOfBothDirections(RecurrentSeq2SeqTests):
    source_direction = "both"

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(attention_type="dot", cell_type="elman", bidirectional_encoder=True, num_hidden_layers=1)


def build(**changes: Any) -> RecurrentSeq2SeqForConditionalGeneration:
    model = RecurrentSeq2SeqForConditionalGeneration(small(**changes))
    perturb(model, 0.5)
    return model.eval()


ATTENTION = [("none", "first_state"), ("none", "every_step"), ("additive", "first_state"), ("dot", "first_state")]


@pytest.mark.parametrize(("attention_type", "context"), ATTENTION, ids=str)
@pytest.mark.parametrize("direction", ["forwards", "backwards", "both"])
@pytest.mark.parametrize("cell_type", ["elman", "gru", "lstm"])
def test_every_wiring_equals_its_equations(attention_type: str, context: str, direction: str, cell_type: str) -> None:
    """Outputs and gradients of a step loop, of every cell, attention and direction."""
    model = build(
        cell_type=cell_type,
        attention_type=attention_type,
        context=context,
        bidirectional_encoder=direction == "both",
        reverse_source=direction == "backwards",
        decoder_vocab_size=25,
    )
    generator = torch.Generator().manual_seed(1)
    source, target = (torch.randint(19, (2, length), generator=generator) for length in (4, 3))
    outputs = model.model(source, decoder_input_ids=target, output_attentions=True)
    expected, weights = translate(model.model, source, target)
    assert_close(outputs.last_hidden_state, expected)
    if weights is not None:
        assert_close(outputs.cross_attentions[0][:, 0], weights)
    towards = torch.randn(expected.shape, generator=generator)
    parameters = list(model.model.parameters())
    ours, theirs = (torch.autograd.grad((h * towards).sum(), parameters) for h in (outputs.last_hidden_state, expected))
    for (name, _), our, their in zip(model.model.named_parameters(), ours, theirs, strict=True):
        assert_close(our, their, rtol=1e-4, atol=1e-5, msg=lambda message, name=name: f"{name}: {message}")


@torch.no_grad()
def test_a_reversed_source_is_the_source_written_backwards(tmp_path: Path) -> None:
    """Of each row its real tokens, wherever the padding stands; the option is saved with the model."""
    forwards = build(attention_type="additive")
    forwards.save_pretrained(tmp_path / "forwards")
    state = {name.replace("forwards", "backwards"): tensor for name, tensor in forwards.state_dict().items()}
    model = RecurrentSeq2SeqForConditionalGeneration(small(attention_type="additive", reverse_source=True))
    model.load_state_dict(state)
    model.save_pretrained(tmp_path / "reversed")
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "reversed")
    assert model.config.reverse_source
    rows, target = [[3, 1, 4, 7], [5, 6], [8]], torch.tensor([[22, 2, 3]])
    pad = [row + [21] * (4 - len(row)) for row in rows]
    mask = torch.tensor([[1] * len(row) + [0] * (4 - len(row)) for row in rows])
    given = {"decoder_input_ids": target.expand(3, -1), "output_attentions": True}
    batch = model(torch.tensor(pad), mask, **given)
    for row, ids in enumerate(rows):
        alone = forwards(torch.tensor([ids[::-1]]), decoder_input_ids=target, output_attentions=True)
        assert_close(batch.logits[row], alone.logits[0])
        # The weights stand at the tokens as they were given.
        assert_close(batch.cross_attentions[0][row, ..., : len(ids)], alone.cross_attentions[0][0].flip(-1))


@torch.no_grad()
def test_checkpoints_of_another_wiring_are_refused(tmp_path: Path) -> None:
    """Its weights are missing, or nothing would read them: never a silent mixture."""
    for attention_type, context in ATTENTION:
        folder = tmp_path / f"{attention_type}_{context}"
        build(attention_type=attention_type, context=context).save_pretrained(folder)
        for other, its_context in ATTENTION:
            if (other, its_context) != (attention_type, context):
                with pytest.raises(ValueError, match=r"decoder\."):
                    AutoModelForSeq2SeqLM.from_pretrained(folder, attention_type=other, context=its_context)
    with pytest.raises(ValueError, match="encoder.layers.0.backwards"):
        AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "dot_first_state", reverse_source=True)


@torch.no_grad()
def test_bad_sources_are_refused() -> None:
    model, target = build(attention_type="additive"), torch.tensor([[22, 3]])
    for ids, message in (
        (torch.zeros(1, 0, dtype=torch.long), "at least one token per row"),
        (torch.tensor([[3, 24]]), "input_ids hold 24; the model has the tokens 0 to 23 .*tokenizer"),
    ):
        with pytest.raises(ValueError, match=message):
            model(ids, decoder_input_ids=target)
        with pytest.raises(ValueError, match=message):
            model.generate(ids, max_new_tokens=3)
    other = BaseModelOutput(torch.zeros(1, 2, 8))
    for encoder_outputs in (other, (torch.zeros(1, 2, 8),)):
        with pytest.raises(ValueError, match="encoder_outputs must be what model.get_encoder"):
            model(encoder_outputs=encoder_outputs, decoder_input_ids=target)
    cache = build(attention_type="dot")(
        torch.tensor([[3, 4]]), decoder_input_ids=target, use_cache=True
    ).past_key_values
    with pytest.raises(ValueError, match="past_key_values is of another model"):
        model(torch.tensor([[3, 4]]), decoder_input_ids=target, past_key_values=cache)


@torch.no_grad()
def test_state_of_constant_size() -> None:
    """What generation carries is a state, and with attention what the source's states are compared by, once."""
    model, source = build(attention_type="additive"), torch.tensor([[3, 4, 5]])
    encoded = model.get_encoder()(source, return_dict=True)
    cache = None
    for token in (22, 4, 7, 2):
        given = {"encoder_outputs": encoded, "past_key_values": cache, "use_cache": True}
        cache = model(decoder_input_ids=torch.tensor([[token]]), **given).past_key_values
        assert isinstance(cache, RecurrentCache)
        shapes = [[tuple(tensor.shape) for tensor in state] for state in cache.states]
        assert shapes == [[(1, 8), (1, 8)], [(1, 8), (1, 8)], [(1, 3, 8)]]
    assert cache.get_seq_length() == 4


def test_two_vocabularies_cannot_be_resized_as_one() -> None:
    model = build(decoder_vocab_size=25)
    with pytest.raises(ValueError, match="two vocabularies"):
        model.resize_token_embeddings(30)
    shared = build()
    shared.resize_token_embeddings(30)
    assert shared.config.vocab_size == 30
    assert shared(torch.tensor([[29]]), decoder_input_ids=torch.tensor([[22]])).logits.shape == (1, 1, 30)
