# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What every training script does around the training: test results, predictions, how it ended."""

import json
import math
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.tasks.choice.task import MultipleChoice
from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.main import parse_command, run_task, train_from_command
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.language_models.causal import CausalLM
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering
from hf_lecture_models.tasks.tagging.task import TokenClassification
from tests.forked_python import run_workers
from tests.interrupted import start_interrupted
from tests.tasks.small_classifier import ROWS, save_small_bert, write_tsv

SCRIPT = Path(__file__).parents[3] / "training" / "finetune_glue.py"
RECIPE = """
from_pretrained: FOLDER
train_files: T.tsv
label_names: {0: bad, 1: good}
columns: {text: sentence}
epochs: 40
batch_size: 4
learning_rate: 0.02
output_dir: OUT
"""


class Labels(TextClassification):
    """Classifies, and writes the class of each row."""

    def read(self, recipe: Any, part: str) -> Any:
        return read_rows(recipe, part, ("text",), labels=("label",))

    def write_predictions(self, model: Any, processor: Any, data: Any, recipe: Any, folder: Path) -> Path:
        logits = self.predict(model, processor, self.encode(model, processor, data, recipe))
        path = folder / "labels.json"
        path.write_text(json.dumps([model.config.id2label[index] for index in logits.argmax(1).tolist()]))
        return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a recipe that learns its rows by heart, and the same rows with hidden labels."""
    monkeypatch.chdir(tmp_path)
    save_small_bert(Path("FOLDER"))
    write_tsv(Path("T.tsv"))
    write_tsv(Path("hidden.tsv"), [{**row, "label": -1} for row in ROWS])
    Path("recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_predictions_for_hidden_labels_are_those_of_the_kept_weights(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task(Labels(), ["recipe.yaml", "--predict_files", "hidden.tsv"], "")
    path = place / "OUT" / "predictions" / "labels.json"
    closing, *others = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"120 steps, .*: {place}/OUT, predictions in {path}", closing)
    assert others == ["learning curve: hf-lecture see learning OUT", "next: hf-lecture predict OUT < texts.txt"]
    right = ["good" if row["label"] else "bad" for row in ROWS]
    assert json.loads(path.read_text()) == right
    # A finished run writes those for other rows, too: what is predicted does not change the weights.
    write_tsv(Path("hidden.tsv"), [{**row, "label": -1} for row in ROWS[5::-1]])
    outcome = train_from_command(Labels(), ["recipe.yaml", "--resume", "--predict_files", "hidden.tsv"])
    assert (outcome.predictions, outcome.test_results) == (path, None)
    assert json.loads(path.read_text()) == right[5::-1]
    # The recipe that was saved names rows to predict, and a resumed run keeps what it says.
    assert train_from_command(Labels(), ["recipe.yaml", "--resume"]).predictions == path
    assert train_from_command(Labels(), ["recipe.yaml", "--resume", "--predict_files", "[]"]).predictions is None


# Several seeds


def weights(folder: str) -> dict[str, torch.Tensor]:
    return load_file(Path(folder, "model.safetensors"))


def test_seeds_are_the_runs_of_each_and_their_mean_and_standard_error(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["recipe.yaml", "--epochs", "2", "--validation_files", "T.tsv", "--test_files", "T.tsv"]
    run_task(Labels(), [*few, "--seeds", "3,0,5"], "")
    *lines, last = capsys.readouterr().out.splitlines()
    assert [
        re.fullmatch(rf"(seed \d: )6 steps.*, test accuracy [\d.]+: {place}/OUT/seed-\d", line)[1] for line in lines
    ] == [
        "seed 3: ",
        "seed 0: ",
        "seed 5: ",
    ]
    summary = json.loads(Path("OUT/seeds.json").read_text())
    values = [json.loads(Path(f"OUT/seed-{seed}/facts.json").read_text())["results"]["accuracy"] for seed in (3, 0, 5)]
    assert [(run["seed"], run["value"], run["results"]["accuracy"]) for run in summary["runs"]] == [
        (seed, value, value) for seed, value in zip((3, 0, 5), values, strict=True)
    ]
    mean = sum(values) / 3
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / 2 / 3)
    assert (summary["measure"], summary["part"]) == ("accuracy", "test")
    assert (summary["mean"], summary["standard_error"]) == pytest.approx((mean, error))
    assert last == f"3 seeds, mean test accuracy {mean:.4g} ± {error:.2g} (standard error): {place}/OUT/seeds.json"
    train_from_command(Labels(), [*few, "--seed", "5", "--output_dir", "alone"])
    alone, among = weights("alone"), weights("OUT/seed-5")
    assert all(torch.equal(tensor, among[name]) for name, tensor in alone.items())
    assert not torch.equal(alone["classifier.weight"], weights("OUT/seed-0")["classifier.weight"])


def test_without_test_data_the_best_validation_counts_and_without_any_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["recipe.yaml", "--epochs", "2"]
    run_task(Labels(), [*few, "--seeds", "7", "--validation_files", "T.tsv"], "")
    best = json.loads(Path("OUT/seed-7/training.json").read_text())["best_metric"]
    summary = json.loads(Path("OUT/seeds.json").read_text())
    assert (summary["mean"], summary["standard_error"], summary["part"]) == (best, None, "validation")
    assert f"1 seeds, mean best validation accuracy {best:.4g}: " in capsys.readouterr().out
    run_task(Labels(), [*few, "--seeds", "[0, 1]", "--output_dir", "plain"], "")
    assert capsys.readouterr().out.splitlines()[-1] == f"2 seeds, nothing measured: {place}/plain/seeds.json"
    assert json.loads(Path("plain/seeds.json").read_text()) == {
        "runs": [{"seed": seed, "folder": f"seed-{seed}"} for seed in (0, 1)]
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "0,0"], "seeds must be different numbers of at least 0"),
        (["--seeds", "[0, -1]"], "seeds must be different numbers of at least 0"),
        (["--seeds", "0,a"], "each of seeds must be int, not 'a'"),
        (["--seeds", "0,1", "--seed", "2"], "seed and seeds are both given"),
        (["--seeds", "0,1"], "which are several runs: train_seeds makes them"),
    ],
)
def test_seeds_that_cannot_be_are_refused(place: Path, options: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train_from_command(Labels(), ["recipe.yaml", *options])


@pytest.mark.slow
def test_a_series_of_seeds_is_resumed_at_the_unfinished_one(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [SCRIPT, "recipe.yaml", "--epochs", "2", "--validation_files", "T.tsv", "--seeds", "0,1,2"]
    stopped = start_interrupted("step", 9, "SIGTERM", *command)
    out, err = stopped.communicate()
    assert stopped.returncode == 128 + signal.SIGTERM, err
    assert re.fullmatch(r"seed 0: 6 steps.*\nseed 1: stopped by SIGTERM at step 3; .*--resume continues\n", out)
    assert not Path("OUT/seeds.json").exists()
    assert not Path("OUT/seed-2").exists()
    finished = weights("OUT/seed-0")
    with pytest.raises(SystemExit, match="seed-0 holds a run; --resume continues it"):
        run_task(Labels(), command[1:], "")
    run_task(TextClassification(), [*command[1:], "--resume"], "")
    said = capsys.readouterr()
    assert re.search(r"seed 1: 6 steps.*\nseed 2: 6 steps.*\n3 seeds, mean best validation accuracy", said.out)
    assert "steps 6 to 6" in said.err, "the finished run makes no step"
    assert "steps 3 to 6" in said.err
    run_task(TextClassification(), [*command[1:], "--output_dir", "straight"], "")
    for seed in range(3):
        straight = weights(f"straight/seed-{seed}")
        assert all(torch.equal(tensor, straight[name]) for name, tensor in weights(f"OUT/seed-{seed}").items())
    assert all(torch.equal(tensor, finished[name]) for name, tensor in weights("OUT/seed-0").items())
    summaries = [json.loads(Path(name, "seeds.json").read_text()) for name in ("OUT", "straight")]
    assert summaries[0] == summaries[1]
    with pytest.raises(SystemExit, match="cannot resume: batch_size is 2"):
        run_task(TextClassification(), [*command[1:], "--resume", "--batch_size", "2"], "")


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True])
def test_two_processes_write_one_table_of_seeds(place: Path, sharded: bool) -> None:
    options = ["--epochs", "2", "--test_files", "T.tsv", "--seeds", "0,1", "--num_processes", "2"]
    environment = {"ACCELERATE_USE_FSDP": "true"} if sharded else {}
    out, err = run_workers(str(SCRIPT), "recipe.yaml", *options, **environment)
    assert err.count("in 2 process(es), sharded" if sharded else "in 2 process(es)") == 2
    assert re.fullmatch(r"seed 0: 6 steps.*\nseed 1: 6 steps.*\n2 seeds, mean test accuracy .*\n", out)
    assert len(json.loads(Path("OUT/seeds.json").read_text())["runs"]) == 2


# The options of transformers' examples


def recipe_of(task: Any, *options: str) -> Any:
    return parse_command(task, [*options, "--output_dir", "OUT"], "")[0]


def test_options_of_transformers_examples_are_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    line = (
        "--model_name_or_path FOLDER --task_name sst2 --train_file a.tsv --validation_file b.tsv --test_file c.tsv "
        "--do_train --do_eval --do_predict True --max_seq_length 64 --num_train_epochs 3 --learning_rate 2e-5 "
        "--per_device_train_batch_size 4 --gradient_accumulation_steps 2"
    )
    recipe = recipe_of(TextClassification(), *line.split())
    own = (
        "--from_pretrained FOLDER --task sst2 --train_files a.tsv --validation_files b.tsv --predict_files c.tsv "
        "--max_length 64 --epochs 3 --learning_rate 2e-5 --batch_size 8 --accumulation_steps 2"
    )
    assert recipe == recipe_of(TextClassification(), *own.split())
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert recipe_of(TextClassification(), "--train_file=a.tsv", "--per_device_train_batch_size=4").batch_size == 12
    hub = ["--dataset_name", "some/set", "--dataset_config_name", "one", "--do_train", "--do_predict"]
    recipe = recipe_of(TextClassification(), *hub)
    assert (recipe.dataset_config, recipe.predict_split) == ("one", "test")
    assert recipe_of(TextClassification(), *hub, "--predict_split", "hidden").predict_split == "hidden"
    named = recipe_of(TextClassification(), "--task_name", "mnli", "--do_train", "--do_eval", "--do_predict")
    assert named.predict_split == "test_matched+test_mismatched+ax/test"
    assert recipe_of(TextClassification(), "--task_name", "mnli", "--do_train").predict_split == ""


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        (
            CausalLM(),
            ["--task_name", "sst2"],
            "--task_name stands for task, which the recipes of train_causal_lm.py do",
        ),
        (TextClassification(), ["--train_file", "a", "--train_files", "b"], "--train_file.* are the same; keep one"),
        (TextClassification(), ["--num_train_epochs", "x"], "epochs must be float"),
        (
            TextClassification(),
            ["--per_device_train_batch_size", "x"],
            "per_device_train_batch_size must be int, not 'x'",
        ),
        (TextClassification(), ["--per_device_train_batch_size", "4", "--batch_size", "4"], "keep one of them"),
        (TextClassification(), ["--do_eval", "--train_file", "a"], "--do_eval without --do_train would not train"),
        (
            TextClassification(),
            ["--do_train", "--do_predict", "--train_file", "a"],
            "names no data set on the Hub; --predict_files",
        ),
        (TextClassification(), ["--train_fil", "a"], "no field train_fil; did you mean train_files"),
    ],
)
def test_options_that_say_nothing_here_are_refused(task: Any, options: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipe_of(task, *options)


def test_help_lists_the_options_of_transformers_that_the_script_has(capsys: pytest.CaptureFixture[str]) -> None:
    for task, has in ((TextClassification(), True), (CausalLM(), False)):
        with pytest.raises(SystemExit):
            run_task(task, ["--help"], "")
        said = capsys.readouterr().out
        assert "--train_file (train_files)" in said
        assert ("--task_name (task)" in said) is has


@pytest.mark.parametrize("task", [TextClassification(), TokenClassification(), QuestionAnswering(), MultipleChoice()])
def test_fields_of_a_checkpoint_may_be_changed(task: Task[Any]) -> None:
    """The default of a recipe is a whole model, nothing of which changes a checkpoint; fields that are given do."""
    default = task.recipe_class().model
    assert default["model_type"]
    assert task.recipe_class(from_pretrained="x").model == {}
    assert task.recipe_class(from_pretrained="x", model=default).model == {}
    given = {"hidden_size": default.get("hidden_size", 8), "dropout": 0.2}
    for model in (given, {"model_type": default["model_type"], **given}):
        assert task.recipe_class(from_pretrained="x", model=model).model == given
    with pytest.raises(ValueError, match="from_pretrained brings its own model"):
        task.recipe_class(from_pretrained="x", model={"model_type": "lecture_gpt1"})
    with pytest.raises(ValueError, match="model must be dict"):
        task.recipe_class(model="lecture_bert")
