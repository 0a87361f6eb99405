# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The script as a user starts it, killed as a machine kills it."""

import json
import random
import signal
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models.evaluation.language_model import evaluate_language_model
from tests.forked_python import ForkedPython
from tests.interrupted import run_processes, start_interrupted
from tests.training.scripts import SCRIPTS


def wait_until(condition, process):
    while process.poll() is None and not condition():
        time.sleep(0.0002)


def kill_and_resume(folder, kills, seed):
    """Kill a run at random moments, every other time in the middle of a save."""
    moments = random.Random(seed)
    for number in range(kills):
        killed = command_line(folder, "--resume")
        begin = newest_step(folder)
        wait_until(lambda: newest_step(folder) > begin + moments.randrange(6), killed)  # noqa: B023
        if number % 2:
            wait_until(lambda: is_saving(folder), killed)
        else:
            time.sleep(moments.random() * 0.03)
        killed.kill()
        killed.communicate()
    finished = command_line(folder, "--resume")
    _, err = finished.communicate()
    assert finished.returncode == 0, err


SCRIPT, (RECIPE,) = SCRIPTS["causal_lm"].path, SCRIPTS["causal_lm"].arguments
script, command = SCRIPTS["causal_lm"].train, SCRIPTS["causal_lm"].run
# Dropout, accumulation, carried state; a checkpoint in mid-epoch every other step.
OPTIONS = ["--epochs", "16", "--save_every", "2", "--evaluate_every", "35", "--log_every", "1"]
STEPS = 80


@pytest.fixture(scope="session")
def straight(tmp_path_factory):
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    script(RECIPE, *OPTIONS, "--output_dir", folder)
    return folder


def assert_same_run(first, second):
    def weights(folder):
        return {path.relative_to(folder): load_file(path) for path in sorted(folder.rglob("model.safetensors"))}

    expected, found = weights(first), weights(second)
    assert Path(f"checkpoints/step-{STEPS:08d}/model.safetensors") in expected
    assert expected.keys() == found.keys()
    for path, tensors in expected.items():
        assert all(torch.equal(tensor, found[path][name]) for name, tensor in tensors.items())
    histories = [json.loads((folder / "training.json").read_text())["history"] for folder in (first, second)]
    assert histories[0] == histories[1]


def newest_step(folder):
    return max((int(path.name[5:]) for path in (folder / "checkpoints").glob("step-*")), default=0)


def is_saving(folder):
    return any((folder / "checkpoints").glob(".step-*.partial"))


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_in_the_same_bits(tmp_path, straight):
    folder, options = tmp_path / "run", [RECIPE, *OPTIONS, "--output_dir", tmp_path / "run", "--resume"]
    for moment, count, newest in (("save", 1, 0), ("step", 4, 2), ("save", 3, 6), ("step", 17, 22), ("save", 12, 44)):
        killed = start_interrupted(moment, count, "SIGKILL", SCRIPT, *options)
        killed.communicate()
        assert killed.returncode == -signal.SIGKILL
        assert (newest_step(folder), is_saving(folder)) == (newest, moment == "save")
    finished = command_line(folder, "--resume")
    _, err = finished.communicate()
    assert finished.returncode == 0, err
    assert_same_run(straight, folder)
    assert not list(tmp_path.rglob("*.partial*"))


@pytest.mark.slow
@pytest.mark.nightly
def test_killed_fifty_times_it_ends_in_the_same_bits(tmp_path, straight):
    for number in range(5):
        kill_and_resume(tmp_path / str(number), kills=10, seed=time.time_ns())
        assert_same_run(straight, tmp_path / str(number))


def command_line(folder, *options):
    return ForkedPython(SCRIPT, RECIPE, *OPTIONS, "--output_dir", folder, *options)


@pytest.mark.slow
def test_the_command_survives_kill_and_sigterm(tmp_path, straight):
    folder = tmp_path / "run"
    options = [RECIPE, *OPTIONS, "--output_dir", folder, "--resume"]
    killed = start_interrupted("save", 4, "SIGKILL", SCRIPT, *options)
    assert "starting from scratch" in killed.communicate()[1]
    assert (newest_step(folder), is_saving(folder)) == (6, True)

    stopped = start_interrupted("step", 11, "SIGTERM", SCRIPT, *options)
    out, err = stopped.communicate()
    assert newest_step(folder) == 17
    assert stopped.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in out
    assert "resuming from" in err

    finished = command_line(folder, "--resume")
    out, err = finished.communicate()
    assert (finished.returncode, "best validation perplexity" in out) == (0, True)
    assert "%|" not in err  # no bar where there is no terminal
    assert_same_run(straight, folder)


@pytest.mark.slow
def test_two_processes_killed_end_in_the_same_bits(tmp_path):
    command = [SCRIPT, RECIPE, *OPTIONS, "--resume", "--output_dir"]
    killed = run_processes(*command, tmp_path / "killed", interruption=("step", 10, "SIGKILL"))
    assert "Signal 9 (SIGKILL)" in killed.stderr
    assert newest_step(tmp_path / "killed") == 8
    for name in ("straight", "killed"):
        finished = run_processes(*command, tmp_path / name)
        assert finished.returncode == 0, finished.stderr
    assert_same_run(tmp_path / "straight", tmp_path / "killed")
    process = command_line(tmp_path / "killed", "--resume")
    assert "num_processes is 1 but the run was started with 2" in process.communicate()[1]
    assert process.returncode == 1


