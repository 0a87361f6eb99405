# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""training/fit_ngram.py and its recipe."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.out_of_core import estimation
from tests.odd_names import NEIGHBOURS, ODD_NAMES
from training import fit_ngram
from training.fit_ngram import main

RECIPE = Path(__file__).parents[3] / "training" / "recipes" / "ngram.yaml"
FIGURES = re.search(r"perplexity ([\d.]+) .*bits per byte ([\d.]+)", RECIPE.read_text()).groups()


def test_the_recipe_gives_the_figures_that_it_promises(tmp_path, capsys):
    main([str(RECIPE), "--output_dir", str(tmp_path / "out"), "--arpa", str(tmp_path / "lm.arpa.gz")])
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert (model.config.order, model.config.smoothing, model.config.vocab_size) == (3, "kneser_ney", len(tokenizer))
    results = json.loads((tmp_path / "out" / "facts.json").read_text())["results"]
    assert [f"{results['perplexity']:.3f}", f"{results['bits_per_byte']:.3f}"] == list(FIGURES)
    assert "validation perplexity" in capsys.readouterr().out
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"| perplexity per token | {FIGURES[0]} |" in card
    assert not re.search(r"\n{4,}|[{}]{2}|\{%", card), "the template leaves no traces"
    assert NGramForCausalLM.from_arpa(tmp_path / "lm.arpa.gz")[0].config.order == 3


def test_fields_are_overridden_by_name(tmp_path):
    options = ["--order", "2", "--smoothing", "jelinek_mercer", "--prune", "[0, 1]", "--tokenizer.min_count", "2"]
    main([str(RECIPE), "--output_dir", str(tmp_path), *options])
    config = AutoModelForCausalLM.from_pretrained(tmp_path).config
    assert (config.order, config.smoothing, config.prune) == (2, "jelinek_mercer", [0, 1])
    assert len(config.interpolation_weights) == 2


def test_pruned_words_leave_the_tokenizer_too(tmp_path):
    main([str(RECIPE), "--output_dir", str(tmp_path / "out"), "--prune", "1", "--arpa", str(tmp_path / "lm.arpa")])
    model, tokenizer = load_model(str(tmp_path / "out"))
    assert (model.config.prune, model.config.vocab_size) == ([1], len(tokenizer))
    assert tokenizer.tokenize("a great ship") == ["a", "<unk>", "ship"]
    assert load_model(str(tmp_path / "lm.arpa"))[0].config.vocab_size == len(tokenizer)


def test_a_recipe_is_not_needed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("the cat saw the dog\nthe dog saw the cat\n", encoding="utf-8")
    main(["--train_files", "texts.txt", "--smoothing", "add_alpha"])
    config = AutoModelForCausalLM.from_pretrained("ngram").config
    assert (config.order, config.smoothing) == (5, "add_alpha")
    for arguments, message in (
        ([], "names no training data: set train_files, dataset_name or train_texts"),
        (["--train_file", "texts.txt"], "did you mean train_files"),
        (["--order", "2", "texts.txt"], "the recipe's file goes first"),
    ):
        with pytest.raises(ValueError, match=message):
            main(arguments)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "train_files" in capsys.readouterr().out


def test_an_arpa_file_loses_the_classes_of_the_one_before(tmp_path):
    options = [str(RECIPE), "--output_dir", str(tmp_path / "out"), "--arpa", str(tmp_path / "lm.arpa")]
    main([*options, "--classes", "8"])
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "out").config.num_classes == 12
    assert load_model(str(tmp_path / "lm.arpa"))[0].config.num_classes == 12  # with lm.arpa.classes beside it
    main(options)
    assert load_model(str(tmp_path / "lm.arpa"))[0].config.num_classes is None
    main([*options, "--classes", "8"])
    (tmp_path / "lm.arpa.classes").unlink()
    with pytest.warns(UserWarning, match="n-grams of classes such as CLASS-.* put the file beside it as lm.arpa.class"):
        load_model(str(tmp_path / "lm.arpa"))


