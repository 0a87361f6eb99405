# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent encoder-decoders: the common checks, step loops that they must equal, and what is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import Unsupported
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
from tests.seq2seq_tests import Seq2SeqTests

IDS = {"bos_token_id": 19, "eos_token_id": 20, "pad_token_id": 21, "decoder_start_token_id": 22}


def small(**changes: Any) -> RecurrentSeq2SeqConfig:
    fields = {"vocab_size": 24, "hidden_size": 8, "num_hidden_layers": 2, "embedding_size": 6}
    return RecurrentSeq2SeqConfig(**{**fields, **IDS, **changes})


def step(cell_type: str, p: dict[str, Tensor], u: Tensor, state: list[Tensor]) -> list[Tensor]:
    """One step of one layer by the formulas of the papers, its matrices taken apart gate by gate."""
    by_u = u @ p["weight_ih_l0"].T + p["bias_ih_l0"]
    by_h = state[0] @ p["weight_hh_l0"].T + p["bias_hh_l0"]
    size = state[0].shape[1]
    if cell_type == "elman":
        return [(by_u + by_h).tanh()]
    if cell_type == "gru":
        (reset, update, new), (reset_h, update_h, new_h) = by_u.split(size, 1), by_h.split(size, 1)
        update = (update + update_h).sigmoid()
        return [update * state[0] + (1 - update) * (new + (reset + reset_h).sigmoid() * new_h).tanh()]
    enter, keep, content, show = (by_u + by_h).split(size, 1)
    c = keep.sigmoid() * state[1] + enter.sigmoid() * content.tanh()
    return [show.sigmoid() * c.tanh(), c]


