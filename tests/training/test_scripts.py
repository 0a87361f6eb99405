# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every training script resumes to the same bits and trains alike in two processes; a mistake costs one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.forked_python import run_workers
from tests.interrupted import check_stopped_and_resumed
from tests.training.scripts import SCRIPTS, Script

NO_TEXTS = ["--train_texts", "[]"]


SHORT = "{model_type: lecture_gpt1, hidden_size: 8, num_attention_heads: 2, max_position_embeddings: 4}"


PRECISIONS = [(name, "no") for name in SCRIPTS] + [("multiple_choice", "bf16"), ("translation", "bf16")]


@pytest.mark.cases(0, 4)
@pytest.mark.slow
@pytest.mark.parametrize(("script", "precision"), PRECISIONS, indirect=["script"])
def test_stopped_and_resumed_it_ends_in_the_same_bits(script: Script, precision: str) -> None:
    arguments = [*script.arguments, "--mixed_precision", f"'{precision}'"]
    check_stopped_and_resumed(script.path, arguments, script.train)


VARIANTS: list[tuple[str, list[str]]] = [
    *((name, []) for name in SCRIPTS),
    ("masked_lm", ["--next_sentence", "false"]),
    (
        "multiple_choice",
        ["--task", "null", "--predict_files", "[]", "--train_files", "rows.jsonl", "--validation_files", "rows.jsonl"],
    ),
    ("squad", ["--mixed_precision", "bf16"]),
    ("translation", ["--mixed_precision", "bf16"]),
]


@pytest.mark.cases(0, 3)
@pytest.mark.slow  # tests/trainer/test_loss_weights.py trains in two processes always
@pytest.mark.parametrize(("script", "options"), VARIANTS, indirect=["script"])
def test_two_processes_train_as_one(script: Script, options: list[str]) -> None:
    """Steps in which some micro-batches are empty are among them."""
    command = [*script.arguments, *script.two, *options, "--log_every", "1", "--output_dir"]
    out, err = run_workers(script.path, *command, "two", "--num_processes", "2")
    assert len({*out.splitlines()}) == len(out.splitlines()), "one process speaks"
    assert out.count(": hf-lecture see learning") == 1
    assert "in 2 process(es)" in err
    script.train(*command, "one", *script.one)
    one, two = (json.loads(Path(name, "training.json").read_text()) for name in ("one", "two"))
    assert (one["num_processes"], two["num_processes"]) == (1, 2)
    assert one["items"] == two["items"]
    tolerance = 2e-2 if "bf16" in options else 1e-4
    for key in ("loss", "learning_rate", script.measure):
        values: list[Any] = [[row[key] for row in record["history"] if key in row] for record in (one, two)]
        assert values[0]
        assert values[1] == pytest.approx(values[0], rel=tolerance, abs=1e-12)
    if "sgd" in command:
        for name, tensor in load_file("one/model.safetensors").items():
            other = load_file("two/model.safetensors")[name]
            torch.testing.assert_close(other, tensor, rtol=tolerance, atol=1e-6 + tolerance / 100)


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("causal_lm", ["--tokenizer.colour", "red"], "no field tokenizer.colour"),
        ("causal_lm", ["--validation_texts", "[1, 2]"], "each of validation_texts must be str, not 1"),
        ("causal_lm", ["--model.model_type", "bert-x"], "own: lecture_"),
        (
            "causal_lm",
            ["--model", "{model_type: gpt2, n_embd: 1000000000000000, n_head: 1}"],
            "model cannot be built: ",
        ),
        ("causal_lm", ["--output_dir", "[1"], "--output_dir: '[1' is no YAML value"),
        ("causal_lm", [*NO_TEXTS, "--train_files", "latin.csv"], "latin.csv, line 2: not UTF-8"),
        (
            "causal_lm",
            [*NO_TEXTS, "--train_files", "empty.jsonl", "--streaming", "true", "--layout", "blocks"],
            "empty.jsonl is empty",
        ),
        ("recall", ["--model", SHORT], "row 1 has 5 tokens, and the model reads at most 4"),
        (
            "span_corruption",
            ["--model.relative_attention_num_buckets", "7"],
            "the buckets must be an even number of at least 4",
        ),
        ("glue", ["--from_pretrained", "./nowhere/bert"], "there is no folder ./nowhere/bert"),
    ],
    indirect=["script"],
)
def test_a_mistake_costs_one_line_and_no_traceback(
    script: Script, arguments: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Mistakes that a command can make beside those of `TaskTests`, which each task has."""
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        script.run(*script.arguments, "--output_dir", "OUT", *arguments)
    said = str(stopped.value.code)
    assert said.startswith("error: ")
    assert "\n" not in said
    assert len(said) < 400
    assert not list(Path.cwd().glob("OUT/*"))
    assert caplog.records == []
