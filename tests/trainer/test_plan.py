# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Runs without a given length: what ends them, what they say of it, and that they go on."""

import json
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.trainer import loop, plan
from hf_lecture_models.trainer.batches import Batches
from hf_lecture_models.trainer.loop import Evaluation, train
from hf_lecture_models.trainer.plan import make_plan
from hf_lecture_models.trainer.recipe import TrainingRecipe
from tests.trainer.test_loop import POINTS, Line, collate, distance, same, scripted


class StreamedBatches(Batches):
    """Batches whose number nobody knows."""

    steps_per_epoch = 0

    def __init__(self, *args):
        self.known = ShuffledBatches(*args)

    def set_shard(self, shard):
        self.known.set_shard(shard)

    def next_step(self):
        return self.known.next_step()


@pytest.fixture
def minute_per_step(monkeypatch):
    """A clock on which each step takes a minute, and all else no time."""
    now = SimpleNamespace(seconds=1000.0)
    step = loop._Run._step

    def slow_step(run):
        now.seconds += 60
        step(run)

    monkeypatch.setattr(loop._Run, "_step", slow_step)
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: now.seconds, process_time=lambda: 0.0))
    return now


def run(folder, *, values=None, evaluation=None, kind=ShuffledBatches, resume=False, quiet=True, **fields):
    """A run of 6 steps an epoch; `values` are what its evaluations find."""
    recipe = TrainingRecipe(**{"batch_size": 4, "learning_rate": 0.02, "log_every": 1} | fields)
    model, batches = Line(), kind(len(POINTS), collate, recipe.batch_size, recipe.seed)
    measured = evaluation if values is None else Evaluation(scripted(values), "score")
    return train(model, batches, recipe, folder, evaluation=measured, resume=resume, quiet=quiet), model


def measured_steps(result):
    return [row["step"] for row in result.history if any(name.startswith("validation_") for name in row)]


BY_DISTANCE = Evaluation(distance, "distance")


def test_without_a_length_it_trains_until_five_evaluations_brought_nothing_better(tmp_path):
    values = [0.5, 0.4, 0.3, 0.35, 0.4, 0.4, 0.3, 0.4, 0.1]
    result, _ = run(tmp_path, values=values)
    assert measured_steps(result) == [12, 24, 36, 48, 60, 72, 84, 96], "ends of epochs, at least ten steps apart"
    assert (result.stopped, result.best_metric) == ("early stopping", 0.3)
    assert result.ending == "no better for 5 evaluations"
    assert json.loads((tmp_path / "training.json").read_text())["finished"]


def test_tasks_with_short_epochs_wait_for_a_number_of_steps(monkeypatch):
    monkeypatch.setattr(TrainingRecipe, "patience_steps", 100)
    recipes = [TrainingRecipe(), TrainingRecipe(early_stopping_patience=3), TrainingRecipe(epochs=9)]
    assert [make_plan(recipe, 6, "loss").patience for recipe in recipes] == [9, 3, 0], "9 evaluations of 12 steps each"
    assert make_plan(TrainingRecipe(), 50, "loss").patience == 5, "5 evaluations are more steps"


def test_it_stops_at_its_longest_length_and_says_whether_it_still_improved(tmp_path, monkeypatch):
    lengths = [make_plan(TrainingRecipe(), steps, "loss").total_steps for steps in (50, 6)]
    assert lengths == [100 * 50, 500 * 6], "100 epochs, or the whole epochs of 3,000 steps"
    monkeypatch.setattr(plan, "MOST_EPOCHS", 4)
    monkeypatch.setattr(plan, "MOST_STEPS_OF_FEW_ROWS", 9)
    result, _ = run(tmp_path, values=[3, 2])
    assert (result.step, result.stopped, measured_steps(result)) == (24, "", [12, 24])
    assert result.ending == "all 4 epochs, still improving: --epochs names more"
    equal, _ = run(tmp_path / "equal", values=[3, 3])
    assert equal.ending == "all 4 epochs", "the best value again is no better one"


def test_the_minutes_end_it_measured_saved_and_finished(tmp_path, minute_per_step):
    result, model = run(tmp_path / "minutes", evaluation=BY_DISTANCE)
    assert (result.step, result.stopped, result.seconds) == (5, "minutes", 300.0)
    assert measured_steps(result) == [5]
    assert result.ending.startswith("the 5 minutes are over within the first epoch, still improving; --resume --min")
    facts = json.loads((tmp_path / "minutes" / "training.json").read_text())
    assert facts["finished"]
    assert (facts["stopped"], facts["checkpoint"]) == ("minutes", 5)
    again, as_long = run(tmp_path / "steps", evaluation=BY_DISTANCE, max_steps=5)
    assert same(model, as_long), "its number of steps repeats it"
    assert again.best_metric == result.best_metric
    assert again.ending == ""


@pytest.mark.parametrize("evaluation", [BY_DISTANCE, None])
def test_more_minutes_go_on_to_the_bits_of_a_run_that_had_them(tmp_path, minute_per_step, evaluation):
    fields = {"evaluation": evaluation, "schedule": "plateau", "evaluate_every": 2}
    first, _ = run(tmp_path / "a", minutes=5, **fields)
    same_time, _ = run(tmp_path / "a", minutes=5, resume=True, **fields)
    assert (first.step, same_time.step, same_time.stopped) == (5, 5, "minutes")
    longer, model = run(tmp_path / "a", minutes=9, resume=True, **fields)
    whole, uninterrupted = run(tmp_path / "b", minutes=9, **fields)
    assert longer.step == whole.step == 9
    assert same(model, uninterrupted)
    assert longer.seconds == 540.0
    if evaluation is None:
        saved = load_file(tmp_path / "a" / "model.safetensors")["inner.bias"]
        assert torch.equal(saved, uninterrupted.inner.bias), "the last weights are kept"


