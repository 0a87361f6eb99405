# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a run does without validation data, on few rows of its data, and with rows that are measured and trained on."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest

from hf_lecture_models.data.holdout import read_split
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.main import train_from_command, train_seeds
from hf_lecture_models.tasks.core.parts import read_held_out, read_parts
from hf_lecture_models.tasks.images.classification import ImageClassification, ImageClassificationRecipe
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tasks.strokes.task import SequencePrediction, SequencePredictionRecipe
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe
from hf_lecture_models.tasks.translation.task import Translation, TranslationRecipe

TASK = TextClassification()
# Thirty bad films and twenty good ones; texts 40 to 49 are those of 30 to 39.
TEXTS = [f"film {number if number < 40 else number - 10}" for number in range(50)]
LABELS = ["bad"] * 30 + ["good"] * 20


class Seen(TextClassification):
    """Classifies, and remembers the rows that it trains and validates on."""

    def train(self, model: Any, processor: Any, data: Any, validation_data: Any, recipe: Any, **options: Any) -> Any:
        self.rows = data, validation_data
        return super().train(model, processor, data, validation_data, recipe, **options)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder with the rows as a table."""
    monkeypatch.chdir(tmp_path)
    write_csv("mine.csv", TEXTS, LABELS)


def write_csv(name: str, texts: list[str], labels: list[str], document: list[str] | None = None) -> None:
    head = "text,label" + (",document" if document else "")
    lines = [",".join(row) for row in zip(texts, labels, *([document] if document else []), strict=True)]
    Path(name).write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def recipe(**fields: Any) -> TextClassificationRecipe:
    return TextClassificationRecipe(**{"train_files": ["mine.csv"], "epochs": 1, "output_dir": "out"} | fields)


def arguments(**fields: Any) -> list[str]:
    given = {"train_files": "mine.csv", "epochs": 2, "output_dir": "out"} | fields
    return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def test_a_tenth_of_the_rows_is_held_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    task = Seen()
    train_from_command(task, arguments())
    split, (train, validation) = read_split("out"), task.rows
    assert (split.rows, split.sources) == (50, [("mine.csv", 50)])
    assert (split.stratified_by, split.together_by) == ("label", ["text"])
    assert validation.columns["text"] == [TEXTS[row] for row in split.validation]
    assert Counter(validation.columns["label"]) == {"bad": 3, "good": 2}
    assert not {*train.columns["text"]} & {*validation.columns["text"]}
    assert len(train) + len(validation) == 50
    assert [row["validation_examples"] for row in history()] == [5, 5]
    said = "no validation data: 5 of 50 rows (10.0%; the same share of each label; rows with an equal text on one side)"
    err = capsys.readouterr().err
    assert f"{said} are held out for validation; their numbers are in out/split.json" in err
    assert "--validation_share 0 trains on all" in err


def history() -> list[dict[str, Any]]:
    rows = json.loads(Path("out/training.json").read_text())["history"]
    return [row for row in rows if "validation_accuracy" in row]


def test_several_seeds_share_one_split_and_a_resumed_run_keeps_it() -> None:
    train_seeds(TASK, recipe(seeds=[0, 1]))
    assert read_split("out/seed-0") == read_split("out/seed-1")
    train_from_command(TASK, arguments(output_dir="one", max_steps=1))
    train_from_command(TASK, [*arguments(output_dir="one", max_steps=1), "--resume"])
    assert read_split("one") == read_split("out/seed-0")
    with pytest.raises(ValueError, match=r"cannot resume: validation_share is 0\.5 but the run was started with None"):
        train_from_command(TASK, [*arguments(output_dir="one", max_steps=1, validation_share=0.5), "--resume"])
    # Other rows would give another split.
    write_csv("mine.csv", TEXTS[1:], LABELS[1:])
    with pytest.raises(ValueError, match="the training data and the validation data changed since the run was started"):
        train_from_command(TASK, [*arguments(output_dir="one", max_steps=1), "--resume"])


def test_nothing_is_held_out_where_the_recipe_says_so_or_names_others(capsys: pytest.CaptureFixture[str]) -> None:
    parts = read_parts(TASK, recipe(validation_share=0))
    assert (len(parts.train), parts.validation, parts.held_out) == (50, None, None)
    write_csv("dev.csv", ["a new film", "another one"], ["bad", "good"])
    parts = read_parts(TASK, recipe(validation_files=["dev.csv"]))
    assert (len(parts.train), len(parts.validation), parts.held_out) == (50, 2, None)
    assert capsys.readouterr().err == ""
    for fields in ({"validation_files": ["dev.csv"]}, {"validation_rows": [{"text": "a", "label": "bad"}]}):
        with pytest.raises(ValueError, match="validation_share and validation data are both given; keep one of them"):
            recipe(validation_share=0.2, **fields)
    for share, message in ((1.0, "must be below 1, not 1.0: 0.1 holds out a tenth"), (-0.1, "must be at least 0")):
        with pytest.raises(ValueError, match=f"validation_share {message}"):
            recipe(validation_share=share)


def test_of_few_rows_none_are_held_out_unless_a_share_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv("mine.csv", TEXTS[20:39], LABELS[20:39])
    assert read_parts(TASK, recipe()).validation is None
    err = capsys.readouterr().err
    assert err.startswith("no validation data, and of 19 rows none are held out, which takes 20: nothing is measured")
    parts = read_parts(TASK, recipe(validation_share=0.1))
    assert (len(parts.train), len(parts.validation)) == (17, 2)
    write_csv("mine.csv", ["a film"] * 30, ["bad", "good"] * 15)
    assert read_parts(TASK, recipe()).validation is None
    said = capsys.readouterr().err
    assert "mine.csv: no row can be held out for validation: too many have the same text; nothing is measured" in said
    with pytest.raises(ValueError, match="too many have the same text; name validation_files, or set `validation_sh"):
        read_parts(TASK, recipe(validation_share=0.1))
    with pytest.raises(ValueError, match="of 1 texts, `validation_share` leaves none to train on"):
        read_parts(CausalLM(), CausalLMRecipe(train_texts=["a"], validation_share=0.1))


def test_rows_of_a_document_are_held_out_together() -> None:
    documents = [str(row // 5) if row < 45 else "" for row in range(50)]
    write_csv("mine.csv", [f"film {row}" for row in range(50)], LABELS, documents)
    parts = read_parts(TASK, recipe())
    assert {documents[row] for row in parts.train.numbers} & {documents[row] for row in parts.validation.numbers} <= {
        ""
    }
    assert parts.held_out is not None
    assert parts.held_out.together_by == ["document"]
    table = Path("mine.csv").read_text(encoding="utf-8")
    Path("mine.csv").write_text(table.replace("document", "source"), encoding="utf-8")
    assert read_parts(TASK, recipe(columns={"document": "source"})).held_out == parts.held_out
    other = read_parts(TASK, recipe()).held_out
    assert other is not None
    assert other.together_by == []


@pytest.mark.parametrize("name", ["tags.conllu", "tags.conll"])
def test_documents_of_annotated_sentences_are_those_of_their_comments(name: str) -> None:
    lines, documents = [], []
    for number in range(40):
        if number % 8 == 0:
            lines.append("# newdoc id = x" if name == "tags.conllu" else "-DOCSTART- O\n")
        word = f"1\tw{number}\t_\tNOUN" + "\t_" * 6 if name == "tags.conllu" else f"w{number} NOUN"
        lines += [word, word.replace("1", "2", 1).replace("NOUN", "VERB") if name == "tags.conllu" else "x VERB", ""]
        documents.append(number // 8)
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"tags": "upos"} if name == "tags.conllu" else {}
    parts = read_parts(TokenClassification(), TokenClassificationRecipe(train_files=[name], columns=columns))
    # Eight of forty are nearest to a tenth.
    assert len({documents[row] for row in parts.validation.numbers}) == 1
    assert (len(parts.train), len(parts.validation)) == (32, 8)


def test_each_tag_keeps_a_sentence_to_train_on() -> None:
    rows = [{"tokens": [f"w{row}", "end"], "tags": [f"T{row // 2}", "E"]} for row in range(60)]
    chosen = TokenClassificationRecipe(train_rows=rows, validation_share=0.5)
    parts = read_parts(TokenClassification(), chosen)
    assert len(parts.validation) == 30
    assert {tag for tags in parts.train.columns["tags"] for tag in tags} == {"E", *(f"T{tag}" for tag in range(30))}


def test_rows_with_labels_of_a_teacher_are_never_held_out() -> None:
    own = recipe(unlabelled_files=["more.csv"], pseudo_labels="teacher")
    rows = TASK.read(recipe(), "train")
    assert rows is not None
    rows.sources[:] = [("mine.csv", 30), ("more.csv", 20)]
    assert [*TASK.split_keys(own, rows).to_train] == [*range(30, 50)]
    _, validation, held_out = TASK.hold_out(rows, own)
    assert validation is not None
    assert held_out is not None
    assert len(validation) == 3
    assert max(held_out.validation) < 30


def test_running_text_is_held_out_in_stretches(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lines.txt").write_text("".join(f"line {number}\n" for number in range(400)), encoding="utf-8")
    parts = read_parts(CausalLM(), CausalLMRecipe(train_files=["lines.txt"]))
    assert parts.held_out is not None
    chosen = parts.held_out.validation
    assert (len(chosen), len([line for line in chosen if line - 1 not in chosen])) == (40, 4)
    assert parts.validation == [f"line {number}" for number in chosen]
    assert parts.train == [f"line {number}" for number in range(400) if number not in chosen]
    assert "40 of 400 texts (10.0%; stretches of neighbouring ones) are held out" in capsys.readouterr().err
    streamed = CausalLMRecipe(train_files=["lines.txt"], streaming=True, max_steps=1, limit=7)
    parts = read_parts(CausalLM(), streamed)
    assert (len(list(parts.train)), parts.validation) == (7, None)
    assert "limit 7: 7 training rows are used" in (err := capsys.readouterr().err)
    assert "of streamed texts none are held out" in err


def test_drawn_data_have_validation_data_of_their_own() -> None:
    drawn = SequencePredictionRecipe(train_size=30, validation_size=0)
    assert read_parts(SequencePrediction(), drawn).validation is None


def test_numbers_are_held_out_from_each_tenth() -> None:
    rows = [{"text": f"film {row}", "label": row / 7} for row in range(100)]
    parts = read_parts(TASK, TextClassificationRecipe(train_rows=rows, problem_type="regression"))
    assert sorted(row // 10 for row in parts.validation.numbers) == [*range(10)]


def test_equal_images_are_on_one_side(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for number in range(40):
        path = tmp_path / "images" / ("day" if number % 2 else "night") / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.new("L", (4, 4), number // 4 * 2 + number % 2).save(path)
    parts = read_parts(ImageClassification(), ImageClassificationRecipe(train_files=["images"]))
    numbers = [[int(Path(one).stem) for one in rows.columns["image"]] for rows in (parts.train, parts.validation)]
    pixels = [{(number // 4, number % 2) for number in own} for own in numbers]
    assert not pixels[0] & pixels[1]
    assert Counter(parts.validation.columns["label"]) == {"day": 2, "night": 2}


def test_a_message_names_the_place_of_a_row_in_its_file() -> None:
    Path("empty.tsv").write_text(
        "source\ttarget\n" + "\tempty\n" * 3 + "".join(f"s{row}\tt{row}\n" for row in range(40))
    )
    parts = read_parts(Translation(), TranslationRecipe(train_files=["empty.tsv"]))
    # Pairs with an empty side were left out before.
    for rows in (parts.train, parts.validation):
        assert [rows.where(row) for row in range(len(rows))] == [
            f"empty.tsv, row {int(source[1:]) + 4}" for source in rows.columns["source"]
        ]
    assert parts.held_out is not None
    assert parts.held_out.rows == 43
    assert parts.held_out.validation == [int(source[1:]) + 3 for source in parts.validation.columns["source"]]


def test_data_without_a_split_for_validation_are_held_out_of() -> None:
    datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS}).save_to_disk("saved")
    chosen = TextClassificationRecipe(dataset_name="saved")
    parts = read_parts(TASK, chosen)
    assert parts.held_out is not None
    assert (len(parts.validation), parts.held_out.sources) == (5, [("split train of saved", 50)])
    with pytest.raises(ValueError, match="saved has no split 'dev', only train"):
        read_parts(TASK, TextClassificationRecipe(dataset_name="saved", validation_split="dev"))


def test_a_limit_keeps_classes_and_order(capsys: pytest.CaptureFixture[str]) -> None:
    texts, labels = [f"film {row}" for row in range(300)], ["good", "bad", "bad"] * 99 + ["rare"] * 3
    write_csv("mine.csv", texts, labels)
    files = {"validation_files": ["mine.csv"], "test_files": ["mine.csv"], "predict_files": ["mine.csv"]}
    parts = read_parts(TASK, recipe(limit=30, **files))
    assert Counter(parts.train.columns["label"]) == {"bad": 20, "good": 9, "rare": 1}
    assert [*parts.train.numbers] == sorted(parts.train.numbers)
    assert [len(rows) for rows in (parts.validation, parts.test)] == [30, 30]
    assert [*parts.predict.numbers] == [*range(30)]
    said = (
        "limit 30: 30 of 300 training rows, 30 of 300 validation rows, 30 of 300 test rows, 30 of 300 predict rows are"
    )
    assert said in capsys.readouterr().err
    assert read_parts(TASK, recipe(limit=30, **files)).train[:] == parts.train[:]
    assert len(read_parts(TASK, recipe(limit=300)).train) == 270
    # Numbers are those of the file, also of a part of it.
    held_out = read_parts(TASK, recipe(limit=30)).held_out
    assert held_out is not None
    assert held_out.rows == 300
    assert max(held_out.validation) > 30


def test_one_line_each_warns_of_shared_texts_and_of_small_classes(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv("mine.csv", [*TEXTS, "rare film", "odd film"], [*LABELS, "rare", "odd"])
    write_csv("dev.csv", ["new", " film 3", "film 5"], ["bad", "bad", "bad"])
    read_parts(TASK, recipe(validation_files=["dev.csv"], test_files=["mine.csv"]))
    assert capsys.readouterr().err.splitlines() == [
        "warning: 2 of 4 classes have fewer than 5 training rows, too few to learn or to measure: odd 1, rare 1",
        "warning: 2 of 3 validation rows have a text that is also in the training data, dev.csv, row 2 the first: "
        "measures on them are too good",
        "warning: 52 of 52 test rows have a text that is also in the training data, mine.csv, row 1 the first: "
        "measures on them are too good",
    ]
    write_csv("unlabelled.csv", [*TEXTS, "a film", "a play"], [*LABELS, "", "rare"])
    read_parts(TASK, recipe(train_files=["unlabelled.csv"], validation_share=0))
    assert "warning: 1 of 3 classes have" in capsys.readouterr().err, "a row without a label is of no class"
    # Lines of running text are compared only where they are sentences.
    lines = ["= a heading =", "the cat sat on the mat and the dog ran"]
    read_parts(CausalLM(), CausalLMRecipe(train_texts=lines, validation_texts=[*lines, "a new line"]))
    assert "1 of 3 validation rows have a text that is also in the training data, text 2" in capsys.readouterr().err


def test_the_rows_held_out_are_read_again() -> None:
    write_csv("more.csv", [f"more {row}" for row in range(30)], ["bad", "good"] * 15)
    two = {"train_files": ["mine.csv", "more.csv"]}
    parts = read_parts(TASK, recipe(**two))
    assert parts.held_out is not None
    Path("out").mkdir()
    parts.held_out.save_pretrained("out")
    assert read_held_out(TASK, recipe(**two), "out")[:] == parts.validation[:]
    later = read_held_out(TASK, recipe(train_files=["more.csv"]), "out")
    assert later[:] == [row for row in parts.validation if row["text"].startswith("more")]
    write_csv("other.csv", TEXTS, LABELS)
    with pytest.raises(
        ValueError, match=r"^other\.csv \(50 rows\) is none of the training files .*: mine\.csv \(50\), m"
    ):
        read_held_out(TASK, recipe(train_files=["other.csv"]), "out")


def test_the_rows_held_out_of_files_of_one_name() -> None:
    """Two folders have a file of the same name and length."""
    files = ["a/train.csv", "b/train.csv"]
    for name in files:
        Path(name).parent.mkdir()
        write_csv(name, [f"{name} {row}" for row in range(50)], ["bad", "good"] * 25)
    parts = read_parts(TASK, recipe(train_files=files))
    assert parts.held_out is not None
    Path("out").mkdir()
    parts.held_out.save_pretrained("out")
    assert read_held_out(TASK, recipe(train_files=files), "out")[:] == parts.validation[:]
    own = [row for row in parts.validation if row["text"].startswith("b/")]
    assert read_held_out(TASK, recipe(train_files=files[1:]), "out")[:] == own
    Path("c").mkdir()
    write_csv("c/train.csv", [f"b/train.csv {row}" for row in range(50)], ["bad", "good"] * 25)
    assert read_held_out(TASK, recipe(train_files=[files[0], "c/train.csv"]), "out").columns["text"] == [
        row["text"] for row in parts.validation
    ]
    with pytest.raises(ValueError, match=r"^c/train\.csv \(50 rows\) may be any of 2 of the training files"):
        read_held_out(TASK, recipe(train_files=["c/train.csv"]), "out")
