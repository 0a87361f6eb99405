# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture new`: what it says of files, and that `hf-lecture train` takes the recipes that it writes."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.cli import new_recipe
from hf_lecture_models.cli.new import split_files
from hf_lecture_models.cli.new_report import look, shared_rows, worth_a_look
from hf_lecture_models.cli.train import script_command
from hf_lecture_models.data.column_names import Peek, guess_columns
from hf_lecture_models.data.looking import lengths_of, scripts_of
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.trainer.batches import Batch, Batches
from hf_lecture_models.trainer.estimate import measure_steps
from hf_lecture_models.trainer.recipe import TrainingRecipe

TRAINING = Path(__file__).parents[2] / "training"
SUBJECTS = ("the film", "a story", "this play", "her song", "our book")
GOOD = [f"{subject} was {word}" for subject in SUBJECTS for word in ("lovely", "warm", "fine", "clever")]
BAD = [f"{subject} was {word}" for subject in SUBJECTS for word in ("awful", "cold", "weak", "dull")]
REVIEWS = [(text, "good") for text in GOOD] + [(text, "bad") for text in BAD]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(new_recipe, "measure_steps", partial(measure_steps, seconds=0.0))  # two steps are made
    return tmp_path


def new(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["new", *arguments])
    assert done.exit_code == status, done.output
    return done.output


def told(report: str) -> str:
    """A report without the breaks of its lines."""
    return " ".join(report.split())


def recipe_of(task: str, path: str) -> Any:
    return load_recipe(path, recipe_class=TASKS[task].recipe_class)


def write_table(path: str, rows: list[tuple[str, ...]], names: tuple[str, ...]) -> None:
    sign = "," if path.endswith(".csv") else "\t"
    Path(path).write_text("".join(f"{sign.join(row)}\n" for row in (names, *rows)), encoding="utf-8")


