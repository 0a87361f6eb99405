# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Lines in, from files or a pipe, and results out, line by line as they are ready."""

import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hf_lecture_models.evaluation.strict_json import strict_json
from hf_lecture_models.tokenization.corpus import decode_lines, read_texts

# Lines that a chunk of a file holds per line of a batch: sorted by length, batches then waste little on padding.
_BATCHES_PER_CHUNK = 4


def line_chunks(
    files: list[str], batch_size: int, before: list[str] | None = None, between_files: str | None = None
) -> Iterator[list[str]]:
    """Lines of the files in lists; those of standard input (`-`) as soon as they have come in.

    Args:
        before: lines that come first, as a list of their own.
        between_files: a line that follows each file.
    """
    if before:
        yield before
    size = _BATCHES_PER_CHUNK * batch_size
    for file in files:
        if file == "-":
            yield from _as_they_come(_stdin_lines(), size)
        else:
            lines = read_texts(file)
            while chunk := list(islice(lines, size)):
                yield chunk
        if between_files is not None:
            yield [between_files]


def _stdin_lines() -> Iterator[str]:
    # A reader of its own: at Ctrl-C the interpreter would wait for the lock that a blocked read of sys.stdin holds.
    with open(sys.stdin.fileno(), "rb", closefd=False) as file:
        yield from decode_lines(file, "standard input")


def _as_they_come(lines: Iterator[str], most: int) -> Iterator[list[str]]:
    """Lists of what has come in so far, at most `most` and at least one, without waiting for more."""
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=most)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except BaseException as error:  # handed on to the thread that prints
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
    """The groups that each chunk of lines completes; an empty line ends a group, and so does the end of the input.

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
    """Print one line of JSON; what is not finite becomes null."""
    print(strict_json(value))


def print_tokens(detail: list[dict[str, Any]]) -> None:
    """Print a line for each token with its log-probability."""
    for token in detail:
        print(f"{token['log_prob']:25.4f}  {token['token']}")
