# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The cards of the trained recipes, hub_cards/NAME.md for training/recipes/NAME.yaml, from saved facts.

    python -m benchmarks.model_cards                   # renders every card again, from hub_cards/facts/*.json
    python -m benchmarks.model_cards NAME FOLDER       # first gathers the facts of NAME, whose recipe made FOLDER

The results are those of benchmarks/results/NAME.json if that file has a test set (`python -m benchmarks.language_models
NAME FOLDER` writes it), and otherwise those that the training recorded.
"""

import json
from pathlib import Path
from typing import Any

import transformers
import yaml
from transformers.utils import logging

from benchmarks.common import ROOT, check_trained_on_committed_code, new_parser, training_record
from hf_lecture_models.analysis.figures import save_learning_curve
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.task_file import TASK_FILE
from hf_lecture_models.loading import load_model

CARDS, RECIPES = ROOT / "hub_cards", ROOT / "training" / "recipes"


def gather(name: str, folder: Path) -> dict[str, Any]:
    """Return the facts of a recipe's card, from the folder that the recipe made."""
    logging.disable_progress_bar()
    recipe = yaml.safe_load((RECIPES / f"{name}.yaml").read_text(encoding="utf-8"))
    task = {"auto_class": "AutoModelForCausalLM", "script": "fit_ngram.py"}
    if (folder / TASK_FILE).is_file():
        task = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
    model, processor = load_model(str(folder), getattr(transformers, task["auto_class"]))
    facts = facts_of(folder, model, processor) | {
        "name": recipe["name"],
        "recipe": recipe,
        "licence": "apache-2.0",
        "command": f"hf-lecture train {name}",
    }
    facts["data"] = facts["data"] | recipe["data"]
    return facts | measured(name, facts)


def keep(name: str, folder: Path) -> None:
    """Write a recipe's facts and the picture of its learning curve, from the folder that the recipe made."""
    facts = gather(name, folder)
    write_file(CARDS / "facts" / f"{name}.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    if record := training_record(folder):
        save_learning_curve(record["history"], CARDS / f"{name}.png", width=4.2, height=2.7)


def take_description(name: str) -> None:
    """Take what the recipe says of its data into the saved facts; it describes the data and changes no model.

    Raises:
        ValueError: another field of the recipe was changed after the model was made.
    """
    path = CARDS / "facts" / f"{name}.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    # The keys of a JSON object are texts.
    recipe = json.loads(json.dumps(yaml.safe_load((RECIPES / f"{name}.yaml").read_text(encoding="utf-8"))))
    if {**recipe, "data": None} != {**facts["recipe"], "data": None}:
        raise ValueError(f"{name}.yaml was changed after its model was made; train it again")
    split = {key: value for key, value in facts["data"].items() if key == "split"}
    described = facts | {"recipe": recipe, "data": split | recipe["data"]}
    if described != facts:
        write_file(path, json.dumps(described, indent=1, ensure_ascii=False) + "\n")


def measured(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that benchmarks/results/NAME.json replaces: the test set's results, and their machine."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"results": {}}
    if "test" not in record["results"]:
        return {}
    versions = record["machine"]["versions"]
    # A build of torch for the CPU alone trained on nothing else.
    device = {"device": "cpu"} if versions["torch"].endswith("+cpu") else {}
    return {
        "results": record["results"]["test"],
        "data": {**facts["data"], "split": "test"},
        "training": device | facts["training"],
        "environment": {
            "processor": record["machine"]["processor"],
            **{package: versions[package] for package in ("python", "torch", "transformers")},
            "commit": record["commit"],
        },
    }


def render(name: str) -> str:
    """Return a recipe's card: its facts in today's template."""
    facts = json.loads((CARDS / "facts" / f"{name}.json").read_text(encoding="utf-8"))
    curve, drawings = (file if (CARDS / file).is_file() else None for file in (f"{name}.png", f"{name}.svg"))
    return f"{render_card(facts, curve, self_contained=True, drawings=drawings)}\n"


def names() -> list[str]:
    """Return the recipes whose facts are there."""
    return sorted(path.stem for path in (CARDS / "facts").glob("*.json"))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("name", nargs="?", help="of a recipe, without .yaml")
    parser.add_argument("folder", nargs="?", type=Path, help="the model that this recipe made")
    arguments = parser.parse_args()
    if (arguments.name is None) != (arguments.folder is None):
        parser.error("NAME and FOLDER belong together")
    if arguments.name is not None:
        if not (RECIPES / f"{arguments.name}.yaml").is_file():
            recipes = ", ".join(sorted(path.stem for path in RECIPES.glob("*.yaml")))
            parser.error(f"no recipe {arguments.name}; there are {recipes}")
        if not (arguments.folder / "config.json").is_file():
            parser.error(f"there is no model in {arguments.folder}; train it by the recipe, with --output_dir FOLDER")
        check_trained_on_committed_code(arguments.folder)
        keep(arguments.name, arguments.folder)
    for name in names():
        take_description(name)
        write_file(CARDS / f"{name}.md", render(name))
    print(f"{len(names())} cards in {CARDS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
