# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The script as its page shows it, with a model of transformers itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.registry import measure_file
from hf_lecture_models.tasks.token_classification import TokenClassification
from tests.forked_python import ForkedPython, run_workers
from tests.interrupted import check_stopped_and_resumed
from tests.tasks.small_tagger import ROWS, TAGS, save_small_bert, write_conll

SCRIPT = Path(__file__).parents[2] / "training" / "finetune_tagging.py"
WORDS = sum(len(row["tokens"]) for row in ROWS)


def write_conllu(path: Path, rows: list[dict[str, Any]] = ROWS) -> None:
    """A file of the Universal Dependencies, with the tags as parts of speech."""
    sentences = []
    for row in rows:
        pairs = enumerate(zip(row["tokens"], row["tags"], strict=True), start=1)
        words = ["\t".join((str(number), word, "_", tag, "_", *"_____")) for number, (word, tag) in pairs]
        sentences.append("\n".join(["# a sentence", *words, ""]))
    path.write_text("\n".join(sentences), encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with what the printed commands name."""
    monkeypatch.chdir(tmp_path)
    save_small_bert(Path("FOLDER"))
    for name, rows in (("T", ROWS), ("V", ROWS[:6])):
        write_conllu(Path(f"{name}.conllu"), rows)
        write_conll(Path(f"{name}.conll"), rows)
    return tmp_path


def printed_commands() -> list[list[str]]:
    """The commands of the script's docstring that train without a recipe, with the script's path."""
    text = SCRIPT.read_text(encoding="utf-8").replace("\\\\\n", " ")
    commands = re.findall(r"^    python training/finetune_tagging.py (--.*)$", text, flags=re.MULTILINE)
    return [[str(SCRIPT), *command.split()] for command in commands]


def in_process(*arguments: Any) -> Any:
    return train_from_command(TokenClassification(), [str(argument) for argument in arguments])[0]


def test_a_task_by_its_name_has_all_its_tags(place: Path) -> None:
    rows = [
        {**row, "tags": [tag.replace("PER", "person").replace("LOC", "location") for tag in row["tags"]]}
        for row in ROWS
    ]
    write_conll(Path("W.conll"), rows)
    in_process("--task", "wnut17", "--from_pretrained", "FOLDER", "--train_files", "W.conll", "--output_dir", "OUT")
    names = json.loads(Path("OUT/config.json").read_text())["id2label"]
    assert (len(names), names["0"], names["9"]) == (13, "O", "B-person")
    assert json.loads(Path("OUT/task.json").read_text())["scheme"] == "entities"


def test_the_printed_command_trains_a_stock_tagger(place: Path) -> None:
    arguments = printed_commands()[0]
    assert arguments[-1] == "OUT"
    done = ForkedPython(*arguments)
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(r"1 steps, [\d,]+ tags/s, best validation accuracy [\d.]+: \S+/OUT\n", out)
    classes, scheme, *_ = err.splitlines()
    assert classes == "5 classes in T.conllu: B-LOC (9), B-PER (9), I-LOC (4), I-PER (3), O (17)"
    assert scheme == "all tags are parts of entities; --scheme entities measures entities in place of words"
    assert "%|" not in err
    model = AutoModelForTokenClassification.from_pretrained("OUT")
    assert type(model).__name__ == "BertForTokenClassification"
    assert list(model.config.id2label.values()) == TAGS
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["items"] == WORDS
    tokenizer = AutoTokenizer.from_pretrained("OUT")
    right = 0
    for row in ROWS[:6]:
        encoded = tokenizer(row["tokens"], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            tags = model(**encoded).logits[0].argmax(-1)
        places = encoded.word_ids()
        right += sum(TAGS[tags[places.index(word)]] == tag for word, tag in enumerate(row["tags"]))
    assert record["best_metric"] == pytest.approx(right / sum(len(row["tokens"]) for row in ROWS[:6]))
    assert isinstance(pipeline("token-classification", model="OUT")("Ada lives in Berlin"), list)


def test_the_command_without_a_model_trains_an_lstm(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*printed_commands()[1][1:], "--model.hidden_size", "8", "--test_files", "V.conll", "--epochs", "2"]
    run_task(TokenClassification(), arguments, "")
    assert re.search(r"^2 steps, .* tags/s, test f1 [\d.]+: \S+/OUT\n$", capsys.readouterr().out)
    facts = json.loads(Path("OUT/facts.json").read_text())
    assert facts["class"] == "RecurrentForTokenClassification"
    assert facts["data"] == {"name": "V.conll"}
    assert {"f1", "precision", "recall", "accuracy", "words", "sentences"} <= facts["results"].keys()
    model, tokenizer = AutoModelForTokenClassification.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    measured = measure_file("T.conll", model, tokenizer, facts)
    assert (measured["data"], measured["results"]["words"]) == ({"name": "T.conll"}, WORDS)


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(place: Path) -> None:
    script, *arguments = printed_commands()[0][:-2]
    check_stopped_and_resumed(script, arguments, in_process)


def test_a_run_is_not_resumed_on_other_data(place: Path) -> None:
    command = [*printed_commands()[0][1:-2], "--output_dir", "tuned"]
    in_process(*command)
    for path, rows, message in (
        ("V.conllu", ROWS[1:7], "the validation data"),
        ("T.conllu", ROWS[::-1], "the training data"),
    ):
        before = Path(path).read_text()
        write_conllu(Path(path), rows)
        with pytest.raises(ValueError, match=f"cannot resume: {message} changed since the run was started"):
            in_process(*command, "--resume")
        Path(path).write_text(before)
    assert in_process(*command, "--resume").step == 1


@pytest.mark.slow
def test_two_processes_train_as_one(place: Path) -> None:
    options = [
        "--epochs",
        "3",
        "--batch_size",
        "8",
        "--accumulation_steps",
        "2",
        "--learning_rate",
        "0.1",
        "--optimizer",
        "sgd",
    ]
    options += ["--scheme", "entities", "--max_length", "9"]
    command = [*printed_commands()[0][:-2], *options, "--log_every", "1", "--output_dir"]
    out, err = run_workers(*command, "two", "--num_processes", "2", "--test_files", "V.conllu")
    assert out.count("test f1") == 1, "one process measures and speaks"
    assert err.count("words are not learned: max_length cuts them") == 1
    assert "in 2 process(es)" in err
    in_process(*command[1:], "one")
    # Ten rows in steps of eight: in every second step some micro-batches are empty.
    one, two = (json.loads(Path(name, "training.json").read_text()) for name in ("one", "two"))
    for key in ("loss", "validation_f1"):
        values = [[row[key] for row in record["history"] if key in row] for record in (one, two)]
        assert values[1] == pytest.approx(values[0], rel=1e-4)
    for name, tensor in load_file("one/model.safetensors").items():
        torch.testing.assert_close(load_file("two/model.safetensors")[name], tensor, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns.tags", "xpos"], "T.conllu: all tags are '_'; there is nothing to learn"),
        (["--columns", "{}"], "T.conllu has no column 'tags', only tokens, id, form, lemma, upos, xpos"),
        (["--columns.tag", "upos"], "columns has 'tag', but there are only tokens, tags"),
        (["--train_files", "bad.conllu"], "bad.conllu, line 3: a word of CoNLL-U has 10 columns"),
        (["--validation_files", "other.conllu"], "other.conllu, line 2, 'Paris': tag 'B-CITY' is none of the model's"),
        (["--train_files", "bad.jsonl"], "bad.jsonl, row 2 has 2 words and 1 tags"),
        (["--train_files", "T.conll", "--columns.tags", "3"], "T.conll has no column '3', only tokens, tags, 1, 2;"),
        (["--scheme", "iob"], "scheme must be one of plain, entities, not 'iob'"),
        (["--max_length", "99"], "max_length 99 is more than the model's longest input, 16 tokens"),
        (
            ["--train_files", "long.jsonl"],
            "long.jsonl, row 1 has 22 tokens, more than the model's longest input; --max",
        ),
        (
            ["--from_pretrained", "", "--model.model_type", "lecture_bag_of_words"],
            "AutoModelForTokenClassification has no model of model.model_type 'lecture_bag_of_words'",
        ),
    ],
)
def test_a_mistake_costs_one_line_and_no_traceback(
    place: Path, arguments: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    Path("bad.conllu").write_text("# a comment\n\n1\tthe\tDET\n")
    write_conllu(Path("other.conllu"), [{"tokens": ["Paris"], "tags": ["B-CITY"]}])
    rows = [{"tokens": ["a"], "upos": ["O"]}, {"tokens": ["a", "b"], "upos": ["O"]}]
    Path("bad.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    long = {"tokens": ["London"] * 5 + ["met"] * 5, "upos": ["B-LOC"] * 5 + ["O"] * 5}
    Path("long.jsonl").write_text(f"{json.dumps(long)}\n")
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        run_task(TokenClassification(), [*printed_commands()[0][1:], *arguments], "")
    assert str(stopped.value.code).startswith("error: ")
    assert "\n" not in str(stopped.value.code)
    assert len(str(stopped.value.code)) < 300
    assert not Path("OUT").exists()
    assert caplog.records == []
