# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The training scripts: files and a short run of each; `test_scripts.py` holds all to the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.tasks.core.main import run_task, train_from_command
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.registry import TASKS
from tests.forked_python import ForkedPython
from tests.tasks import small_answerer, small_chooser, small_classifier, small_tagger, small_translator
from tests.tasks.captioning.test_task import write_captions

TRAINING = Path(__file__).parents[2] / "training"
RECIPES = TRAINING / "recipes"


@dataclass(frozen=True)
class Script:
    """A training script.

    Attributes:
        write: writes what `arguments` name into the current folder.
        arguments: a run without its output folder; later options win.
        two: further options of runs in two processes, which one process makes with those of `one`.
        measure: of the validation data, the same in both.
    """

    task: Task[Any]
    write: Callable[[], None]
    arguments: list[str]
    two: list[str] = field(default_factory=list)
    one: list[str] = field(default_factory=list)
    measure: str = "loss"

    @property
    def path(self) -> Path:
        return TRAINING / self.task.script

    def train(self, *arguments: Any) -> Any:
        """The result of the training, in this process and with errors as they are."""
        return train_from_command(self.task, [str(argument) for argument in arguments])[0]

    def finish(self, *arguments: Any) -> tuple[str, str]:
        """The standard output and error of a process of its own, which must succeed."""
        process = ForkedPython(self.path, *arguments)
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert "%|" not in err, "no bar where there is no terminal"
        return out, err

    def run(self, *arguments: Any) -> None:
        """The script in this process, with errors in one line."""
        run_task(self.task, [str(argument) for argument in arguments], "What it does.")


def printed_commands(task: Task[Any]) -> list[list[str]]:
    """The commands in the script's docstring that train without a recipe, without `python` and the script's path."""
    text = (TRAINING / task.script).read_text(encoding="utf-8").replace("\\\\\n", " ")
    return [command.split() for command in re.findall(rf"^    hf-lecture train {task.name} (--.*)$", text, re.M)]


def write_lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_texts() -> None:
    Path("empty.jsonl").touch()
    Path("latin.csv").write_text("text\nfilm à voir\n", encoding="latin-1")


def write_recall() -> None:
    rows = [
        {"text": f"k{number % 4} v{number % 3} . k{number % 4} v{number % 3}", "answers": [4]} for number in range(24)
    ]
    write_lines("T.jsonl", rows)
    write_lines("V.jsonl", rows[:5])


def write_photos() -> None:
    words = ("dark", "dim", "grey", "pale", "light", "white")
    write_captions(Path("PHOTOS"), [(f"a {words[number % 6]} image", 40 * (number % 6)) for number in range(22)])


def write_points() -> None:
    rows = [[[number % 3, step, int(step == 3)] for step in range(2 + number % 3)] for number in range(24)]
    for name, lines in {"T": rows, "V": rows[:5]}.items():
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def write_classifier() -> None:
    rows, write_tsv = small_classifier.ROWS, small_classifier.write_tsv
    small_classifier.save_small_bert(Path("FOLDER"))
    write_tsv(Path("T.tsv"))
    write_tsv(Path("V.tsv"), rows[:6])


COPA = [
    {"premise": "a film", "choice1": first, "choice2": second, "question": question, "label": label}
    for first, second, label in (("warm", "cold", 0), ("long", "funny", 1), ("dull", "fine", 1), ("warm", "dull", 0))
    for question in ("cause", "effect")
]


def write_chooser() -> None:
    small_chooser.save_small_chooser(Path("FOLDER"))
    write_lines("T.jsonl", COPA)
    write_lines("V.jsonl", COPA[:3])
    write_lines("P.jsonl", [{**row, "idx": 500 + number, "label": -1} for number, row in enumerate(COPA)])
    write_lines("rows.jsonl", small_chooser.ROWS)


def write_answerer() -> None:
    small_answerer.save_small_bert(Path("FOLDER"))
    small_answerer.write_squad(Path("T.json"))
    small_answerer.write_squad(Path("V.json"), small_answerer.ROWS[:6])
    small_answerer.write_squad(Path("test.json"), with_answers=False)


def write_conllu(path: Path, rows: list[dict[str, Any]]) -> None:
    """A file of the Universal Dependencies, with the tags as parts of speech."""
    sentences = []
    for row in rows:
        pairs = enumerate(zip(row["tokens"], row["tags"], strict=True), start=1)
        words = ["\t".join((str(number), word, "_", tag, "_", *"_____")) for number, (word, tag) in pairs]
        sentences.append("\n".join(["# a sentence", *words, ""]))
    path.write_text("\n".join(sentences), encoding="utf-8")


def write_tagger() -> None:
    rows = small_tagger.ROWS
    small_tagger.save_small_bert(Path("FOLDER"))
    for name, some in (("T", rows), ("V", rows[:6])):
        write_conllu(Path(f"{name}.conllu"), some)
        small_tagger.write_conll(Path(f"{name}.conll"), some)


