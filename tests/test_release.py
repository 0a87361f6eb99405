# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The models of `benchmarks.release`: trained once, small, with cards of the saved weights and checksums."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM

from benchmarks import release
from benchmarks.release import RELEASES, Release, check_data, release_all
from hf_lecture_models.cli.publish_all import plan_names, run
from hf_lecture_models.io.installed_folders import training_folder
from tests.forked_python import ForkedPython

NGRAM = Release("trigram", "ngram", ("--test_files", "[test.txt]"), "8 bits")
LSTM = Release("lstm", "recurrent_tiny", ("--test_files", "[test.txt]"), "bfloat16")
BROKEN = Release("broken", "ngram", ("--order", "0"))


@pytest.fixture(autouse=True)
def forked(monkeypatch) -> None:
    """Trainings run in processes that have torch already."""

    def run(command, stdout, stderr) -> SimpleNamespace:
        process = ForkedPython(*command[1:])
        stdout.write("".join(process.communicate()).encode())
        return SimpleNamespace(returncode=process.returncode)

    monkeypatch.setattr(release, "subprocess", SimpleNamespace(run=run))


@pytest.mark.slow
def test_models_are_released_once_and_a_failing_one_stops_no_other(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "test.txt").write_text("the keeper reads\na ship passes the town\n", encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    out = tmp_path / "out"
    failed = release_all([BROKEN, NGRAM, LSTM], out, max_steps=3)
    assert list(failed) == ["broken"]
    assert "status 1: error: " in failed["broken"]

    trigram, lstm = (AutoModelForCausalLM.from_pretrained(out / name) for name in ("trigram", "lstm"))
    assert (trigram.config.quantisation_bits, lstm.dtype) == (8, torch.bfloat16)
    facts = {name: json.loads((out / name / "facts.json").read_text("utf-8")) for name in ("trigram", "lstm")}
    for name in facts:
        assert facts[name]["data"]["split"] == "test"
        assert f"{facts[name]['results']['perplexity']:.4g}"[:3] in (out / name / "README.md").read_text("utf-8")
    assert not list(out.glob("*/checkpoints"))

    lines = (out / "checksums").read_text(encoding="utf-8").splitlines()
    sums = {place: checksum for checksum, place in (line.split("  ") for line in lines)}
    files = {path.relative_to(out).as_posix() for name in facts for path in (out / name).rglob("*") if path.is_file()}
    assert set(sums) == files
    assert all(hashlib.sha256((out / place).read_bytes()).hexdigest() == sums[place] for place in files)

    assert plan_names(out, "me") == {"me/lstm": out / "lstm", "me/trigram": out / "trigram"}
    capsys.readouterr()
    run(str(out), "me", "title", None, False, None, dry_run=True)
    assert "the card lacks" not in capsys.readouterr().err

    monkeypatch.setattr(release, "train", lambda *_: pytest.fail("a finished model is trained again"))
    assert release_all([NGRAM, LSTM], out) == {}


def test_a_folder_that_is_too_large_is_not_released(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(release, "MAX_BYTES", 100)
    failed = release_all([Release("trigram", "ngram")], tmp_path / "out")
    assert "more than 100" in failed["trigram"]
    assert not (tmp_path / "out" / "trigram").exists()


def test_missing_data_are_named_before_training(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    monkeypatch.setattr(release, "train", lambda *_: pytest.fail("a model is trained"))
    with pytest.raises(FileNotFoundError, match=r"wikitext-2/test.txt.*ud_english_ewt.*HF_LECTURE_DATA"):
        release_all(RELEASES, tmp_path / "out")
    check_data([NGRAM])


def test_the_recipes_of_the_released_models_are_there() -> None:
    recipes = {path.stem for path in Path(training_folder(), "recipes").glob("*.yaml")}
    assert {model.recipe for model in RELEASES} | {model.backbone for model in RELEASES} - {""} <= recipes
    assert len({model.name for model in RELEASES}) == len(RELEASES)