def write_jsonl(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def test_the_report_and_the_recipe(place: Path) -> None:
    rows = [(str(index), *row) for index, row in enumerate(REVIEWS)]
    write_table(
        "reviews.csv",
        [*rows, ("40", "the film was dull", "bad"), ("41", "the film was dull", "good")],
        ("id", "Review", "sentiment"),
    )
    said = told(new("text_classification", "reviews.csv"))
    assert "columns text from Review, label from sentiment not read id" in said
    assert "classes 2: good 21, bad 21; always predicting 'good' is right for 50.0 %" in said
    assert "half of them have at most 4 words, 95 % at most 4; the longest has 4 (row 1)" in said
    assert "letters: Latin 100.0 %" in said
    assert "1 row repeats another one: row 41, as row 37" in said or "1 row repeats another one: row 41" in said
    assert "1 row has the text of another row, but another label: row 42" in said
    assert re.search(r"an epoch takes about \d", said)
    assert "next: hf-lecture train text_classification.yaml" in said
    text = Path("text_classification.yaml").read_text(encoding="utf-8")
    assert "#   hf-lecture train text_classification text_classification.yaml\n" in text
    values = [line for line in text.splitlines() if line and not line.startswith(("#", " ", "-"))]
    assert all(text.split(f"\n{line}\n")[0].splitlines()[-1].startswith("# ") for line in values), "a reason above each"
    recipe = recipe_of("text_classification", "text_classification.yaml")
    assert recipe.columns == {"text": "Review", "label": "sentiment"}
    assert (recipe.train_files, recipe.output_dir, recipe.validation_share) == (
        ["reviews.csv"],
        "text_classification",
        0.1,
    )


def test_a_recipe_is_not_overwritten(place: Path) -> None:
    write_table("reviews.csv", REVIEWS, ("text", "label"))
    Path("mine.yaml").write_text("seed: 3\n", encoding="utf-8")
    said = new("text_classification", "reviews.csv", "-o", "mine.yaml", status=1)
    assert (
        said
        == "hf-lecture new: there is a recipe mine.yaml already; --force writes over it, --output names another one\n"
    )
    assert Path("mine.yaml").read_text(encoding="utf-8") == "seed: 3\n"
    new("text_classification", "reviews.csv", "-o", "mine.yaml", "--force")
    assert recipe_of("text_classification", "mine.yaml").train_files == ["reviews.csv"]


def _questions() -> list[dict[str, Any]]:
    found = []
    for index in range(12):
        context = f"the cat number {index} saw the dog in the garden"
        answer = {"text": "the dog", "answer_start": context.index("the dog")}
        found.append(
            {"context": context, "qas": [{"id": str(index), "question": "whom did it see ?", "answers": [answer]}]}
        )
    return found


def _write(task: str, path: str) -> None:
    """Write small data of a task into a file of the kind that its name says."""
    if task == "text_classification" and path.endswith((".csv", ".tsv")):
        write_table(path, REVIEWS, ("sentence", "class"))
    elif task == "text_classification" and path.endswith(".parquet"):
        import datasets

        texts, labels = zip(*REVIEWS, strict=True)
        datasets.Dataset.from_dict({"tweet": texts, "target": labels}).to_parquet(path)
    elif task == "text_classification":
        write_jsonl(path, [{"premise": text, "hypothesis": "it was fine", "label": label} for text, label in REVIEWS])
    elif path.endswith(".conllu"):
        word = "{}\t{}\t_\t{}\t_\t_\t0\troot\t_\t_\n".format
        sentences = [word(1, "the", "DET") + word(2, f"cat{index}", "NOUN") for index in range(12)]
        Path(path).write_text("\n".join(sentences) + "\n", encoding="utf-8")
    elif path.endswith(".conll"):
        sentences = [f"Ann{index} B-PER\nsaw O\nNew B-LOC\nYork I-LOC\n" for index in range(12)]
        Path(path).write_text("\n".join(sentences), encoding="utf-8")
    elif task == "question_answering":
        Path(path).write_text(
            json.dumps({"version": "1", "data": [{"title": "t", "paragraphs": _questions()}]}), "utf-8"
        )
    elif task == "multiple_choice":
        write_jsonl(
            path, [{"question": f"what is {i} ?", "options": ["a number", "a cat"], "answer": 0} for i in range(12)]
        )
    elif task == "translation":
        write_table(path, [(f"der Hund {i} rennt", f"the dog {i} runs") for i in range(12)], ("de", "en"))
    else:
        Path(path).write_text("".join(f"{text}\n" for text in [*GOOD, *BAD]), encoding="utf-8")


@pytest.mark.parametrize(
    ("task", "file", "expected"),
    [
        ("text_classification", "a.csv", {"columns": {"text": "sentence", "label": "class"}}),
        ("finetune_text_classification", "a.tsv", {"columns": {"text": "sentence", "label": "class"}}),
        ("text_classification", "a.jsonl", {"columns": {"text": "premise", "text_pair": "hypothesis"}}),
        ("text_classification", "a.parquet", {"columns": {"text": "tweet", "label": "target"}}),
        ("token_classification", "a.conllu", {"columns": {"tags": "upos"}, "scheme": None}),
        ("token_classification", "a.conll", {"columns": {}, "scheme": "entities"}),
        ("question_answering", "a.json", {"columns": {}}),
        ("multiple_choice", "a.jsonl", {"columns": {"context": "question", "choices": "options", "label": "answer"}}),
        ("translation", "a.tsv", {"columns": {"source": "de", "target": "en"}}),
        ("causal_lm", "a.txt", {"columns": {}}),
        ("masked_lm", "a.txt", {"columns": {}}),
    ],
)
def test_what_it_writes_is_what_train_takes(place: Path, task: str, file: str, expected: dict[str, Any]) -> None:
    name = task if task in TASKS else "text_classification"
    _write(name, file)
    new(task, file, "-o", "r.yaml")
    recipe = recipe_of(name, "r.yaml")
    assert {field: getattr(recipe, field) for field in expected} == expected
    script, *rest = script_command(["r.yaml", "--max_steps", "2", "--output_dir", "out"], TRAINING)
    assert Path(script).is_file()
    outcome = train_from_command(TASKS[name], rest)
    assert outcome.training.step == 2
    assert Path("out", "model.safetensors").is_file()


def test_the_scripts_own_recipe_of_an_ngram(place: Path) -> None:
    _write("causal_lm", "a.txt")
    said = new("fit_ngram", "a.txt")
    assert "next: hf-lecture train fit_ngram.yaml" in told(said)
    script, *_ = script_command(["fit_ngram.yaml"], TRAINING)
    assert Path(script).name == "fit_ngram.py"
    assert "minutes:" not in Path("fit_ngram.yaml").read_text(encoding="utf-8")


def test_the_next_command_runs_as_printed_and_columns_of_words_and_tags_are_read(place: Path) -> None:
    _write("token_classification", "my names.conll")
    said = told(new("token_classification", "my names.conll", "-o", "my recipe.yaml"))
    assert said.endswith("next: hf-lecture train 'my recipe.yaml'")
    assert "not read" not in said
    _write("token_classification", "a.conllu")
    said = told(new("token_classification", "a.conllu", "-o", "u.yaml"))
    assert "not read id, lemma, xpos" in said


def test_rows_without_a_label_are_named_and_nothing_hides_them(place: Path) -> None:
    write_table("a.tsv", [*REVIEWS, ("a film", ""), ("a play", " ")], ("text", "label"))
    said = told(new("text_classification", "a.tsv", "-o", "r.yaml", status=1))
    problem = "train data: 2 rows have no label: row 41; row 42; take them out, or put them into a file of their own"
    assert f"To mend before training: - {problem}" in said
    assert "next:" not in said, "training would refuse"
    assert "hf-lecture new: r.yaml is written, but training refuses these data" in said
    assert "classes 2: good 20, bad 20" in said
    with pytest.raises(ValueError, match=r"row 41 has no label"):
        train_from_command(TASKS["text_classification"], ["r.yaml", "--max_steps", "1", "--output_dir", "out"])


def test_labels_of_validation_rows_are_checked_too(place: Path) -> None:
    write_table("train.csv", REVIEWS, ("text", "label"))
    write_table("dev.csv", [("a film", "Good"), ("a play", "so so"), ("a song", "")], ("text", "label"))
    said = told(new("text_classification", "train.csv", "dev.csv", "-o", "r.yaml", status=1))
    assert "validation data: 1 row has no label: row 3; take them out" in said
    assert "validation data: 1 class is in no training row: 'so so'; take its rows out" in said
    with pytest.raises(ValueError, match="row 2: label 'so so' is none of the model's classes|row 3 has no label"):
        train_from_command(TASKS["text_classification"], ["r.yaml", "--max_steps", "1", "--output_dir", "out"])


def test_what_the_reader_refuses_is_told_in_its_words(place: Path) -> None:
    write_jsonl("a.jsonl", [{"tokens": ["Ann", "saw"], "tags": ["A", "B"]}, {"tokens": ["Bob"], "tags": []}])
    said = told(new("token_classification", "a.jsonl", status=1))
    assert "To mend before training: - a.jsonl, row 2 has 1 words and 0 tags; each word has one" in said
    assert recipe_of("token_classification", "token_classification.yaml").train_files == ["a.jsonl"]
    write_table("one.csv", [(text, "good") for text in GOOD], ("text", "label"))
    assert "all labels are 'good'; there is nothing to learn" in told(new("text_classification", "one.csv", status=1))


def test_numbers_are_a_regression(place: Path) -> None:
    write_table("a.csv", [(text, f"{0.5 + index % 4}") for index, text in enumerate(GOOD)], ("text", "score"))
    said = told(new("text_classification", "a.csv", "-o", "r.yaml"))
    assert "numbers from 0.5 to 3.5, mean 2, median 2.5" in said
    assert recipe_of("text_classification", "r.yaml").problem_type == "regression"


def test_weights_are_suggested_where_classes_are_uneven(place: Path) -> None:
    write_table(
        "a.csv", [*((text, "good") for text in GOOD), ("it was dull", "bad"), ("it was cold", "bad")], ("text", "label")
    )
    said = told(new("text_classification", "a.csv", "-o", "r.yaml"))
    assert "1 class occurs fewer than 5 times, too rarely to be learned or measured: 'bad'" in said
    assert "# class_weights: balanced\n" in Path("r.yaml").read_text(encoding="utf-8")
    assert recipe_of("text_classification", "r.yaml").class_weights == {}


def test_lists_and_columns_of_classes(place: Path) -> None:
    """A text may have several classes."""
    sets = [["good"], ["bad", "odd"], []] * 8
    write_jsonl(
        "a.jsonl", [{"comment": f"{text} indeed", "labels": own} for text, own in zip(GOOD, sets, strict=False)]
    )
    said = told(new("text_classification", "a.jsonl", "-o", "r.yaml"))
    assert "classes 3: good 7, bad 7, odd 7; 6 rows have none of them" in said
    assert recipe_of("text_classification", "r.yaml").problem_type == "multi_label_classification"
    rows = [(text, str(int("good" in own)), str(int("odd" in own))) for text, own in zip(GOOD, sets, strict=False)]
    write_table("b.csv", rows, ("comment", "good", "odd"))
    said = told(new("text_classification", "b.csv", "-o", "r.yaml", "--force"))
    assert "text from comment, classes from the columns good, odd" in said
    assert recipe_of("text_classification", "r.yaml").label_columns == ["good", "odd"]
    _, *rest = script_command(["r.yaml", "--max_steps", "2", "--output_dir", "out"], TRAINING)
    assert train_from_command(TASKS["text_classification"], rest).training.step == 2


def test_letters_are_tokens_where_words_have_no_blanks(place: Path) -> None:
    texts = [
        (f"这部电影很{word}第{index}", label)
        for index, (word, label) in enumerate([("好", "good"), ("坏", "bad")] * 10)
    ]
    write_table("a.csv", texts, ("text", "label"))
    said = told(new("text_classification", "a.csv", "-o", "r.yaml"))
    assert "letters: Han 100.0 %" in said
    assert recipe_of("text_classification", "r.yaml").tokenizer["type"] == "char"


def test_too_long_rows_get_a_length(place: Path) -> None:
    long = "a cat " * 300
    rows = [{"context": f"{long} {i}", "choices": ["x", "y"], "label": i % 2} for i in range(4)]
    write_jsonl("a.jsonl", rows)
    new("multiple_choice", "a.jsonl", "-o", "r.yaml")
    assert recipe_of("multiple_choice", "r.yaml").max_length == 512
    assert "Longer rows are cut: the longest row has 6" in Path("r.yaml").read_text(encoding="utf-8")


def test_parts_and_what_they_share(place: Path) -> None:
    write_table("train.csv", REVIEWS, ("text", "label"))
    write_table("dev.csv", [REVIEWS[0], ("a new film", "good"), ("a new play", "bad")], ("text", "label"))
    said = told(new("text_classification", "train.csv", "dev.csv", "-o", "r.yaml"))
    assert "validation 3 rows: dev.csv" in said
    assert "1 of 3 rows of the validation data (33.3 %) have the text of a training row" in said
    recipe = recipe_of("text_classification", "r.yaml")
    assert (recipe.train_files, recipe.validation_files, recipe.validation_share) == (["train.csv"], ["dev.csv"], None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["text_clasification", "a.csv"], "there is no task 'text_clasification'; did you mean text_classification"),
        (["text_classification", "none.csv"], "there is no file none.csv"),
        (
            ["text_classification", "a.csv"],
            "a.csv: none of its columns (x, y, z) looks like the column text; name it, --columns.text NAME",
        ),
        (
            ["text_classification", "rows.csv"],
            "rows.csv: its first line reads like a row, not like the names of its columns (our book was dull, bad)",
        ),
        (["text_classification", "s.csv"], "s.csv: its columns are separated by semicolons; save it with commas"),
        (
            ["text_classification", "a.csv", "-o", "a.json"],
            "the recipe a.json must end in .yaml; --output names another file",
        ),
        (
            ["text_classification", "a.csv", "--columns.txt", "x"],
            "there is no column txt of text_classification, only text, label, text_pair",
        ),
    ],
)
def test_a_mistake_is_one_line(place: Path, arguments: list[str], said: str) -> None:
    write_table("a.csv", [(str(i), str(i), str(i)) for i in range(9)], ("x", "y", "z"))
    write_table("rows.csv", [("it was a warm film", "good"), ("it was a cold film", "bad")] * 4, REVIEWS[-1])
    write_table("s.csv", [("a film;good",), ("a play;bad",)], ("text;label",))
    found = told(new(*arguments, status=1))
    assert said in found
    assert "Traceback" not in found


