# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Run a verb of `hf-lecture`, with errors in one line, exit statuses and signals."""

import os
import signal
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from hf_lecture_models.io.runs import as_options, as_program
from hf_lecture_models.io.system import is_closed_pipe

_FIELDS = ("columns", "label_columns", "label_names", "scheme", "thresholds")
"""Fields of a recipe that verbs of data take as options: `--columns.text NAME`."""


def run_verb(verb: str, module: str, options: Mapping[str, Any]) -> None:
    """Call `run` of `hf_lecture_models.MODULE` with the options that are its parameters; errors name the verb.

    Raises:
        SystemExit: the verb failed; the error was printed.
    """
    with plain_errors(verb, options):
        run = import_module(f"hf_lecture_models.{module}").run
        with as_program():
            run(**read_by(run, options))


def read_by(run: Callable[..., None], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options that a function names, or all if it takes any."""
    parameters = signature(run).parameters.values()
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return options
    return {parameter.name: options[parameter.name] for parameter in parameters if parameter.name in options}


@contextmanager
def plain_errors(verb: str, options: Collection[str] = ()) -> Iterator[None]:
    """Turn an error within the block into one line on standard error and an exit status, without a traceback.

    Args:
        options: the arguments that have options of the same name, as an error names them.
    """
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
    except Exception as error:
        if is_closed_pipe(error):
            # The reader has gone (`| head`); the interpreter's flush at exit must not fail on the closed pipe either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(141) from None  # 128 + SIGPIPE, which Windows lacks
        # Other libraries' errors often mean little without their type.
        kind = "" if isinstance(error, ImportError | OSError | TypeError | ValueError) else f"{type(error).__name__}: "
        names = {name: f"--{name.replace('_', '-')}" for name in options} | {name: f"--{name}" for name in _FIELDS}
        said = as_options(kind + str(error), names)
        message = textwrap.shorten(said, 600, placeholder=" ...") or type(error).__name__
        print(f"hf-lecture {verb}: {message}", file=sys.stderr)
        raise SystemExit(1) from None
