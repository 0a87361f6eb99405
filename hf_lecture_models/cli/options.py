# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The options of the command line in place of the arguments that an error of the package names."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# The fields of a recipe that verbs take by dotted names.
_FIELDS = re.compile(r"(?<![-\w])(columns|label_names)\.")


@contextmanager
def named_as_options(*arguments: str) -> Iterator[None]:
    """Let a ValueError of the block name options: `--top-k` for the argument `top_k`.

    >>> with named_as_options("top_k"):
    ...     raise ValueError("there is one tag for each word: leave top_k out")
    Traceback (most recent call last):
    ValueError: there is one tag for each word: leave --top-k out
    """
    try:
        yield
    except ValueError as error:
        error.args = (as_options(str(error), arguments),)
        raise


def as_options(message: str, arguments: Sequence[str]) -> str:
    """Return a message with options where it names one of the arguments with its value, or asks to leave it out.

    >>> as_options("max_length 16 cuts it; label_names.0 names a class", ["max_length"])
    '--max-length 16 cuts it; --label_names.0 names a class'
    """
    named = re.compile(rf"(?<![-\w])({'|'.join(arguments)}) (?=out\b|\d)")
    message = named.sub(lambda found: f"--{found[1].replace('_', '-')} ", message)
    return _FIELDS.sub(r"--\1.", message)
