# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A resumed command starts from the recipe of its output folder, also from one that an earlier version wrote."""

from pathlib import Path

import pytest
from safetensors.torch import load_file

from hf_lecture_models.io.recipe import Recipe, read_yaml
from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.main import parse_command, train_from_command
from tests.tasks.small_classifier import ROWS, write_tsv

# What commit 30466fea saved of a command without epochs: one epoch was its default, and it held out no rows.
OLD_RECIPE = """
train_files: [T.tsv]
validation_files: []
test_files: []
predict_files: []
dataset_name: ''
dataset_config: null
dataset_revision: ''
train_split: train
validation_split: validation
test_split: ''
predict_split: ''
columns: {text: sentence}
data: {}
train_rows: []
validation_rows: []
task: null
seed: 0
epochs: 1.0
max_steps: 0
batch_size: 2
accumulation_steps: 1
mixed_precision: 'no'
optimizer: adamw
learning_rate: 0.001
adam_beta1: 0.9
adam_beta2: 0.999
adam_epsilon: 1.0e-08
weight_decay: 0.0
clip_norm: 1.0
schedule: constant
warmup_steps: 0
final_learning_rate: 0.0
plateau_factor: 0.25
evaluate_every: 0
early_stopping_patience: 0
save_every: 2
keep_checkpoints: 2
log_every: null
report_to: none
num_processes: null
output_dir: output
name: ''
seeds: []
from_pretrained: ''
word_vectors: ''
tokenizer: {type: word}
model: {model_type: lecture_bag_of_words}
freeze_backbone: false
problem_type: single_label_classification
label_names: {}
max_length: null
class_weights: {}
pseudo_labels: ''
unlabelled_files: []
"""
OLD_FIELDS = read_yaml(OLD_RECIPE)
COMMAND = ["--train_files", "T.tsv", "--columns.text", "sentence", "--batch_size", "2", "--save_every", "2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which holds a folder `output` with the recipe of an earlier version."""
    monkeypatch.chdir(tmp_path)
    write_tsv(Path("T.tsv"), ROWS)
    Path("output").mkdir()
    Path("output/recipe.yaml").write_text(OLD_RECIPE)
    return tmp_path


def read(*arguments):
    return parse_command(TextClassification(), arguments, "")[0]


def test_an_old_recipe_keeps_its_length_its_rows_and_its_learning_rate(folder):
    for arguments in (COMMAND, ["output/recipe.yaml"]):
        recipe = read(*arguments, "--resume")
        assert (recipe.epochs, recipe.patience, recipe.time_limit) == (1, 0, None)
        assert (recipe.validation_share, recipe.learning_rate) == (0, 1e-3)
        assert recipe.model == {"model_type": "lecture_bag_of_words"}
    assert read(*COMMAND).is_automatic, "a new run has today's defaults"


def test_the_command_and_its_recipe_lie_over_what_was_saved(folder):
    Path("mine.yaml").write_text("save_every: 5\nkeep_checkpoints: 7\n")
    recipe = read("mine.yaml", "--keep_checkpoints", "9", "--model.hidden_size", "5", "--minutes", "10", "--resume")
    assert (recipe.save_every, recipe.keep_checkpoints, recipe.batch_size) == (5, 9, 2)
    assert recipe.model == {"model_type": "lecture_bag_of_words", "hidden_size": 5}
    assert recipe.time_limit == 10
    assert read(*COMMAND, "--num_train_epochs", "3", "--resume").epochs == 3, "options of transformers' examples too"


def test_the_seeds_of_a_series_keep_what_it_saved(folder):
    Path("series/seed-3").mkdir(parents=True)
    Path("series/seed-3/recipe.yaml").write_text(OLD_RECIPE.replace("seed: 0", "seed: 3"))
    recipe = read(*COMMAND, "--output_dir", "series", "--seeds", "3,4", "--resume")
    assert (recipe.seeds, recipe.seed, recipe.output_dir, recipe.epochs) == ([3, 4], 0, "series", 1)


class Killed(Exception):
    pass


@pytest.mark.parametrize("arguments", [COMMAND, ["output/recipe.yaml"]])
def test_an_old_run_goes_on_to_the_bits_that_it_would_have_had(folder, monkeypatch, arguments):
    from hf_lecture_models.trainer import loop

    task, whole = TextClassification(), [*COMMAND, "--epochs", "1", "--validation_share", "0", "--output_dir", "whole"]
    train_from_command(task, whole)
    save, to_dict = loop._Run._save_checkpoint, Recipe.to_dict

    def killed(run):
        save(run)
        if run.progress.step == 4:
            raise Killed

    with monkeypatch.context() as patched:
        # Recipe and checkpoint of a version that had the fields of `OLD_RECIPE` alone.
        patched.setattr(Recipe, "to_dict", lambda recipe: {name: to_dict(recipe)[name] for name in OLD_FIELDS})
        patched.setattr(loop._Run, "_save_checkpoint", killed)
        with pytest.raises(Killed):
            train_from_command(task, [*COMMAND, "--epochs", "1", "--validation_share", "0"])
    assert set(read_yaml(Path("output/recipe.yaml").read_text())) == set(OLD_FIELDS)
    outcome = train_from_command(task, [*arguments, "--resume"])
    assert (outcome.training.step, outcome.training.stopped) == (6, "")
    old, new = (load_file(Path(name, "model.safetensors")) for name in ("whole", "output"))
    assert all((old[name] == new[name]).all() for name in old)
