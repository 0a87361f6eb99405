# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The script as its page shows it, with a model of transformers itself."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, pipeline

from hf_lecture_models import (
    FeedForwardConfig,
    FeedForwardForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.data.benchmarks import benchmarks_of
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.registry import measure_file
from hf_lecture_models.tasks.text_classification import TextClassification, TextClassificationRecipe
from tests.forked_python import ForkedPython, run_workers
from tests.interrupted import check_stopped_and_resumed
from tests.tasks.small_classifier import ROWS, save_small_bert, stand_in_hub, write_tsv

SCRIPT = Path(__file__).parents[2] / "training" / "finetune_glue.py"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with what the printed command names."""
    monkeypatch.chdir(tmp_path)
    save_small_bert(Path("FOLDER"))
    write_tsv(Path("T.tsv"))
    write_tsv(Path("V.tsv"), ROWS[:6])
    return tmp_path


def printed_command() -> list[str]:
    """The first command in the script's docstring, without `python`, and with the script's path."""
    text = SCRIPT.read_text(encoding="utf-8").replace("\\\\\n", " ")
    command = re.search(r"^    python training/finetune_glue.py (--task .*)$", text, flags=re.MULTILINE)
    assert command is not None
    return [str(SCRIPT), *command[1].split()]


def in_process(*arguments: Any) -> Any:
    return train_from_command(TextClassification(), [str(argument) for argument in arguments])[0]


def test_the_printed_command_trains_a_stock_classifier(place: Path) -> None:
    """Of a folder without a head; that its weights are new is told in one line."""
    AutoModel.from_pretrained("FOLDER").save_pretrained("FOLDER")
    arguments = printed_command()
    assert arguments[-1] == "OUT"
    done = ForkedPython(*arguments)
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(r"1 steps, [\d,]+ examples/s, best validation accuracy [\d.]+: \S+/OUT\n", out)
    assert "%|" not in err
    classes, told, training, *_ = err.splitlines()
    assert classes == "2 classes in T.tsv: negative (6), positive (6)"
    assert told == "weights that FOLDER does not hold start anew: classifier.bias, classifier.weight"
    assert training.startswith("training ")
    model = AutoModelForSequenceClassification.from_pretrained("OUT")
    assert type(model).__name__ == "BertForSequenceClassification"
    assert model.config.id2label == {0: "negative", 1: "positive"}
    tokenizer = AutoTokenizer.from_pretrained("OUT")
    with torch.no_grad():
        right = [
            int(model(**tokenizer(row["text"], return_tensors="pt")).logits.argmax()) == row["label"]
            for row in ROWS[:6]
        ]
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["best_metric"] == pytest.approx(sum(right) / 6)
    assert (record["items"], record["recipe"]["accumulation_steps"]) == (len(ROWS), 4)
    assert pipeline("text-classification", model="OUT")("a fine film")[0]["label"] in ("negative", "positive")


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(place: Path) -> None:
    script, *arguments = printed_command()[:-2]
    check_stopped_and_resumed(script, arguments, in_process)


def test_a_run_is_not_resumed_on_other_data(place: Path) -> None:
    new = ["--from_pretrained", "", "--model.hidden_sizes", "[4]"]
    for name, options, changed in (
        ("tuned", [], "the training data"),
        ("new", new, "the tokenizer and the training data"),
    ):
        command = [*printed_command()[1:-2], *options, "--output_dir", name]
        in_process(*command)
        for path, rows, message in (
            ("V.tsv", [*ROWS[:5], {**ROWS[5], "label": 1 - ROWS[5]["label"]}], "the validation data"),
            ("T.tsv", [*ROWS, {"text": "a long and warmer tale", "label": 1}], changed),
        ):
            before = Path(path).read_text()
            write_tsv(Path(path), rows)
            with pytest.raises(ValueError, match=f"cannot resume: {message} changed since the run was started"):
                in_process(*command, "--resume")
            Path(path).write_text(before)
        assert in_process(*command, "--resume").step == 1
    tokenizer = Path("FOLDER/tokenizer.json")
    ids_swapped = re.sub(
        '"(dull|cold)"', lambda word: {"dull": '"cold"', "cold": '"dull"'}[word[1]], tokenizer.read_text()
    )
    tokenizer.write_text(ids_swapped)
    with pytest.raises(ValueError, match="cannot resume: the tokenizer changed"):
        in_process(*printed_command()[1:-2], "--output_dir", "tuned", "--resume")


@pytest.mark.slow
def test_two_processes_train_as_one(place: Path) -> None:
    options = ["--epochs", "3", "--batch_size", "8", "--accumulation_steps", "2", "--learning_rate", "0.1"]
    command = [*printed_command()[:-2], *options, "--log_every", "1", "--output_dir"]
    out, err = run_workers(*command, "two", "--num_processes", "2", "--test_files", "V.tsv")
    assert out.count("test accuracy") == 1, "one process measures and speaks"
    assert "in 2 process(es)" in err
    in_process(*command[1:], "one")
    # Twelve rows in steps of eight: in every second step some micro-batches are empty.
    one, two = (json.loads(Path(name, "training.json").read_text()) for name in ("one", "two"))
    for key in ("loss", "validation_accuracy"):
        values = [[row[key] for row in record["history"] if key in row] for record in (one, two)]
        assert values[1] == pytest.approx(values[0], rel=1e-4)
    for name, tensor in load_file("one/model.safetensors").items():
        torch.testing.assert_close(load_file("two/model.safetensors")[name], tensor, rtol=1e-4, atol=1e-6)


def test_three_way_sst_has_its_columns_and_names(place: Path) -> None:
    rows = [{"sentence": row["text"], "label": 3, "label3": index % 3 - 1} for index, row in enumerate(ROWS)]
    Path("T.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    arguments = ["--task", "sst3", "--from_pretrained", "FOLDER", "--train_files", "T.jsonl"]
    shutil.copy("T.jsonl", "test.jsonl")
    assert in_process(*arguments, "--test_files", "test.jsonl", "--output_dir", "OUT").step == 1
    assert json.loads(Path("OUT/config.json").read_text())["id2label"] == {
        "0": "negative",
        "1": "neutral",
        "2": "positive",
    }
    facts = json.loads(Path("OUT/facts.json").read_text())
    assert facts["data"] == {"name": "test.jsonl"}
    assert facts["results"]["examples"] == len(ROWS)
    assert not facts["recipe"]["model"], "the model is that of from_pretrained"
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert "tokenizer:" not in render_card(facts).text
    assert measure_file("T.jsonl", model, tokenizer, facts)["data"] == {"name": "T.jsonl"}


def test_a_classifier_starts_from_a_language_model(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dai & Le 2015: its word vectors and recurrence go on, and which weights are new is said."""
    tokenizer = WordTokenizer.train([row["text"] for row in ROWS], progress=False)
    special = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **special)
    language_model = RecurrentForCausalLM(config)
    language_model.save_pretrained("LM")
    tokenizer.save_pretrained("LM")
    options = ["--task", "sst2", "--train_files", "T.tsv", "--learning_rate", "0", "--output_dir", "OUT"]
    in_process("--from_pretrained", "LM", *options)
    assert "weights that LM does not hold start anew: classifier.bias, classifier.weight\n" in capsys.readouterr().err
    model = AutoModelForSequenceClassification.from_pretrained("OUT")
    assert (type(model).__name__, model.config.num_labels) == ("RecurrentForSequenceClassification", 2)
    for name, tensor in language_model.model.state_dict().items():
        assert torch.equal(model.model.state_dict()[name], tensor), name
    assert pipeline("text-classification", model="OUT")("a fine film")[0]["label"] in ("negative", "positive")