def write_translator() -> None:
    for name, count in (("T", 8), ("V", 3)):
        for language, lines in (("fr", small_translator.SOURCES), ("en", small_translator.TARGETS)):
            Path(f"{name}.{language}.txt").write_text("".join(f"{line}\n" for line in lines[:count]), encoding="utf-8")
    recipe = {"model": small_translator.MODELS["ours"], "batch_tokens": 40, "log_every": 1, "validation_beams": 2}
    Path("recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")


def small_steps(accumulation: int) -> list[str]:
    """Plain descent: Adam would hide the gradient's size."""
    options = f"--epochs 3 --batch_size 8 --accumulation_steps {accumulation} --learning_rate 0.1 --optimizer sgd"
    return options.split()


NO_DROPOUT = ["--model.hidden_dropout_prob", "0", "--model.attention_probs_dropout_prob", "0"]
SCRIPTS: dict[str, Script] = {
    "causal_lm": Script(
        TASKS["causal_lm"],
        write_texts,
        [str(RECIPES / "recurrent_tiny.yaml")],
        ["--model.dropout", "0", "--epochs", "6", "--evaluate_every", "35"],
        ["--accumulation_steps", "1"],
        "validation_perplexity",
    ),
    "masked_lm": Script(
        TASKS["masked_lm"],
        lambda: None,
        [str(RECIPES / "bert_tiny.yaml")],
        ["--epochs", "4", "--evaluate_every", "4", *NO_DROPOUT],
        ["--accumulation_steps", "1"],
        "validation_masked_perplexity",
    ),
    "points": Script(
        TASKS["sequence_prediction"],
        write_points,
        [
            str(RECIPES / "graves_tiny.yaml"),
            *("--train_files", "T.jsonl", "--validation_files", "V.jsonl"),
            *("--epochs", "6", "--batch_size", "8", "--evaluate_every", "4", "--save_every", "2"),
        ],
        ["--accumulation_steps", "2", "--clip_norm", "null"],
        [],
        "validation_nats_per_point",
    ),
    "recall": Script(
        TASKS["synthetic_recall"],
        write_recall,
        [
            str(RECIPES / "transformer_xl_recall_tiny.yaml"),
            *("--train_files", "T.jsonl", "--validation_files", "V.jsonl"),
            *("--epochs", "6", "--batch_size", "8", "--evaluate_every", "4", "--save_every", "2"),
        ],
        ["--accumulation_steps", "2", "--clip_norm", "null"],
        [],
        "validation_accuracy",
    ),
    "captioning": Script(
        TASKS["image_captioning"],
        write_photos,
        [
            *("--train_files", "PHOTOS", "--validation_share", "0.2", "--epochs", "6", "--batch_size", "8"),
            *(
                "--model",
                "{model_type: lecture_image_captioning, image_size: 4, patch_size: 2, num_channels: 1, "
                "hidden_size: 8, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 8, "
                "max_position_embeddings: 6, hidden_dropout_prob: 0}",
            ),
            *("--evaluate_every", "4", "--save_every", "2"),
        ],
        [],
        ["--accumulation_steps", "2"],
        "validation_exact_match",
    ),
    "span_corruption": Script(
        TASKS["span_corruption"],
        lambda: None,
        [str(RECIPES / "transformer_span_tiny.yaml")],
        ["--epochs", "4", "--evaluate_every", "4", "--model.dropout", "0"],
        ["--accumulation_steps", "1"],
        "validation_span_perplexity",
    ),
    "glue": Script(
        TASKS["text_classification"],
        write_classifier,
        printed_commands(TASKS["text_classification"])[0][:-2],
        [*small_steps(2), "--test_files", "V.tsv"],
        [],
        "validation_accuracy",
    ),
    "multiple_choice": Script(
        TASKS["multiple_choice"],
        write_chooser,
        printed_commands(TASKS["multiple_choice"])[0][:-2],
        [*small_steps(2), "--batch_size", "4"],
        [],
        "validation_accuracy",
    ),
    "squad": Script(
        TASKS["question_answering"],
        write_answerer,
        printed_commands(TASKS["question_answering"])[0][:-2],
        # Each micro-batch is one window, so that the stock head, which counts padding, reads the same ones in both.
        [*small_steps(4), "--max_length", "24", "--doc_stride", "6"],
        ["--accumulation_steps", "8"],
        "loss",
    ),
    "tagging": Script(
        TASKS["token_classification"],
        write_tagger,
        printed_commands(TASKS["token_classification"])[0][:-2],
        [*small_steps(2), "--scheme", "entities", "--max_length", "9"],
        [],
        "validation_f1",
    ),
    "translation": Script(
        TASKS["translation"],
        write_translator,
        ["recipe.yaml", "--train_files", "[T.fr.txt, T.en.txt]", "--validation_files", "[V.fr.txt, V.en.txt]"],
        ["--epochs", "3", "--learning_rate", "0.1", "--optimizer", "sgd", "--accumulation_steps", "2"],
        ["--accumulation_steps", "1"],
        "loss",
    ),
}


def of(name: str) -> Any:
    """Mark a test whose fixture `script` is the script of this name."""
    return pytest.mark.parametrize("script", [name], indirect=True)
