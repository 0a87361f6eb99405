# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Run a file of answers in this process, and say where in that file an error arose."""

import inspect
import runpy
import sys
import textwrap
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hf_lecture_models.io import runs

# Not the file's own name, which may be that of a module in use.
_MODULE = "exercise_answers"
_WIDTH = 200


def load_file(path: Path) -> dict[str, Any]:
    """Run a Python file and return what it defines; modules beside the file can be imported.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not Python, or fails while it is run.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {path}; write one, which begins as `hf-lecture exercise NAME` prints"
        )
    # An error here is the file's; one below is raised by what it does.
    if b"\0" in path.read_bytes():
        raise ValueError(f"{path.name} has null bytes, so it is not a Python file; save it as text in UTF-8")
    folder = str(path.resolve().parent)
    sys.path.append(folder)
    try:
        return runpy.run_path(str(path), run_name=_MODULE)
    except SyntaxError as error:
        place = f"{Path(error.filename or path).name}, line {error.lineno or 1}"
        line = (error.text or "").strip()
        raise ValueError(f"{place}: {error.msg}" + (f": {line}" if line else "")) from None
    except (Exception, SystemExit) as error:
        pass_on_signals(error)
        raise ValueError(describe(error, str(path))) from None
    finally:
        sys.path.remove(folder)


def find_function(defined: dict[str, Any], path: Path, name: str) -> Callable[..., Any]:
    """Return a function of those that a file defines.

    Raises:
        ValueError: it has none of this name.
    """
    function = defined.get(name)
    if callable(function):
        return function
    own = [key for key, value in defined.items() if inspect.isfunction(value) and value.__module__ == _MODULE]
    near = get_close_matches(name, own, 1)
    advice = f"; is it {near[0]}?" if near else f"; it has {', '.join(own)}" if own else "; it has no functions"
    raise ValueError(f"{path.name} has no function {name}{advice}")


def pass_on_signals(error: BaseException) -> None:
    """Raise the error again if it is the SystemExit of a signal, and not one of the file's own."""
    if isinstance(error, SystemExit) and traceback.extract_tb(error.__traceback__)[-1].filename == runs.__file__:
        raise error


def describe(error: BaseException, file: str) -> str:
    """Return one line about an error: the last place in `file` that it passed through, and its message.

    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     describe(error, "elsewhere.py")
    "ValueError: invalid literal for int() with base 10: 'x'"
    """
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, SystemExit):
        text = "it ends the program (sys.exit); leave that out"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if not frames:
        return text
    frame = frames[-1]
    where = "" if frame.name == "<module>" else f", in {frame.name}"
    line = textwrap.shorten(frame.line or "", _WIDTH, placeholder=" ...")
    message = textwrap.shorten(text, _WIDTH, placeholder=" ...")
    return f"{Path(file).name}, line {frame.lineno}{where}: {message}" + (f" ({line})" if line else "")
