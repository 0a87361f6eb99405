# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Prompting by a recipe: figures, written answers, the files of results, the script."""

import json
import math

import pytest

from hf_lecture_models import BpeTokenizer, NGramForCausalLM, WordTokenizer
from hf_lecture_models.lab.studies import prompting_task as prompting
from hf_lecture_models.lab.studies.prompting import SCORES, PromptItem
from hf_lecture_models.lab.studies.prompting_task import ITEMS, RESULTS, PromptingRecipe, evaluate_prompting
from hf_lecture_models.lab.studies.written_answers import measure_written, write_answers
from tests.interop.small_models import small_model
from training.evaluate_prompting import main

TEXTS = ["a mouse is small .", "a cow is large .", "a fly is small .", "a whale is large ."]
WORDS = WordTokenizer.train(TEXTS, progress=False)


@pytest.fixture(scope="module")
def trigram():
    options = {"order": 3, "smoothing": "add_alpha", "alpha": 0.01, "progress": False}
    return NGramForCausalLM.fit(TEXTS, WORDS, **options)


@pytest.fixture
def fields(tmp_path):
    (tmp_path / "size.yaml").write_text("prompt: '{animal} is'\nanswers: [small ., large .]\nbetween_shots: ' '\n")
    rows = [("a mouse", 0), ("a cow", 1), ("a fly", 1), ("a whale", 1)]
    (tmp_path / "size.csv").write_text("animal,label\n" + "".join(f"{name},{label}\n" for name, label in rows))
    (tmp_path / "shots.csv").write_text("animal,label\nan ant,0\nan elephant,1\na hill,1\na bee,0\n")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    own = {"template": str(tmp_path / "size.yaml"), "data": [str(tmp_path / "size.csv")]}
    return own | {"shots_data": [str(tmp_path / "shots.csv")]}


def test_figures_and_files(trigram, fields, tmp_path):
    seen = []
    recipe = PromptingRecipe(**fields, unigram=str(tmp_path / "texts.txt"), output_dir=str(tmp_path / "out"))
    results = evaluate_prompting(trigram, WORDS, recipe, seen.append)
    assert results["rows"] == seen
    assert [row["shots"] for row in seen] == [0, 1, 4]
    for row in seen:
        assert (row["items"], row["chance"], row["majority"]) == (4, 0.5, 0.75)
        assert [row["scores"][name]["accuracy"] for name in SCORES] == [0.75] * 4  # the fly's label is wrong
        assert row["scores"]["sum"]["standard_error"] == pytest.approx(0.25)
        assert row["generated"]["exact_match"] == 0.75
        assert row["unigram"]["divided"] == {"accuracy": 0.5, "standard_error": 0.0, "ties": 4}
    assert json.loads((tmp_path / "out" / RESULTS).read_text()) == results
    lines = [json.loads(line) for line in (tmp_path / "out" / ITEMS).read_text().splitlines()]
    assert [(line["shots"], line["label"]) for line in lines[:5]] == [(0, 0), (0, 1), (0, 1), (0, 1), (1, 0)]
    assert lines[0]["item"].endswith("size.csv, row 1")
    assert lines[0]["written"] == " small ."
    assert results["settings"]["written_by"]["prompt"] == "{animal} is"


def test_only_zero_without_rows_for_examples(trigram, fields):
    recipe = PromptingRecipe(**fields | {"shots_data": []}, generate=False)
    results = evaluate_prompting(trigram, WORDS, recipe)
    assert [row["shots"] for row in results["rows"]] == [0]
    assert "generated" not in results["rows"][0]