def read(cell_type: str, layer: Any, inputs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """All h of one layer of an encoder from zeros on, and the state at the end."""
    p = dict(layer.rnn.named_parameters())
    state = [torch.zeros(len(inputs[0]), p["weight_hh_l0"].shape[1])] * (2 if cell_type == "lstm" else 1)
    outputs = []
    for u in inputs:
        state = step(cell_type, p, u, state)
        outputs.append(state[0])
    return outputs, state


def encode(model: RecurrentSeq2SeqModel, ids: Tensor) -> tuple[list[Tensor], list[list[Tensor]]]:
    """h_j, and of each layer what the decoder starts from."""
    cell_type, encoder = model.config.cell_type, model.encoder
    hidden = [encoder.embed_tokens.weight[ids[:, j]] for j in range(ids.shape[1])]
    last = []
    for layer in encoder.layers:
        outputs, states = [], []
        if layer.forwards is not None:
            h, state = read(cell_type, layer.forwards, hidden)
            outputs.append(h)
            states.append(state)
        if layer.backwards is not None:
            h, state = read(cell_type, layer.backwards, hidden[::-1])
            outputs.append(h[::-1])
            states.append(state)
        hidden = [torch.cat(both, 1) for both in zip(*outputs, strict=True)]
        last.append([torch.cat(both, 1) for both in zip(*states, strict=True)])
    return hidden, last


def translate(model: RecurrentSeq2SeqModel, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor | None]:
    """All t_i and the weights α, one step and one equation after the other."""
    config, decoder = model.config, model.decoder
    memory, last = encode(model, source)
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


class RecurrentSeq2SeqTests(Seq2SeqTests):
    model_class = RecurrentSeq2SeqForConditionalGeneration
    source_direction = "forwards"
    overfit: ClassVar[dict[str, float]] = {"steps": 300, "learning_rate": 0.05}
    contradictory_configs = (
        {"cell_type": "rnn"},
        {"attention_type": "dot", "context": "every_step"},
        {"bidirectional_encoder": True, "reverse_source": True},
        {"tie_word_embeddings": True, "embedding_size": 5},
        {"is_encoder_decoder": False},
        {"decoder_vocab_size": 20, "eos_token_id": 20},
        {"dropout": 1.0},
        {"hidden_size": 0},
        {"atention_type": "dot"},
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

    @pytest.mark.slow
    @pytest.mark.xfail(strict=True, raises=Unsupported, reason="torch does not compile its recurrent kernels")
    def test_compiles_in_one_piece(self) -> None:
        super().test_compiles_in_one_piece()


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


class TestModel(ModelTests):
    """Without the head; padding and the rest of what a head's checks see are seen there."""

    model_class = RecurrentSeq2SeqModel

    def config(self) -> RecurrentSeq2SeqConfig:
        return small(attention_type="dot")

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return TestAdditive().make_inputs(batch, [5] * len(lengths))

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        states, _ = translate(model, inputs["input_ids"], inputs["decoder_input_ids"])
        return {"last_hidden_state": states}

    @pytest.mark.slow
    @pytest.mark.xfail(strict=True, raises=Unsupported, reason="torch does not compile its recurrent kernels")
    def test_compiles_in_one_piece(self) -> None:
        super().test_compiles_in_one_piece()


class TestFirstState(RecurrentSeq2SeqTests):
    """Sutskever et al. 2014: stacked LSTMs, the source reversed."""

    shows_cross_attentions = False
    source_direction = "backwards"

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
def test_additive_attention_in_numpy() -> None:
    """One layer of Elman's cell in each direction, written out in numpy with its own softmax."""
    model = build(cell_type="elman", attention_type="additive", bidirectional_encoder=True, num_hidden_layers=1)
    p = {name: tensor.numpy().astype(np.float64) for name, tensor in model.model.named_parameters()}
    source, target = [3, 1, 4, 1], [22, 5, 9]

    def elman(prefix: str, u: np.ndarray, h: np.ndarray) -> np.ndarray:
        bias = p[f"{prefix}.rnn.bias_ih_l0"] + p[f"{prefix}.rnn.bias_hh_l0"]
        return np.tanh(p[f"{prefix}.rnn.weight_ih_l0"] @ u + p[f"{prefix}.rnn.weight_hh_l0"] @ h + bias)

    x = p["encoder.embed_tokens.weight"]
    ahead, back, h = [], [], np.zeros(8)
    for token in source:
        h = elman("encoder.layers.0.forwards", x[token], h)
        ahead.append(h)
    h = np.zeros(8)
    for token in reversed(source):
        h = elman("encoder.layers.0.backwards", x[token], h)
        back.insert(0, h)
    memory = np.concatenate([ahead, back], 1)
    ends = np.concatenate([ahead[-1], back[0]])
    s = np.tanh(p["decoder.W_s.0.weight"] @ ends + p["decoder.W_s.0.bias"])
    outputs = []
    for token in target:
        hidden = np.tanh(p["decoder.layers.0.score.W_a.weight"] @ s + memory @ p["decoder.U_a.weight"].T)
        e = hidden @ p["decoder.layers.0.score.v_a.weight"][0]
        alpha = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
        c = alpha @ memory
        s = elman("decoder.layers.0.recurrence", np.concatenate([x[token], c]), s)
        pairs = p["decoder.O.linear.weight"] @ np.concatenate([s, x[token], c]) + p["decoder.O.linear.bias"]
        outputs.append(pairs.reshape(-1, 2).max(1))
    found = model.model(torch.tensor([source]), decoder_input_ids=torch.tensor([target])).last_hidden_state[0]
    assert_close(found, torch.tensor(np.stack(outputs), dtype=torch.float32), rtol=0, atol=1e-5)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"target_modules": "all-linear"},
        {
            "target_modules": ["embed_tokens", "lm_head"],
            "target_parameters": ["rnn.weight_ih_l0", "rnn.weight_hh_l0"],
        },
    ],
    ids=["all linear", "kernels"],
)
def test_adapters_train_merge_and_reload(settings: dict[str, Any], tmp_path: Path) -> None:
    """LoRA by peft, as the model's page has it."""
    peft = pytest.importorskip("peft")
    build(attention_type="additive", bidirectional_encoder=True).save_pretrained(tmp_path / "base")
    base = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=2, task_type="SEQ_2_SEQ_LM", **settings))
    batch = {"input_ids": torch.tensor([[3, 1, 4], [5, 6, 7]]), "labels": torch.tensor([[8, 9, 20], [2, 20, -100]])}
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    optimizer, losses = torch.optim.Adam(trained, lr=0.02), []
    for _ in range(40):
        optimizer.zero_grad()
        losses.append(adapted(**batch).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.8 * losses[0]
    with torch.no_grad():
        expected = adapted.eval()(**batch).logits
        adapted.save_pretrained(tmp_path / "adapter")
        fresh = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "base")
        again = peft.PeftModel.from_pretrained(fresh, tmp_path / "adapter").eval()
        assert_close(again(**batch).logits, expected)
        options = {"input_ids": batch["input_ids"], "max_new_tokens": 4, "num_beams": 2}
        generated = again.generate(**options)
        merged = adapted.merge_and_unload()
        assert_close(merged(**batch).logits, expected, rtol=0, atol=1e-4)
        assert torch.equal(merged.generate(**options), generated)
