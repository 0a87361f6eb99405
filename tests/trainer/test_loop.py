# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The loop on a model that is no language model: it must know none."""

import json
import os
import shutil
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

from hf_lecture_models.io.runs import as_program
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.trainer import loop, reporting
from hf_lecture_models.trainer.batches import Batch
from hf_lecture_models.trainer.loop import Evaluation, train
from hf_lecture_models.trainer.recipe import TrainingRecipe

POINTS = torch.linspace(-1, 1, 22)[:, None]


class Line(nn.Module):
    """y = 3x + 1 with dropout on the way, its loss a mean over the wanted items: NaN where there is none."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.inner, self.outer = nn.Linear(1, 16), nn.Linear(16, 1)

    def forward(self, x, wanted):
        y = self.outer(F.dropout(torch.tanh(self.inner(x)), 0.2, self.training))
        return SimpleNamespace(loss=(wanted * (y - 3 * x - 1) ** 2).sum() / wanted.sum(), y=y)

    def save_pretrained(self, folder):
        save_file(self.state_dict(), folder / "model.safetensors")


def collate(rows):
    wanted = torch.from_numpy((rows >= 0).astype(np.float32))[:, None]
    return Batch({"x": POINTS[np.maximum(rows, 0)], "wanted": wanted}, int((rows >= 0).sum()))


def batches(recipe):
    return ShuffledBatches(len(POINTS), collate, recipe.batch_size, recipe.seed)


def recipe(**fields):
    return TrainingRecipe(
        **{"epochs": 4, "batch_size": 4, "learning_rate": 0.02, "log_every": 1, "schedule": "cosine"} | fields
    )


def distance(model):
    others = {"note": "text is no number", "nothing": float("nan"), "yes": True}
    return {"distance": model(POINTS, torch.ones_like(POINTS)).loss.item(), **others}


def run(folder, model=None, *, evaluation=Evaluation(distance, "distance"), resume=False, **fields):  # noqa: B008
    chosen = recipe(**fields)
    model = model or Line()
    return train(model, batches(chosen), chosen, folder, evaluation=evaluation, resume=resume, quiet=True), model


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_the_record_names_the_code_that_the_run_began_with(tmp_path, monkeypatch):
    """A checkout may be changed while a long run goes on, which does not see that."""
    commits = iter(["began", *["later"] * 99])
    monkeypatch.setattr(reporting, "environment", lambda: {"commit": next(commits)})
    run(tmp_path, save_every=1)
    assert json.loads((tmp_path / "training.json").read_text())["environment"] == {"commit": "began"}


def test_it_learns_and_leaves_the_best_model(tmp_path):
    result, _ = run(tmp_path, epochs=60)
    values = [row["validation_distance"] for row in result.history if "validation_distance" in row]
    assert {name for row in result.history for name in row if name.startswith("validation")} == {"validation_distance"}
    assert result.step == 360
    assert result.items == 22 * 60
    assert result.best_metric == min(values) < 0.1 * values[0]
    best = Line()
    best.load_state_dict(load_file(tmp_path / "model.safetensors"))
    best.eval()
    assert distance(best)["distance"] == pytest.approx(result.best_metric, rel=1e-5)
    assert json.loads((tmp_path / "training.json").read_text())["best_metric"] == result.best_metric


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(tmp_path):
    _, first = run(tmp_path / "a")
    _, second = run(tmp_path / "b")
    _, other = run(tmp_path / "c", seed=1)
    assert same(first, second)
    assert not same(first, other)


def test_without_an_evaluation_the_last_model_is_kept(tmp_path):
    result, model = run(tmp_path, evaluation=None)
    assert torch.equal(load_file(tmp_path / "model.safetensors")["inner.bias"], model.inner.bias)
    assert (result.metric_name, result.best_metric) == ("loss", None)


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize(("schedule", "last"), [("linear", 0.0), ("cosine", 0.0), ("constant", 0.02)])
def test_the_schedule_ends_where_planned(tmp_path, schedule, last, parts):
    result, _ = run(tmp_path, schedule=schedule, accumulation_steps=parts, warmup_steps=3, evaluate_every=100)
    rates = [row["learning_rate"] for row in result.history if "loss" in row]
    assert len(rates) == 24
    assert rates[2] == pytest.approx(0.02)
    assert rates[-1] == pytest.approx(last, abs=1e-12)


def test_the_reported_loss_is_the_mean_over_all_items_since_the_last_report(tmp_path, monkeypatch):
    monkeypatch.setattr(F, "dropout", lambda tensor, *arguments: tensor)
    # Steps of 8, 8 and 6 points, and weights that stay: each epoch has the loss of all points.
    fields = {"optimizer": "sgd", "learning_rate": 0, "batch_size": 8, "accumulation_steps": 4, "epochs": 2}
    result, model = run(tmp_path, evaluation=None, log_every=3, **fields)
    assert [row["loss"] for row in result.history] == pytest.approx([distance(model)["distance"]] * 2, rel=1e-6)


def test_validation_in_a_bf16_run_is_measured_as_test_data_are(tmp_path):
    """In float32: what is reported of a model does not depend on whether the loop or a later command measures it."""
    result, model = run(tmp_path, epochs=1, mixed_precision="bf16")
    (reported,) = (row["validation_distance"] for row in result.history if "validation_distance" in row)
    assert reported == distance(model.eval())["distance"]


class Crash(Exception):
    pass


class CrashingBatches(ShuffledBatches):
    def next_step(self):
        if (self.epoch, self.position) == self.crash_at:
            raise Crash
        return super().next_step()


def crash(folder, crash_at, **fields):
    chosen = recipe(**fields)
    evaluation = Evaluation(distance, "distance")
    crashing = CrashingBatches(len(POINTS), collate, chosen.batch_size, chosen.seed)
    crashing.crash_at = crash_at
    with pytest.raises(Crash):
        train(Line(), crashing, chosen, folder, evaluation=evaluation, quiet=True)


def crash_and_resume(folder, crash_at, **fields):
    crash(folder, crash_at, **fields)
    # Other initial weights: everything must come from the checkpoint.
    return run(folder, Line(seed=9), resume=True, **fields)


@pytest.mark.cases(4, 5)
@pytest.mark.parametrize("crash_at", [(1, 2), (1, 6), (3, 5)])
@pytest.mark.parametrize("fields", [{}, {"optimizer": "sgd"}, {"accumulation_steps": 4, "mixed_precision": "bf16"}])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path, crash_at, fields):
    fields = {"save_every": 5, "log_every": 7, "schedule": "plateau", **fields}
    straight, expected = run(tmp_path / "straight", **fields)
    resumed, model = crash_and_resume(tmp_path / "resumed", crash_at, **fields)
    assert same(model, expected)
    assert resumed.history == straight.history
    best = [load_file(tmp_path / name / "model.safetensors") for name in ("straight", "resumed")]
    assert all(torch.equal(best[0][key], best[1][key]) for key in best[0])


def test_a_plateau_that_was_lowered_stays_lowered_on_resume(tmp_path):
    worse = iter(range(100))
    evaluation = Evaluation(lambda model: {"distance": next(worse)}, "distance")
    fields = {"schedule": "plateau", "plateau_factor": 0.5, "evaluate_every": 2, "max_steps": 8}
    run(tmp_path, evaluation=evaluation, **fields)
    for path in sorted((tmp_path / "checkpoints").iterdir())[1:]:
        (path / "complete.json").unlink()
    with pytest.warns(UserWarning, match="passed over"):
        result, _ = run(tmp_path, evaluation=evaluation, resume=True, **fields)
    rates = [row["learning_rate"] for row in result.history if "loss" in row]
    assert rates == pytest.approx([0.02, 0.02, 0.02, 0.02, 0.01, 0.01, 0.005, 0.005])


def test_resume_of_a_finished_run_changes_nothing(tmp_path):
    first, expected = run(tmp_path)
    again, model = run(tmp_path, Line(seed=9), resume=True)
    assert same(model, expected)
    assert again.history == first.history


def test_resume_without_a_checkpoint_starts_and_says_so(tmp_path, capsys):
    chosen = recipe()
    train(Line(), batches(chosen), chosen, tmp_path, resume=True)
    said = capsys.readouterr().err
    assert "starting from scratch" in said
    assert "1 process(es)" in said


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lose_checkpoints(folder):
    shutil.rmtree(folder / "checkpoints")


def lose_all_but_the_model(folder):
    lose_checkpoints(folder)
    for path in folder.iterdir():
        if path.name != "model.safetensors":
            path.unlink()


@pytest.mark.parametrize(
    ("fields", "crash_at", "lose", "message"),
    [
        ({}, None, lose_checkpoints, "holds a finished run of 24 steps, but none of its checkpoints"),
        ({"early_stopping_patience": 1, "learning_rate": 0}, None, lose_checkpoints, "a finished run of 12 steps"),
        ({}, (1, 2), lose_checkpoints, "holds a run of 6 steps, but none of its checkpoints"),
        ({"save_every": 2}, (1, 5), lose_checkpoints, "holds a run of 10 steps, but none of its checkpoints"),
        ({}, None, lose_all_but_the_model, "holds a model, but no checkpoint of a run"),
    ],
)
def test_what_has_lost_its_checkpoints_is_not_begun_anew_on_resume(tmp_path, fields, crash_at, lose, message):
    if crash_at is None:
        run(tmp_path, **fields)
    else:
        crash(tmp_path, crash_at, **fields)
    lose(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=message):
        run(tmp_path, resume=True, **fields)
    assert contents(tmp_path) == before


def test_killed_between_its_first_model_and_its_first_checkpoint_it_begins_anew(tmp_path, monkeypatch):
    _, expected = run(tmp_path / "straight")

    def killed(*arguments):
        raise Crash

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(loop.saved, "write_checkpoint", killed)
        run(tmp_path / "killed")
    assert (tmp_path / "killed" / "model.safetensors").exists()
    assert same(run(tmp_path / "killed", resume=True)[1], expected)


def test_a_folder_that_holds_a_run_is_refused_without_resume(tmp_path):
    run(tmp_path)
    with pytest.raises(ValueError, match="`resume` continues it"):
        run(tmp_path)
    (tmp_path / "recipe.yaml").unlink()
    with pytest.raises(ValueError, match="`resume` continues it"):
        run(tmp_path)


@pytest.mark.parametrize("wrong", [{"accumulation_steps": 3}, {"seed": 2**40}])
def test_a_start_that_failed_does_not_block_the_next(tmp_path, wrong):
    with pytest.raises(ValueError):  # noqa: PT011
        run(tmp_path, **wrong)
    assert not list(tmp_path.iterdir())
    assert run(tmp_path)[0].step == 24


def test_a_model_without_a_loss_and_an_empty_folder_name_are_refused(tmp_path):
    class Silent(Line):
        def forward(self, *arguments, **inputs):
            return SimpleNamespace(loss=None)

    with pytest.raises(ValueError, match="Silent gives no loss for x, wanted"):
        run(tmp_path, Silent(), evaluation=None)
    assert run(tmp_path, evaluation=None)[0].step == 24
    with pytest.raises(ValueError, match="output_dir is empty"):
        run("")


def test_resume_under_another_recipe_is_refused_by_field(tmp_path):
    run(tmp_path)
    with pytest.raises(ValueError, match=r"learning_rate is 0.5 but the run was started with 0.02"):
        run(tmp_path, learning_rate=0.5, resume=True)


def test_a_file_in_the_folders_place_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="it is a file"):
        run(tmp_path / "file")


@pytest.mark.parametrize("name", ["run.lock", "recipe.yaml", "training.json", "model.safetensors"])
def test_a_folder_in_a_files_place_is_named(tmp_path, name):
    (tmp_path / name).mkdir()
    if name == "training.json":  # which says that there is a run
        with pytest.raises(ValueError, match="holds a run"):
            run(tmp_path)
        return
    with pytest.raises(OSError, match=rf"cannot \w+ .*{name}.* a folder"):
        run(tmp_path)
    assert not list(tmp_path.rglob("*.partial*"))


def test_two_runs_in_one_folder_are_refused(tmp_path):
    def start_another(model):
        with pytest.raises(BlockingIOError, match="in use by another run"):
            run(tmp_path)
        return distance(model)

    result, _ = run(tmp_path, evaluation=Evaluation(start_another, "distance"))
    assert result.step == 24


@pytest.mark.parametrize("clip_norm", [1.0, None])
@pytest.mark.parametrize("poisoned", ["loss", "gradient"])
def test_the_first_non_finite_number_stops_the_run_and_is_not_saved(tmp_path, poisoned, clip_norm):
    class Poison(torch.autograd.Function):
        @staticmethod
        def forward(ctx, loss):
            return loss.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * float("nan")

    class Poisoned(Line):
        calls = 0

        def forward(self, *arguments, **inputs):
            outputs = super().forward(*arguments, **inputs)
            self.calls += self.training
            if self.calls == 9:
                outputs.loss = outputs.loss * float("inf") if poisoned == "loss" else Poison.apply(outputs.loss)
            return outputs

    model = Poisoned()
    with pytest.raises(FloatingPointError, match=r"step 9: .*earlier checkpoints are in"):
        run(tmp_path, model, save_every=1, clip_norm=clip_norm)
    assert max(path.name for path in (tmp_path / "checkpoints").iterdir()) == "step-00000008"
    kept = load_file(tmp_path / "checkpoints" / "step-00000008" / "model.safetensors")
    assert all(torch.equal(tensor, kept[name]) for name, tensor in model.state_dict().items())
    _, resumed = run(tmp_path, Line(), save_every=1, clip_norm=clip_norm, resume=True)
    assert same(resumed, run(tmp_path / "straight", save_every=1, clip_norm=clip_norm)[1])


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_metric_that_is_not_finite_stops_the_run(tmp_path, value):
    with pytest.raises(FloatingPointError, match=f"step 6: validation distance is {value}"):
        run(tmp_path, evaluation=Evaluation(lambda model: {"distance": float(value)}, "distance"))
    assert not (tmp_path / "model.safetensors").exists()


def test_a_missing_metric_is_named(tmp_path):
    with pytest.raises(ValueError, match="no number 'accuracy', only distance, note"):
        run(tmp_path, evaluation=Evaluation(distance, "accuracy"))


def scripted(values):
    remaining = iter(values)
    return lambda model: {"score": next(remaining)}


def test_patience_counts_evaluations_without_gain_and_knows_the_direction(tmp_path):
    scores = [1.0, 2.0, 2.0, 1.5, 9.0]
    evaluation = Evaluation(scripted(scores), "score", lower_is_better=False)
    result, _ = run(tmp_path, evaluation=evaluation, epochs=5, early_stopping_patience=2)
    assert (result.stopped, result.step, result.best_metric) == ("early stopping", 24, 2.0)
    again, _ = run(tmp_path, evaluation=evaluation, epochs=5, early_stopping_patience=2, resume=True)
    assert again.step == 24


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_saves_once_and_stops_cleanly(tmp_path, name, monkeypatch):
    saves = []
    original = loop.saved.write_checkpoint
    monkeypatch.setattr(loop.saved, "write_checkpoint", lambda *a: (saves.append(a[1]), original(*a)))

    class Signalled(Line):
        calls = 0

        def forward(self, *arguments, **inputs):
            self.calls += 1
            if self.calls == 8:
                os.kill(os.getpid(), signal.Signals[name])
            return super().forward(*arguments, **inputs)

    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    result, _ = run(tmp_path, Signalled(), evaluation=None)
    assert (result.stopped, result.step, saves) == (name, 8, [6, 8])
    assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    _, resumed = run(tmp_path, Line(seed=9), evaluation=None, resume=True)
    assert same(resumed, run(tmp_path / "straight", evaluation=None)[1])


def test_a_second_signal_ends_a_save_and_leaves_nothing_of_it(tmp_path, monkeypatch):
    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch, pytest.raises(SystemExit) as stopped, as_program():
        patch.setattr(loop.saved, "save_file", interrupted)
        run(tmp_path / "stopped", evaluation=Evaluation(send_sigterm, "distance"))
    assert stopped.value.code == 143
    assert not list(tmp_path.rglob("*.partial*"))
    assert not list((tmp_path / "stopped").glob("checkpoints/step-*"))
    expected = run(tmp_path / "straight")[1]
    assert same(run(tmp_path / "stopped", resume=True)[1], expected)


def send_sigterm(model):
    os.kill(os.getpid(), signal.SIGTERM)
    return distance(model)


def test_a_signal_after_the_last_step_is_not_lost(tmp_path):
    """Whoever trains several models must not go on to the next one."""
    steps = []

    def scores(_):
        steps.append(len(steps))
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return {"score": float(len(steps))}

    result, _ = run(tmp_path, evaluation=Evaluation(scores, "score", lower_is_better=False), epochs=2)
    assert (result.stopped, len(steps)) == ("SIGTERM", 2)
    assert result.best_metric == 2.0


@pytest.mark.parametrize("before", [False, True])
def test_the_flushing_of_subnormal_numbers_is_put_back(before):
    torch.set_flush_denormal(before)
    try:
        with loop._flushed_denormals(torch.device("cpu")):
            assert (torch.tensor([1e-40]) == 0).item()
        assert (torch.tensor([1e-40]) == 0).item() == before
    finally:
        torch.set_flush_denormal(False)


def test_tensorboard_gets_the_history(tmp_path):
    run(tmp_path, report_to="tensorboard")
    assert list((tmp_path / "runs").rglob("events.out.tfevents*"))


@pytest.mark.parametrize(
    ("environment", "fields", "message"),
    [
        ({}, {"num_processes": 2}, "1 process.* run, but 2 were asked for"),
        ({"WORLD_SIZE": "2"}, {}, "1 process.* run, but 2 were asked for"),
        ({"ACCELERATE_MIXED_PRECISION": "fp16"}, {}, "the launcher asks for mixed_precision fp16"),
        ({"ACCELERATE_USE_DEEPSPEED": "true"}, {}, "does not run DEEPSPEED; it shards by FSDP"),
        ({"ACCELERATE_USE_MEGATRON_LM": "1"}, {}, "does not run MEGATRON_LM"),
    ],
)
def test_a_launch_that_is_not_what_was_asked_is_refused(tmp_path, monkeypatch, environment, fields, message):
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(ValueError, match=message):
        run(tmp_path, **fields)


@pytest.mark.parametrize("name", ["tensorboard", "trackio", "wandb"])
def test_a_tracker_that_is_not_installed_is_named(tmp_path, monkeypatch, name):
    monkeypatch.setattr("hf_lecture_models.trainer.tracking.find_spec", lambda wanted: None)
    with pytest.raises(
        ImportError, match=rf"report_to {name} needs {name}: pip install 'hf-lecture-models\[trackers\]'"
    ):
        run(tmp_path, report_to=name)
    assert not (tmp_path / "runs").exists()
