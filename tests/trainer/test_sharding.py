# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model in parts, on two processes of this machine, is the whole model in everything that a user sees."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModelForCausalLM

from hf_lecture_models.trainer.resuming import load_optimizer_state
from hf_lecture_models.trainer.sharding import _block_classes, copy_to_shard
from tests.interrupted import run_processes
from tests.trainer.sharded_runs import KINDS, LONG, full_run, mean_loss
from tests.trainer.small_runs import make_model, small_run

SHARDED = {"ACCELERATE_USE_FSDP": "true"}


def newest_step(folder: Path) -> int:
    return max((int(path.name[5:]) for path in (folder / "checkpoints").glob("step-*")), default=0)


def history(folder: Path, key: str) -> list[float]:
    facts = json.loads((folder / "training.json").read_text())
    return [row[key] for row in facts["history"] if key in row]


def assert_same_weights(first: Path, second: Path) -> None:
    """All weights on the way, too: those of the checkpoints, and the best."""
    names = sorted(path.relative_to(first) for path in first.rglob("model.safetensors"))
    assert len(names) > 2
    for name in names:
        expected, found = load_file(first / name), load_file(second / name)
        assert all(torch.equal(tensor, found[key]) for key, tensor in expected.items()), name


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("kind", ["gpt1", "self_attention"])
def test_it_trains_as_one_process(sharded: Path, tmp_path: Path, kind: str) -> None:
    full_run(kind, tmp_path)
    for key in ("loss", "validation_loss", "learning_rate"):
        assert history(sharded / kind, key) == pytest.approx(history(tmp_path, key), rel=1e-5)
    expected, found = (load_file(folder / "model.safetensors") for folder in (tmp_path, sharded / kind))
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-3, atol=1e-4)


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("kind", KINDS)
def test_it_resumes_to_the_same_bits(sharded: Path, kind: str) -> None:
    assert_same_weights(sharded / kind, sharded / f"{kind}_resumed")
    assert history(sharded / kind, "loss") == history(sharded / f"{kind}_resumed", "loss")
    assert len(history(sharded / kind, "loss")) == 8


def test_one_whole_file_is_left(sharded: Path) -> None:
    folder = sharded / "gpt1"
    assert [path.name for path in folder.glob("*.safetensors*")] == ["model.safetensors"]
    assert {path.name for path in folder.glob("checkpoints/*8/*.safetensors")} == {
        "model.safetensors",
        "state.safetensors",
    }
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert sum("embed_tokens" in name or "lm_head" in name for name in file.keys()) == 1  # noqa: SIM118
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert mean_loss(model)["loss"] == pytest.approx(min(history(folder, "validation_loss")), rel=1e-6)


def test_optimizer_states_are_saved_whole(sharded: Path) -> None:
    shapes = {tuple(parameter.shape) for parameter in make_model("gpt1").parameters()}
    with safe_open(sharded / "gpt1/checkpoints/step-00000008/state.safetensors", "pt") as file:
        found = {tuple(file.get_slice(name).get_shape()) for name in file.keys() if "exp_avg" in name}  # noqa: SIM118
    assert found == shapes


def test_a_model_whose_outputs_hide_its_loss_is_refused(sharded: Path) -> None:
    assert "no weight has a gradient" in (sharded / "hidden.txt").read_text()


@pytest.mark.slow
@pytest.mark.nightly
def test_killed_it_resumes_to_the_same_bits_and_unsharded_to_the_same_losses(tmp_path: Path) -> None:
    def run(name: str, *interruption: Any, **environment: str) -> None:
        command = [Path(__file__).with_name("sharded_runs.py"), tmp_path / name, "recurrent_stream"]
        root = str(Path(__file__).parents[2])
        done = run_processes(*command, interruption=interruption or None, PYTHONPATH=root, **environment)
        assert (done.returncode == 0) == ("SIGKILL" not in interruption), done.stderr[-4000:]

    run("straight", **SHARDED)
    run("killed", "step", 24, "SIGKILL", **SHARDED)
    assert newest_step(tmp_path / "killed") == 21
    run("killed", **SHARDED)
    assert_same_weights(tmp_path / "straight", tmp_path / "killed")
    losses = history(tmp_path / "straight", "loss")
    assert len(losses) == LONG["max_steps"]
    assert losses == history(tmp_path / "killed", "loss")

    # SIGTERM: the processes save between two checkpoints, and gather the weights for it.
    run("stopped", "step", 24, "SIGTERM", **SHARDED)
    assert newest_step(tmp_path / "stopped") == 24
    run("stopped")
    assert history(tmp_path / "stopped", "loss") == pytest.approx(losses, rel=1e-4)


def test_what_cannot_be_sharded_is_refused_and_never_trained_whole(tmp_path: Path, monkeypatch: Any) -> None:
    for value in ("true", "1"):
        monkeypatch.setenv("ACCELERATE_USE_FSDP", value)
        with pytest.raises(ValueError, match="asks to shard the model, but 1 process runs"):
            small_run("bert", tmp_path / value)
        assert not (tmp_path / value).exists()


def test_single_numbers_are_lists_of_one_while_they_are_sharded() -> None:
    model = make_model("self_attention")
    first, second = (layer.ffn.activation for layer in (model.model.layers[0], copy.deepcopy(model.model.layers[0])))
    second.beta = first.beta
    model.model.layers.append(nn.Sequential(second))
    spread = copy_to_shard(model)
    assert first.beta.ndim == 0
    assert spread.model.layers[0].ffn.activation.beta.shape == (1,)
    assert spread.model.layers[1][0].beta is spread.model.layers[0].ffn.activation.beta
    assert min(parameter.ndim for parameter in spread.parameters()) == 1

    states = []
    for one in (model, spread):  # what either saved, the other one goes on from
        optimizer = torch.optim.AdamW(one.parameters(), fused=True)
        for parameter in one.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        states.append(optimizer.state_dict())
    for one, state in zip((spread, model), states, strict=True):
        optimizer = torch.optim.AdamW(one.parameters(), fused=True)
        load_optimizer_state(optimizer, state)
        optimizer.step()
    for parameter, other in zip(model.parameters(), spread.parameters(), strict=True):
        assert torch.equal(parameter.flatten(), other.flatten())


def test_blocks_are_gathered_by_themselves_unless_they_share_a_weight() -> None:
    model = make_model("self_attention")
    assert _block_classes(model) == [type(model.model.layers[0]).__name__]
    bert = make_model("bert")
    assert set(_block_classes(bert)) == {"BertEmbeddings", "BertLayer"}
    bert.classifier.weight = nn.Parameter(bert.bert.embeddings.word_embeddings.weight[:3])
    assert set(_block_classes(bert)) == {"BertEmbeddings", "BertLayer"}
    bert.classifier.weight = bert.bert.embeddings.word_embeddings.weight
    assert _block_classes(bert) == ["BertLayer"]
    assert _block_classes(nn.Linear(2, 2)) == []
