# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A program's run: its signals, its folder, which holds one run at a time, its messages, and the code that it runs."""

import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import filelock

from hf_lecture_models.io.system import signal_handlers, use_utf8

AFTER_TEST: list[Callable[[Path, Any, Any, dict[str, Any]], None]] = []
"""What keeps the results of a run's test data, called with the folder, model, processor and results; `hub` adds the
facts of a card."""
BASELINE_FILE = "baseline.json"
"""Beside a model: the baseline that was learned from its training data, and how far the model is above it."""
RUN_LOCK = "run.lock"
_state = {"silent": 0}


@contextmanager
def as_program() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt and SIGTERM SystemExit(143); the standard streams have UTF-8.

    Programs so remove unfinished files on the way out. A process that ignores a signal, such as a shell's background
    job, goes on ignoring it.
    """
    use_utf8()
    with signal_handlers({signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _exit}):
        yield


@contextmanager
def received_signals() -> Iterator[list[str]]:
    """Within the block the first SIGINT or SIGTERM is only noted, so that a loop can save; the second one kills.

    Yields the names of the signals that came. Outside the main thread, where Python sets no handlers, none is noted.
    """
    received: list[str] = []
    handlers = ExitStack()

    def note(number: int, _: Any) -> None:
        received.append(signal.Signals(number).name)
        handlers.close()

    with handlers:
        handlers.enter_context(signal_handlers(dict.fromkeys((signal.SIGINT, signal.SIGTERM), note)))
        yield received


def raise_signal(name: str) -> None:
    """Raise the exception of the signal of this name; do nothing for other words.

    >>> raise_signal("early stopping")
    >>> raise_signal("SIGTERM")
    Traceback (most recent call last):
        ...
    SystemExit: 143
    """
    if name == "SIGINT":
        raise KeyboardInterrupt
    if name == "SIGTERM":
        _exit(signal.SIGTERM, None)


def _exit(number: int, _: Any) -> None:
    sys.exit(128 + number)


def as_options(message: str, names: Mapping[str, str]) -> str:
    """Return a message for a terminal: a name in backquotes becomes the option that `names` has for it.

    >>> as_options("leave `top_k` out, or set `model.order`", {"top_k": "--top-k", "model": "--model"})
    'leave --top-k out, or set --model.order'

    Args:
        names: the option of each argument; a recipe's field keeps what follows its dot.
    """
    return re.sub(r"`(\w+)([^`\s]*)`", lambda at: names[at[1]] + at[2] if at[1] in names else at[0], message)


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Make a folder and hold it for this run alone; the system frees it when the process dies.

    Raises:
        NotADirectoryError: the path is a file.
        IsADirectoryError: the lock's path is a folder.
        BlockingIOError: another run works in it.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cannot write into {folder}: it is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUN_LOCK
    if path.is_dir():
        raise IsADirectoryError(f"cannot lock {folder}: {path} is a folder; remove it")
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise BlockingIOError(f"{folder} is in use by another run; wait for it, or name another folder") from None
    try:
        yield
    finally:
        # Before the release: whoever comes after it makes a file of its own.
        with suppress(OSError):
            path.unlink()
        lock.release()


def log_once(message: str) -> None:
    """Print a line to standard error, once where several processes run; nothing within `no_log`."""
    if is_main_process() and not _state["silent"]:
        print(message, file=sys.stderr)


@contextmanager
def no_log() -> Iterator[None]:
    """Within the block `log_once` prints nothing, for experiments that train many models on the same data."""
    _state["silent"] += 1
    try:
        yield
    finally:
        _state["silent"] -= 1


def is_main_process() -> bool:
    """Return whether this is the process that writes and prints: the only one, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


def best_validation(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures of the weights that a run kept, {} if it measured nothing.

    >>> history = [{"validation_f1": 0.5, "validation_windows": 9}, {"validation_f1": 0.25, "validation_windows": 9}]
    >>> best_validation({"metric": "f1", "best_metric": 0.5, "history": history})
    {'f1': 0.5, 'windows': 9}

    Args:
        record: the content of its `training.json`.
    """
    metric = f"validation_{record.get('metric')}"
    for row in record.get("history", ()):
        if metric in row and row[metric] == record.get("best_metric"):
            prefix = "validation_"
            return {key.removeprefix(prefix): value for key, value in row.items() if key.startswith(prefix)}
    return {}


def environment() -> dict[str, str]:
    """Return the versions of Python and packages, and the commit if the package is run from a checkout."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("hf-lecture-models", "torch", "transformers"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that is not installed
            versions[package] = "not installed"
    commit = checked_out_commit()
    return {**versions, "commit": commit} if commit else versions


def checked_out_commit() -> str | None:
    """Return the commit of the package's own repository, None if the package is installed.

    It ends in "-dirty" if tracked code or recipes were changed; pages and records do not count.
    """
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        # An environment inside some other repository says nothing of this package.
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], capture_output=True, check=True)
        name = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, check=True).stdout
        code = (":(top)*.py", ":(top)*.yaml", ":(top)*.toml")
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", *code], capture_output=True).returncode
        return name.decode().strip() + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
