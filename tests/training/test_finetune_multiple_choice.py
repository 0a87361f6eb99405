# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The script as its page shows it, with a model of transformers itself and rows of COPA's form."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMultipleChoice, AutoTokenizer

from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.multiple_choice import MultipleChoice
from hf_lecture_models.tasks.registry import measure_file
from tests.forked_python import ForkedPython, run_workers
from tests.tasks.small_chooser import ROWS, save_small_chooser

SCRIPT = Path(__file__).parents[2] / "training" / "finetune_multiple_choice.py"
COPA = [
    {"premise": "a film", "choice1": first, "choice2": second, "question": question, "label": label}
    for first, second, label in (("warm", "cold", 0), ("long", "funny", 1), ("dull", "fine", 1), ("warm", "dull", 0))
    for question in ("cause", "effect")
]


def write(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with what the printed command names."""
    monkeypatch.chdir(tmp_path)
    save_small_chooser(Path("FOLDER"))
    write("T.jsonl", COPA)
    write("V.jsonl", COPA[:3])
    write("P.jsonl", [{**row, "idx": 500 + number, "label": -1} for number, row in enumerate(COPA)])
    return tmp_path


def printed_command() -> list[str]:
    """The first command in the script's docstring, without `python`, and with the script's path."""
    text = SCRIPT.read_text(encoding="utf-8").replace("\\\\\n", " ")
    command = re.search(r"^    python training/finetune_multiple_choice.py (--task .*)$", text, flags=re.MULTILINE)
    assert command is not None
    return [str(SCRIPT), *command[1].split()]


def in_process(*arguments: Any) -> Any:
    return train_from_command(MultipleChoice(), [str(argument) for argument in arguments])


def test_the_printed_command_trains_a_stock_model_and_predicts(place: Path) -> None:
    assert {"--validation_files", "--predict_files", "P.jsonl"} <= set(printed_command())
    done = ForkedPython(*printed_command())
    out, err = done.communicate()
    assert done.returncode == 0, err
    pattern = r"1 steps, [\d,]+ examples/s, best validation accuracy [\d.]+: \S+/OUT, predictions in \S+/COPA.jsonl\n"
    assert re.fullmatch(pattern, out)
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert type(model).__name__ == "BertForMultipleChoice"
    expected = []
    for number, row in enumerate(COPA):
        asks = "What was the cause of this?" if row["question"] == "cause" else "What happened as a result?"
        texts = [f"{row['premise']} {asks}"] * 2, [row["choice1"], row["choice2"]]
        inputs = tokenizer(*texts, padding=True, return_tensors="pt")
        with torch.no_grad():
            best = int(model(**{name: tensor[None] for name, tensor in inputs.items()}).logits.argmax())
        expected.append({"idx": 500 + number, "label": best})
    found = Path("OUT/predictions/COPA.jsonl").read_text()
    assert [json.loads(line) for line in found.splitlines()] == expected
    record = json.loads(Path("OUT/training.json").read_text())
    right = sum(row["label"] == one["label"] for row, one in zip(COPA[:3], expected, strict=False))
    assert (record["best_metric"], record["items"]) == (pytest.approx(right / 3), len(COPA))


def test_the_card_says_what_was_measured(place: Path) -> None:
    write("rows.jsonl", ROWS)
    in_process("--from_pretrained", "FOLDER", "--train_files", "rows.jsonl", "--test_files", "rows.jsonl",
               "--output_dir", "OUT")  # fmt: skip
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    facts = facts_of("OUT", model, tokenizer)
    card = render_card(facts)
    assert card.data.pipeline_tag == "multiple-choice"
    assert [result.metric_type for result in card.data.eval_results] == ["accuracy"]
    assert "Measured on 10 examples; guessing is right for 45.0 %.\n" in card.text
    assert "accelerate launch training/finetune_multiple_choice.py recipe.yaml" in card.text
    (example,) = re.findall(r"```python\n(.*?)```", card.text, flags=re.DOTALL)
    exec(compile(example.replace('"."', '"OUT"'), "README.md", "exec"), {})
    assert measure_file("rows.jsonl", model, tokenizer, facts)["results"] == facts["results"]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [COPA, ROWS], ids=["of two choices", "of two and three"])
def test_two_processes_train_as_one(place: Path, rows: list[dict[str, Any]]) -> None:
    write("rows.jsonl", rows)
    task = ["--task", "copa"] if rows is COPA else []
    options = ["--from_pretrained", "FOLDER", "--train_files", "rows.jsonl", "--validation_files", "rows.jsonl"]
    options += ["--epochs", "3", "--batch_size", "4", "--accumulation_steps", "2", "--learning_rate", "0.1"]
    command = [SCRIPT, *task, *options, "--optimizer", "sgd", "--log_every", "1", "--output_dir"]
    out, err = run_workers(*command, "two", "--num_processes", "2", "--test_files", "rows.jsonl")
    assert out.count("test accuracy") == 1, "one process measures and speaks"
    assert "in 2 process(es)" in err
    in_process(*command[1:], "one")
    one, two = (json.loads(Path(name, "training.json").read_text()) for name in ("one", "two"))
    for key in ("loss", "validation_accuracy"):
        values = [[row[key] for row in record["history"] if key in row] for record in (one, two)]
        assert values[1] == pytest.approx(values[0], rel=1e-4)
    for name, tensor in load_file("one/model.safetensors").items():
        torch.testing.assert_close(load_file("two/model.safetensors")[name], tensor, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--task", "hellaswag"],
            "arc_easy, arc_challenge, not 'hellaswag'",
        ),
        (["--task", "swag"], "jsonl has no column 'sent1', only premise, choice1, choice2, question, label"),
        (["--train_files", "P.jsonl"], "P.jsonl, row 1: it has no label, as the rows of a test set; --predict_files"),
        (["--validation_files", "P.jsonl"], "P.jsonl, row 1: it has no label"),
        (["--columns.label", "gold"], "jsonl has no column 'gold'"),
        (["--columns.context", "premise"], "columns has 'context', but there are only premise, choice1, choice2"),
        (["--max_length", "99"], "max_length 99 is more than the model's longest input, 16 tokens"),
        (
            ["--max_length", "4"],
            "row 1, choice 0 is too long for max_length 4: its own tokens (1) and the special ones (3)",
        ),
        (["--from_pretrained", "", "--model.model_type", "gpt2"], "AutoModelForMultipleChoice has no model of"),
    ],
)
def test_a_mistake_costs_one_line(place: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
        run_task(MultipleChoice(), [*printed_command()[1:], *arguments], "")
    assert "\n" not in str(stopped.value.code)
    assert not Path("OUT").exists()


@pytest.mark.slow
def test_bf16_and_resume(place: Path) -> None:
    """A run that was cut goes on to the same weights, in half precision too."""
    options = ["--mixed_precision", "bf16", "--epochs", "6", "--save_every", "2", "--batch_size", "4"]
    command = [*printed_command()[1:-2], *options, "--output_dir"]
    in_process(*command, "straight")
    in_process(*command, "cut")
    newest = max(Path("cut/checkpoints").iterdir(), key=lambda path: int(path.name.rpartition("-")[2]))
    (newest / "complete.json").unlink()
    with pytest.warns(UserWarning, match=r"complete.json is missing"):
        assert in_process(*command, "cut", "--resume").training.step == 12
    first, second = (load_file(f"{name}/model.safetensors") for name in ("straight", "cut"))
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
