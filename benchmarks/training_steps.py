# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Timed training steps of models of equal shape, in turns: their seconds, the memory that they add, and ratios."""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.common import read_options


class Run:
    """One model, its optimizer, and the seconds of its steps."""

    def __init__(self, model: nn.Module, bf16: bool, compiled: bool = False, **options: Any):
        self.model, self.bf16, self.options = model, bf16, options
        self.device = next(model.parameters()).device.type
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=self.device == "cuda")
        self.call: Any = torch.compile(model) if compiled else model
        self.seconds: list[float] = []

    def step(self, inputs: Mapping[str, torch.Tensor]) -> float:
        """Train on one batch, and return the loss."""
        begin = clock(self.device)
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.call(**inputs, **self.options).loss
        loss.backward()
        self.optimizer.step()
        self.seconds.append(clock(self.device) - begin)
        return loss.item()


def clock(device: str) -> float:
    """Return CPU seconds of this process, or wall seconds where a GPU computes."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def take_turns(runs: Mapping[str, Run], batches: Iterable[Mapping[str, torch.Tensor]]) -> dict[str, list[float]]:
    """Train all on each batch in turns, and return the seconds of each step after the warm-up."""
    for inputs in batches:
        for run in runs.values():
            run.step(inputs)
    return {name: run.seconds[warm_up_of(run.device) :] for name, run in runs.items()}


def warm_up_of(device: str) -> int:
    """Return the number of first steps that are not counted."""
    return 1 if device == "cpu" else 5


def ratio(peer: Sequence[float], ours: Sequence[float]) -> float:
    """Return the median over steps of the peer's seconds over ours.

    >>> ratio([3.0, 4.0, 9.0], [2.0, 2.0, 2.0])
    2.0
    """
    return round(statistics.median(theirs / one for theirs, one in zip(peer, ours, strict=True)), 3)


def added_mib(device: str, two_steps: Callable[..., None], *arguments: Any) -> float:
    """Return the largest memory while `two_steps(*arguments)` builds a model and trains it, less the memory before."""
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        two_steps(*arguments)
        return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)
    # In a process of its own: memory that earlier runs freed would hide the addition.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_added_in_child, (two_steps, arguments))


def _added_in_child(two_steps: Callable[..., None], arguments: tuple[Any, ...]) -> float:
    before = largest_kib()
    two_steps(*arguments)
    return round((largest_kib() - before) / 2**10, 1)


def largest_kib() -> int:
    """Return this process's largest memory so far (Linux); that of `getrusage` begins with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def read_shape(parser: argparse.ArgumentParser, sizes: Mapping[str, int]) -> tuple[argparse.Namespace, dict[str, Any]]:
    """Return the options of a benchmark, and results that begin with its shape.

    There is an option for each size, and `--device`, a GPU where there is one. A CPU computes with one thread.
    """
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = read_options(parser)
    if options.device == "cpu":
        torch.set_num_threads(1)
    return options, {"shape": {name: getattr(options, name) for name in (*sizes, "device")}}


def note(results: dict[str, Any], key: str, figures: Mapping[str, Any]) -> None:
    """Keep figures among the results, and print them."""
    results[key] = figures
    print(key, *(f"  {name}: {value}" for name, value in figures.items()), sep="\n", flush=True)
