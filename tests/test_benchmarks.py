# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Published figures are measured on committed code."""

import argparse
import ast
import doctest
import importlib
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks import (
    attention_cost_picture,
    canaries,
    claims,
    common,
    efficient_ablation,
    figures,
    generation_parts,
    loss_by_distance,
    records,
    scaling,
    sentence_classifiers,
    tables,
    training_steps,
)
from benchmarks.attention_layers import BOTH, LAYERS, SEGMENT, WIDTH
from hf_lecture_models import EfficientTransformerConfig, EfficientTransformerForCausalLM
from hf_lecture_models.io import runs
from hf_lecture_models.lab.claims.claim import find_claim
from tests.claim_records import record_of, use_claims

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


def test_new_code_marks_the_commit(repository):
    clean = common.commit_of(repository)
    (repository / "benchmarks" / "new.py").write_text("1")
    assert common.commit_of(repository) == f"{clean}-dirty"


def test_a_training_names_the_commit_of_its_code(repository, monkeypatch):
    monkeypatch.setattr(runs, "__file__", str(repository / "code.py"))
    commit = runs.checked_out_commit.__wrapped__  # asks anew: see tests/forked_python.py
    clean = commit()
    assert clean == common.commit_of(repository)
    (repository / "benchmarks/results/speed.json").write_text("2")
    assert commit() == clean
    (repository / "code.py").write_text("2")
    assert commit() == f"{clean}-dirty"
    monkeypatch.setattr(runs, "__file__", str(repository / "untracked.py"))
    assert commit() is None


@pytest.mark.parametrize("name", ["benchmarks/results/speed.json", "README.md", "untracked.py"])
def test_records_and_pages_are_no_measured_code(repository, name):
    clean = common.commit_of(repository)
    (repository / name).write_text("2")
    assert common.commit_of(repository) == clean


def test_outside_a_repository_no_commit_is_known(tmp_path):
    assert common.commit_of(tmp_path) == "unknown"


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "common"])
def test_a_benchmark_refuses_uncommitted_code_before_it_begins(monkeypatch, capsys, started_on, name):
    started_on("4be37d21c0aa-dirty")
    needed = {
        "adaptation": ["folder"],
        "discounting": ["--reviews", "folder"],
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


def test_with_dirty_nothing_is_recorded(monkeypatch, capsys, started_on, tmp_path):
    started_on("4be37d21c0aa-dirty")
    monkeypatch.setattr(common, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["speed", "--dirty"])
    assert common.read_options(argparse.ArgumentParser()).dirty
    common.write_results("speed", {"ratio": 1.2})
    assert not list(tmp_path.iterdir())
    assert "not recorded" in capsys.readouterr().out


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
    record = record_of(find_claim("word_order"), {})
    use_claims(monkeypatch, tmp_path / "package", find_claim("word_order"))
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(claims, "run_trial", lambda *arguments, **options: record["results"])
    monkeypatch.setattr(claims, "RECORDS", tmp_path / "package")
    monkeypatch.setattr(claims, "ROOT", tmp_path / "root")
    monkeypatch.setattr("sys.argv", ["claims", "word_order", "--page", "--output", str(tmp_path / "mine")])
    claims.main()
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert written == {"mine/word_order.json", "mine/claims.md", "mine/claims/all.svg"}
    assert json.loads((tmp_path / "mine" / "word_order.json").read_text("utf-8"))["results"] == record["results"]
    assert f"written to {tmp_path / 'mine' / 'word_order.json'}" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["claims", "word_order", "--page"])
    monkeypatch.chdir(tmp_path)
    claims.main()
    assert (tmp_path / "package" / "word_order.json").is_file()
    assert (tmp_path / "root" / "docs" / "claims" / "word_order.svg").is_file()


