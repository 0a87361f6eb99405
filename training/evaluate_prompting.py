# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Measure a causal language model by prompts: how often the answer that it finds best is right.
Reads: rows of copa, piqa or arc_easy, or of a template of your own.

    hf-lecture train evaluate_prompting [RECIPE.yaml] [--name value ...]
    hf-lecture train evaluate_prompting --model MODEL --task copa --shots 0,1,4 --output_dir runs/prompting

Nothing is trained. The output folder holds prompting.json with all figures, and prompting_items.jsonl with the scores
of each item. `hf-lecture prompt` does the same.
"""

import argparse
import logging
import sys
from collections.abc import Mapping
from typing import Any

from transformers import AutoModelForCausalLM

from hf_lecture_models.io.recipe import describe_fields, load_recipe, parse_overrides
from hf_lecture_models.io.runs import as_program
from hf_lecture_models.lab.studies.prompting_task import PromptingRecipe, evaluate_prompting, heading, table
from hf_lecture_models.loading import load_model


def report(row: Mapping[str, Any]) -> None:
    """Print the figures of one number of examples."""
    print(heading(row))
    for cells in table(row):
        print("  " + "".join(f"{cell:>16}" for cell in cells))


def main(arguments: list[str]) -> None:
    """Read the command line, measure, and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        usage="%(prog)s [RECIPE.yaml] [--name value ...]",
        epilog=describe_fields(PromptingRecipe),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("recipe", nargs="?", metavar="RECIPE.yaml", help="fields of the evaluation")
    is_recipe = bool(arguments) and not (arguments[0].startswith("--") and arguments[0] != "--help")
    options = parser.parse_args(arguments[:1] if is_recipe else [])
    rest = arguments[1:] if is_recipe else arguments
    recipe = load_recipe(options.recipe, parse_overrides(rest, PromptingRecipe), recipe_class=PromptingRecipe)
    if not recipe.model:
        raise ValueError("recipe: model is missing; name a model's folder")
    model, tokenizer = load_model(recipe.model, AutoModelForCausalLM)
    evaluate_prompting(model, tokenizer, recipe, report)
    if recipe.output_dir:
        print(f"saved in {recipe.output_dir}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    try:
        with as_program():
            main(sys.argv[1:])
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
