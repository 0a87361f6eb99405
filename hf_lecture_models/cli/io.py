# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Functions of several verbs: read lines from files or a pipe, and print results as soon as they are ready."""

import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import AutoModelForCausalLM

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.loading import load_model, short_names
from hf_lecture_models.tokenization.corpus import decode_lines, raw_lines, read_texts
from hf_lecture_models.tokenization.sentencepiece_words import SentencePieceWords

# A chunk of a file holds several batches, which are sorted by length to save padding.
BATCHES = 4
NAMED = 3
"""The number of words that `see` names for each word that attends."""


def line_chunks(
    files: list[str], batch_size: int, before: list[str] | None = None, between_files: str | None = None
) -> Iterator[list[str]]:
    """Yield the lines of the files in lists; lines of standard input (`-`) are yielded as soon as they come in.

    The number of lines is shown as the progress, unless results are printed on the same terminal.

    Args:
        before: lines to yield first, as a list of their own.
        between_files: a line to add after each file.
    """
    if before:
        yield before
    size = BATCHES * batch_size
    with ProgressBar(desc="reading", unit=" lines", shown=not sys.stdout.isatty()) as bar:
        for file in files:
            for chunk in as_they_come(stdin_lines(), size) if file == "-" else _file_chunks(file, size):
                yield chunk
                bar.update(len(chunk))
            if between_files is not None:
                yield [between_files]


def _file_chunks(file: str, size: int) -> Iterator[list[str]]:
    lines = read_texts(file)
    while chunk := list(islice(lines, size)):
        yield chunk


def stdin_lines(keep_ends: bool = False) -> Iterator[str]:
    """Yield the lines of standard input, as `read_texts` does; with `keep_ends`, as they are written."""
    # A file object of its own: a blocked read of sys.stdin holds a lock, for which the interpreter waits at Ctrl-C.
    with open(sys.stdin.fileno(), "rb", closefd=False) as file:
        yield from (raw_lines if keep_ends else decode_lines)(file, "standard input")


def as_they_come(lines: Iterator[str], most: int) -> Iterator[list[str]]:
    """Yield lists of the lines that have come in so far, from one to `most`, without waiting for more."""
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=most)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except BaseException as error:  # the thread that prints raises it
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        items = [waiting.get()]
        while len(items) < most and not waiting.empty():
            items.append(waiting.get())
        chunk = [item for item in items if isinstance(item, str)]
        if chunk:
            yield chunk
        if isinstance(items[-1], BaseException):
            raise items[-1]
        if items[-1] is None:
            return


def complete_groups(chunks: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    """Yield the groups that each chunk of lines completes; an empty line or the end of the input ends a group.

    >>> list(complete_groups([["a", "b"], ["c", "", "d", "", "", "e"], ["f"]]))
    [[['a', 'b', 'c'], ['d']], [['e', 'f']]]
    """
    group: list[Any] = []
    for lines in chunks:
        complete = []
        for line in lines:
            if line:
                group.append(line)
            elif group:
                complete.append(group)
                group = []
        if complete:
            yield complete
    if group:
        yield [group]


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON, with null for numbers that are not finite."""
    print(strict_json(value))


def load_language_model(name: str, sentencepiece: Path | None) -> tuple[Any, Any]:
    """Return a causal language model and its tokenizer; with a sentencepiece model, its words are the pieces.

    Raises:
        OSError, ValueError, ImportError: as `load_model` and `SentencePieceWords`; the message names the model.
    """
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    if sentencepiece is None:
        return model, tokenizer
    try:
        return model, SentencePieceWords(sentencepiece, tokenizer)
    except ValueError as error:
        raise ValueError(f"{name} with {error}") from None


def load_side_by_side(names: list[str], auto_class: Any = None) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield a short name and (model, tokenizer) for each name; the short names all differ."""
    for title, name in zip(short_names(names), names, strict=True):
        yield title, load_model(name, auto_class)


def print_columns(rows: list[list[str]]) -> None:
    """Print a table whose first row is its heading; the first column is aligned left, the others right."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    for label, *cells in rows:
        print("  ".join([f"{label:{first}}", *(f"{c:>{max(8, size)}}" for c, size in zip(cells, others, strict=True))]))


def heaviest(weights: Tensor, words: Sequence[str], number: int) -> str:
    """Return the words with the largest weights, each with its weight.

    >>> import torch
    >>> heaviest(torch.tensor([0.25, 0.75]), ["the", "cat"], number=1)
    'cat 0.750'
    """
    best = weights.topk(min(number, len(words)))
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return "  ".join(f"{words[index]} {value:.3f}" for index, value in pairs)


def token_line(token: dict[str, Any]) -> str:
    r"""Return the line of a token with its log-probability.

    >>> token_line({"token": "cat", "log_prob": -0.5})
    '                  -0.5000  cat\n'
    """
    return f"{token['log_prob']:25.4f}  {token['token']}\n"


def print_tokens(detail: list[dict[str, Any]]) -> None:
    """Print a line for each token with its log-probability."""
    sys.stdout.writelines(map(token_line, detail))


def print_zeros(sentences: int) -> None:
    """Say on standard error how many ranked sentences have words of probability 0, if any has."""
    if sentences:
        print(
            f"hf-lecture rank: words of probability 0 in {sentences} sentences, which are ordered by the number of "
            "these words and by ln P of the others; --json has both",
            file=sys.stderr,
        )
