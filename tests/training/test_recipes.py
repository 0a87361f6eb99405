# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every recipe can be read by the script that its comment names, and the tiny ones give what theirs promise."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transformers
import yaml
from transformers import CONFIG_MAPPING

from benchmarks import fine_tuning, model_cards
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.core.factories import make_model, make_tokenizer
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.registry import TASKS as tasks_by_name
from hf_lecture_models.tokenization.word import WordTokenizer
from training.fit_ngram import NGramRecipe

FINE_TUNING_PAGE = Path(__file__).parents[2] / "docs" / "fine_tuning.md"
RECIPES = sorted((Path(__file__).parents[2] / "training" / "recipes").glob("*.yaml"))
TASKS = {task.script: task for task in tasks_by_name.values()}
# Begin with published weights: docs/fine_tuning.md has the lines that make their folder.
MINILM = [path for path in RECIPES if path.stem.startswith("bert_minilm_")]


def comment(path: Path) -> str:
    """What stands above the fields, on one line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))


def script_of(path: Path) -> str:
    """The script in the command of the comment."""
    command = re.search(rf"hf-lecture train (\w+) {path.stem}\b", comment(path))
    assert command, f"no command `hf-lecture train TASK {path.stem}` in its comment"
    return tasks_by_name[command[1]].script if command[1] in tasks_by_name else f"{command[1]}.py"


def test_no_default_decides_how_long_a_published_recipe_trains_and_how_fast() -> None:
    """Their numbers were measured when the defaults were one epoch, no patience and a rate of 0.001."""
    trained = [path for path in RECIPES if script_of(path) != "fit_ngram.py"]
    for path in trained:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
        if given.get("model", {}).get("model_type") == "lecture_joint_gaussian":
            continue  # it is estimated in one step
        assert "epochs" in given or "max_steps" in given, path.stem
        assert "learning_rate" in given, path.stem
        recipe = load_recipe(path, recipe_class=TASKS[script_of(path)].recipe_class)
        assert (recipe.is_automatic, recipe.time_limit, recipe.patience) == (False, None, 0), path.stem
    assert len(trained) > 70


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_is_read_by_its_script(path: Path) -> None:
    script = script_of(path)
    if script == "fit_ngram.py":
        model: dict[str, Any] = {"model_type": "lecture_ngram"}
        load_recipe(path, recipe_class=NGramRecipe)
    elif path in MINILM:
        model = {"model_type": "lecture_bert"}
    elif start := load_recipe(path, recipe_class=TASKS[script].recipe_class).from_pretrained:
        # A model that the comment says how to make, by another recipe.
        made = re.search(rf"hf-lecture train \w+ (\w+) .*--output_dir {start} ", comment(path))
        assert made, f"no command in its comment makes the folder {start}"
        other = path.with_name(f"{made[1]}.yaml")
        model = load_recipe(other, recipe_class=TASKS[script_of(other)].recipe_class).model
    else:
        recipe = load_recipe(path, recipe_class=TASKS[script].recipe_class)
        model, auto_class = recipe.model, getattr(recipe, "auto_class", lambda: TASKS[script].auto_class)()
        reads_images = TASKS[script].items in ("images", "patches")
        tokenizer: Any = None if reads_images else make_tokenizer({"type": "byte"}, [])
        if model.get("cutoffs"):  # of more words than there are bytes
            tokenizer = WordTokenizer.from_words(map(str, range(model["cutoffs"][-1] + 1)))
        make_model(auto_class, model, tokenizer, seed=0)  # knows the fields
    # A folder may hold two model types, of which one has its name.
    folder = CONFIG_MAPPING[model["model_type"]].__module__.split(".")[2]
    assert path.stem.startswith(folder)
    assert re.search(r"Expected: |Measured", comment(path)), "its comment says what to expect"


@pytest.mark.parametrize(
    "path", [path for path in RECIPES if not path.stem.startswith("ngram")], ids=lambda path: path.stem
)
def test_a_recipe_says_what_it_validates_on(path: Path) -> None:
    """Its numbers are those of all its training rows, and of images those of a draw that is not stratified."""
    recipe = load_recipe(path, recipe_class=TASKS[script_of(path)].recipe_class)
    named = (
        recipe.validation_files or recipe.inline_rows("validation") or (recipe.dataset_name and recipe.validation_split)
    )
    draws = getattr(recipe, "is_drawn", False) or getattr(recipe, "task", None) == "french_english"
    assert bool(named or draws) == (recipe.validation_share is None)
    assert recipe.validation_share in (None, 0) or not recipe.stratify


@pytest.mark.parametrize("path", MINILM, ids=lambda path: path.stem)
def test_minilm_is_fine_tuned_as_in_the_table(path: Path) -> None:
    """The cards of these recipes are of the benchmark's runs."""
    (title,) = (name for name in fine_tuning.COLUMNS if re.sub(r"\W", "", name).lower() == path.stem.split("_")[-1])
    recipe = load_recipe(path, recipe_class=TASKS[script_of(path)].recipe_class)
    of_table = fine_tuning.recipe_of(fine_tuning.ROWS["MiniLM"], title, 0, "minilm")
    described = {"name": recipe.name, "data": recipe.data, "output_dir": recipe.output_dir}
    assert recipe == replace(of_table, **described)
    assert f'save_pretrained("{recipe.from_pretrained}")' in FINE_TUNING_PAGE.read_text(encoding="utf-8")


