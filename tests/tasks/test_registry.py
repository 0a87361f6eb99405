# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What is known of tasks without training."""

from dataclasses import fields
from inspect import isfunction

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from hf_lecture_models import load_model
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.recipe import default_of, load_recipe
from hf_lecture_models.tasks import registry
from hf_lecture_models.tasks.core.factories import make_model, make_tokenizer
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.core.task import Task, TaskRecipe, recipe_of
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe
from hf_lecture_models.tasks.registry import TASKS, measure_file, read_file, register_task
from hf_lecture_models.tokenization.registry import TOKENIZERS
from tests.tasks.own_task import ReversedLM


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_each_task_is_whole(task) -> None:
    recipe = task.recipe_class()
    assert task.measures(recipe)
    fields = type(recipe).__dataclass_fields__
    assert default_of(fields["model"])["model_type"].startswith(("lecture_", "transfo-xl"))
    if task.items not in ("images", "patches", "points"):
        assert default_of(fields["tokenizer"])["type"] in TOKENIZERS
    assert recipe_of(task, {"recipe": {"seed": 3, "of another program": 1}}).seed == 3


def test_a_task_has_few_methods_and_its_settings_nothing_of_training():
    assert len([one for one in vars(Task).values() if isfunction(one)]) <= 22
    of_any = {field.name for field in fields(TaskRecipe)} - {"seed"}  # the points that go on are drawn
    for task in TASKS.values():
        assert isinstance(task.recipe_class(), task.settings_class)
        assert of_any.isdisjoint(field.name for field in fields(task.settings_class)), task.name
        assert {*task.settings_class.saved} <= {field.name for field in fields(task.settings_class)}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_data_alone_train_a_small_model(task) -> None:
    """`finetune_squad.py --train_files T.json` once began to train BERT-base on a CPU, and said nothing of it."""
    default = default_of(task.recipe_class.__dataclass_fields__["model"])
    tokenizer = None if task.items in ("images", "patches", "points") else make_tokenizer({"type": "byte"}, [])
    with torch.device("meta"):
        model = make_model(task.auto_class, default, tokenizer, seed=0)
    assert sum(parameter.numel() for parameter in model.parameters()) < 3e6


def test_a_recipe_file_keeps_the_sizes_that_it_names_no_field_of(tmp_path) -> None:
    """Those of the configuration; the small default is for recipes without a model, and for fields of it."""
    recipe_class = TASKS["question_answering"].recipe_class
    small, path = default_of(recipe_class.__dataclass_fields__["model"]), tmp_path / "recipe.yaml"
    path.write_text("model: {model_type: lecture_bert}\n")
    assert load_recipe(path, recipe_class=recipe_class).model == {"model_type": "lecture_bert"}
    assert load_recipe(path, {"model.dropout": 0}, recipe_class=recipe_class).model["dropout"] == 0
    path.write_text("epochs: 1\n")
    assert load_recipe(path, recipe_class=recipe_class).model == small
    for overrides, model in (
        ({"model.hidden_size": 64}, {**small, "hidden_size": 64}),
        ({"model.model_type": "lecture_elmo"}, {"model_type": "lecture_elmo"}),
        ({"from_pretrained": "FOLDER"}, {}),
        ({"from_pretrained": "FOLDER", "model.num_hidden_layers": 2}, {"num_hidden_layers": 2}),
        ({"from_pretrained": "FOLDER", "model": {"model_type": "lecture_bert"}}, {}),
    ):
        assert load_recipe(path, overrides, recipe_class=recipe_class).model == model


def test_any_file_of_texts_measures_a_language_model(tmp_path) -> None:
    (tmp_path / "wiki.test.tokens").write_text("a b\n\nc\n")
    (tmp_path / "test.jsonl").write_text('{"line": "a b"}\n')
    task = TASKS["causal_lm"]
    assert read_file(task, str(tmp_path / "wiki.test.tokens"), task.recipe_class()) == ["a b", "", "c"]
    recipe = task.recipe_class(columns={"text": "line"}, dataset_name="some/set", dataset_revision="abc")
    assert read_file(task, str(tmp_path / "test.jsonl"), recipe) == ["a b"]


def test_a_model_of_no_such_kind_is_named_with_its_neighbour() -> None:
    tokenizer = make_tokenizer({"type": "byte"}, [])
    with pytest.raises(
        ValueError, match=r"AutoModelForSequenceClassification has no .* 'lecture_bag_of_word'; did you mean"
    ):
        make_model(AutoModelForSequenceClassification, {"model_type": "lecture_bag_of_word"}, tokenizer, seed=0)
    with pytest.raises(ValueError, match="has no model of model.model_type 'lecture_ngram'"):
        make_model(AutoModelForSequenceClassification, {"model_type": "lecture_ngram"}, tokenizer, seed=0)
    with pytest.raises(ValueError, match="model needs a model_type"):
        make_model(AutoModelForSequenceClassification, {"hidden_size": 3}, tokenizer, seed=0)


def test_two_models_of_one_seed_are_equal() -> None:
    tokenizer = make_tokenizer({"type": "byte"}, [])
    fields = {"model_type": "lecture_bag_of_words", "hidden_sizes": [3], "num_labels": 4}
    one, two = (make_model(AutoModelForSequenceClassification, fields, tokenizer, seed=5) for _ in range(2))
    assert one.config.num_labels == 4
    assert all((a == b).all() for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_a_task_in_a_module_of_a_users_own_is_trained_and_measured(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(registry, "TASKS", dict(TASKS))
    register_task(ReversedLM())
    with pytest.raises(ValueError, match="there is a task reversed_lm already"):
        register_task(ReversedLM())
    folder, held_out = str(tmp_path / "run"), tmp_path / "held_out.jsonl"
    held_out.write_text('{"text": "the dog saw a cat"}\n')
    recipe = CausalLMRecipe(
        train_texts=["the cat saw a dog", "a dog saw the cat"],
        validation_files=[str(held_out)],
        model={"model_type": "lecture_feed_forward", "hidden_size": 4},
        output_dir=folder,
        layout="texts",
        batch_size=2,
        learning_rate=0.1,
        max_steps=30,
        evaluate_every=30,
    )
    outcome = train_and_test(ReversedLM(), recipe)
    model, tokenizer = load_model(folder)
    measured = measure_file(str(held_out), model, tokenizer, facts_of(folder, model, tokenizer))
    assert measured["task"]["name"] == "reversed_lm"
    assert measured["results"]["perplexity"] == pytest.approx(outcome.training.best_metric, rel=1e-6)
    other = TASKS["causal_lm"].evaluate(model, tokenizer, ["the dog saw a cat"], recipe)["perplexity"]
    assert other != pytest.approx(outcome.training.best_metric, rel=1e-3), "the user's task reads from the end"
