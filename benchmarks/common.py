# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The parts that benchmarks share: the folder of data, clocks, options, commits and records.

Run them from the checkout as modules: ``python -m benchmarks.NAME``.
"""

import argparse
import ctypes
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CODE = ("benchmarks", "hf_lecture_models", "training")
# Files that benchmarks and cards write, and pages, are not measured code.
NOT_MEASURED = ("benchmarks/results", "hf_lecture_models/lab/claims/records", "docs", "hub_cards", "*.md")
PACKAGES = ("torch", "transformers", "numpy", "tokenizers", "pyarrow", "accelerate", "kenlm")


def data_folder() -> Path:
    """Return the folder of data sets, which the environment variable HF_LECTURE_DATA names.

    Raises:
        FileNotFoundError: it is not set, or does not exist.
    """
    name = os.environ.get("HF_LECTURE_DATA", "")
    if not name or not Path(name).is_dir():
        raise FileNotFoundError(f"no data sets at {name!r}; set HF_LECTURE_DATA to the folder that holds wikitext-2/")
    return Path(name)


def wikitext(part: str, unknown: str = "<unk>") -> list[str]:
    """Return the lines of WikiText-2's "train", "valid" or "test" text.

    Args:
        unknown: the spelling of an unknown word; KenLM refuses "<unk>", or reads it as a word that it does not know.
    """
    from hf_lecture_models.tokenization.corpus import read_texts

    return [text.replace("<unk>", unknown) for text in read_texts(data_folder() / "wikitext-2" / f"{part}.txt")]


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[Any, float, float]:
    """Return the function's result, and the least CPU seconds and wall seconds of `repeats` calls."""
    cpu, wall, result = [], [], None
    for _ in range(repeats):
        begin_cpu, begin_wall = time.process_time(), time.perf_counter()
        result = function()
        cpu.append(time.process_time() - begin_cpu)
        wall.append(time.perf_counter() - begin_wall)
    return result, min(cpu), min(wall)


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees, from now on (glibc; elsewhere nothing changes).

    By itself glibc gives large blocks back to the system, which hands them out again page by page, filled with zeros. A
    training step spends time on that, the more, the larger its tensors.
    """
    if platform.libc_ver()[0] == "glibc":
        mallopt, trim_threshold, mmap_max = ctypes.CDLL(None).mallopt, -1, -4  # as <malloc.h> numbers them
        if not (mallopt(trim_threshold, 2**31 - 1) and mallopt(mmap_max, 0)):
            raise OSError("glibc refuses to keep freed memory (mallopt)")


def return_freed_memory(block: int = 2**16) -> None:
    """Let this process give each block that it frees back to the system, from now on, so that it keeps what it uses.

    Args:
        block: bytes; smaller blocks may stay. Only glibc changes.
    """
    if platform.libc_ver()[0] == "glibc":
        mallopt, trim_threshold, mmap_threshold = ctypes.CDLL(None).mallopt, -1, -3  # as <malloc.h> numbers them
        if not (mallopt(mmap_threshold, block) and mallopt(trim_threshold, block)):
            raise OSError("glibc refuses to return freed memory (mallopt)")


def ready_memory(mib: int = 1024) -> None:
    """Touch so much memory and free it again, in a process of its own.

    A virtual machine gives free memory back to its host after some seconds, and taking it again costs the next process
    up to 2.5 CPU seconds per GiB, which would count as the time of the program that runs there.
    """
    subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({mib << 20}, numpy.uint8)"], check=True)


def machine() -> dict[str, Any]:
    """Return processor, cores, threads, load, and the versions of the measured packages."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
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


def new_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help shows the docstring of a benchmark as it is."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def add_output(parser: argparse.ArgumentParser, default: str, contents: str) -> None:
    """Add `--output`: a folder for what a benchmark finishes on the way, and if it is given for its record and pages.

    `read_options` makes two options of it: `output`, the folder, and `kept`, the same folder if it was given, None if
    record and pages belong to the repository.
    """
    text = f"folder for {contents}, for the record and pages too; without it {default}, and the repository for these"
    parser.add_argument("--output", type=Path, metavar="FOLDER", help=text)
    parser.set_defaults(default_output=Path(default))


def read_options(parser: argparse.ArgumentParser, networks: dict[str, str] | None = None) -> argparse.Namespace:
    """Return the options of a benchmark; refuse to begin on uncommitted code, whose figures nobody could repeat.

    With `--dirty` the benchmark runs on such code, and prints its figures without recording them.

    Args:
        parser: knows the benchmark's own options.
        networks: the name of each title. With it, arguments `NAME=FOLDER` name trained models; the `networks` of the
            result are pairs of title and folder. Models that uncommitted code trained are refused.
    """
    if networks:
        parser.add_argument("networks", nargs="*", metavar="NAME=FOLDER", help=f"NAME: {', '.join(networks.values())}")
    parser.add_argument("--dirty", action="store_true", help="run uncommitted code, to try it; nothing is recorded")
    options = parser.parse_args()
    if "default_output" in options:
        options.kept, options.output = options.output, options.output or options.default_output
    if not options.dirty and not is_committed(commit()):
        parser.error(
            f"the code is not committed ({commit()}): commit it, or try it with --dirty, which records nothing"
        )
    if networks:
        options.networks = [_network(parser, text, networks) for text in options.networks]
    return options