TINY = [path for path in RECIPES if path.stem.endswith("_tiny")]
# Of these, script and model are run by other tests; those of choices and answers take longest.
SLOW = (
    "bert_choice_tiny",
    "bert_squad_tiny",
    "efficient_transformer_tiny",
    "gpt1_pairs_tiny",
    "image_captioning_tiny",
    "padded_mlp_layer_per_input_tiny",
    "recurrent_pairs_tiny",
    "recurrent_tiny",
    "self_attention_tiny",
    "transformer_xl_recall_tiny",
)


@pytest.mark.cases(8, 20)
@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=pytest.mark.slow if p.stem in SLOW else ()) for p in TINY]
)
def test_a_tiny_recipe_gives_the_promised_number(path: Path, tmp_path: Path) -> None:
    task = TASKS[script_of(path)]
    promised = re.search(
        rf"Expected: validation (\w+) (-?[\d.]*\d).* (\d+)(?: steps)? \(([\d,]+) {task.items}", comment(path)
    )
    assert promised, "Expected: validation MEASURE VALUE after STEPS steps (ITEMS tokens, examples or images), ..."
    measure, value, steps, items = promised.groups()
    result, *_ = train_from_command(task, [str(path), "--output_dir", str(tmp_path / "run")])
    assert (result.metric_name, result.step, result.items) == (measure, int(steps), int(items.replace(",", "")))
    assert result.best_metric == pytest.approx(float(value), rel=0.02)
    recipe = load_recipe(path, recipe_class=task.recipe_class)
    saved = json.loads((tmp_path / "run/task.json").read_text(encoding="utf-8"))
    model = getattr(transformers, saved["auto_class"]).from_pretrained(tmp_path / "run")
    assert model.config.model_type == recipe.model["model_type"]
    facts = json.loads(json.dumps(model_cards.gather(path.stem, tmp_path / "run")))
    assert facts["recipe"] == json.loads(json.dumps(yaml.safe_load(path.read_text(encoding="utf-8"))))
    card = render_card(facts, "learning_curve.png", self_contained=True)
    assert f"\n# {recipe.name}\n" in card.text
    printed = [float(cell.replace(",", "")) for cell in re.findall(r"(?m)^\| [^|]* \| (-?[\d,.]+) \|", card.text)]
    assert pytest.approx(result.best_metric, rel=1e-3) in printed
    assert f"hf-lecture train {path.stem}" in card.text
    assert not re.search(r"\n{4,}|[{}]{2}|\{%", card.text), "the template leaves no traces"
