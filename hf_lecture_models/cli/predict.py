# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture predict`: the predictions of a model for each line of a file, each row of a table, or an image.

With `--json`, every result is a JSON object: the input, and `predictions`, a list of objects. Otherwise a prediction
is printed as its label, score and text, with tabs between them. Several classes of a text are printed on one line,
with commas between them, unless the best k are asked for.
"""

import json as json_library
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.cli.io import line_chunks, print_json
from hf_lecture_models.data.files import is_table
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.classification.several_measures import NO_CLASS
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.images.rows import has_image_name, is_binary
from hf_lecture_models.tasks.prediction import Predictor

Result = dict[str, Any]


def run(
    name: str,
    files: list[str],
    json: bool,
    batch_size: int,
    jsonl: bool,
    top_k: int | None,
    aggregate: bool,
    max_length: int | None,
    fields: Mapping[str, str],
) -> None:
    """Print the predictions for each line of a file, each row of a table or each image, as soon as they are ready.

    Raises:
        ValueError: the model predicts nothing, an option does not apply to it, a line cannot be read, or the input is
            empty.
    """
    predictor = Predictor(*load_model(name), PredictionOptions(top_k, aggregate, batch_size, max_length), name)
    if folders := [file for file in files if "image" not in predictor.form.fields and Path(file).is_dir()]:
        raise ValueError(f"{folders[0]} is a folder: name text files")
    is_json = jsonl or predictor.form.needs_json
    reads_images = "image" in predictor.form.fields
    images = [file for file in files if reads_images and (has_image_name(file) or is_binary(file))]
    tables = [file for file in files if _is_table(file, is_json, jsonl)]
    if fields and not tables:
        raise ValueError(f"--{next(iter(fields))} says how a table is read, and there is none: leave it out")
    count = 0
    for file in files:
        is_read_whole = file in tables or file in images
        batches = [_table(predictor, file, fields)] if is_read_whole else _lines(predictor, file, batch_size, is_json)
        for results in batches:
            for result in results:
                print_json(result) if json else _print(predictor, result, aggregate)
            count += len(results)
            sys.stdout.flush()
    if not count:
        raise ValueError(f"nothing to predict: give {predictor.form.words}, one per line")


def _is_table(file: str, is_json: bool, jsonl: bool) -> bool:
    """Return whether a file is a table by its name, or a folder of images, and is not read line by line."""
    is_lines = is_json and file_suffix(file) == ".jsonl"
    return file != "-" and (Path(file).is_dir() or (is_table(file) and not is_lines and not jsonl))


def _table(predictor: Predictor, file: str, fields: Mapping[str, str]) -> list[Result]:
    rows, found = predictor.predict_table(file, fields)
    return [predictor.form.shown(row) | {"predictions": own} for row, own in zip(rows, found, strict=True)]


def _lines(predictor: Predictor, file: str, batch_size: int, is_json: bool) -> Iterator[list[Result]]:
    """Yield the results of a file's lines, batch by batch; blank lines between JSON objects are skipped."""
    number, source = 0, "standard input" if file == "-" else file
    for texts in line_chunks([file], batch_size):
        numbered = [(number + i, text) for i, text in enumerate(texts, 1) if text.strip() or not is_json]
        number += len(texts)
        rows = [_fields(predictor, f"{source}, line {place}", text, is_json) for place, text in numbered]
        sources = Rows({}, [(source, 1)] * len(rows), [[place] for place, _ in numbered])
        found = predictor.predict(rows, sources)
        yield [row | {"predictions": own} for row, own in zip(rows, found, strict=True)]


def _fields(predictor: Predictor, where: str, text: str, is_json: bool) -> Result:
    """Return the fields of a line; the task checks those of a JSON object."""
    if not is_json:
        try:
            return predictor.form.read(text)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    given = _read_json(predictor.form, where, text)
    try:
        predictor.form.check(given)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return given


def _read_json(form: LineForm, where: str, text: str) -> Result:
    """Return the known fields of a line that is a JSON object.

    Raises:
        ValueError: the line is not a JSON object, or a field is missing or has the wrong type.
    """
    try:
        given = json_library.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise ValueError(f"{where} is no JSON object, which has the fields {', '.join(form.fields)}")
    known = dict(form.fields) | {name: str for name in form.optional if given.get(name) is not None}
    for name, kind in known.items():
        if name not in given:
            raise ValueError(f"{where} has no field {name}, only {', '.join(given) or 'none'}")
        if not isinstance(given[name], kind):
            raise ValueError(f"{where}: {name} is {given[name]!r}, no {'text' if kind is str else 'list'}")
    return {name: given[name] for name in known}


def _print(predictor: Predictor, result: Result, aggregate: bool) -> None:
    """Print a result as text: a line for each prediction or word, and an empty line after a sentence of words."""
    found: Sequence[Result] = result["predictions"]
    if predictor.gives_sets:
        found = [
            {"label": ",".join(one["label"] for one in found) or NO_CLASS, "scores": [one["score"] for one in found]}
        ]
    if not predictor.form.usual and not aggregate:
        print("".join(f"{one['word']}\t{one['label'] or '-'}\n" for one in found))
        return
    lines = [
        (f"{one['label']}\t{_scores(one)}\t" if "label" in one else "") + predictor.form.line_of(result, one)
        for one in found
    ]
    shown = "\n".join(" ".join(line.split("\n")) for line in lines)
    print(f"{shown}\n".lstrip("\n") if aggregate else shown)


def _scores(prediction: Mapping[str, Any]) -> str:
    """Return the score of a prediction, or the scores of several classes with commas between them."""
    return ",".join(f"{score:.4f}" for score in prediction.get("scores", [prediction.get("score")])) or NO_CLASS