def test_a_run_that_ran_out_of_patience_goes_on_with_more(tmp_path):
    values = [0.5, 0.6, 0.7, 0.4, 0.6, 0.7, 0.8]
    first, _ = run(tmp_path, values=values[:3], early_stopping_patience=2)
    assert (first.stopped, len(measured_steps(first))) == ("early stopping", 3)
    same_patience, _ = run(tmp_path, values=[], early_stopping_patience=2, resume=True)
    assert same_patience.step == first.step
    more, _ = run(tmp_path, values=values[3:], early_stopping_patience=3, resume=True)
    assert (more.stopped, more.best_metric, len(measured_steps(more))) == ("early stopping", 0.4, 7)


def test_minutes_also_limit_a_run_of_a_given_length(tmp_path, minute_per_step):
    result, _ = run(tmp_path / "short", minutes=2, epochs=1)
    assert (result.step, result.stopped) == (2, "minutes")
    whole, _ = run(tmp_path / "long", minutes=6, epochs=1)
    assert (whole.step, whole.stopped) == (6, ""), "its last step ends it, whatever the time"
    unlimited, _ = run(tmp_path / "unlimited", epochs=2)
    assert unlimited.step == 12, "a run of a given length has all the time that it needs"


def test_without_validation_data_it_makes_ten_epochs(tmp_path, capsys):
    result, _ = run(tmp_path, quiet=False)
    assert result.step == 60
    said = " ".join(capsys.readouterr().err.split())
    assert "no validation data tell when training stops improving: trains for 10 epochs (--epochs)" in said


def test_streamed_data_without_epochs_are_read_until_the_time_is_over(tmp_path, minute_per_step, capsys):
    result, _ = run(tmp_path, kind=StreamedBatches, evaluation=BY_DISTANCE, quiet=False)
    assert (result.step, result.stopped, measured_steps(result)) == (5, "minutes", [5])
    assert result.ending == "the 5 minutes are over, still improving; --resume --minutes 10 goes on"
    assert "streamed data have no epochs: trains at most 5 minutes (--minutes)" in capsys.readouterr().err
    with pytest.raises(ValueError, match="streamed data have no length, so epochs has no meaning; set max_steps"):
        run(tmp_path / "epochs", kind=StreamedBatches, epochs=2)


def test_the_plan_is_said_at_the_start_but_not_by_a_quiet_run(tmp_path, capsys):
    run(tmp_path / "loud", values=[1.0] * 6, quiet=False)
    lines = capsys.readouterr().err.splitlines()
    (said,) = [line for line in lines if line.startswith("trains until")]
    assert said == (
        "trains until validation score has not improved for 5 evaluations (one every 2 epochs), at most 5 minutes "
        "(--minutes) or 500 epochs"
    )
    run(tmp_path / "quiet", values=[1.0] * 6)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("fields", "steps_per_epoch", "metric", "sentence"),
    [
        ({}, 47, "accuracy", "trains until validation accuracy has not improved for 5 evaluations (one every epoch)"),
        ({"epochs": 3}, 47, "accuracy", ""),
        ({"max_steps": 30}, 0, "loss", ""),
        ({"epochs": 3, "minutes": 2}, 47, "accuracy", "trains for 3 epochs, at most 2 minutes (--minutes)"),
        ({"max_steps": 30, "minutes": 1}, 47, "", "trains for 30 steps, at most 1 minute (--minutes)"),
        ({"early_stopping_patience": 0}, 47, "loss", "trains at most 5 minutes (--minutes) or 100 epochs"),
        (
            {"evaluate_every": 20, "minutes": 0.5, "early_stopping_patience": 2},
            47,
            "bleu",
            "trains until validation bleu has not improved for 2 evaluations (one every 20 steps), at most 0.5 "
            "minutes (--minutes) or 100 epochs",
        ),
    ],
)
def test_the_plan_in_words(fields, steps_per_epoch, metric, sentence):
    said = make_plan(TrainingRecipe(**fields), steps_per_epoch, metric).sentence
    assert said == sentence or (sentence and said.startswith(f"{sentence}, at most 5 minutes"))


def test_the_patience_of_a_recipe_with_a_length_is_its_own():
    fields = [{}, {"epochs": 2}, {"max_steps": 9}, {"epochs": 2, "early_stopping_patience": 3}]
    plans = [make_plan(TrainingRecipe(**some), 47, "loss") for some in fields]
    assert [plan.patience for plan in plans] == [5, 0, 0, 3]
    assert [plan.seconds for plan in plans] == [300, None, None, None]
    assert [plan.total_steps for plan in plans] == [4700, 94, 9, 94]


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_a_schedule_that_ends_with_the_run_needs_its_length(schedule):
    with pytest.raises(ValueError, match=f"schedule {schedule} ends where the run ends.*set epochs or max_steps"):
        TrainingRecipe(schedule=schedule)
    assert TrainingRecipe(schedule=schedule, max_steps=9).schedule == schedule


def test_no_time_at_all_is_refused():
    with pytest.raises(ValueError, match="minutes must be above 0"):
        TrainingRecipe(minutes=0)


def test_the_minutes_to_go_on_with_are_more_than_those_already_spent():
    plan = make_plan(TrainingRecipe(minutes=0.1), 50, "loss")
    assert plan.ending("minutes", 60, False, spent=6.0).endswith("--resume --minutes 1 goes on")
    assert plan.ending("minutes", 60, False, spent=170.0).endswith("--resume --minutes 6 goes on")
