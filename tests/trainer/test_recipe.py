# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from pathlib import Path

import pytest

from hf_lecture_models.io.recipe import describe_fields, load_recipe, parse_overrides, write_yaml
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe
from hf_lecture_models.trainer.recipe import TrainingRecipe, refuse_changed_recipe


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def load(path, overrides=None):
    return load_recipe(path, overrides, recipe_class=CausalLMRecipe)


def test_every_field_can_be_overridden_by_name(tmp_path):
    path = write(tmp_path / "r.yaml", "learning_rate: 1e-3\nepochs: 2\nmodel: {model_type: x, hidden_size: 5}\n")
    arguments = ["--learning_rate", "2e-4", "--epochs=7", "--clip_norm", "null", "--model.hidden_size", "9"]
    arguments += ["--streaming", "--train_files", "a.txt"]
    recipe = load(path, parse_overrides(arguments, CausalLMRecipe))
    assert recipe.streaming, "a field that is true or false needs no value"
    assert (recipe.learning_rate, recipe.epochs, recipe.clip_norm) == (2e-4, 7.0, None)
    assert recipe.model == {"model_type": "x", "hidden_size": 9}
    assert recipe.train_files == ["a.txt"]


def test_numbers_with_an_exponent_need_no_point(tmp_path):
    """YAML 1.1 reads 1e-06 as a text, and a mapping has no types that would correct it."""
    path = write(
        tmp_path / "r.yaml", "model: {ridge: 1e-06, shift: -1E+2, half: .5e0, name: '1e5', hash: 1e5a, n: 7}\n"
    )
    recipe = load(path, parse_overrides(["--model.scale", "1e3"], CausalLMRecipe))
    fields = {"ridge": 1e-6, "shift": -100.0, "half": 0.5, "name": "1e5", "hash": "1e5a", "n": 7, "scale": 1000.0}
    assert recipe.model == fields
    assert [type(value) for value in recipe.model.values()] == [type(value) for value in fields.values()]
    again = load(write(tmp_path / "again.yaml", write_yaml(recipe.to_dict())))
    assert again == recipe, "texts that look like numbers stay texts"


def test_mutable_defaults_are_not_shared():
    CausalLMRecipe().model["hidden_size"] = 3
    assert "hidden_size" not in CausalLMRecipe().model


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learnin_rate: 1", "did you mean learning_rate"),
        ("schedule: square", "schedule must be one of constant, linear, cosine, inverse_square_root, plateau, not"),
        ("batch_size: 0", "batch_size must be at least 1"),
        ("seed: -1", "seed must be at least 0"),
        ("adam_beta2: 1", "adam_beta2 must be below 1, not 1.0"),
        ("adam_epsilon: -1e-9", "adam_epsilon must be at least 0"),
        ("output_dir: ''", "output_dir is empty"),
        ("batch_size: many", "batch_size must be int, not 'many'"),
        ("batch_size: true", "batch_size must be int, not True"),
        ("learning_rate: fast", "learning_rate must be float, not 'fast'"),
        ("learning_rate: .nan", "learning_rate must be a finite number"),
        ("model: lstm", "model must be dict"),
        ("epochs: 0", "epochs and max_steps are both 0"),
        ("- epochs", "must hold `name: value` lines"),
        ("a: [", "is not a YAML file"),
    ],
)
def test_bad_recipes_are_refused_with_the_field(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load(write(tmp_path / "r.yaml", text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--epochs"], "needs a value"), (["epochs", "3"], "expected --name value"), (["--"], "expected --name value")],
)
def test_bad_command_lines_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        parse_overrides(arguments, CausalLMRecipe)


def test_brackets_beyond_number_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"r.yaml is no recipe: its brackets are nested too deeply"):
        load(write(tmp_path / "r.yaml", "data: " + "[" * 3000 + "]" * 3000))
    with pytest.raises(ValueError, match=r"--data: the brackets of its value are nested too deeply"):
        parse_overrides(["--data", "{a: " * 3000])


def test_an_override_cannot_reach_into_a_number(tmp_path):
    with pytest.raises(ValueError, match="reaches into epochs"):
        load(write(tmp_path / "r.yaml", "epochs: 1"), {"epochs.x": 1})


def test_a_changed_recipe_is_refused_by_field_but_free_fields_may_change():
    recipe = TrainingRecipe(seed=1)
    refuse_changed_recipe(TrainingRecipe(seed=1, log_every=3, keep_checkpoints=9), recipe.to_dict())
    with pytest.raises(ValueError, match="seed is 2 but the run was started with 1"):
        refuse_changed_recipe(TrainingRecipe(seed=2), recipe.to_dict())


def test_a_run_of_an_older_version_goes_on():
    """Its recipe lacks the fields that came later, which have their defaults."""
    older = TrainingRecipe(seed=1).to_dict()
    del older["clip_norm"]
    refuse_changed_recipe(TrainingRecipe(seed=1), older)
    with pytest.raises(ValueError, match="clip_norm is 9.0 but the run was started with 1.0"):
        refuse_changed_recipe(TrainingRecipe(seed=1, clip_norm=9.0), older)


def test_a_recipe_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no recipe nothing.yaml"):
        load("nothing.yaml")
    with pytest.raises(FileNotFoundError, match="there is no recipe"):
        load(tmp_path)


def test_a_short_run_has_twenty_entries_and_a_given_period_stays():
    assert [TrainingRecipe().history_period(steps) for steps in (0, 19, 39, 40, 1999, 10**6)] == [1, 1, 1, 2, 99, 100]
    assert TrainingRecipe(log_every=100).history_period(40) == 100
    refuse_changed_recipe(TrainingRecipe(seed=1), TrainingRecipe(seed=1, log_every=50).to_dict())


def test_help_lists_every_field():
    described = describe_fields(CausalLMRecipe)
    assert "clip_norm" in described
    assert "(stream, blocks, texts) [blocks]" in " ".join(described.split())
    assert "options of its train()" in described
    assert "[{type: word}]" in described
    assert "its configuration [none]" in described
    assert max(map(len, described.splitlines())) <= 118
