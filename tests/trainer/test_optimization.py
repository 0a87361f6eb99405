# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
import math

import pytest
import torch
from torch import nn
from transformers import get_scheduler

from hf_lecture_models.trainer.optimization import Schedule, clip_gradients, make_optimizer, parameter_groups
from hf_lecture_models.trainer.recipe import TrainingRecipe


def rates_of_transformers(name, steps, **options):
    """The rates of the first steps, of a peak of 1."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule, rates = get_scheduler(name, optimizer, **options), []
    for _ in range(steps):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return rates


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"schedule": "linear", "warmup_steps": 2}, [0.5, 1, 1, 0.75, 0.5, 0.25, 0]),
        ({"schedule": "cosine", "final_learning_rate": 0.1}, [1, None, 0.55, None, 0.1]),
        ({"schedule": "constant", "warmup_steps": 2}, [0.5, 1, 1, 1, 1]),
        ({"schedule": "linear", "warmup_steps": 3}, [1 / 3, 2 / 3, 1]),
        ({"schedule": "plateau", "plateau_factor": 0.5}, [1, 1]),
    ],
)
def test_the_rate_of_each_step(fields, expected):
    schedule = Schedule(TrainingRecipe(epochs=1, **fields), len(expected))
    for step, factor in enumerate(expected):
        assert factor is None or schedule.factor(step) == pytest.approx(factor), step
    schedule.reductions += 1  # after an evaluation that is no better
    assert schedule.factor(len(expected) - 1) == pytest.approx(expected[-1] * fields.get("plateau_factor", 1))


@pytest.mark.parametrize("warmup", [0, 1, 4])
def test_the_rates_beside_those_of_transformers(warmup):
    """Published weights were trained with these: warm-up a step ahead, the end at the last step, not one later."""
    total = 11
    names = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine_with_min_lr"}
    names |= {"inverse_square_root": "inverse_sqrt"} if warmup else {}
    for schedule, name in names.items():
        lowest = 0.25 if schedule == "cosine" else 0.0
        options = {"num_warmup_steps": warmup, "num_training_steps": total - 1}
        options["scheduler_specific_kwargs"] = {"min_lr_rate": lowest} if schedule == "cosine" else {}
        theirs = rates_of_transformers(name, total + 1, **options)
        recipe = TrainingRecipe(epochs=1, schedule=schedule, warmup_steps=warmup, final_learning_rate=lowest)
        ours = [Schedule(recipe, total).factor(step) for step in range(total)]
        ends = schedule in ("linear", "cosine")
        assert ours[:warmup] == pytest.approx(theirs[1 : warmup + 1])
        assert ours[warmup:] == pytest.approx(theirs[warmup:total] if ends else theirs[warmup + 1 :])
        assert theirs[0] == (0 if warmup else 1)
        assert not ends or ours[-1] == pytest.approx(lowest)


def test_groups_keep_the_ratio_of_their_rates():
    first, second = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([{"params": [first], "lr": 1.0}, {"params": [second], "lr": 0.1}])
    schedule = Schedule(TrainingRecipe(epochs=1, schedule="linear"), 3)
    for step in range(3):
        schedule.apply(optimizer, step)
        rates = [group["lr"] for group in optimizer.param_groups]
        assert rates == pytest.approx([1 - step / 2, 0.1 * (1 - step / 2)])


def test_vectors_are_not_decayed_and_a_model_without_parameters_is_refused():
    groups = parameter_groups(nn.Linear(2, 2), TrainingRecipe(weight_decay=0.1))
    assert [(len(group["params"]), group["weight_decay"]) for group in groups] == [(1, 0.1), (1, 0.0)]
    with pytest.raises(ValueError, match="no trainable parameter"):
        parameter_groups(nn.ReLU(), TrainingRecipe())


@pytest.mark.parametrize(("name", "kind"), [("sgd", torch.optim.SGD), ("adamw", torch.optim.AdamW)])
def test_the_optimizer_is_the_recipes(name, kind):
    recipe = TrainingRecipe(optimizer=name)
    assert type(make_optimizer(parameter_groups(nn.Linear(2, 2), recipe), recipe)) is kind


def test_the_moments_of_adamw_are_the_recipes():
    """A step of m / (√v + ε), where m and v are what is left of one gradient g: lr · g / (|g| + ε)."""
    recipe = TrainingRecipe(learning_rate=1.0, adam_beta1=0.5, adam_beta2=0.98, adam_epsilon=3.0)
    model = nn.Linear(1, 1, bias=False)
    optimizer = make_optimizer(parameter_groups(model, recipe), recipe)
    nn.init.zeros_(model.weight)
    model.weight.grad = torch.tensor([[1.0]])
    optimizer.step()
    assert model.weight.item() == pytest.approx(-1 / (1 + 3))
    model.weight.grad = torch.tensor([[0.0]])
    optimizer.step()
    mean, squares = 0.25 / (1 - 0.5**2), 0.98 * 0.02 / (1 - 0.98**2)
    assert model.weight.item() == pytest.approx(-1 / (1 + 3) - mean / (squares**0.5 + 3))


def test_the_defaults_of_adamw_are_torchs():
    made = make_optimizer(parameter_groups(nn.Linear(2, 2), TrainingRecipe()), TrainingRecipe()).defaults
    theirs = torch.optim.AdamW([nn.Parameter(torch.zeros(1))]).defaults
    assert {name: made[name] for name in ("betas", "eps")} == {name: theirs[name] for name in ("betas", "eps")}


@pytest.mark.parametrize(
    ("gradient", "clip_norm", "expected"),
    [
        ((3.0, 4.0), 1.0, (0.6, 0.8)),
        ((0.3, 0.4), 1.0, (0.3, 0.4)),
        ((0.0, 0.0), 1.0, (0.0, 0.0)),
        ((3.0, 4.0), None, (3.0, 4.0)),
    ],
)
def test_clipping_shortens_long_gradients_only_and_the_norm_is_that_before(gradient, clip_norm, expected):
    model = nn.Linear(2, 1, bias=False)
    model.weight.grad = torch.tensor([gradient])
    assert clip_gradients(model, clip_norm).item() == pytest.approx(math.hypot(*gradient))
    assert model.weight.grad[0].tolist() == pytest.approx(expected, abs=1e-5)