WITH_OUTPUT = sorted(
    path.stem
    for path in Path(common.__file__).parent.glob("*.py")
    if '"--output"' in path.read_text("utf-8") or "add_output(parser" in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", [name for name in WITH_OUTPUT if name != "common"])
def test_output_is_where_everything_is_written(name):
    """Each write of a record names the folder that was given, and each place in docs is one of two."""
    text = Path(common.__file__).with_name(f"{name}.py").read_text("utf-8")
    assert '"--output"' not in text, "add_output makes this option"
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    writes = [call for call in calls if getattr(call.func, "id", "") == "write_results"]
    assert writes
    assert all(len(call.args) == 3 for call in writes)
    for line in text.splitlines():
        assert 'ROOT / "docs"' not in line or ".kept or" in line or line.startswith("PAGE = ")


def test_output_given_and_not(monkeypatch, started_on, tmp_path):
    started_on("4be37d21c0aa")
    monkeypatch.setattr(common, "ROOT", tmp_path)
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "results" / "speed.json").write_text('{"results": 1}')
    for words, output, kept in (([], Path("runs"), None), (["--output", "a/b"], Path("a/b"), Path("a/b"))):
        parser = argparse.ArgumentParser()
        common.add_output(parser, "runs", "models")
        monkeypatch.setattr("sys.argv", ["speed", *words])
        options = common.read_options(parser)
        assert (options.output, options.kept) == (output, kept)
    folder = tmp_path / "a" / "b"
    assert common.read_results("speed", {}, folder) == 1, "what is not there yet is read from the repository"
    assert common.write_results("speed", 2, folder)
    assert (common.read_results("speed", {}, folder), common.read_results("speed")) == (2, 1)


def test_a_model_of_uncommitted_code_is_refused(tmp_path):
    common.check_trained_on_committed_code(tmp_path)  # an n-gram has no record of training
    record = tmp_path / "training.json"
    record.write_text(json.dumps({"environment": {"commit": "4be37d21c0aa"}}))
    common.check_trained_on_committed_code(tmp_path)
    record.write_text(json.dumps({"environment": {"commit": "4be37d21c0aa-dirty"}}))
    with pytest.raises(ValueError, match="commit the code and train it again"):
        common.check_trained_on_committed_code(tmp_path)


def test_networks_are_pairs_of_title_and_folder(started_on, monkeypatch, tmp_path, capsys):
    started_on("4be37d21c0aa")
    (tmp_path / "config.json").write_text("{}")
    parser = argparse.ArgumentParser()
    monkeypatch.setattr("sys.argv", ["x", f"lstm_wikitext2={tmp_path}"])
    assert common.read_options(parser, {"LSTM": "lstm_wikitext2"}).networks == [("LSTM", tmp_path)]
    for wrong in (f"gru_wikitext2={tmp_path}", "lstm_wikitext2", f"lstm_wikitext2={tmp_path / 'none'}"):
        monkeypatch.setattr("sys.argv", ["x", wrong])
        with pytest.raises(SystemExit):
            common.read_options(argparse.ArgumentParser(), {"LSTM": "lstm_wikitext2"})
        assert f"{wrong!r} is not NAME=FOLDER" in capsys.readouterr().err


def test_records_are_of_committed_code():
    records = sorted((common.ROOT / "benchmarks" / "results").glob("*.json"))
    commits = {path.stem: json.loads(path.read_text(encoding="utf-8"))["commit"] for path in records}
    assert not {name for name, commit in commits.items() if not common.is_committed(commit)}


@pytest.mark.parametrize(
    "module",
    [common, training_steps, scaling, attention_cost_picture, canaries, loss_by_distance, figures, records, tables],
)
def test_the_examples_of_shared_parts_hold(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "Transformer-XL"])
def test_layers_of_attention_cost_read_the_sides_that_their_names_say(name):
    """The gradient of one token's output reaches later tokens only where a layer attends to both sides."""
    torch.manual_seed(0)
    _, step = LAYERS[name](512)
    hidden, gradient = torch.randn(1, 512, WIDTH, requires_grad=True), torch.zeros(1, 512, WIDTH)
    gradient[:, 300] = torch.randn(WIDTH)
    step(hidden, gradient)
    reached = hidden.grad.abs().amax((0, 2)) > 0
    assert reached[:300].any()
    assert bool(reached[301:].any()) == name.endswith(BOTH)


