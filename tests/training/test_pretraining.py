# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The scripts that pre-train or translate, as their pages show them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoModelForPreTraining, AutoTokenizer, pipeline

from hf_lecture_models.tasks.classification.text_to_text import TextToText
from hf_lecture_models.tasks.translation.grammar import HELD_OUT
from tests.training.scripts import Script, of


@of("masked_lm")
def test_the_command_trains_and_says_how_it_ended(script: Script) -> None:
    out, err = script.finish(*script.arguments, "--epochs", 1, "--output_dir", "run")
    assert re.match(r"2 steps, [\d,]+ targets/s, best validation masked_perplexity [\d.]+: \S+/run\n", out)
    assert "effective batch 8 rows x 24 = at most 192 tokens, 15% of them predicted" in err
    assert type(AutoModelForPreTraining.from_pretrained("run")).__name__ == "LectureBertForPreTraining"
    tokenizer = AutoTokenizer.from_pretrained("run")
    assert tokenizer.model_max_length == 24
    guesses = pipeline("fill-mask", model="run")(f"the {tokenizer.mask_token} of the town")
    assert len(guesses) == 5


@of("translation")
def test_line_aligned_files_make_a_translator(script: Script) -> None:
    Path("more.txt").write_text("Je suis là\nOui\n", encoding="utf-8")
    options = ["--output_dir", "OUT", "--max_steps", 2, "--predict_files", "more.txt"]
    out, err = script.finish(*script.arguments, *options)
    pattern = r"2 steps, [\d,]+ tokens/s, best validation bleu [\d.e-]+: \S+/OUT, predictions in \S+/translations.txt\n"
    assert re.match(pattern, out)
    assert "effective batch at most 40 tokens of either side" in err
    assert len(Path("OUT/predictions/translations.txt").read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.slow
@of("translation")
def test_the_first_command_of_the_page_translates_a_sentence_it_has_not_seen(script: Script) -> None:
    script.finish("--output_dir", "OUT")
    command = [str(Path(sys.executable).with_name("hf-lecture")), "translate", "OUT"]
    told = subprocess.run(command, input=f"{HELD_OUT[0]}\n", capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (0, f"{HELD_OUT[1]}\n"), told.stderr


@pytest.mark.slow
@of("span_corruption")
def test_text_to_text_is_fine_tuned_from_what_span_corruption_leaves(script: Script) -> None:
    out, err = script.finish(*script.arguments, "--epochs", 2, "--output_dir", "spans")
    assert re.match(r"\d+ steps, [\d,]+ tokens/s, best validation span_perplexity [\d.]+: \S+/spans\n", out)
    assert "effective batch 8 rows x 24 = at most 192 source tokens, 15% of each text left out" in err
    Path("films.tsv").write_text("sentence\tlabel\na great ape\t1\nthe night\t0\n")
    tuning = Script(TextToText(), lambda: None, [])
    arguments = ["--train_files", "films.tsv", "--test_files", "films.tsv", "--output_dir", "out"]
    # The words of the two classes are unknown to the tokenizer of words.
    for task, message in (("sst3", "films.tsv has no column 'label3'"), ("sst2", "cannot tell the classes apart")):
        with pytest.raises(SystemExit, match=message):
            tuning.run("--task", task, "--from_pretrained", "spans", *arguments)
    script.train(*script.arguments, "--tokenizer", "{type: byte}", "--max_steps", "2", "--output_dir", "bytes")
    out, _ = tuning.finish("--task", "sst2", "--from_pretrained", "bytes", *arguments, "--epochs", 1)
    assert re.match(r"1 steps, [\d,]+ tokens/s, test accuracy [\d.]+: \S+/out\n", out)