def test_columns_are_found_by_what_is_in_them() -> None:
    texts, kinds = [f"a text of {i} words" for i in range(9)], ["p", "n", "p"] * 3
    file = Peek(["id", "was_said", "kind"], {"id": list(range(9)), "was_said": texts, "kind": kinds})
    assert guess_columns(file, ["text", "label", "text_pair"], {}) == {"text": "was_said", "label": "kind"}
    assert guess_columns(file, ["text", "label"], {"text": "kind"}) == {"text": "kind"}, "no other text, no few labels"
    assert guess_columns(Peek(["fr", "en"], {}), ["source", "target"], {}) == {"source": "fr", "target": "en"}
    pair = guess_columns(Peek(["index", "question", "sentence", "label"], {}), ["text", "label", "text_pair"], {})
    assert pair == {"text": "question", "label": "label", "text_pair": "sentence"}
    assert guess_columns(Peek(["sentence2", "text"], {}), ["text", "text_pair"], {}) == {"text": "text"}


def test_a_single_file_is_trained_on_whatever_its_name() -> None:
    assert split_files(["test.csv"], [], []) == {"train": ["test.csv"], "validation": [], "test": []}
    assert split_files(["eval_a.csv", "b.csv"], [], [])["validation"] == ["eval_a.csv"]


