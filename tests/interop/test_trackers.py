# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What trackers hold of a run that was stopped and resumed, read back from what they wrote."""

import os
import signal
import tempfile

import pytest
import torch

pytest.importorskip("accelerate")

import json
import sqlite3
import struct
import time

from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.forked_python import PATIENCE

pytestmark = pytest.mark.slow

# Read when trackio is imported.
_TRACKIO = tempfile.TemporaryDirectory(prefix="trackio_")
os.environ["TRACKIO_DIR"] = _TRACKIO.name

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "a cat and a dog ran"]
NAMES = {"epoch", "loss", "learning_rate", "tokens_per_second", "validation_perplexity"}


def run(folder, tracker, stop_at=None, resume=False):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    torch.manual_seed(0)
    config = RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **ids)
    model = RecurrentForCausalLM(config)
    calls = []

    def count(module, inputs):
        calls.append(module.training)
        if sum(calls) == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)

    model.register_forward_pre_hook(count)
    recipe = CausalLMRecipe(
        layout="stream", batch_size=2, sequence_length=6, epochs=4, log_every=1, report_to=tracker, train_texts=TEXTS
    )
    return train_causal_lm(model, tokenizer, TEXTS, ["the dog ran"], folder, recipe, resume=resume, quiet=True)


@pytest.fixture
def straight_and_resumed(tmp_path, request, capsys, monkeypatch):
    """The history of a run, and the folder of one that was stopped in its middle and resumed."""
    tracker, folder = request.param, tmp_path / "stopped"
    # It recommends another product to processes that have imported openai, as other tests do.
    monkeypatch.setenv("WANDB_DISABLE_WEAVE", "true")
    pytest.importorskip(tracker)
    assert run(folder, tracker, stop_at=5).step == 5
    history = run(folder, tracker, resume=True).history
    assert [row["step"] for row in history if "loss" in row] == list(range(1, 13))
    return history, folder


def tracked(name):
    return pytest.mark.parametrize("straight_and_resumed", [name], indirect=True)


def check(logged, history):
    """`logged` is what a tracker holds: pairs of a step and its named values."""
    found = {}
    for step, values in logged:
        for name, value in values.items():
            assert found.setdefault((step, name), value) == value
    expected = {
        (row["step"], name): value for row in history for name, value in row.items() if name in NAMES - {"epoch"}
    }
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-6)
    assert all(found[step, "tokens_per_second"] > 0 for step in range(1, 13))
    once = [step for step, values in logged if "loss" in values]
    assert once == list(range(1, 13))


@tracked("tensorboard")
def test_tensorboard(straight_and_resumed):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    history, folder = straight_and_resumed
    log = EventAccumulator(str(folder / "runs" / "hf-lecture-models")).Reload()
    assert set(log.Tags()["scalars"]) >= NAMES
    logged = [(event.step, {name: event.value}) for name in sorted(NAMES) for event in log.Scalars(name)]
    check(logged, history)
    hyperparameters = "\n".join(path.read_text() for path in folder.glob("runs/**/hparams.yml"))
    assert "model.model_type: lecture_recurrent" in hyperparameters


@tracked("trackio")
def test_trackio(straight_and_resumed, capsys):
    history, folder = straight_and_resumed
    name = f"stopped-{(folder / 'runs' / 'id').read_text()}"
    with sqlite3.connect(os.path.join(_TRACKIO.name, "hf-lecture-models.db")) as log:
        rows = log.execute("select step, metrics from metrics where run_name = ? order by id", (name,)).fetchall()
        (config,) = log.execute("select config from configs where run_name = ?", (name,)).fetchone()
    check([(step, json.loads(values)) for step, values in rows], history)
    assert json.loads(config)["model.model_type"] == "lecture_recurrent"
    assert capsys.readouterr().out == ""


@tracked("wandb")
def test_wandb_offline(straight_and_resumed, monkeypatch, capsys):
    history, folder = straight_and_resumed
    runs = sorted((folder / "runs" / "wandb").glob("offline-run-*/*.wandb"))
    assert {path.name for path in runs} == {f"run-{(folder / 'runs' / 'id').read_text()}.wandb"}
    records = [record for path in runs for record in finished_records(path)]
    logged = []
    for record in records:
        if record.WhichOneof("record_type") == "history":
            values = {"".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
            logged.append((values["_step"], {name: values[name] for name in NAMES & set(values)}))
    check(logged, history)
    config = {item.key or "".join(item.nested_key): item.value_json for record in records for item in settings(record)}
    assert json.loads(config["model.model_type"]) == "lecture_recurrent"
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    run(folder.parent / "disabled", "wandb")
    assert not list((folder.parent / "disabled" / "runs").glob("wandb/*run*"))


def settings(record):
    return [*record.config.update, *record.run.config.update]


def finished_records(path):
    """The records of a run's file once wandb's own process has written the last, which may be after the training."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        records = list(wandb_records(path))
        if any(record.WhichOneof("record_type") == "exit" for record in records):
            return records
        time.sleep(0.1)
    raise AssertionError(f"{path} has no end")


def wandb_records(path):
    """The records of a .wandb file, which is a log of LevelDB (its doc/log_format.md) after 7 bytes of header."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, parts = path.read_bytes(), 7, []
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        if place + 7 + length > len(data):  # still being written
            return
        parts.append(data[place + 7 : place + 7 + length])
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(b"".join(parts))
            parts = []
