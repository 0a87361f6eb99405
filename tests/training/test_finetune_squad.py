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
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, pipeline

from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.question_answering import QuestionAnswering
from hf_lecture_models.tasks.registry import measure_file
from tests.forked_python import ForkedPython, run_workers
from tests.interrupted import check_stopped_and_resumed
from tests.tasks.small_answerer import ANSWERABLE, ROWS, save_small_bert, write_squad

SCRIPT = Path(__file__).parents[2] / "training" / "finetune_squad.py"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with what the printed commands name."""
    monkeypatch.chdir(tmp_path)
    save_small_bert(Path("FOLDER"))
    write_squad(Path("T.json"))
    write_squad(Path("V.json"), ROWS[:6])
    write_squad(Path("test.json"), with_answers=False)
    return tmp_path


def printed_command() -> list[str]:
    """The first command of the script's docstring, with the script's path."""
    text = SCRIPT.read_text(encoding="utf-8").replace("\\\\\n", " ")
    command = re.search(r"^    python training/finetune_squad.py (--.*)$", text, flags=re.MULTILINE)
    assert command
    return [str(SCRIPT), *command[1].split()]


def in_process(*arguments: Any) -> Any:
    return train_from_command(QuestionAnswering(), [str(argument) for argument in arguments])[0]


def test_data_alone_train_a_small_model_and_say_its_size(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_task(QuestionAnswering(), ["--train_files", "T.json", "--max_steps", "1", "--output_dir", "OUT"], "")
    told = (
        r"^the recipe names no model: a new LectureBertForQuestionAnswering of ([\d,]+) parameters is trained; --model"
    )
    assert (found := re.match(told, capsys.readouterr().err))
    assert int(found[1].replace(",", "")) < 1e6


def test_the_printed_command_trains_a_stock_answerer(place: Path) -> None:
    arguments = printed_command()
    assert arguments[1::2] == ["--from_pretrained", "--train_files", "--validation_files", "--output_dir"]
    done = ForkedPython(*arguments, "--predict_files", "test.json")
    out, err = done.communicate()
    assert done.returncode == 0, err
    assert re.fullmatch(
        r"1 steps, [\d,]+ windows/s, best validation f1 [\d.]+: \S+/OUT, predictions in \S+/OUT/predictions\n", out
    )
    assert "%|" not in err
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert type(model).__name__ == "BertForQuestionAnswering"
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["items"] == len(ROWS), "of 64 tokens, each text is one window"
    predictions = json.loads(Path("OUT/predictions/predictions.json").read_text())
    assert set(predictions) == {row["id"] for row in ROWS}
    odds = json.loads(Path("OUT/predictions/null_odds.json").read_text())
    answer: Any = pipeline("extractive-question-answering", model=model, tokenizer=tokenizer)  # type: ignore[call-overload]
    threshold = json.loads(Path("OUT/task.json").read_text())["settings"]["no_answer_threshold"]
    for row in ROWS:
        found = answer({"question": row["question"], "context": row["context"]})
        assert predictions[row["id"]] == found["answer"], "the pipeline and the task find the same"
        assert (odds[row["id"]] > threshold) == (found["answer"] == "")
    facts = {"recipe": {}}
    measured = measure_file("V.json", model, tokenizer, facts)["results"]
    assert measured["f1"] == pytest.approx(record["best_metric"])


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(place: Path) -> None:
    script, *arguments = printed_command()[:-2]
    check_stopped_and_resumed(script, arguments, in_process)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_two_processes_train_as_one(place: Path, precision: str) -> None:
    options = "--epochs 3 --batch_size 8 --accumulation_steps 4 --learning_rate 0.1 --optimizer sgd --max_length 24"
    options += f" --doc_stride 6 --log_every 1 --mixed_precision '{precision}'"
    command = [*printed_command()[:-2], *options.split(), "--output_dir"]
    out, err = run_workers(*command, "two", "--num_processes", "2", "--test_files", "V.json")
    assert out.count("test f1") == 1, "one process measures and speaks"
    assert "in 2 process(es)" in err
    # Each micro-batch is one window, so that the stock head, which counts padding, reads the same windows in both.
    in_process(*[word if word != "4" else "8" for word in command[1:]], "one")
    tolerance = 1e-4 if precision == "no" else 2e-2
    one, two = (json.loads(Path(name, "training.json").read_text()) for name in ("one", "two"))
    losses = [[row["loss"] for row in record["history"] if "loss" in row] for record in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)
    for name, tensor in load_file("one/model.safetensors").items():
        torch.testing.assert_close(
            load_file("two/model.safetensors")[name], tensor, rtol=tolerance, atol=1e-6 + tolerance / 100
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--train_files", "bad.json"],
            "bad.json, row 1 (question q0): its answer 'Ada Lovelace' is not at character 1",
        ),
        (["--train_files", "test.json"], "test.json has no column 'answers', only id, context, question;"),
        (["--columns.text", "context"], "columns has 'text', but there are only context, question, answers, id"),
        (
            ["--version_2_with_negative", "false"],
            ".json, row 3 (question q2) has no answer, but version_2_with_negative",
        ),
        (["--max_length", "4"], "max_length 4 leaves no room for a question and a text"),
        (["--doc_stride", "-1"], "doc_stride must be at least 0, not -1"),
        (["--task", "squad3"], "task must be one of squad, squad_v2, not 'squad3'"),
        (["--predict_files", "empty.json"], "empty.json is empty"),
        (
            ["--from_pretrained", "", "--model.model_type", "lecture_gpt1"],
            "AutoModelForQuestionAnswering has no model of model.model_type 'lecture_gpt1'",
        ),
    ],
)
def test_a_mistake_costs_one_line_and_no_traceback(
    place: Path, arguments: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    moved = {"text": ANSWERABLE[0]["answers"]["text"][:1], "answer_start": [1]}
    write_squad(Path("bad.json"), [{**ANSWERABLE[0], "answers": moved}])
    Path("empty.json").touch()
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        run_task(QuestionAnswering(), [*printed_command()[1:], *arguments], "")
    assert str(stopped.value.code).startswith("error: ")
    assert "\n" not in str(stopped.value.code)
    assert not Path("OUT").exists()
    assert caplog.records == []
