# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture predict`: what a model's head says of each line."""

import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from hf_lecture_models.cli.heads import Head, Line, Options, load_head
from hf_lecture_models.cli.io import line_chunks, print_json


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
    """Print the predictions for each line as its batch is ready, in the order of the lines; of a table, of each row.

    Args:
        jsonl: lines are JSON objects, as heads that need more than a text read them anyway.
        top_k: how many predictions to print; None: as many as is usual for the head.
        aggregate: of tags, print entities in place of words.
        max_length: the tokens that are kept of an input; None: as many as were saved with the model as its setting, or
            one that is too long for the model is an error.
        fields: how tables are to be read, as fields of the recipe by their dotted names, such as "columns.text".

    Raises:
        ValueError: the model has no such head, an option is not for it, a line cannot be read, or there is none.
    """
    head = load_head(name, Options(name, batch_size, jsonl, top_k, aggregate, max_length, fields))
    if fields and not any(map(head.reads_table, files)):
        raise ValueError(f"--{next(iter(fields))} says how a table is read, and there is none: leave it out")
    count = 0
    for results in chain.from_iterable(_results(head, file, batch_size) for file in files):
        for result in results:
            print_json(result) if json else print(head.show(result))
            count += 1
        sys.stdout.flush()
    if not count:
        raise ValueError(f"nothing to predict: give {head.form}, one per line")


def _results(head: Head, file: str, batch_size: int) -> Iterator[list[dict[str, Any]]]:
    if head.reads_table(file):
        yield head.predict_table(file)
        return
    for lines in _numbered_lines(file, batch_size):
        yield head.predict(lines)


def _numbered_lines(file: str, batch_size: int) -> Iterator[list[Line]]:
    number = 0
    for texts in line_chunks([file], batch_size):
        yield [Line("standard input" if file == "-" else file, number + i, text) for i, text in enumerate(texts, 1)]
        number += len(texts)