def test_what_is_counted_stays_where_the_model_cannot_be_measured_or_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(estimation, "resident_bytes", lambda: 4 * 10**8)
    options = [str(RECIPE), "--output_dir", str(tmp_path / "out"), "--engine", "numpy"]
    with pytest.raises(FileNotFoundError):
        main([*options, "--validation_texts", "[]", "--validation_files", "[none.txt]"])
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="cannot save to .*file: it is a file; name a folder"):
        main([*options, "--output_dir", str(tmp_path / "file")])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]  # found before anything was counted
    with monkeypatch.context() as patch:
        patch.setattr(NGramForCausalLM, "save_pretrained", lambda *arguments: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            main(options)
    assert (tmp_path / "out.work" / "tables").is_dir()
    monkeypatch.setattr(estimation, "write_runs", None)
    main(options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "out"]


@pytest.mark.parametrize("option", ["--output_dir", "--arpa"])
def test_an_output_that_cannot_be_written_is_found_before_the_estimation(tmp_path, monkeypatch, option):
    monkeypatch.setattr(fit_ngram, "fit", lambda *arguments: pytest.fail("estimated first"))
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="cannot write .*file/lm.arpa: .*file is a file, not a folder"):
        main([str(RECIPE), "--output_dir", str(tmp_path / "out"), option, str(tmp_path / "file" / "lm.arpa")])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_scores_that_are_no_probabilities_are_not_measured(tmp_path, capsys):
    options = ["--smoothing", "stupid_backoff", "--backoff_factor", "0.3"]
    main([str(RECIPE), "--output_dir", str(tmp_path), *options])
    config = AutoModelForCausalLM.from_pretrained(tmp_path).config
    assert (config.smoothing, config.backoff_factor) == ("stupid_backoff", 0.3)
    assert "which have no perplexity; nothing is measured, no card written" in capsys.readouterr().out
    assert not (tmp_path / "facts.json").exists()


def test_out_of_core_the_model_is_the_same(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(estimation, "resident_bytes", lambda: 4 * 10**8)  # whatever other tests have left in memory
    (tmp_path / "texts.txt").write_text("a b c\na b\n\nc a b\n" * 5, encoding="utf-8")
    data = ["--train_texts", "[]", "--train_files", f"[{tmp_path / 'texts.txt'}]"]
    for name, options in {
        "one": [],
        "two": ["--engine", "numpy"],
        "three": ["--memory", "8GB"],
        "four": ["--engine", "duckdb"],
    }.items():
        main([str(RECIPE), *data, "--output_dir", str(tmp_path / name), *options])
    one, *others = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "three", "four")]
    assert others == [one, one, one]
    assert "20 texts, 80 tokens" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["four", "one", "texts.txt", "three", "two"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_out_of_core_the_model_is_the_same_in_a_folder_of_any_name(tmp_path, monkeypatch, name):
    """`--output_dir runs/order=3/ng` once counted "3" as a word of each n-gram, `a*` the folders beside it."""
    monkeypatch.setattr(estimation, "resident_bytes", lambda: 4 * 10**8)
    texts = ["--train_texts", "[a b c, a b, c a b]", "--validation_texts", "[a b]"]
    for each in NEIGHBOURS:  # of a run that was killed
        (tmp_path / f"{each}.work" / each / "windows").mkdir(parents=True)
        (tmp_path / f"{each}.work" / each / "windows" / "windows.parquet").write_bytes(b"of another run")
    main([str(RECIPE), *texts, "--output_dir", str(tmp_path / "memory")])
    options = ["--output_dir", json.dumps(str(tmp_path / name / name)), "--engine", "duckdb"]
    main([str(RECIPE), *texts, *options, "--work_dir", json.dumps(str(tmp_path / f"{name}.work" / name))])
    weights = [(folder / "model.safetensors").read_bytes() for folder in (tmp_path / "memory", tmp_path / name / name)]
    assert weights[0] == weights[1]
    assert (tmp_path / name / name / "README.md").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "2 apples"], "the memory limit is '2 apples'"),
        (["--memory", "1MB"], "a memory limit of 1 MB is too low"),
        (["--engine", "hadoop"], "engine must be one of '', memory, numpy, duckdb, spark, not 'hadoop'"),
        (["--work_dir", "work"], "work_dir is for estimation out of core; give a limit, such as memory 2GB"),
        (["--arpa", "lm.txt"], "arpa is 'lm.txt'; its name must end in .arpa or .arpa.gz"),
        (["--order", "0"], "order is 0"),
        (["--smoothing", "good"], "smoothing must be one of maximum_likelihood, .*, not 'good'"),
        (["--tokenizer.type", "letters"], "tokenizer.type must be one of word, bpe, char, byte"),
        (["--train_texts", "[]"], "no training data"),
        (["--prune", "[0, 1, 1, 1]"], "prune is .*; give at most order=3 thresholds"),
        (["--prune", "1", "--classes", "5"], "removes words from the vocabulary, and the n-grams of classes have none"),
        (["--prune", "1", "--tokenizer.type", "bpe"], "a BpeTokenizer needs all of its tokens; begin with 0"),
        (["--output_dir", ""], "output_dir is empty; give one"),
        (["--name", ""], "name is empty; give one"),
        (["--classes", "1000"], "classes is 1000; the texts have 33 different words"),
        (["--classes", "5", "--class_file", "x"], "classes and class_file are both given; leave one out"),
        (["--smoothing", "stupid_backoff", "--arpa", "lm.arpa"], "stupid_backoff has none; leave arpa out"),
    ],
)
def test_bad_recipes_leave_nothing_behind(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        main([str(RECIPE), "--output_dir", str(tmp_path / "out"), *options])
    assert not list(tmp_path.iterdir())
