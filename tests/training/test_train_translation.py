# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The script as its page shows it; stopped and resumed, in two processes, and what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models.tasks.french_english import HELD_OUT
from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.translation import Translation
from tests.forked_python import ForkedPython, run_workers
from tests.interrupted import check_stopped_and_resumed
from tests.tasks.small_translator import MODELS, SOURCES, TARGETS

SCRIPT = Path(__file__).parents[2] / "training" / "train_translation.py"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with line-aligned files and a recipe of a small model."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("T", 8), ("V", 3)):
        for language, lines in (("fr", SOURCES), ("en", TARGETS)):
            Path(f"{name}.{language}.txt").write_text("".join(f"{line}\n" for line in lines[:count]), encoding="utf-8")
    recipe: dict[str, Any] = {"model": MODELS["ours"], "batch_tokens": 40, "log_every": 1, "validation_beams": 2}
    Path("recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")
    return tmp_path


FILES = ["--train_files", "[T.fr.txt, T.en.txt]", "--validation_files", "[V.fr.txt, V.en.txt]"]


def in_process(*arguments: Any) -> Any:
    return train_from_command(Translation(), [str(argument) for argument in arguments])[0]


def test_line_aligned_files_make_a_translator(place: Path) -> None:
    Path("more.txt").write_text("Je suis là\nOui\n", encoding="utf-8")
    done = ForkedPython(
        SCRIPT, "recipe.yaml", *FILES, "--output_dir", "OUT", "--max_steps", 2, "--predict_files", "more.txt"
    )
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(
        r"2 steps, [\d,]+ tokens/s, best validation bleu [\d.e-]+: \S+/OUT, predictions in \S+/translations.txt\n", out
    )
    assert "effective batch at most 40 tokens of either side" in err
    assert len(Path("OUT/predictions/translations.txt").read_text(encoding="utf-8").splitlines()) == 2


def test_what_a_recipe_cannot_say(place: Path) -> None:
    for arguments, message in (
        (["--train_files", "T.fr.txt"], "T.fr.txt has no partner"),
        (["--train_files", "[T.fr.txt, V.en.txt]"], "T.fr.txt has 8 lines and V.en.txt 3: they are not aligned"),
        (["--model.model_type", "lecture_gpt1"], "AutoModelForSeq2SeqLM has no model of model.model_type"),
        (["--label_smoothing", "1"], "label_smoothing must be below 1"),
    ):
        with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
            run_task(Translation(), ["recipe.yaml", *FILES, *arguments, "--output_dir", "OUT"], "")
        assert "\n" not in str(stopped.value.code)
        assert not Path("OUT").exists()


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_stopped_and_resumed_it_ends_in_the_same_bits(place: Path, precision: str) -> None:
    arguments = ["recipe.yaml", *FILES, "--max_steps", "200", "--mixed_precision", f"'{precision}'"]
    check_stopped_and_resumed(SCRIPT, arguments, in_process)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_two_processes_train_as_one(place: Path, precision: str) -> None:
    options = f"--epochs 3 --learning_rate 0.1 --optimizer sgd --mixed_precision '{precision}' --accumulation_steps"
    command = ["recipe.yaml", *FILES, *options.split()]
    out, err = run_workers(SCRIPT, *command, 2, "--output_dir", "two", "--num_processes", 2)
    assert "in 2 process(es)" in err
    assert out.count("best validation bleu") == 1
    in_process(*command, 1, "--output_dir", "one")
    tolerance = 1e-4 if precision == "no" else 2e-2
    one, two = (json.loads(Path(name, "training.json").read_text()) for name in ("one", "two"))
    assert one["items"] == two["items"]
    losses = [[row["loss"] for row in record["history"] if "loss" in row] for record in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)
    for name, tensor in load_file("one/model.safetensors").items():
        other = load_file("two/model.safetensors")[name]
        torch.testing.assert_close(other, tensor, rtol=tolerance, atol=1e-6 + tolerance / 100)


@pytest.mark.slow
def test_the_first_command_of_the_page_translates_a_sentence_it_has_not_seen(tmp_path: Path) -> None:
    done = ForkedPython(SCRIPT, "--output_dir", tmp_path / "OUT")
    _, err = done.communicate()
    assert done.returncode == 0, err
    command = [str(Path(sys.executable).with_name("hf-lecture")), "translate", str(tmp_path / "OUT")]
    told = subprocess.run(command, input=f"{HELD_OUT[0]}\n", capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (0, f"{HELD_OUT[1]}\n"), told.stderr
