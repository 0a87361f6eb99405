# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Published figures are measured on committed code."""

import doctest
import importlib
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import (
    attention_cost_picture,
    canaries,
    claims,
    common,
    figures,
    loss_by_distance,
    records,
    scaling,
    sentence_classifiers,
    tables,
    training_steps,
)
from hf_lecture_models.lab.claims.claim import find_claim
from hf_lecture_models.lab.claims.report import read_record

SCRIPTS = sorted(
    path.stem for path in Path(common.__file__).parent.glob("*.py") if "write_results(" in path.read_text("utf-8")
)


@pytest.fixture
def repository(tmp_path):
    """A repository of one commit, with code, a record and a page."""
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    for name in ("code.py", "benchmarks/results/speed.json", "README.md"):
        (tmp_path / name).write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


@pytest.fixture
def started_on(monkeypatch):
    """Lets a benchmark believe that it runs on a commit."""
    return lambda name: monkeypatch.setattr(common, "commit", lambda: name)


def test_changed_code_marks_the_commit(repository):
    clean = common.commit_of(repository)
    assert common.is_committed(clean)
    (repository / "code.py").write_text("2")
    assert common.commit_of(repository) == f"{clean}-dirty"


@pytest.mark.parametrize("name", ["benchmarks/results/speed.json", "README.md", "untracked.py"])
def test_records_and_pages_are_no_measured_code(repository, name):
    clean = common.commit_of(repository)
    (repository / name).write_text("2")
    assert common.commit_of(repository) == clean


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "common"])
def test_a_benchmark_refuses_uncommitted_code_before_it_begins(monkeypatch, capsys, started_on, name):
    started_on("4be37d21c0aa-dirty")
    needed = {
        "adaptation": ["folder"],
        "efficient_ablation": ["folder"],
        "elmo": ["folder"],
        "language_models": ["name", "folder"],
        "large_vocabulary": ["throughput"],
        "minilm_parity": ["folder"],
        "pseudo_labels": ["folder"],
        "transformer_xl": ["folder"],
        "translation": ["none=."],
        "vit": ["speed"],
        "word_vector_inputs": ["folder"],
    }
    arguments = needed.get(name, [])
    monkeypatch.setattr("sys.argv", [name, *arguments])
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module(f"benchmarks.{name}").main()
    assert "commit it, or try it with --dirty" in capsys.readouterr().err


def test_a_training_that_was_stopped_is_no_result():
    for stopped in ("", "early stopping"):
        common.refuse_stopped(SimpleNamespace(stopped=stopped))
    with pytest.raises(SystemExit, match="stopped by SIGTERM"):
        common.refuse_stopped(SimpleNamespace(stopped="SIGTERM"))


def test_a_record_names_its_commit(monkeypatch, started_on, tmp_path):
    started_on("4be37d21c0aa")
    monkeypatch.setattr(common, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    common.write_results("speed", {"ratio": 1.2})
    record = json.loads((tmp_path / "benchmarks" / "results" / "speed.json").read_text("utf-8"))
    assert (record["commit"], record["results"]) == ("4be37d21c0aa", {"ratio": 1.2})


def test_output_of_claims_takes_the_record_and_the_page(monkeypatch, started_on, tmp_path, capsys):
    """And the package's own record of this claim stays as it is; without --output it is written anew."""
    started_on("4be37d21c0aa")
    record = read_record(find_claim("word_order"))
    monkeypatch.setattr(claims, "run_trial", lambda trial, methods, folder, commit: record["results"])
    monkeypatch.setattr(claims, "RECORDS", tmp_path / "package")
    monkeypatch.setattr(claims, "PAGE", tmp_path / "docs" / "claims.md")
    monkeypatch.setattr("sys.argv", ["claims", "word_order", "--page", "--output", str(tmp_path / "mine")])
    claims.main()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["claims.md", "mine", "word_order.json"]
    assert json.loads((tmp_path / "mine" / "word_order.json").read_text("utf-8"))["results"] == record["results"]
    assert f"written to {tmp_path / 'mine' / 'word_order.json'}" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["claims", "word_order"])
    monkeypatch.chdir(tmp_path)
    claims.main()
    assert (tmp_path / "package" / "word_order.json").is_file()


def test_a_model_of_uncommitted_code_is_refused(tmp_path):
    common.check_trained_on_committed_code(tmp_path)  # an n-gram has no record of training
    record = tmp_path / "training.json"
    record.write_text(json.dumps({"environment": {"commit": "4be37d21c0aa"}}))
    common.check_trained_on_committed_code(tmp_path)
    record.write_text(json.dumps({"environment": {"commit": "4be37d21c0aa-dirty"}}))
    with pytest.raises(ValueError, match="commit the code and train it again"):
        common.check_trained_on_committed_code(tmp_path)


@pytest.mark.parametrize(
    "module",
    [common, training_steps, scaling, attention_cost_picture, canaries, loss_by_distance, figures, records, tables],
)
def test_the_examples_of_shared_parts_hold(module):
    assert doctest.testmod(module).failed == 0


def test_a_difference_that_no_random_signs_make_is_not_impossible():
    """The signs that were found are one of the choices: p is 1 / 10,001 at least, and 1 for equal classifiers."""
    right, wrong = ({"sentences": 40, "right": [bits * 5]} for bits in ("ff", "00"))
    assert sentence_classifiers.compare(right, wrong) == {"points": 100.0, "p": 1 / 10_001}
    assert sentence_classifiers.compare(right, right) == {"points": 0.0, "p": 1.0}