def test_results_are_written_whole_or_not_at_all(trigram, fields, tmp_path, monkeypatch):
    measure, calls = prompting.score_items, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(*arguments, **options)

    monkeypatch.setattr(prompting, "score_items", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate_prompting(trigram, WORDS, PromptingRecipe(**fields, output_dir=str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="it is a file"):
        evaluate_prompting(trigram, WORDS, PromptingRecipe(**fields, output_dir=str(tmp_path / "file")))


def test_minus_infinity_is_null_in_files(fields, tmp_path):
    options = {"order": 3, "smoothing": "maximum_likelihood", "progress": False}
    model = NGramForCausalLM.fit(TEXTS, WORDS, **options)
    results = evaluate_prompting(model, WORDS, PromptingRecipe(**fields, output_dir=str(tmp_path / "out")))
    first = json.loads((tmp_path / "out" / ITEMS).read_text().splitlines()[0])
    assert first["sum"][1] is None
    assert results["rows"][0]["scores"]["sum"]["accuracy"] == 0.75


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "task is missing; give one of copa, "),
        ({"task": "copa", "template": "a.yaml"}, "task and template are both given"),
        ({"task": "copper"}, "task must be one of copa, balanced_copa"),
        ({"task": "copa", "shots": [1, 1]}, "shots must be different numbers of at least 0"),
        ({"task": "copa", "shots": [-1]}, "shots must be different numbers of at least 0"),
        ({"task": "copa", "text_form": "wiki"}, "text_form must be one of plain, wikitext"),
    ],
)
def test_recipes_that_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        PromptingRecipe(**fields)


def test_a_line_ends_at_a_newline():
    """A bigram of bytes that has read lines."""
    tokenizer = BpeTokenizer.train(["x"], merges=0, form="bytes", progress=False)
    texts = ["so: yes\nso: yes\nso: yes\n"]
    model = NGramForCausalLM.fit(texts, tokenizer, order=5, smoothing="maximum_likelihood", progress=False)
    items = [PromptItem("so:", ("yes", "no"), 0), PromptItem("so: y", ("es", "oo"), 0)]
    assert write_answers(model, tokenizer, items) == [" yes", "es"]
    # Eight tokens, which is four more than its answers, and no end.
    assert write_answers(model, tokenizer, [PromptItem("s", ("o: y",), 0)], separator="") == ["o: yes"]
    assert write_answers(model, tokenizer, [PromptItem("s", ("o",), 0)], separator="") == [None]


def test_written_answers_do_not_depend_on_the_batch():
    model = small_model("gpt1", WORDS, max_position_embeddings=12).eval()
    long = " ".join(["a mouse is small ."] * 9)
    items = [PromptItem(prompt, ("small .", "large"), 0) for prompt in ("a", long, "a cow is", "")]
    # Together with the long prompt, its answers would be more than the model reads.
    items.append(PromptItem("a cow", ("is large .", "is small"), 0))
    single = [write_answers(model, WORDS, [item])[0] for item in items]
    assert write_answers(model, WORDS, items, batch_size=5) == single
    items = items[:4]
    assert measure_written(items, ["Small", "small.", None, " SMALL  . "])["exact_match"] == 0.75
    assert measure_written(items, ["Small", "small.", None, " SMALL  . "])["unfinished"] == 1


def test_after_an_impossible_prompt_nothing_is_written():
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    model = NGramForCausalLM.fit(TEXTS, closed, order=2, smoothing="add_alpha", progress=False)
    assert write_answers(model, closed, [PromptItem("a zebra", ("is", "small"), 0)]) == [""]


def test_the_script(trigram, fields, tmp_path, capsys):
    trigram.save_pretrained(tmp_path / "model")
    WORDS.save_pretrained(tmp_path / "model")
    (tmp_path / "recipe.yaml").write_text(json.dumps(fields))
    output = ["--output_dir", str(tmp_path / "out")]
    main([str(tmp_path / "recipe.yaml"), "--model", str(tmp_path / "model"), "--shots", "0,1", *output])
    printed = capsys.readouterr().out
    assert "0 shots, 4 items; chance 50.0 %, always the most frequent answer 75.0 %" in printed
    assert "1 shot, 4 items" in printed
    assert math.isclose(
        json.loads((tmp_path / "out" / RESULTS).read_text())["rows"][1]["scores"]["sum"]["accuracy"], 0.75
    )
    with pytest.raises(ValueError, match="model is missing"):
        main([str(tmp_path / "recipe.yaml")])
    with pytest.raises(ValueError, match="model is missing"):
        main(["--task", "copa"])
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "shots_data" in capsys.readouterr().out
