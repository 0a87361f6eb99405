# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The checks that every task must pass, as `tests/model_tests.py` has those of models.

A task joins by a test class in test_tasks.py that declares a tiny recipe and its data:

    class TestMaskedLM(TaskTests):
        task = MaskedLM()
        fields = {"model": {...}, "sequence_length": 16}
        data = ["the keeper reads", "a ship passes", ...]

`TaskTests` holds what is true of any task. `HeadTaskTests` holds what is true of tasks whose models are a backbone with
a head: they learn what a plain loop over single rows learns. tests/training/test_scripts.py stops runs by signals
and trains in two processes.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor

from hf_lecture_cli import app
from hf_lecture_models.hub.card import write_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.afterwards import next_line
from hf_lecture_models.tasks.core.lines import PredictionOptions
from hf_lecture_models.tasks.core.main import run_task, train_and_test
from hf_lecture_models.tasks.core.parts import read_parts
from hf_lecture_models.tasks.core.task import Task, recipe_of
from hf_lecture_models.tasks.prediction import Predictor
from hf_lecture_models.tasks.registry import measure_file
from hf_lecture_models.trainer.batches import RowShard
from tests.hub.card_examples import examples

Mistake = tuple[dict[str, Any], str]


class TaskTests:
    """The checks of any task.

    Attributes:
        task: the task.
        fields: the fields of a tiny recipe, without data.
        data: the training data, texts or rows; the first ones are the validation data.
        mistakes: fields of recipes that are refused, with the messages.
        unreadable: data to predict that the model cannot read, and the message; None: the task predicts nothing.
    """

    task: ClassVar[Task[Any]]
    fields: ClassVar[dict[str, Any]]
    data: ClassVar[list[Any]]
    mistakes: ClassVar[list[Mistake]] = []
    unreadable: ClassVar[tuple[Any, str] | None] = None

    def write(self, name: str, data: Sequence[Any]) -> str:
        """Write texts or rows into a file of the current folder, and return its name."""
        is_text = isinstance(data[0], str)
        path = Path(f"{name}.{'txt' if is_text else 'jsonl'}")
        path.write_text("".join(f"{one if is_text else json.dumps(one)}\n" for one in data), encoding="utf-8")
        return str(path)

    def recipe(self, **fields: Any) -> Any:
        """The tiny recipe, with its data in the current folder."""
        small: dict[str, Any] = {"epochs": 2, "batch_size": 4, "learning_rate": 0.01, "save_every": 2}
        small |= {"train_files": [self.write("train", self.data)], "output_dir": "run", "data": {"name": "A Few Lines"}}
        small["validation_files"] = [self.write("held_out", self.data[:6])]
        return self.task.recipe_class(**{**small, **self.fields, **fields})

    @pytest.fixture(scope="class")
    def trained(self, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
        """The folder of data and a run, and its outcome."""
        folder = tmp_path_factory.mktemp(self.task.name)
        with contextlib.chdir(folder):
            return folder, train_and_test(self.task, self.recipe())

    @pytest.fixture
    def outcome(self, trained: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        """The outcome of a run, a copy of which is in the current folder."""
        shutil.copytree(trained[0], tmp_path / "copy")
        monkeypatch.chdir(tmp_path / "copy")
        return trained[1]

    def test_the_saved_folder_is_measured_and_predicts_as_the_run_did(self, outcome: Any) -> None:
        model, processor = load_model("run")
        facts, saved = facts_of("run", model, processor), json.loads(Path("run/task.json").read_text())
        recipe = recipe_of(self.task, facts)
        first = self.task.measures(recipe)[0]
        assert (saved["name"], saved["script"]) == (self.task.name, self.task.script)
        assert self.task.is_for(model)
        assert outcome.training.metric_name == first.key
        measured = measure_file(recipe.validation_files[0], model, processor, facts)
        assert measured["task"]["name"] == self.task.name
        assert measured["results"][first.key] == pytest.approx(outcome.training.best_metric, rel=1e-5)
        assert recipe.to_save() == saved["settings"]
        if self.task.line_form is not None:
            predictor = Predictor(model, processor, PredictionOptions(), "run")
            assert type(predictor.settings) is self.task.settings_class
            assert predictor.settings.to_save() == saved["settings"]
        assert json.loads(Path("run/training.json").read_text())[f"{self.task.items}_per_second"] > 0

    def test_rows_are_held_out_and_measured_where_there_are_no_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        recipe = self.recipe(validation_files=[], validation_share=0.5)
        data = self.task.read(recipe, "train")
        train, validation, held_out = self.task.hold_out(data, recipe)
        numbers = held_out.validation
        assert held_out.rows == len(data) == len(train) + len(validation)
        assert 0 < len(validation) == len(numbers) < len(data)
        written = [repr(data[row]) for row in range(len(data))]
        assert [repr(validation[row]) for row in range(len(validation))] == [written[number] for number in numbers]
        others = [number for number in range(len(data)) if number not in numbers]
        assert [repr(train[row]) for row in range(len(train))] == [written[number] for number in others]
        assert f"{len(validation)} of {len(data)} " in capsys.readouterr().err
        small = self.recipe(validation_files=[], limit=len(data) - 1)
        assert len(read_parts(self.task, small).train) <= len(data) - 1

    def test_its_card_names_the_measures_and_its_code_runs(
        self, outcome: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        facts = facts_of("run", *load_model("run"))
        card = write_card(tmp_path, facts)
        text = card.read_text(encoding="utf-8")
        assert f"| {facts['task']['measures'][0]['label']} |" in text
        assert f"hf-lecture train {self.task.name} recipe.yaml" in text
        assert not re.search(r"\n{4,}|[{}]{2}|\{%|None| \n", text)
        monkeypatch.chdir("run")
        exec(compile(examples(card)[0], "README.md", "exec"), {})

    def test_its_errors_are_those_that_its_measure_counts(self, outcome: Any) -> None:
        model, processor = load_model("run")
        recipe = recipe_of(self.task, facts_of("run", model, processor))
        data = self.task.read(recipe, "validation")
        errors = self.task.errors(model, processor, data, recipe)
        if errors is None:
            assert type(self.task).errors is Task.errors
            return
        shown = [*errors.rows, {"gold": "", "predicted": "", "where": ""}][0]
        assert {"gold", "predicted"} <= shown.keys()
        if errors.by:
            assert len(errors.rows) == errors.count == len(data)
            return
        measured = self.task.evaluate(model, processor, data, recipe)
        right = measured["accuracy" if "accuracy" in measured else "exact_match"]
        assert 1 - len(errors.rows) / errors.count == pytest.approx(right)

    def test_the_next_command_runs_as_printed(
        self, outcome: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("run").rename("my run")
        words, given = shlex.split(next_line(self.task, "my run")), ""
        if not self.task.next_command:
            assert words == []
            return
        assert words[:2] == ["next:", "hf-lecture"]
        rows = self.data[:2]
        texts = [_text_of(row) for row in rows]
        if words[-2:-1] == ["<"]:
            given, words = "".join(f"{text}\n" for text in texts), words[:-2]
        elif words[-1].endswith(".jsonl"):
            Path(words[-1]).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        elif words[-1] == "photo.png":
            Image.new("L", (8, 8)).save("photo.png")
        elif words[-1] == "WORD":
            words[-1] = texts[0].split()[0]
        Path("typed.txt").write_text(given, encoding="utf-8")
        with Path("typed.txt").open(encoding="utf-8") as typed, pytest.raises(SystemExit) as stop:
            monkeypatch.setattr("sys.stdin", typed)
            app(words[2:], prog_name="hf-lecture")
        captured = capsys.readouterr()
        assert not stop.value.code, captured.err
        assert captured.out

    def test_a_run_resumes_to_the_same_bits_and_only_with_its_data(
        self, trained: tuple[Path, Any], outcome: Any
    ) -> None:
        newest = max(Path("run/checkpoints").iterdir())
        (newest / "complete.json").unlink()
        with pytest.warns(UserWarning, match=r"complete.json is missing"):
            train_and_test(self.task, self.recipe(), resume=True)
        for folder in (Path("run"), newest):
            straight, cut = (load_file(root / folder / "model.safetensors") for root in (trained[0], Path()))
            assert all(torch.equal(tensor, cut[name]) for name, tensor in straight.items()), folder
        before = contents(Path("run"))
        swapped = [*self.data[:-2], self.data[-1], self.data[-2]]
        for part, data in (("train", swapped), ("validation", self.data[:5])):
            other = self.recipe()
            self.write({"train": "train", "validation": "held_out"}[part], data)
            name = part.replace("train", "training")
            with pytest.raises(ValueError, match=f"cannot resume: the {name} data changed since the run was started"):
                train_and_test(self.task, other, resume=True)
        assert contents(Path("run")) == before

    def options(self, **fields: Any) -> list[str]:
        """The command line of the tiny recipe, whose training data are in the current folder."""
        given = {"train_files": self.recipe().train_files, "output_dir": "run"} | self.fields | fields
        return [part for name, value in given.items() for part in (f"--{name}", json.dumps(value))]

    def test_a_mistake_costs_one_line_and_no_traceback(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.chdir(tmp_path)
        of_any: list[Mistake] = [
            ({"train_files": ["nowhere.jsonl"]}, "there is no file nowhere.jsonl"),
            ({"epoch": 3}, "no field epoch; did you mean epochs?"),
            ({"model": {"model_type": "lecture_berd"}}, "has no model of model.model_type 'lecture_berd'"),
        ]
        for fields, message in [*of_any, *self.mistakes]:
            with pytest.raises(SystemExit, match=re.escape(message)) as stopped:
                run_task(self.task, self.options(**fields), "")
            line = str(stopped.value.code)
            assert line.startswith("error: ")
            assert "\n" not in line
            assert not Path("run").exists(), message
        assert caplog.records == []

    def test_data_that_cannot_be_predicted_are_refused_before_training(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        row, message = self.unreadable or (
            self.data[0],
            f"{self.task.script} writes no predictions; leave out predict_",
        )
        with pytest.raises(ValueError, match=message):
            train_and_test(self.task, self.recipe(predict_files=[self.write("unlabelled", [row])]))
        assert not Path("run").exists()


def _text_of(row: Any) -> str:
    """The text of a row that a model reads, or ""."""
    if isinstance(row, dict):
        return " ".join(row["tokens"]) if "tokens" in row else str(row.get("text") or row.get("source") or "")
    return row if isinstance(row, str) else ""


def contents(folder: Path) -> dict[Path, bytes]:
    """The content of each file in a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def descend(
    model: Any, units: Sequence[Any], loss_of: Callable[[Any, Any], tuple[Tensor, int]], recipe: Any
) -> list[float]:
    """Plain gradient descent, unit by unit, and the loss of each step.

    Args:
        units: rows, or windows of them.
        loss_of: returns the summed loss of a unit that is read alone, and the number of its items. The loss of a step
            is the mean over its items.
    """
    losses = []
    for epoch in range(int(recipe.epochs)):
        order = np.random.default_rng((recipe.seed, epoch)).permutation(len(units))
        for start in range(0, len(units), recipe.batch_size):
            parts = [loss_of(model, units[index]) for index in order[start : start + recipe.batch_size]]
            mean = sum(loss for loss, _ in parts) / sum(count for _, count in parts)
            model.zero_grad()
            mean.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        parameter -= recipe.learning_rate * parameter.grad
            losses.append(mean.item())
    return losses


def train(task: Any, recipe: Any, output_dir: Path, **options: Any) -> tuple[Any, Any]:
    """Train by a recipe, and return the result with the model."""
    data, held_out = task.read(recipe, "train"), task.read(recipe, "validation")
    processor = task.processor(recipe, data)
    model = task.model(recipe, processor, data)
    result = task.train(model, processor, data, held_out, recipe, output_dir=output_dir, quiet=True, **options)
    return result, model


class HeadTaskTests:
    """The checks of a task whose models are a backbone with a head, on saved models of several kinds.

    Attributes:
        savers: functions that save a model without dropout, and its tokenizer, in a folder.
        rows: the rows of the task, of which the last step of four has fewer.
        items: the number of items in all rows.
        labels: the names of labels in a batch.
    """

    task: ClassVar[Task[Any]]
    savers: ClassVar[dict[str, Callable[[Path], Path]]]
    rows: ClassVar[list[dict[str, Any]]]
    items: ClassVar[int]
    labels: ClassVar[tuple[str, ...]] = ("labels",)

    def recipe(self, **fields: Any) -> Any:
        """A recipe of plain gradient descent on the rows."""
        small = {"train_rows": self.rows, "epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None}
        return self.task.recipe_class(**{**small, "learning_rate": 0.1, **fields})

    def units(self) -> Sequence[Any]:
        """The rows, or the windows of them, that are read alone."""
        return self.rows

    def loss_of(self, model: Any, unit: Any) -> tuple[Tensor, int]:
        """The summed loss of a unit that is read alone, by the definition, and the number of its items."""
        raise NotImplementedError

    def ids_of(self, encoded: Any) -> list[list[int]]:
        """The ids of encoded rows."""
        return [inputs["input_ids"] for inputs in encoded]

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Each check with a folder is made on each kind of saved model."""
        if "folder" in metafunc.fixturenames:
            metafunc.parametrize("folder", self.savers, indirect=True, scope="class")

    @pytest.fixture(scope="class")
    def folder(self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return self.savers[request.param](tmp_path_factory.mktemp("model") / request.param)

    @pytest.mark.parametrize("accumulation_steps", [1, pytest.param(2, marks=pytest.mark.slow), 4])
    @pytest.mark.parametrize("freeze_backbone", [False, True])
    def test_training_is_that_of_a_loop_of_our_own(
        self, tmp_path: Path, folder: Path, accumulation_steps: int, freeze_backbone: bool
    ) -> None:
        """The last step has fewer rows than the others, and its last micro-batches may have none."""
        chosen = self.recipe(
            from_pretrained=str(folder),
            accumulation_steps=accumulation_steps,
            freeze_backbone=freeze_backbone,
            log_every=1,
        )
        result, model = train(self.task, chosen, tmp_path)
        expected = self.task.auto_class.from_pretrained(folder)
        expected.base_model.requires_grad_(not freeze_backbone)
        losses = descend(expected, self.units(), self.loss_of, chosen)
        assert [row["loss"] for row in result.history] == pytest.approx(losses, rel=1e-4)
        found = dict(model.named_parameters())
        for name, parameter in expected.named_parameters():
            torch.testing.assert_close(found[name], parameter, rtol=1e-3, atol=1e-5)
        assert result.items == 2 * self.items

    def test_each_row_comes_once_an_epoch(self, folder: Path) -> None:
        model, processor = load_model(str(folder))
        chosen = self.recipe(batch_size=8, accumulation_steps=2)
        data, seen, items = self.task.read(chosen, "train"), [], 0
        for process in range(2):
            batches: Any = self.task.batches(model, processor, data, chosen)
            batches.set_shard(RowShard(8, 2, process, 2))
            for batch in (batch for _ in range(batches.steps_per_epoch) for batch in batches.next_step()):
                for ids, mask in zip(batch.inputs["input_ids"], batch.inputs["attention_mask"], strict=True):
                    seen += [ids[mask.bool()].tolist()] if batch.num_items else []
                items += batch.num_items
        assert sorted(seen) == sorted(self.ids_of(self.task.encode(model, processor, data, chosen).inputs))
        assert items == self.items

    def test_empty_places_are_left_out(self, folder: Path) -> None:
        model, processor = load_model(str(folder))
        chosen = self.recipe()
        batches: Any = self.task.batches(model, processor, self.task.read(chosen, "train"), chosen)
        alone, among = (batches.collate(np.array(rows)) for rows in ([1], [1, -1, -1]))
        assert alone.num_items == among.num_items > 0
        assert all(torch.equal(tensor, among.inputs[name]) for name, tensor in alone.inputs.items())
        empty = batches.collate(np.array([-1, -1]))
        assert empty.num_items == 0
        assert all(empty.inputs[name].unique().tolist() == [-100] for name in self.labels)
        assert empty.inputs["attention_mask"].sum() > 0, "attention over nothing would be NaN"