@pytest.mark.slow
def test_early_stopping_is_said_by_the_main_process_and_again_on_resume(tmp_path, capsys, monkeypatch):
    options = ["--learning_rate", "0", "--early_stopping_patience", "1", "--output_dir", tmp_path / "run"]
    for more in ([], ["--resume"]):
        command(RECIPE, *options, *more)
        assert "10 steps (no better for 1 evaluation)" in capsys.readouterr().out
    monkeypatch.setenv("RANK", "1")
    command(RECIPE, *options, "--resume")
    assert capsys.readouterr().out == ""


def test_bytes_and_another_cell_need_only_options(tmp_path):
    options = ["--tokenizer", "{type: byte}", "--model.cell_type", "gru", "--max_steps", "2", "--layout", "texts"]
    assert script(RECIPE, "--output_dir", tmp_path / "run", *options).step == 2


def test_a_recipe_is_optional_and_goes_first(tmp_path):
    fields = ["--train_texts", "[a b c, b c a, c a b]", "--model.hidden_size", "4", "--tokenizer.type", "char"]
    run = ["--max_steps", "2", "--batch_size", "2", "--sequence_length", "4", "--output_dir", tmp_path / "run"]
    assert script(*fields, *run).step == 2
    assert json.loads((tmp_path / "run" / "config.json").read_text())["model_type"] == "lecture_recurrent"
    with pytest.raises(ValueError, match="got 'recipe.yaml'; the recipe's file goes first"):
        script("--max_steps", "2", "recipe.yaml")


def test_training_goes_on_from_a_saved_model(tmp_path, straight):
    """With its tokenizer and its weights: the first evaluation is no worse than the last one of the run before."""
    options = ["--from_pretrained", straight, "--tokenizer", "{type: word}"]
    options += ["--model", "{model_type: lecture_recurrent}"]
    run = ["--learning_rate", "1e-6", "--max_steps", "1", "--output_dir", tmp_path / "run"]
    result = script(RECIPE, *options, *run)
    best = json.loads((straight / "training.json").read_text())["best_metric"]
    assert result.best_metric == pytest.approx(best, rel=1e-3)
    with pytest.raises(ValueError, match="from_pretrained brings its own model; leave model out"):
        script(RECIPE, "--from_pretrained", straight, "--tokenizer", "{type: word}", *run)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        script("--train_texts", "[a]", "--from_pretrained", tmp_path / "nowhere", *run)


@pytest.mark.parametrize("streaming", ["false", "true"])
def test_data_that_changed_are_named_before_their_model_is_compared(tmp_path, capsys, streaming):
    """A word more in the training file makes another vocabulary, and weights of other shapes."""
    for part in ("train", "validation"):
        (tmp_path / part).with_suffix(".txt").write_text("the keeper reads a letter\nthe ship passes\n" * 4)
    files = {part: (tmp_path / part).with_suffix(".txt") for part in ("train", "validation")}
    named = [argument for part, path in files.items() for argument in (f"--{part}_files", path)]
    fields = ["--layout", "blocks", "--max_steps", "2", "--batch_size", "2", "--sequence_length", "4"]
    arguments = [*named, *fields, "--streaming", streaming, "--output_dir", tmp_path / "run"]
    command(*arguments)
    saved = load_file(tmp_path / "run" / "model.safetensors")
    for part, changed in {"validation": "the validation data", "train": "the tokenizer and the training data"}.items():
        text = files[part].read_text()
        files[part].write_text(f"{text}a night with a lighthouse\n")
        with pytest.raises(SystemExit, match=f"error: cannot resume: {changed} changed since the run was started"):
            command(*arguments, "--resume")
        files[part].write_text(text)
    command(*arguments, "--resume")
    assert all(
        torch.equal(tensor, saved[name]) for name, tensor in load_file(tmp_path / "run/model.safetensors").items()
    )


@pytest.mark.slow
def test_test_texts_are_measured_by_the_kept_weights(tmp_path, capsys):
    (tmp_path / "test.txt").write_text("the keeper reads a letter\nthe ship passes\n")
    command(RECIPE, "--test_files", tmp_path / "test.txt", "--output_dir", tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "facts.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    expected = evaluate_language_model(
        AutoModelForCausalLM.from_pretrained(tmp_path / "run"),
        tokenizer,
        ["the keeper reads a letter", "the ship passes"],
        stream=True,
    )
    assert facts["results"]["perplexity"] == pytest.approx(expected["perplexity"], rel=1e-6)
    assert (facts["results"]["texts"], facts["data"]["split"]) == (2, "test")
    assert f"test perplexity {expected['perplexity']:.4g}: " in capsys.readouterr().out
