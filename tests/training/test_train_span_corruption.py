# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Both scripts of text to text: pre-training on spans, and fine-tuning from what it leaves."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM

from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.span_corruption import SpanCorruption
from hf_lecture_models.tasks.text_to_text import TextToText
from tests.forked_python import ForkedPython, run_workers
from tests.interrupted import start_interrupted

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "training" / "train_span_corruption.py"
FINETUNE = ROOT / "training" / "finetune_text_to_text.py"
RECIPE = ROOT / "training" / "recipes" / "transformer_span_tiny.yaml"


def in_process(*arguments: Any) -> Any:
    return train_from_command(SpanCorruption(), [str(argument) for argument in arguments])[0]


@pytest.mark.slow
def test_the_commands_train_one_after_the_other(tmp_path: Path) -> None:
    done = ForkedPython(SCRIPT, RECIPE, "--epochs", 2, "--output_dir", tmp_path / "spans")
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(r"\d+ steps, [\d,]+ tokens/s, best validation span_perplexity [\d.]+: \S+/spans\n", out)
    assert "effective batch 8 rows x 24 = at most 192 source tokens, 15% of each text left out" in err
    films = tmp_path / "films.tsv"
    films.write_text("sentence\tlabel\na great ape\t1\nthe night\t0\n")
    options = {"--task": "sst3", "--from_pretrained": tmp_path / "spans", "--train_files": films, "--test_files": films}
    # The words of the two classes are unknown to the tokenizer of words.
    arguments = [str(word) for option in options.items() for word in option]
    with pytest.raises(SystemExit, match=r"films.tsv has no column 'label3'"):
        run_task(TextToText(), [*arguments, "--output_dir", str(tmp_path / "out")], "")
    arguments[1] = "sst2"
    with pytest.raises(SystemExit, match="cannot tell the classes apart"):
        run_task(TextToText(), [*arguments, "--output_dir", str(tmp_path / "out")], "")
    bytes_of = ["--tokenizer", "{type: byte}", "--max_steps", "2", "--output_dir", tmp_path / "bytes"]
    in_process(RECIPE, *bytes_of)
    arguments[3] = str(tmp_path / "bytes")
    done = ForkedPython(FINETUNE, *arguments, "--epochs", 1, "--output_dir", tmp_path / "out")
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(r"1 steps, [\d,]+ tokens/s, test accuracy [\d.]+: \S+/out\n", out)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(tmp_path: Path) -> None:
    options = [RECIPE, "--epochs", 6, "--save_every", 3, "--evaluate_every", 4, "--output_dir"]
    steps = in_process(*options, tmp_path / "straight").step
    stopped = start_interrupted("step", 7, "SIGTERM", SCRIPT, *options, tmp_path / "cut")
    out, _ = stopped.communicate()
    assert "stopped by SIGTERM" in out
    assert in_process(*options, tmp_path / "cut", "--resume").step == steps
    second = weights(tmp_path / "cut")
    assert all(torch.equal(tensor, second[name]) for name, tensor in weights(tmp_path / "straight").items())


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    options: list[Any] = [RECIPE, "--epochs", "4", "--log_every", "1", "--evaluate_every", "4", "--model.dropout", "0"]
    _, err = run_workers(SCRIPT, *options, "--output_dir", tmp_path / "two", "--num_processes", "2")
    assert "in 2 process(es)" in err
    in_process(*options, "--accumulation_steps", "1", "--output_dir", tmp_path / "one")
    one, two = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("one", "two"))
    assert one["items"] == two["items"]
    for key in ("loss", "validation_span_perplexity"):
        values = [[row[key] for row in run["history"] if key in row] for run in (one, two)]
        assert values[1] == pytest.approx(values[0], rel=1e-4)
    assert AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "two").config.position_encoding == "relative_buckets"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise_density", "0"], "noise_density must be above 0 and below 1, not 0.0"),
        (["--mean_span_length", "0"], "mean_span_length must be at least 1, not 0.0"),
        (["--sequence_length", "2"], "training data: sequence_length 2 has no room for text beside 1 special token(s)"),
        (["--sequence_length", "90", "--sentinels", "1"], "spans, but the tokenizer has 1 sentinel(s)"),
        (["--model.model_type", "lecture_bert"], "AutoModelForSeq2SeqLM has no model of model.model_type"),
        (["--model.relative_attention_num_buckets", "7"], "the buckets must be an even number of at least 4"),
        (["--mean_span_lenght", "3"], "no field mean_span_lenght; did you mean mean_span_length?"),
    ],
)
def test_a_mistake_costs_one_line_and_no_traceback(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        run_task(SpanCorruption(), [str(RECIPE), "--output_dir", str(tmp_path / "run"), *arguments], "")
    assert str(stopped.value.code).startswith("error: ")
    assert "\n" not in str(stopped.value.code)
    assert not (tmp_path / "run").exists()
