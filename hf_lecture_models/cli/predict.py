# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture predict`: what a model's head says of each line."""

import sys
from collections.abc import Iterator
from itertools import chain

from hf_lecture_models.cli.heads import Line, Options, load_head
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
) -> None:
    """Print the predictions for each line as its batch is ready, in the order of the lines.

    Args:
        jsonl: lines are JSON objects, as heads that need more than a text read them anyway.
        top_k: how many predictions to print; None: as many as is usual for the head.
        aggregate: of tags, print entities in place of words.
        max_length: the tokens that are kept of an input; None: one that is too long for the model is an error.

    Raises:
        ValueError: the model has no such head, an option is not for it, a line cannot be read, or there is none.
    """
    head = load_head(name, Options(batch_size, jsonl, top_k, aggregate, max_length))
    count = 0
    for lines in chain.from_iterable(_numbered_lines(file, batch_size) for file in files):
        for result in head.predict(lines):
            print_json(result) if json else print(head.show(result))
            count += 1
        sys.stdout.flush()
    if not count:
        raise ValueError(f"nothing to predict: give {head.form}, one per line")


def _numbered_lines(file: str, batch_size: int) -> Iterator[list[Line]]:
    number = 0
    for texts in line_chunks([file], batch_size):
        yield [Line("standard input" if file == "-" else file, number + i, text) for i, text in enumerate(texts, 1)]
        number += len(texts)
