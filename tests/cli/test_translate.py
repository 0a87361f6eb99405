# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture translate` and `hf-lecture see alignment`: what they print is what the package computes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.translation.alignment import align
from hf_lecture_models.tasks.translation.translate import given_translation, translate, translate_n_best
from tests.tasks.small_translator import PAIRS, SOURCES, save_translator


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_translator(tmp_path_factory.mktemp("translate") / "model")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "source.txt"
    path.write_text("\n".join([*SOURCES[:2], "", *SOURCES[2:]]) + "\n", encoding="utf-8")
    return path


def test_each_line_has_its_translation_and_an_empty_one_stays_empty(run, folder, lines):
    model, tokenizer = load_model(str(folder))
    texts = [" ".join(one.text.splitlines()) for one in translate(model.eval(), tokenizer, SOURCES)]
    status, out, err = run("translate", folder, lines, "--batch-size", 2)
    assert (status, err) == (0, "")
    assert out.split("\n") == [*texts[:2], "", *texts[2:], ""]


def test_json_has_scores_and_several_translations(run, folder, lines):
    model, tokenizer = load_model(str(folder))
    options = {"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 4, "length_penalty": 0.0}
    found = translate_n_best(model.eval(), tokenizer, SOURCES, **options)
    flags = ["--beams", 3, "--number", 2, "--max-new-tokens", 4, "--length-penalty", 0, "--json"]
    rows = [json.loads(line) for line in run("translate", folder, lines, *flags)[1].splitlines()]
    assert [rows.pop(4), rows.pop(4)] == [{"text": "", "translation": "", "score": None}] * 2
    expected = [(text, one.text, one.score) for text, many in zip(SOURCES, found, strict=True) for one in many]
    assert [(row["text"], row["translation"], pytest.approx(row["score"], rel=1e-4)) for row in rows] == expected


@pytest.mark.slow
def test_bad_input_is_one_line(run, folder, lines, tmp_path):
    long = tmp_path / "long.txt"
    long.write_text("Oui\n\n" + "la " * 70 + "\n", encoding="utf-8")
    status, _, err = run("translate", folder, long)
    assert status == 1
    assert "hf-lecture translate: line 3 has " in err
    assert "tokens and the model reads 64 at most" in err
    assert run("translate", folder, long, "--max-length", 10)[0] == 0
    status, _, err = run("translate", folder, lines, "--number", 2)
    assert status == 2
    assert "--number 2 needs --beams 2 at least" in err


def test_a_model_that_does_not_translate(run, network, lines):
    status, _, err = run("translate", network, lines)
    assert status == 1
    assert "which AutoModelForSeq2SeqLM cannot load" in err


@pytest.mark.slow
def test_see_alignment(run, folder, tmp_path):
    pytest.importorskip("matplotlib")
    model, tokenizer = load_model(str(folder))
    source, target = PAIRS[5]
    for given in (None, target):
        if given is None:
            (found,) = translate(model.eval(), tokenizer, [source])
        else:
            found = given_translation(model, tokenizer, source, given)
        (alignment,) = align(model, tokenizer, [found])
        options = [] if given is None else ["--target", given]
        status, out, err = run("see", "alignment", folder, source, *options, "-o", tmp_path / "map.svg")
        assert (status, err) == (0, "")
        first, *lines = out.splitlines()
        assert first.startswith("mean over 4 heads: ")
        assert [line.split("\t")[0] for line in lines] == list(alignment.target)
        best = alignment.of()[0].topk(3)
        shown = "  ".join(f"{alignment.source[i]} {v:.3f}" for i, v in zip(best.indices, best.values, strict=True))
        assert lines[0].split("\t")[1] == shown
        drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
        assert "maison" in drawn
    row = json.loads(run("see", "alignment", folder, source, "--layer", 2, "--head", 1, "--json")[1])
    assert len(row["weights"][0]) == len(row["source"])
    assert run("see", "alignment", folder, source, "--head", 1)[0] == 2
    assert run("see", "alignment", folder, source, "--target", "x", "--beams", 2)[0] == 2
    assert "there is no layer 9" in run("see", "alignment", folder, source, "--layer", 9)[2]
    assert "is blank" in run("see", "alignment", folder, " ")[2]


def test_tables_are_read_by_their_columns(run, folder, tmp_path):
    """Without their header and their targets; blank sources stay blank."""
    model, tokenizer = load_model(str(folder))
    texts = [" ".join(one.text.splitlines()) for one in translate(model, tokenizer, SOURCES)]
    tables = {
        "named.tsv": ["source\ttarget", *(f"{source}\t{target}" for source, target in PAIRS)],
        "bare.tsv": [f"{source}\t{target}" for source, target in PAIRS],
        "fr-en.tsv": ["fr\ten", *(f"{source}\t{target}" for source, target in PAIRS)],
        "rows.csv": ["target,source", *(f"{target},{source}" for source, target in PAIRS)],
    }
    for name, written in tables.items():
        (tmp_path / name).write_text("\n".join(written) + "\n", encoding="utf-8")
        fields = ["--columns.source", "fr", "--columns.target", "en"] if name == "fr-en.tsv" else []
        status, out, err = run("translate", folder, tmp_path / name, *fields)
        assert (status, err) == (0, "")
        assert out.splitlines() == texts
    status, out, err = run("translate", folder, tmp_path / "fr-en.tsv")
    assert (status, out) == (1, "")
    assert "line 1 reads like names of columns: --columns.source fr and --columns.target en say which is which" in err
    status, _, err = run("translate", folder, "--columns.source", "fr", stdin="Oui\n")
    assert (status, "says how a table is read, and there is none" in err) == (1, True)
    assert run("translate", folder, "--bogus", stdin="Oui\n")[0] == 2
