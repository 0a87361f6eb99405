# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What trackers hold of a run that was stopped and resumed, read back from what they wrote."""

import os
import signal
import tempfile

import pytest
import torch

pytest.importorskip("accelerate")

from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm
from hf_lecture_models.tokenization.word import WordTokenizer

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
