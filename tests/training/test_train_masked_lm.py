# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The script, from the command line."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForPreTraining, AutoTokenizer, pipeline

from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.masked_lm import MaskedLM
from tests.forked_python import ForkedPython, run_workers
from tests.interrupted import start_interrupted

ROOT = Path(__file__).parents[2]
SCRIPT, RECIPE = ROOT / "training" / "train_masked_lm.py", ROOT / "training" / "recipes" / "bert_tiny.yaml"


def in_process(*arguments: Any) -> Any:
    return train_from_command(MaskedLM(), [str(argument) for argument in arguments])[0]


def test_the_command_trains_and_says_how_it_ended(tmp_path: Path) -> None:
    done = ForkedPython(SCRIPT, RECIPE, "--epochs", 1, "--output_dir", tmp_path / "run")
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(r"2 steps, [\d,]+ targets/s, best validation masked_perplexity [\d.]+: \S+/run\n", out)
    assert "effective batch 8 rows x 24 = at most 192 tokens, 15% of them predicted" in err
    assert type(AutoModelForPreTraining.from_pretrained(tmp_path / "run")).__name__ == "LectureBertForPreTraining"
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    assert tokenizer.model_max_length == 24
    guesses = pipeline("fill-mask", model=str(tmp_path / "run"))(f"the {tokenizer.mask_token} of the town")
    assert len(guesses) == 5


def weights(folder: Path) -> dict[Path, dict[str, torch.Tensor]]:
    return {path.relative_to(folder): load_file(path) for path in sorted(folder.rglob("model.safetensors"))}


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(tmp_path: Path) -> None:
    options = [RECIPE, "--epochs", 6, "--save_every", 5, "--evaluate_every", 4, "--output_dir"]
    in_process(*options, tmp_path / "straight")
    stopped = start_interrupted("step", 7, "SIGTERM", SCRIPT, *options, tmp_path / "cut")
    out, _ = stopped.communicate()
    assert stopped.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in out
    assert in_process(*options, tmp_path / "cut", "--resume").step == 12
    first, second = weights(tmp_path / "straight"), weights(tmp_path / "cut")
    assert first[Path("model.safetensors")].keys() == second[Path("model.safetensors")].keys()
    for name, tensor in first[Path("model.safetensors")].items():
        assert torch.equal(tensor, second[Path("model.safetensors")][name]), name


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["true", "false"])
def test_two_processes_train_as_one(tmp_path: Path, pairs: str) -> None:
    no_dropout = ["--model.hidden_dropout_prob", "0", "--model.attention_probs_dropout_prob", "0"]
    options = [
        RECIPE,
        "--epochs",
        "4",
        "--log_every",
        "1",
        "--evaluate_every",
        "4",
        "--next_sentence",
        pairs,
        *no_dropout,
    ]
    _, err = run_workers(SCRIPT, *options, "--output_dir", tmp_path / "two", "--num_processes", "2")
    assert "in 2 process(es)" in err
    in_process(*options, "--accumulation_steps", "1", "--output_dir", tmp_path / "one")
    one, two = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("one", "two"))
    assert one["items"] == two["items"]
    for key in ("loss", "validation_masked_perplexity"):
        values = [[row[key] for row in run["history"] if key in row] for run in (one, two)]
        assert values[1] == pytest.approx(values[0], rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mask_probability", "0"], "mask_probability must be above 0 and at most 1, not 0.0"),
        (["--documents", "pages"], "documents must be one of blank_lines, titles, texts, not 'pages'"),
        (["--documents", "titles"], "training data: next sentences need two documents at least, "),
        (["--sequence_length", "25"], "sequence_length 25 is more than the model's longest input, 24 tokens"),
        (["--sequence_length", "4"], "sequence_length 4 has no room for text beside 3 special tokens; raise it to 5"),
        (["--tokenizer", "{type: word}"], "training data: the tokenizer has no mask_token, which stands in the place"),
        (["--model.model_type", "lecture_gpt1"], "AutoModelForPreTraining has no model of model.model_type"),
        (["--next_sentences", "false"], "no field next_sentences; did you mean next_sentence?"),
    ],
)
def test_a_mistake_costs_one_line_and_no_traceback(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        run_task(MaskedLM(), [str(RECIPE), "--output_dir", str(tmp_path / "run"), *arguments], "")
    assert str(stopped.value.code).startswith("error: ")
    assert "\n" not in str(stopped.value.code)
    assert len(str(stopped.value.code)) < 300
    assert not (tmp_path / "run").exists()
