# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture predict`: every head, of the lectures and of transformers, on lines and files; as pipelines have it."""

import json
import math
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForMultipleChoice,
    AutoTokenizer,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    pipeline,
)

from hf_lecture_models import BagOfWordsConfig, BagOfWordsForSequenceClassification, WordTokenizer
from tests.forked_python import PATIENCE
from tests.stand_in import EncoderConfig, EncoderForTokenClassification, encoder_tokenizer
from tests.tasks.small_chooser import ROWS, save_small_chooser
from tests.tasks.small_classifier import small_bert, small_tokenizer

TEXTS = ["a fine film", "dull and long", "", "a warm and funny film that is fine"]
TAGS = {0: "O", 1: "B-X", 2: "I-X"}


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Save a small BERT with the head of a class."""

    def saved(model_class: type, mask: bool = False, **fields: Any) -> Path:
        folder = tmp_path_factory.mktemp(model_class.__name__) / "model"
        config = small_bert(**fields).config
        torch.manual_seed(1)
        model_class(config).save_pretrained(folder)
        small_tokenizer(**({"mask_token": "fine"} if mask else {})).save_pretrained(folder)
        return folder

    return saved


def lines_of(out: str) -> list[list[str]]:
    return [line.split("\t") for line in out.splitlines()]


def test_several_classes_of_a_text_stand_on_one_line(run: Any, save: Any, tmp_path: Path) -> None:
    names = {"id2label": {0: "a", 1: "b", 2: "c"}, "label2id": {"a": 0, "b": 1, "c": 2}}
    folder = save(BertForSequenceClassification, problem_type="multi_label_classification", **names)
    (tmp_path / "a.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    scores = [
        {one["label"]: one["score"] for one in own}
        for own in pipeline("text-classification", model=str(folder), top_k=None)(TEXTS)
    ]
    middle = sorted(own["b"] for own in scores)[2] - 1e-6  # so that texts differ in their classes
    task = {"name": "text_classification", "auto_class": "", "pipeline_tag": "", "items": "", "measures": []}
    for thresholds in ({"a": 0.0, "b": middle, "c": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}):
        content = json.dumps(task | {"settings": {"thresholds": thresholds}})
        (folder / "task.json").write_text(content, encoding="utf-8")
        expected = [[name for name in own if own[name] >= thresholds[name]] for own in scores]
        status, out, err = run("predict", folder, tmp_path / "a.txt")
        assert status == 0, err
        for line, text, chosen, own in zip(out.splitlines(), TEXTS, expected, scores, strict=True):
            numbers = ",".join(f"{own[name]:.4f}" for name in chosen)
            assert line.split("\t") == [",".join(chosen) or "-", numbers or "-", text]
        _, out, _ = run("predict", folder, tmp_path / "a.txt", "--json")
        assert [[one["label"] for one in json.loads(line)["predictions"]] for line in out.splitlines()] == expected
    _, out, _ = run("predict", folder, tmp_path / "a.txt", "-k", 2)
    assert [line[0] for line in lines_of(out)] == [name for own in scores for name in list(own)[:2]]


def test_classes_of_texts_are_those_of_the_pipeline(run: Any, save: Any, tmp_path: Path) -> None:
    """In the order of the lines, of several files, however they are read together; a blank line is an empty text."""
    folder = save(BertForSequenceClassification, num_labels=3)
    expected = pipeline("text-classification", model=str(folder), top_k=None)(TEXTS)
    (tmp_path / "a.txt").write_text("\n".join(TEXTS[:3]) + "\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text(TEXTS[3], encoding="utf-8")
    for size in (1, 2, 64):
        options = ["--batch-size", size, "-k", 3]
        status, out, err = run("predict", folder, tmp_path / "a.txt", tmp_path / "b.txt", "--json", *options)
        results = [json.loads(line) for line in out.splitlines()]
        assert (status, err) == (0, "")
        assert [result["text"] for result in results] == TEXTS
        for result, theirs in zip(results, expected, strict=True):
            assert [one["label"] for one in result["predictions"]] == [one["label"] for one in theirs]
            scores = [one["score"] for one in result["predictions"]]
            assert scores == pytest.approx([one["score"] for one in theirs], abs=1e-6)
    status, out, _ = run("predict", folder, stdin="\n".join(TEXTS) + "\n")
    assert lines_of(out) == [
        [theirs[0]["label"], f"{theirs[0]['score']:.4f}", text] for text, theirs in zip(TEXTS, expected, strict=True)
    ]


def test_pairs_of_texts_between_texts(run: Any, save: Any) -> None:
    folder = save(BertForSequenceClassification)
    expected = pipeline("text-classification", model=str(folder))
    pair = {"text": "a film", "text_pair": "funny"}
    theirs = [expected(pair), expected("a fine film")[0]]
    _, out, _ = run("predict", folder, stdin="a film\tfunny\na fine film\n")
    assert [row[0] for row in lines_of(out)] == [one["label"] for one in theirs]
    assert [row[2:] for row in lines_of(out)] == [["a film", "funny"], ["a fine film"]]
    lines = [pair | {"label": 1}, {"text": "a fine film", "text_pair": None}]
    _, again, _ = run("predict", folder, "--jsonl", stdin="\n\n".join(map(json.dumps, lines)))
    assert again == out
    _, out, _ = run("predict", folder, "--jsonl", "--json", stdin=json.dumps(pair))
    assert json.loads(out).keys() == {"text", "text_pair", "predictions"}


def test_numbers_and_several_classes_at_once(run: Any, save: Any) -> None:
    for fields in ({"num_labels": 1, "problem_type": "regression"}, {"problem_type": "multi_label_classification"}):
        folder = save(BertForSequenceClassification, **fields)
        (theirs,) = pipeline("text-classification", model=str(folder))("a fine film")
        _, out, _ = run("predict", folder, "--json", "-k", 1, stdin="a fine film\n")
        assert json.loads(out)["predictions"][0]["score"] == pytest.approx(theirs["score"], abs=1e-6)


def test_a_classifier_of_the_lectures(run: Any, tmp_path: Path) -> None:
    tokenizer = WordTokenizer.train(["a fine film", "a dull film"], progress=False)
    config = BagOfWordsConfig(vocab_size=len(tokenizer), id2label={0: "bad", 1: "good"})
    BagOfWordsForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    status, out, _ = run("predict", tmp_path, "-k", 2, stdin="a fine film\n")
    assert status == 0
    assert {row[0] for row in lines_of(out)} == {"bad", "good"}
    assert sum(float(row[1]) for row in lines_of(out)) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("ours", [True, False])
def test_tags_of_words_and_entities(run: Any, save: Any, tmp_path: Path, ours: bool) -> None:
    texts = ["w1  w2 w3", "", "w4"] if ours else ["a  fine film", "", "funny"]
    if ours:
        folder = tmp_path / "model"
        EncoderForTokenClassification(EncoderConfig(num_labels=3, id2label=TAGS)).save_pretrained(folder)
        encoder_tokenizer().save_pretrained(folder)
    else:
        folder = save(BertForTokenClassification, num_labels=3, id2label=TAGS)
    find = pipeline("token-classification", model=str(folder), aggregation_strategy="simple", ignore_labels=[])
    status, out, err = run("predict", folder, stdin="\n".join(texts) + "\n")
    assert (status, err) == (0, "")
    blocks = [[row for row in lines_of(block) if row != [""]] for block in out.split("\n\n")]
    assert [[row[0] for row in block] for block in blocks if block] == [text.split() for text in texts if text]
    _, out, _ = run("predict", folder, "--json", stdin="\n".join(texts) + "\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["text"] for row in rows] == texts
    assert [[[one["word"], one["label"]] for one in row["predictions"]] for row in rows if row["text"]] == [
        block for block in blocks if block
    ]
    assert {one["label"] for row in rows for one in row["predictions"]} <= set(TAGS.values())
    _, out, _ = run("predict", folder, "--aggregate", "--json", stdin=f"{texts[0]}\n")
    entities = json.loads(out)["predictions"]
    theirs = [one for one in find(texts[0]) if one["entity_group"] != "O"]
    assert [(one["label"], one["start"], one["end"]) for one in entities] == [
        (one["entity_group"], one["start"], one["end"]) for one in theirs
    ]
    assert all(one["text"] == texts[0][one["start"] : one["end"]].strip() for one in entities)


def test_words_in_the_place_of_masks(run: Any, save: Any) -> None:
    for model_class in (BertForMaskedLM, BertForPreTraining):
        folder = save(model_class, mask=True)
        expected = pipeline("fill-mask", model=str(folder), top_k=2)
        _, out, err = run("predict", folder, "-k", 2, "--json", stdin="a fine film\nfine and fine\n")
        one, two = [json.loads(line)["predictions"] for line in out.splitlines()]
        assert err == ""
        assert [found["label"] for found in one] == [found["token_str"] for found in expected("a fine film")]
        assert [found["text"] for found in one] == [found["sequence"] for found in expected("a fine film")]
        theirs = [found["token_str"] for masked in expected("fine and fine") for found in masked]
        assert [found["label"] for found in two] == theirs
        assert [found["mask"] for found in two] == [0, 0, 1, 1]
        assert len(lines_of(run("predict", folder, stdin="a fine film\n")[1])) == 5
        status, _, err = run("predict", folder, stdin="a fine film\na film\n")
        assert (status, err) == (
            1,
            "hf-lecture predict: standard input, line 2 has no mask that is read: write fine for the word that is "
            "asked for\n",
        )


@pytest.mark.parametrize("kind", ["stock", "ours"])
def test_choices(run: Any, tmp_path: Path, kind: str) -> None:
    """Rows of two choices and of three; other fields, such as labels, are not read."""
    folder = save_small_chooser(tmp_path / "model", kind)
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    expected = []
    for row in ROWS:
        inputs = tokenizer([row["context"]] * len(row["choices"]), row["choices"], padding=True, return_tensors="pt")
        with torch.no_grad():
            expected.append(model(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0].softmax(-1))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    _, out, err = run("predict", folder, tmp_path / "rows.jsonl", "--json", "--top-k", 3)
    assert err == ""
    for line, row, scores in zip(out.splitlines(), ROWS, expected, strict=True):
        found = json.loads(line)
        assert (found["context"], found["choices"]) == (row["context"], row["choices"])
        assert [one["score"] for one in found["predictions"]] == pytest.approx(
            scores.sort(descending=True).values.tolist(), abs=1e-5
        )
        assert all(row["choices"][one["label"]] == one["text"] for one in found["predictions"])
    _, out, _ = run("predict", folder, tmp_path / "rows.jsonl")
    best = [int(scores.argmax()) for scores in expected]
    assert [row[0] for row in lines_of(out)] == list(map(str, best))
    assert [row[2] for row in lines_of(out)] == [row["choices"][i] for row, i in zip(ROWS, best, strict=True)]


def test_answers(run: Any, save: Any) -> None:
    folder = save(BertForQuestionAnswering)
    row = {"question": "funny", "context": "this is a fine film"}
    settings = {"name": "question_answering", "pipeline_tag": None, "settings": {"max_answer_length": 2}}
    (folder / "task.json").write_text(json.dumps(settings), encoding="utf-8")
    expected = pipeline("extractive-question-answering", model=str(folder))(**row)
    _, out, err = run("predict", folder, "--json", stdin=f"{json.dumps(row)}\n")
    assert err == ""
    (found,) = json.loads(out)["predictions"]
    assert found["score"] == pytest.approx(expected["score"], abs=1e-6)
    assert (found["label"], found["start"], found["end"]) == tuple(
        expected[name] for name in ("answer", "start", "end")
    )
    _, out, _ = run("predict", folder, stdin=f"{json.dumps(row)}\n\n{json.dumps(row)}\n")
    assert lines_of(out) == [[expected["answer"], f"{expected['score']:.4f}", "funny"]] * 2
    status, _, err = run("predict", folder, stdin='{"question": " ", "context": "a film"}')
    assert (status, err) == (1, "hf-lecture predict: standard input, line 1: question is empty\n")


# What cannot be


def test_models_without_such_a_head(run: Any, save: Any, network: Path) -> None:
    for folder, message in (
        (
            network,
            "holds RecurrentForCausalLM, a language model: the verb generate continues texts, score and rank say",
        ),
        (
            save(BertModel),
            "holds BertModel, whose outputs are no predictions of classes, tags, words, choices or answers",
        ),
    ):
        status, out, err = run("predict", folder, stdin="a\n")
        assert (status, out) == (1, "")
        (line,) = err.splitlines()
        assert line.startswith(f"hf-lecture predict: {folder} {message}")


@pytest.mark.parametrize(
    ("kind", "options", "lines", "message"),
    [
        ("classes", [], "", "nothing to predict: give texts, or pairs with a tab between them, one per line"),
        (
            "classes",
            [],
            "a\n" + "film " * 20,
            "standard input, line 2 has 22 tokens, more than the model's longest input",
        ),
        ("classes", ["--max-length", "99"], "a\n", "--max-length 99 is more than the model's longest input, 16 tokens"),
        ("classes", ["--aggregate"], "a\n", "BertForSequenceClassification finds no entities: leave --aggregate out"),
        ("classes", ["--jsonl"], "a\n", "standard input, line 1 is no JSON: Expecting value"),
        ("classes", ["--jsonl"], "[1]\n", "standard input, line 1 is no JSON object, which has the fields text"),
        ("classes", ["--jsonl"], '{"txt": "a"}\n', "standard input, line 1 has no field text, only txt"),
        ("classes", ["--jsonl"], '{"text": 1}\n', "standard input, line 1: text is 1, no text"),
        ("classes", ["--jsonl"], '{"text": "a", "text_pair": 1}\n', "standard input, line 1: text_pair is 1, no text"),
        ("tags", ["-k", "2"], "a\n", "BertForTokenClassification gives one tag for each word: leave --top-k out"),
        ("choices", [], "", 'nothing to predict: give JSON objects {"context": ..., "choices": [...]}, one per line'),
        ("choices", [], '\n{"context": "a"}\n', "standard input, line 2 has no field choices, only context"),
        ("choices", [], '{"context": "a", "choices": "b"}', "standard input, line 1: choices is 'b', no list"),
        ("choices", [], '{"context": "a", "choices": ["b"]}', "standard input, line 1: it has 1 choice, but two"),
        ("choices", [], '{"context": "a", "choices": ["b", ""]}', "standard input, line 1: choice 1 is empty"),
        ("choices", [], '{"context": "%s", "choices": ["b", "c"]}' % ("a " * 20), "line 1, choice 0 has 24 tokens"),
    ],
)
def test_a_mistake_costs_one_line(run: Any, save: Any, kind: str, options: list[str], lines: str, message: str) -> None:
    kinds = {"classes": BertForSequenceClassification, "tags": BertForTokenClassification}
    folder = save(kinds[kind]) if kind in kinds else save_small_chooser(save(BertModel).parent / "chooser")
    status, _, err = run("predict", folder, *options, stdin=lines)
    assert status == 1
    (line,) = err.splitlines()
    assert line.startswith("hf-lecture predict: ")
    assert message in line


def test_what_is_too_long_can_be_cut(run: Any, save: Any) -> None:
    folder = save(BertForSequenceClassification)
    (theirs,) = pipeline("text-classification", model=str(folder))("film " * 6)
    for option in ("--max-length", "--max_length"):
        _, out, _ = run("predict", folder, option, "8", "--json", stdin="film " * 20)
        assert json.loads(out)["predictions"][0]["score"] == pytest.approx(theirs["score"], abs=1e-6)
    folder = save(BertForTokenClassification, num_labels=3, id2label=TAGS)
    _, out, _ = run("predict", folder, "--max-length", "8", stdin="film " * 8)
    assert [row[1] == "-" for row in lines_of(out)[:8]] == [False] * 6 + [True] * 2
    _, out, _ = run("predict", folder, "--max-length", "8", "--aggregate", "--json", stdin="film " * 20)
    assert all(one["end"] <= len("film " * 6) for one in json.loads(out)["predictions"])


def test_lines_are_answered_as_they_come_and_ctrl_c_is_quiet(start: Any, save: Any) -> None:
    process = start("predict", save(BertForSequenceClassification), "--json")
    for text in ("a fine film", "funny"):
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["text"] == text
        assert math.isfinite(answer["predictions"][0]["score"])
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    assert process.stderr.read().split() == ["interrupted"]


# Tables


def test_tables_are_read_by_their_columns(run: Any, save: Any, tmp_path: Path) -> None:
    """Without their header and their labels, whatever their kind; `--columns` names a column of another name."""
    folder = save(BertForSequenceClassification)
    texts = [text for text in TEXTS if text]
    expected = run("predict", folder, stdin="\n".join(texts) + "\n")[1]
    tables = {
        "reviews.csv": ["text,label", *(f"{text},bad" for text in texts)],
        "reviews.tsv": ["label\ttext", *(f"bad\t{text}" for text in texts)],
        "reviews.jsonl": [json.dumps({"text": text, "label": "bad"}) for text in texts],
        "other.csv": ["review,label", *(f"{text},bad" for text in texts)],
    }
    for name, lines in tables.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        fields = ["--columns.text", "review"] if name == "other.csv" else []
        assert run("predict", folder, tmp_path / name, *fields) == (0, expected, "")
    status, out, err = run("predict", folder, tmp_path / "other.csv")
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert "has no column 'text', only review, label; --columns.text names another one" in err
    status, _, err = run("predict", folder, "--columns.text", "review", stdin="a film\n")
    assert (status, "--columns.text says how a table is read, and there is none" in err) == (1, True)
    assert run("predict", folder, "--bogus", stdin="a film\n")[0] == 2
    assert run("predict", folder, tmp_path / "reviews.jsonl", "--jsonl")[1] == expected


def test_choices_and_masks_are_read_from_tables_too(run: Any, save: Any, tmp_path: Path) -> None:
    folder = save_small_chooser(tmp_path / "chooser")
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    (tmp_path / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    by_line, table = (run("predict", folder, tmp_path / f"rows.{kind}") for kind in ("jsonl", "json"))
    assert by_line == table
    folder = save(BertForMaskedLM, mask=True)
    (tmp_path / "texts.csv").write_text("text\na fine film\n", encoding="utf-8")
    assert run("predict", folder, tmp_path / "texts.csv") == run("predict", folder, stdin="a fine film\n")