def _network(parser: argparse.ArgumentParser, text: str, networks: dict[str, str]) -> tuple[str, Path]:
    titles = {name: title for title, name in networks.items()}
    name, _, folder = text.partition("=")
    if name not in titles or not Path(folder, "config.json").is_file():
        parser.error(f"{text!r} is not NAME=FOLDER, with a model in FOLDER and NAME one of {', '.join(titles)}")
    check_trained_on_committed_code(Path(folder))
    return titles[name], Path(folder)


@cache
def commit() -> str:
    """Return the commit whose code runs, as it was at the start; "unknown" outside a checkout."""
    return commit_of(ROOT)


def commit_of(root: Path) -> str:
    """Return a repository's commit, ending in "-dirty" if code differs or is new; "unknown" outside a checkout."""
    git = ["git", "-C", str(root)]
    code = ["--", ".", *(f":(exclude){path}" for path in NOT_MEASURED)]
    try:
        name = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, check=True)
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", *code], capture_output=True).returncode
        # New files count in the folders of code alone: elsewhere a run may have written exported models with code.
        others = [*git, "ls-files", "--others", "--exclude-standard", "--", *(f"{folder}/*.py" for folder in CODE)]
        changed = changed or subprocess.run(others, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.stdout.decode().strip() + ("-dirty" if changed else "")


def is_committed(name: str) -> bool:
    """Return True if a name from `commit` identifies the code that ran.

    >>> is_committed("4be37d21c0aa"), is_committed("4be37d21c0aa-dirty"), is_committed("unknown")
    (True, False, False)
    """
    return name != "unknown" and not name.endswith("-dirty")


def training_record(folder: Path) -> dict[str, Any]:
    """Return the record of the training that made a folder; {} if the folder has no record."""
    record = folder / "training.json"
    return json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}


def check_trained_on_committed_code(folder: Path) -> None:
    """Raise a ValueError if the record of a training says that its code was not committed."""
    environment = training_record(folder).get("environment", {})
    if environment.get("commit", "").endswith("-dirty"):
        trained_by = environment["commit"]
        raise ValueError(f"{folder} was trained by code of commit {trained_by}: commit the code and train it again")


def refuse_stopped(result: Any) -> None:
    """End the script if a signal stopped the training, which then returns without a result."""
    if result.stopped.startswith("SIG"):
        raise SystemExit(f"stopped by {result.stopped}; the same command goes on after the last model that is finished")


def write_results(name: str, results: Any, folder: Path | None = None) -> bool:
    """Write NAME.json into a folder, `benchmarks/results` by default: results, commit, date, machine and versions.

    Returns:
        False if nothing was written, because the code is not committed; `read_options` has let it run for its output
        alone. Then no page or picture is written either.
    """
    if not is_committed(commit()):
        print(f"not recorded: the code is not committed ({commit()})")
        return False
    path = (folder or ROOT / "benchmarks" / "results") / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    record = {"benchmark": name, "commit": commit(), "date": date, "machine": machine(), "results": results}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return True


def read_results(name: str, otherwise: Any = None, folder: Path | None = None) -> Any:
    """Return the results in NAME.json of a folder, if it is there, or else of benchmarks/results, or else `otherwise`.

    Raises:
        FileNotFoundError: there is no such record, and `otherwise` is None.
    """
    path = (folder or ROOT) / f"{name}.json"
    if folder is None or not path.is_file():
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
    if otherwise is not None and not path.is_file():
        return otherwise
    return json.loads(path.read_text(encoding="utf-8"))["results"]


def run_child(name: str, *arguments: str) -> dict[str, Any]:
    """Return the figures of a process of its own: benchmark NAME prints them as JSON in its last line."""
    # The parent has asked whether the code is committed, and records.
    command = [sys.executable, "-m", f"benchmarks.{name}", "--dirty", *arguments]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    return json.loads(output.splitlines()[-1])


def mean_and_error(values: Sequence[float]) -> dict[str, float]:
    """Return the mean of several seeds' measures, and its standard error.

    >>> mean_and_error([1.0, 3.0])
    {'mean': 2.0, 'standard_error': 1.0}
    """
    return {"mean": fmean(values), "standard_error": stdev(values) / len(values) ** 0.5}


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown_table(["model", "accuracy"], [["LSTM", "65.1"]]))
    | model | accuracy |
    |---|---|
    | LSTM | 65.1 |
    """
    head, *lines = ("| " + " | ".join(cells) + " |" for cells in (heads, *rows))
    return "\n".join([head, "|" + "---|" * len(heads), *lines])
