# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the benchmarks share: where the data are, how time is taken, and how a result is written down.

Run them from the checkout as modules: ``python -m benchmarks.NAME``.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hf_lecture_models.hub.facts import checked_out_commit

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "transformers", "numpy", "tokenizers", "pyarrow", "accelerate", "kenlm")


def data_folder() -> Path:
    """The folder of data sets, which the environment variable HF_LECTURE_DATA names.

    Raises:
        FileNotFoundError: it is not set, or does not exist.
    """
    name = os.environ.get("HF_LECTURE_DATA", "")
    if not name or not Path(name).is_dir():
        raise FileNotFoundError(f"no data sets at {name!r}; set HF_LECTURE_DATA to the folder that holds wikitext-2/")
    return Path(name)


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[Any, float, float]:
    """The function's result, and the least CPU seconds and wall seconds of so many calls."""
    cpu, wall, result = [], [], None
    for _ in range(repeats):
        begin_cpu, begin_wall = time.process_time(), time.perf_counter()
        result = function()
        cpu.append(time.process_time() - begin_cpu)
        wall.append(time.perf_counter() - begin_wall)
    return result, min(cpu), min(wall)


def machine() -> dict[str, Any]:
    """Processor, memory, threads, and the versions of what was measured."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "system": f"{platform.system()} {platform.release()}",
        "load_average": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def commit() -> str:
    """The checked-out commit, marked where tracked files differ from it; "unknown" outside a checkout."""
    return checked_out_commit() or "unknown"


def write_results(name: str, results: Any) -> Path:
    """Write `benchmarks/results/NAME.json`: the results, with commit, date, machine and versions; returns its path."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    record = {"benchmark": name, "commit": commit(), "date": date, "machine": machine(), "results": results}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path.relative_to(ROOT)}")
    return path