def test_a_task_of_the_hub_ends_with_predictions_for_its_test_rows(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in_hub(monkeypatch, ("sentence1", "sentence2"), ("entailment", "not_entailment"))
    arguments = ["--task", "rte", "--from_pretrained", "FOLDER", "--predict_split", "test", "--output_dir", "OUT"]
    run_task(TextClassification(), arguments, "")
    assert capsys.readouterr().out.endswith("/OUT/predictions/RTE.tsv\n")
    header, *lines = Path("OUT/predictions/RTE.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    assert [line.split("\t")[0] for line in lines] == ["11", "7"]
    assert {line.split("\t")[1] for line in lines} <= {"entailment", "not_entailment"}


def test_names_of_a_task_can_be_said_otherwise() -> None:
    recipe = TextClassificationRecipe(task="sst2", columns={"text": "review"}, label_names={"0": "bad"})
    assert (recipe.column_aliases("text"), recipe.column_aliases("label")) == (["review"], ("label",))
    assert recipe.label_names == {"0": "bad", "1": "positive"}
    assert TextClassificationRecipe(**recipe.to_dict()) == recipe, "as a resumed run reads it"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--task", "sst9"],
            "task must be one of cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, sst3, sst5, not 'sst9'",
        ),
        (["--from_pretraned", "FOLDER"], "no field from_pretraned; did you mean from_pretrained?"),
        (["--from_pretrained", "./nowhere/bert"], "there is no folder ./nowhere/bert"),
        (["--from_pretrained", "."], "the folder . has no config.json"),
        (["--model.model_type", "bert"], "from_pretrained brings its own model; leave model out"),
        (["--train_files", "nowhere.tsv"], "there is no file nowhere.tsv"),
        (["--task", "sst3"], "T.tsv has no column 'label3', only sentence, label; --columns.label NAME"),
        (["--columns.text", "text"], "T.tsv has no column 'text', only sentence, label; --columns.text NAME"),
        (["--columns.txt", "text"], "columns has 'txt', but there are only text, label"),
        (
            ["--validation_files", "other.tsv"],
            "other.tsv, row 2: label '7' is none of sst2's, 0 (negative), 1 (positive); --label_names.7 NAME says",
        ),
        (["--train_files", "other.tsv"], "other.tsv, row 2: label '7' is none of sst2's"),
        (["--train_files", "latin.tsv"], "latin.tsv, line 2: not UTF-8 ('utf-8' codec can't decode"),
        (["--train_files", "header.tsv"], "header.tsv has no row below the names of its columns"),
        (["--from_pretrained", "words"], "the folder words has no tokenizer: save it there by tokenizer.save_pretr"),
        (
            ["--from_pretrained", "bengio"],
            "bengio holds FeedForwardForCausalLM, which AutoModelForSequenceClassification can",
        ),
        (["--from_pretrained", "cut"], "cut: its weights file is damaged or cut off"),
        (["--from_pretrained", "FOLDR"], "there is no folder FOLDR, and HF_HUB_OFFLINE keeps from asking the Hub"),
        (["--from_pretrained", "", "--model.hidden_size", "3"], "no field model.hidden_size in BagOfWordsConfig; did"),
        (["--from_pretrained", "", "--model.nonsense", "3"], "no field model.nonsense in BagOfWordsConfig"),
        (["--train_files", "one.tsv"], "one.tsv: all labels are 'positive'; there is nothing to learn"),
        (["--max_length", "99"], "max_length 99 is more than the model's longest input, 16 tokens"),
        (["--problem_type", "multi"], "problem_type must be one of single_label_classification, regression"),
        (
            ["--train_rows", "[{text: a}]", "--train_files", "[]"],
            "recipe's train_rows has no column 'label', only text",
        ),
    ],
)
def test_a_mistake_costs_one_line_and_no_traceback(
    place: Path, arguments: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_tsv(Path("other.tsv"), [ROWS[0], {"text": "funny", "label": 7}])
    write_tsv(Path("one.tsv"), [ROWS[1], ROWS[1]])
    write_tsv(Path("header.tsv"), [])
    Path("latin.tsv").write_text("sentence\tlabel\nfilm à voir\t1\n", encoding="latin-1")
    for name in ("words", "cut"):
        shutil.copytree("FOLDER", name)
    for path in Path("words").glob("tokenizer*"):
        path.unlink()
    FeedForwardForCausalLM(FeedForwardConfig(vocab_size=9, hidden_size=4)).save_pretrained("bengio")
    for path in Path("FOLDER").glob("tokenizer*"):
        shutil.copy(path, "bengio")
    weights_file = Path("cut/model.safetensors")
    weights_file.write_bytes(weights_file.read_bytes()[:-8])
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        run_task(TextClassification(), [*printed_command()[1:], *arguments], "")
    assert str(stopped.value.code).startswith("error: ")
    assert "\n" not in str(stopped.value.code)
    assert len(str(stopped.value.code)) < 300
    assert not Path("OUT").exists()
    assert caplog.records == []


def test_help_names_the_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_task(TextClassification(), ["--help"], "What it does.")
    shown = capsys.readouterr().out
    assert "What it does." in shown
    assert f"({', '.join(benchmarks_of('text_classification'))})" in " ".join(shown.split())
    assert "[RECIPE.yaml] [--name value ...] [--resume]" in shown
