# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`python ARGUMENTS` as a process of its own that need not import torch again.

It is forked from a process that has imported the package and done nothing else. Streams, signals, working folder and
exit status are those of any program, but the seconds that an interpreter takes to import torch and transformers are
spared. A test of what happens before or during imports starts an interpreter with `subprocess` instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Timer
from typing import Any

from hf_lecture_models.cli.exec import find_program
from hf_lecture_models.io import runs

PATIENCE = 1800
"""Seconds after which a process is taken to hang. It is no measure of speed: a busy machine may take minutes."""

HF_LECTURE = ("-c", "from hf_lecture_cli import main; main()")
"""The console script; its arguments follow."""

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "matplotlib.pyplot",
        "torch.distributed.fsdp",
        "transformers.generation",
        "transformers.pipelines",
        "hf_lecture_models.lab.comparison.quickstart",
        "hf_lecture_models.tasks.core.main",
        "hf_lecture_models.tasks.classification.task",
    ]
)


def ask_for_the_commit_once() -> None:
    """Each save of a training asks git, by three processes, for the commit of the code, which no test changes."""
    runs.checked_out_commit = functools.cache(runs.checked_out_commit)


class ForkedPython:
    """Behaves as a `subprocess.Popen` of `python ARGUMENTS`; its streams are pipes of text, or the terminal given.

    It sees the variables of this process as they are now, and beside or instead of them `environment`.
    """

    def __init__(
        self, *arguments: object, cwd: Path | None = None, terminal: int | None = None, **environment: str
    ) -> None:
        if terminal is None:
            (stdin, ours), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
            self.stdin = os.fdopen(ours, "w", encoding="utf-8")
            self.stdout, self.stderr = (os.fdopen(number, encoding="utf-8") for number in (out, err))
            streams = [Connection(number) for number in (stdin, stdout, stderr)]
        else:
            streams = [Connection(os.dup(terminal)) for _ in range(3)]
        given = (list(map(str, arguments)), streams, cwd or Path.cwd(), os.environ | environment)
        self._process = CONTEXT.Process(target=_run, args=given, daemon=True)
        self._process.start()
        for stream in streams:
            stream.close()
        self.pid: int = self._process.pid
        self.kill, self.terminate = self._process.kill, self._process.terminate

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("python", timeout or 0)
        return self.returncode

    def communicate(self, given: str = "", timeout: float = PATIENCE) -> tuple[str, str]:
        """What it wrote to its standard output and its standard error; it is killed when the time is over."""
        killer = Timer(timeout, self.kill)
        killer.start()
        with ThreadPoolExecutor(2) as pool:
            written = [pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            with contextlib.suppress(BrokenPipeError), self.stdin:
                self.stdin.write(given)
        self.wait()
        killer.cancel()
        out, err = (future.result() for future in written)
        return out, err


def run_workers(*arguments: object, processes: int = 2, **environment: str) -> tuple[str, str]:
    """Run `python ARGUMENTS` in so many processes that train together on the CPU.

    torchrun does the same from an interpreter of its own, and starts the processes again where one fails.

    Returns:
        What all wrote to their standard outputs, and the first one to its standard error.
    """
    shared = {"WORLD_SIZE": str(processes), "LOCAL_WORLD_SIZE": str(processes), "ACCELERATE_USE_CPU": "true"}
    with socket.socket() as place, ThreadPoolExecutor(processes) as pool:
        # Bound for as long as they run, so that nobody else is given the port; SO_REUSEADDR lets them listen there.
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))
        shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(place.getsockname()[1])} | environment
        workers = [
            ForkedPython(*arguments, RANK=str(rank), LOCAL_RANK=str(rank), **shared) for rank in range(processes)
        ]
        outputs, reports = zip(*pool.map(ForkedPython.communicate, workers), strict=True)
    assert [worker.returncode for worker in workers] == [0] * processes, "\n".join(reports)[-4000:]
    return "".join(outputs), reports[0]


def _run(arguments: list[str], streams: list[Any], folder: Path, environment: dict[str, str]) -> None:
    if os.isatty(streams[0].fileno()):
        # The terminal must be the controlling one, so that Ctrl-C reaches the process.
        os.setsid()
        fcntl.ioctl(streams[0].fileno(), termios.TIOCSCTTY, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    os.chdir(folder)
    # The server that this process was forked from has the variables of whichever test came first.
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # found before, without this environment's TMPDIR
    ask_for_the_commit_once()
    # A test run in the background of a shell ignores Ctrl-C, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    find_program(["python", *arguments])()
