# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BLiMP: accuracies that can be counted by hand, unknown words, going on after an interruption, damaged data."""

import gzip
import json

import pytest

from hf_lecture_models.lab.studies import blimp
from hf_lecture_models.lab.studies.blimp import (
    Paradigm,
    evaluate_blimp,
    load_blimp,
    measure_paradigm,
    read_blimp,
    split_like_wikitext,
)
from hf_lecture_models.lab.studies.blimp_pictures import save_blimp_comparison, save_blimp_picture
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["the cat sleeps .", "the cats sleep .", "the dog sleeps .", "the dogs sleep ."]


def row(good, bad, paradigm="agreement", phenomenon="subject_verb_agreement", field="morphology"):
    names = {"sentence_good": good, "sentence_bad": bad, "UID": paradigm, "linguistics_term": phenomenon}
    return names | {"field": field, "pairID": "0"}


@pytest.fixture(scope="module")
def bigram():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", alpha=0.1, progress=False)
    return model, tokenizer


@pytest.fixture
def data(tmp_path):
    """Three paradigms: 2 of 3 pairs right; one tie and one right with an unknown word; one wrong."""
    folder = tmp_path / "data"
    folder.mkdir()
    first = [
        row("the cat sleeps .", "the cat sleep ."),
        row("the dogs sleep .", "the dogs sleeps ."),
        row("the cat sleep .", "the cat sleeps ."),
    ]
    second = [
        row("the zebra sleeps .", "the lion sleeps .", "lexical", "s-selection", "syntax/semantics"),
        row("the cat sleeps .", "cat the zebra sleeps .", "lexical", "s-selection", "syntax/semantics"),
    ]
    with gzip.open(folder / "agreement.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(pair) + "\n" for pair in first))
    (folder / "lexical.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in second))
    (folder / "order.jsonl").write_text(json.dumps(row("sleeps the cat", "the cat sleeps .", "order", "binding", "s")))
    return folder


def test_accuracies_by_hand(bigram, data, tmp_path):
    results = evaluate_blimp(*bigram, read_blimp(data), tmp_path / "out" / "blimp.json")
    agreement, lexical, order = (results["paradigms"][name] for name in ("agreement", "lexical", "order"))
    assert agreement["accuracy"] == pytest.approx(2 / 3)
    assert (agreement["ties"], agreement["known_pairs"]) == (0, 3)
    assert agreement["known_accuracy"] == pytest.approx(2 / 3)
    assert (lexical["accuracy"], lexical["ties"], lexical["known_pairs"]) == (0.75, 1, 0)
    assert lexical["known_accuracy"] is None
    assert order["accuracy"] == 0.0
    summary = results["summary"]
    assert summary["accuracy"] == pytest.approx((2 / 3 + 0.75 + 0) / 3)
    assert (summary["pairs"], summary["ties"], summary["known_pairs"]) == (6, 1, 4)
    assert summary["known_accuracy"] == pytest.approx(2 / 4)
    assert summary["phenomena"] == pytest.approx(
        {"subject_verb_agreement": 2 / 3, "argument_structure": 0.75, "binding": 0}
    )
    assert summary["fields"] == pytest.approx({"morphology": 2 / 3, "syntax_semantics": 0.75, "s": 0})
    assert json.loads((tmp_path / "out" / "blimp.json").read_text()) == results
    assert results["settings"]["text_form"] == "plain"


def test_punctuation_set_apart_makes_words_known(bigram):
    pairs = Paradigm("a", "f", "p", good=["the cat sleeps."], bad=["the cat sleep."])
    plain, apart = measure_paradigm(*bigram, pairs), measure_paradigm(*bigram, pairs, text_form="wikitext")
    assert (plain["ties"], plain["known_pairs"]) == (1, 0)
    assert (apart["ties"], apart["known_pairs"], apart["accuracy"]) == (0, 1, 1.0)
    assert split_like_wikitext("Who hasn't, the boys' ex-wives say?") == "Who hasn 't , the boys ' ex @-@ wives say ?"
    assert split_like_wikitext("a 'b' 3.5") == "a 'b ' 3.5"


def test_an_interrupted_run_goes_on(bigram, data, tmp_path, monkeypatch):
    path = tmp_path / "blimp.json"
    paradigms = read_blimp(data)
    whole = evaluate_blimp(*bigram, paradigms, tmp_path / "whole.json")
    measured = []

    def measure(model, tokenizer, paradigm, *options):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(paradigm.name)
        return measure_paradigm(model, tokenizer, paradigm, *options)

    monkeypatch.setattr(blimp, "measure_paradigm", measure)
    with pytest.raises(KeyboardInterrupt):
        evaluate_blimp(*bigram, paradigms, path)
    assert list(json.loads(path.read_text())["paradigms"]) == ["agreement", "lexical"]
    monkeypatch.setattr(blimp, "measure_paradigm", lambda *a: measured.append(a[2].name) or measure_paradigm(*a))
    assert evaluate_blimp(*bigram, paradigms, path) == whole
    assert measured == ["agreement", "lexical", "order"]


def test_another_models_result_is_not_gone_on_with(bigram, data, tmp_path):
    model, tokenizer = bigram
    other = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", alpha=0.2, progress=False)
    paradigms, path = read_blimp(data)[:1], tmp_path / "blimp.json"
    evaluate_blimp(model, tokenizer, paradigms, path)
    for wrong in ((other, tokenizer, paradigms, path), (model, tokenizer, paradigms, path, "wikitext")):
        with pytest.raises(ValueError, match="another model or other settings; remove it"):
            evaluate_blimp(*wrong)
    path.write_text("{}")
    with pytest.raises(ValueError, match="no result of BLiMP"):
        evaluate_blimp(model, tokenizer, paradigms, path)


@pytest.mark.parametrize("line", ["{", "[1]", '{"sentence_good": "a"}', json.dumps(row("a", None)), "", "3"])
def test_a_damaged_line_is_named(data, line):
    (data / "lexical.jsonl").write_text(json.dumps(row("a", "b")) + "\n" + line + "\n")
    with pytest.raises(ValueError, match="lexical.jsonl, line 2: "):
        read_blimp(data)


def test_data_that_are_not_there(tmp_path, data):
    with pytest.raises(FileNotFoundError, match="no \\*.jsonl"):
        read_blimp(tmp_path / "nowhere")
    (data / "order.jsonl").write_text("")
    with pytest.raises(ValueError, match="order has no pairs"):
        read_blimp(data)


def test_from_the_hub(monkeypatch):
    datasets = pytest.importorskip("datasets")
    seen = []

    def load(name, config, split, revision):
        seen.append((name, config, split, revision))
        return [row("a", "b", paradigm=config)]

    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda name, revision: ["x", "y"])
    monkeypatch.setattr(datasets, "load_dataset", load)
    assert [paradigm.name for paradigm in load_blimp()] == ["x", "y"]
    assert seen[0][:3] == ("nyu-mll/blimp", "x", "train")
    assert len(seen[0][3]) == 40

    def offline(*_, **__):
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets, "get_dataset_config_names", offline)
    with pytest.raises(OSError, match=r"does not give nyu-mll/blimp \(offline\); .* `data`"):
        load_blimp()


def test_the_real_data_have_67_paradigms(shared_data):
    paradigms = read_blimp(shared_data / "blimp")
    assert (len(paradigms), len({p.name for p in paradigms}), len({p.phenomenon for p in paradigms})) == (67, 67, 12)
    assert {p.field for p in paradigms} == {"morphology", "semantics", "syntax", "syntax_semantics"}
    assert all(len(p.good) == len(p.bad) == 1000 for p in paradigms)


def test_pictures(bigram, data, tmp_path):
    results = evaluate_blimp(*bigram, read_blimp(data), tmp_path / "blimp.json")
    save_blimp_picture(results, tmp_path / "one.svg", "bigram $")
    save_blimp_comparison({"bigram": results["summary"], "other": results["summary"]}, tmp_path / "all.svg")
    for name, words in (("one.svg", "bigram"), ("all.svg", "other")):
        drawn = (tmp_path / name).read_text()
        assert "<svg" in drawn
        assert f"<!-- {words}" in drawn
