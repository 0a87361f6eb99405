# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A script that a signal reaches at a moment of the test's choice, however busy the machine is.

A test that waits for the moment and then sends the signal comes too late where it has to wait for the processor.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file

from tests.forked_python import PATIENCE, ForkedPython

_PROGRAM = """
import os, runpy, sys
from hf_lecture_models.io import files
from hf_lecture_models.trainer import loop

moment, count, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
owner, name = {"step": (loop._Run, "_step"), "save": (files, "_make_durable")}[moment]
original, calls = getattr(owner, name), []

def call(first, *others):
    if moment == "step" or first.name.startswith(".step-"):
        calls.append(name)
        if len(calls) == count:
            os.kill(os.getpid(), number)
    return original(first, *others)

setattr(owner, name, call)
sys.argv = sys.argv[4:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def start_interrupted(
    moment: Literal["step", "save"], count: int, name: str, script: object, *arguments: object
) -> ForkedPython:
    """Start a script that gets the signal `name` before its `count`-th step of the optimizer, or in a save.

    In a save: when its `count`-th checkpoint is written, and not yet in its place.
    """
    return ForkedPython("-c", _PROGRAM, moment, count, signal.Signals[name].value, script, *arguments)


def run_processes(
    script: object,
    *arguments: object,
    processes: int = 2,
    interruption: tuple[Literal["step", "save"], int, str] | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run a script by torchrun, on the CPU; each of its processes gets the signal as in `start_interrupted`."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    if interruption is not None:
        moment, count, name = interruption
        program = [sys.executable, "-c", _PROGRAM, moment, str(count), str(signal.Signals[name].value)]
        launcher += ["--no_python", *program]
    return subprocess.run(
        [*launcher, *map(str, (script, *arguments))],
        env=os.environ | {"ACCELERATE_USE_CPU": "true"} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def check_stopped_and_resumed(script: object, arguments: Sequence[str], in_process: Callable[..., Any]) -> None:
    """A script that SIGTERM stops goes on with --resume to the weights and checkpoints of a run without a stop.

    Args:
        arguments: of the script, without its output folder.
        in_process: runs the script's task with arguments and returns the result of the training.
    """
    options = ["--max_steps", "20", "--save_every", "5", "--learning_rate", "0.1", "--keep_checkpoints", "1"]
    command = [*arguments, *options, "--output_dir"]
    in_process(*command, "straight")
    stopped = start_interrupted("step", 7, "SIGTERM", script, *command, "cut")
    out, _ = stopped.communicate()
    assert stopped.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in out
    assert in_process(*command, "cut", "--resume").step == 20
    first, second = _weights("straight"), _weights("cut")
    assert first.keys() == second.keys()
    for path, tensors in first.items():
        assert all(torch.equal(tensor, second[path][name]) for name, tensor in tensors.items())


def _weights(folder: str) -> dict[Path, dict[str, torch.Tensor]]:
    return {path.relative_to(folder): load_file(path) for path in sorted(Path(folder).rglob("model.safetensors"))}
