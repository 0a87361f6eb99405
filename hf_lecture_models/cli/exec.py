# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec`: another Python program in this process, which has imported the package."""

import os
import runpy
import signal
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from hf_lecture_models.cli.app import plain_errors
from hf_lecture_models.cli.serve_errors import answer_value_errors


def run_program(command: list[str]) -> None:
    """Run a Python program in this process; the program and the processes that it starts know the models."""
    with plain_errors("exec"):
        program = find_program(command)
    register_in_subprocesses()
    if command[:2] == ["transformers", "serve"]:
        answer_value_errors()
    # From here on the program itself handles signals and errors.
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
    program()


def find_program(command: list[str]) -> Callable[[], Any]:
    """Return a function that runs `command` in this process, and set `sys.argv` as the program expects it.

    Raises:
        FileNotFoundError: the file of Python code is missing.
        ValueError: no such console script or module is installed here.
    """
    name, *arguments = command
    if name in ("python", "python3"):
        return _find_python(arguments)
    scripts = entry_points(group="console_scripts")
    if name not in scripts.names:
        near = get_close_matches(name, scripts.names, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; is it installed in this environment?"
        raise ValueError(f"no console script {name}{hint} (python FILE, -m MODULE and -c CODE work too)")
    program = scripts[name].load()
    sys.argv = command

    def run() -> None:
        sys.exit(program())

    return run


def register_in_subprocesses() -> None:
    """Let the processes that this one starts know the models too; see `cli/startup/sitecustomize.py`."""
    folder = str(Path(__file__).with_name("startup"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))


def _find_python(arguments: list[str]) -> Callable[[], Any]:
    """Return what `python FILE`, `python -m MODULE` or `python -c CODE` runs, and set `sys.path` as Python does."""
    if arguments and not arguments[0].startswith("-"):
        file = Path(arguments[0])
        if not file.exists():
            raise FileNotFoundError(f"there is no file {file}")
        sys.argv = arguments
        sys.path.insert(0, str(file.resolve().parent))
        return lambda: runpy.run_path(str(file), run_name="__main__")
    if len(arguments) < 2 or arguments[0] not in ("-m", "-c"):
        raise ValueError(
            "python runs here as python FILE ..., python -m MODULE ... or python -c CODE ..., nothing else"
        )
    flag, program = arguments[:2]
    sys.path.insert(0, "")
    if flag == "-c":
        sys.argv = ["-c", *arguments[2:]]
        return lambda: _run_code(program)
    if not _is_module(program):
        raise ValueError(f"there is no module {program}; is it installed in this environment?")
    sys.argv = arguments[1:]
    return lambda: runpy.run_module(program, run_name="__main__", alter_sys=True)


def _run_code(code: str) -> None:
    sys.modules["__main__"] = main = ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), vars(main))


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its package does not exist
        return False