def test_attention_cost_gives_transformer_xl_a_memory():
    """The second segment's output depends on the first segment, one segment's memory."""
    torch.manual_seed(0)
    layer, step = LAYERS["Transformer-XL"](2 * SEGMENT)
    calls = []
    layer[0].register_forward_pre_hook(lambda module, given: calls.append(given[:2]))
    hidden = torch.randn(1, 2 * SEGMENT, WIDTH)
    step(hidden, torch.randn_like(hidden))
    first, second = hidden.split(SEGMENT, 1)
    assert calls[0][1] is None
    assert torch.equal(calls[0][0], first)
    assert torch.equal(calls[1][0], second)
    assert torch.equal(calls[1][1], first)
    assert all(parameter.grad.abs().sum() > 0 for parameter in layer.parameters())


def test_attention_cost_is_drawn(tmp_path):
    """Also where rows end at different lengths, or are missing."""
    figures = [{"seconds": 0.1 * 2**number, "MiB": 10.0} for number in range(3)]
    rows = {"linear": dict(zip(("256", "512", "1024"), figures, strict=True)), "hashing": {"256": figures[0]}}
    attention_cost_picture.save_picture(rows, tmp_path / "cost.png")
    assert (tmp_path / "cost.png").stat().st_size > 1000


def test_exposure_is_drawn(tmp_path):
    """Means with their errors, one line for each model."""
    runs = [{"secrets": [{"repetitions": n, "bits": b, "rank": 1} for n in canaries.REPETITIONS for b in (1.0, 3.0)]}]
    canaries.save_picture({"LSTM": {"exposure": canaries.summarise(runs)}}, tmp_path / "exposure.svg")
    assert "<!-- LSTM" in (tmp_path / "exposure.svg").read_text(encoding="utf-8")


def test_the_parts_of_a_step_are_timed_apart(monkeypatch):
    ticks = iter(range(99))
    monkeypatch.setattr(generation_parts, "clock", lambda device: next(ticks))
    kernel = torch.nn.functional.scaled_dot_product_attention

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))

        def forward(self, hidden):
            hidden = self.layers(hidden)
            return torch.nn.functional.scaled_dot_product_attention(hidden, hidden, hidden)

    model = Model()
    with generation_parts.timed_parts(model, "cpu") as spent:
        model(torch.ones(1, 3, 2))
    assert spent == {"linear layers": 1, "norms": 1, "attention": 1, "the rest of forward": 7}
    model(torch.ones(1, 3, 2))
    assert spent["linear layers"] == 1
    assert torch.nn.functional.scaled_dot_product_attention is kernel


def test_a_difference_that_no_random_signs_make_is_not_impossible():
    """The signs that were found are one of the choices: p is 1 / 10,001 at least, and 1 for equal classifiers."""
    right, wrong = ({"sentences": 40, "right": [bits * 5]} for bits in ("ff", "00"))
    assert sentence_classifiers.compare(right, wrong) == {"points": 100.0, "p": 1 / 10_001}
    assert sentence_classifiers.compare(right, right) == {"points": 0.0, "p": 1.0}


@torch.no_grad()
def test_without_attention_a_token_reads_only_itself():
    """While attention is switched off, and only then."""
    config = EfficientTransformerConfig(vocab_size=9, hidden_size=8, num_hidden_layers=2, num_attention_heads=2)
    model = EfficientTransformerForCausalLM(config).eval()
    texts = torch.tensor([[3, 1, 4], [5, 2, 4]])
    logits = model(texts).logits[:, -1]
    with efficient_ablation.without_attention(model, (0, 1)):
        silent = model(texts).logits[:, -1]
    assert torch.equal(silent[0], silent[1])
    assert not torch.allclose(logits[0], logits[1])
    assert torch.equal(model(texts).logits[:, -1], logits)
