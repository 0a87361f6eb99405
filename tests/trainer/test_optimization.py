# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
import pytest
import torch
from torch import nn

from hf_lecture_models.trainer.optimization import Schedule, clip_gradients, make_optimizer, parameter_groups
from hf_lecture_models.trainer.recipe import TrainingRecipe


def factors(total, **fields):
    schedule = Schedule(TrainingRecipe(**fields), total)
    return [schedule.factor(step) for step in range(total)]


def test_linear_rises_to_the_peak_and_ends_at_zero():
    assert factors(7, schedule="linear", warmup_steps=2) == pytest.approx([0.5, 1, 1, 0.75, 0.5, 0.25, 0])


def test_cosine_ends_at_the_final_rate():
    values = factors(11, schedule="cosine", final_learning_rate=0.1)
    assert (values[0], values[5], values[10]) == pytest.approx((1, 0.55, 0.1))


def test_constant_stays():
    assert factors(5, schedule="constant", warmup_steps=2) == [0.5, 1, 1, 1, 1]


def test_a_run_that_is_all_warm_up_has_no_division_by_zero():
    assert factors(3, schedule="linear", warmup_steps=3) == pytest.approx([1 / 3, 2 / 3, 1])


def test_plateau_is_lowered_only_after_an_evaluation_that_is_no_better():
    schedule = Schedule(TrainingRecipe(schedule="plateau", plateau_factor=0.5), 10)
    assert schedule.factor(3) == 1
    schedule.reductions += 1
    assert schedule.factor(4) == 0.5


def test_groups_keep_the_ratio_of_their_rates():
    first, second = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([{"params": [first], "lr": 1.0}, {"params": [second], "lr": 0.1}])
    schedule = Schedule(TrainingRecipe(schedule="linear"), 3)
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
    ("gradient", "expected"), [((3.0, 4.0), (0.6, 0.8)), ((0.3, 0.4), (0.3, 0.4)), ((0, 0), (0, 0))]
)
def test_clipping_shortens_long_gradients_only(gradient, expected):
    model = nn.Linear(2, 1, bias=False)
    model.weight.grad = torch.tensor([gradient], dtype=torch.float32)
    norm = clip_gradients(model, 1.0)
    assert norm.item() == pytest.approx((gradient[0] ** 2 + gradient[1] ** 2) ** 0.5)
    assert model.weight.grad[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_without_clipping_the_norm_is_reported_all_the_same():
    model = nn.Linear(2, 1, bias=False)
    model.weight.grad = torch.tensor([[3.0, 4.0]])
    assert clip_gradients(model, None).item() == pytest.approx(5.0)
    assert model.weight.grad.tolist() == [[3.0, 4.0]]
