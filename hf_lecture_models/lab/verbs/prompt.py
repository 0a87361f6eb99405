# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture prompt`: how often the answer that a model finds best is right."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from hf_lecture_models.cli.io import print_columns, print_json
from hf_lecture_models.lab.studies.prompting_task import PromptingRecipe, evaluate_prompting, heading, table
from hf_lecture_models.loading import load_model


def run(name: str, template: Path | None, unigram: str | None, output: Path | None, json: bool, **fields: Any) -> None:
    """Print a table for each number of examples as soon as it is measured; with `json` one object.

    Args:
        fields: the other fields of a `PromptingRecipe`.

    Raises:
        ValueError: the template, its rows or the model do not fit.
        OSError: a file cannot be read or written.
    """
    paths = {"template": str(template or ""), "unigram": unigram or "", "output_dir": str(output or "")}
    recipe = PromptingRecipe(model=name, **fields | paths)
    model, tokenizer = load_model(name, AutoModelForCausalLM)

    def report(row: Mapping[str, Any]) -> None:
        if not json:
            print(heading(row))
            print_columns(table(row))
            print(flush=True)

    results = evaluate_prompting(model, tokenizer, recipe, report, progress=True)
    if json:
        print_json(results)