def test_lengths_and_scripts_by_hand() -> None:
    found = lengths_of(list(range(1, 101)))
    assert (found.median, found.high, found.longest, found.place) == (50, 95, 100, 99)
    assert scripts_of(["ΑΒ ab", "กข", "עב", "123 !"]) == {"Greek": 0.25, "Latin": 0.25, "Thai": 0.25, "Hebrew": 0.25}
    assert scripts_of([]) == {}


def test_equal_rows_and_blank_ones() -> None:
    columns = {"text": ["a", " a", "b", "", "a"], "label": ["x", "x", "x", "y", "y"]}
    found = look("text_classification", Rows(columns, [("a.csv", 5)]))
    assert worth_a_look(found, are_classes=True)[:3] == [
        "1 row has no text: row 4",
        "1 row repeats another one: row 2, as row 1",
        "1 row has the text of another row, but another label: row 5, as row 1",
    ]
    other = look("text_classification", Rows({"text": ["c"], "label": ["x"]}, [("b.csv", 1)]))
    assert shared_rows(found, other, "test") == []


class _Ones(Batches):
    steps_per_epoch = 7

    def next_step(self) -> list[Batch]:
        return [Batch({"x": torch.ones(4, 3)}, 4)]


class _Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 5), nn.Linear(5, 1)

    def forward(self, x: torch.Tensor) -> Any:
        return type("Outputs", (), {"loss": self.second(self.first(x).relu()).mean()})


def test_parameters_and_activations_by_hand() -> None:
    """Kept for the backward pass: the input (4 x 3) and the result of relu (4 x 5), in float32."""
    found = measure_steps(_Linear(), _Ones(), TrainingRecipe(), {}, most=3)
    assert found.parameters == 3 * 5 + 5 + 5 * 1 + 1
    assert found.activation_bytes == 4 * (4 * 3 + 4 * 5)
    assert found.bytes == 16 * 26 + 128
    assert found.steps_per_epoch == 7
    assert found.step_seconds > 0
