# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture translate`: translations of lines, or of the sources of a table."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoModelForSeq2SeqLM

from hf_lecture_models.cli.io import line_chunks, print_json
from hf_lecture_models.data.files import is_table
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.task_file import task_file_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.task import Encoded, recipe_of
from hf_lecture_models.tasks.translation.rows import read_pairs
from hf_lecture_models.tasks.translation.task import Translation, search_of
from hf_lecture_models.tasks.translation.translate import encode_sources


def run(
    name: str, files: list[str], options: dict[str, Any], json: bool, batch_size: int, fields: Mapping[str, str]
) -> None:
    """Print translations as soon as their batch is ready; an empty line stays empty, so that lines are aligned.

    Raises:
        ValueError: the model is not for translation, or a line is too long for it.
    """
    model, tokenizer = load_model(name, AutoModelForSeq2SeqLM)
    if fields and not any(map(_is_table, files)):
        raise ValueError(f"--{next(iter(fields))} says how a table is read, and there is none: leave it out")
    task, length = Translation(), options.pop("max_length", None)
    settings = task.settings_class.of({"task": task_file_of(model.config)}, task.name)
    settings = replace(settings, **search_of(model), **({} if length is None else {"max_length": length}))
    number = 0
    for chunk, where in _chunks(name, model, tokenizer, files, batch_size, fields):
        places = [place for place, line in enumerate(chunk) if line.strip()]
        texts = [chunk[place] for place in places]
        rows = encode_sources(model, tokenizer, texts, settings.max_length, _where(places, where, number))
        encoded = Encoded(Rows({"source": texts}, []), rows)
        found = task.predict(model, tokenizer, encoded, settings, batch_size, **options)
        translations = dict(zip(places, found, strict=True))
        for place, line in enumerate(chunk):
            written = [(one.text, one.score) for one in translations.get(place, ())]
            for text, score in written or [("", None)] * (options.get("num_return_sequences") or 1):
                shown = " ".join(text.splitlines())
                print_json({"text": line, "translation": text, "score": score}) if json else print(shown)
        number += len(chunk)
        sys.stdout.flush()


Where = Callable[[int], str]


def _is_table(file: str) -> bool:
    return file != "-" and is_table(file)


def _chunks(
    name: str, model: Any, tokenizer: Any, files: list[str], batch_size: int, fields: Mapping[str, str]
) -> Iterator[tuple[list[str], Where | None]]:
    """Yield lists of texts; with those of a table, a function that names each text for messages."""
    for file in files:
        if not _is_table(file):
            yield from ((lines, None) for lines in line_chunks([file], batch_size))
            continue
        facts = facts_of(name, model, tokenizer) if Path(name).is_dir() else {}
        recipe = replace(recipe_of(Translation(), facts), predict_files=[file], predict_split="", dataset_name="")
        rows = read_pairs(load_recipe(None, vars(recipe) | dict(fields), recipe_class=type(recipe)), "predict")
        if rows is not None:
            yield rows.columns["source"], rows.where


def _where(places: list[int], where: Where | None, number: int) -> Where:
    """Return a function that names a text for messages: by its line, or by the row of its table."""
    return lambda index: f"line {number + places[index] + 1}" if where is None else where(places[index])
