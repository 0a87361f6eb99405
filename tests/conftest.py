# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One thread, fixed seeds, no network; and the two fresh processes that serve all models and processes of a run."""

from __future__ import annotations

import os
import tempfile

# Before transformers is imported: it reads these once.
_OURS = ("HF_LECTURE_DATA", "HF_LECTURE_READER", "HF_LECTURE_DEMO_PICTURES")
for _name in [name for name in os.environ if name.startswith("HF_") and name not in _OURS]:
    del os.environ[_name]
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# What the children of this process read. MKL's variable would overrule the other one.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
# Copied remote code and prepared data of one run must not serve the next, nor what the user's own cache holds.
_CACHE = tempfile.TemporaryDirectory(prefix="hf_home_")
os.environ["HF_HOME"] = _CACHE.name
os.environ["HF_MODULES_CACHE"] = os.path.join(_CACHE.name, "modules")

import contextlib  # noqa: E402
import fcntl  # noqa: E402
import functools  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import random  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402
from collections import Counter, defaultdict  # noqa: E402
from collections.abc import Callable, Iterable, Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from transformers.utils import logging  # noqa: E402

pytest.register_assert_rewrite("tests.model_tests", "tests.seq2seq_tests")

import hf_lecture_models  # noqa: E402  registers every model
from hf_lecture_models.hub import flatten as flattening  # noqa: E402
from tests.forked_python import PATIENCE, ask_for_the_commit_once  # noqa: E402
from tests.model_tests import ModelTests  # noqa: E402

torch.set_num_threads(1)
logging.disable_progress_bar()

# A job that a script starts in the background ignores Ctrl-C, and so would all programs that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What tests write need not survive a power cut, and waiting for the disk takes seconds in all.
os.fsync = lambda descriptor: None
ask_for_the_commit_once()


def _flatten_each_file_once() -> None:
    """The package's files, which do not change while tests run: each of a hundred exports would parse them anew."""
    flatten_source, package = flattening.flatten_source, Path(hf_lecture_models.__file__).parent
    remembered = functools.cache(lambda path, travels_as: flatten_source(path, dict(travels_as)))

    def flatten_once(path, travels_as=flattening.TRAVELS_AS):
        if package in path.parents:
            return remembered(path, tuple(travels_as.items()))
        return flatten_source(path, travels_as)

    flattening.flatten_source = flatten_once


_flatten_each_file_once()

# No property depends on how fast the machine is; a failure prints what repeats it.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("tests")

_FRESH_PROCESS = Path(__file__).with_name("fresh_process.py")


def _looks_at(cls: type[ModelTests], names: tuple[str, ...]) -> set[Any]:
    """The things of these names; those of stand-ins are others than the package's."""
    package = cls.model_class.__module__.partition(".")[0]
    return {(package, getattr(cls, name, None) or getattr(cls.model_class, name)) for name in names}


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes of a run: none beside this one where files or single tests are named."""
    if any("::" in argument or argument.endswith(".py") for argument in config.args):
        return 0
    # macOS does not say which cores a process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, cores)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _mark_repeated_checks(items)
    _mark_further_cases(items)


def _mark_repeated_checks(items: list[pytest.Item]) -> None:
    """A check marked `once_per_model` is slow for a model class's second test class, and nightly for further ones.

    One that is slow for the first is nightly for all others.
    `once_per_model("config_class")` is slow for all of a configuration class but the first; of several names, where the
    check has looked at each of these things before.
    """
    seen: dict[Any, set[Any]] = defaultdict(set)
    repeated: set[Any] = set()
    for item in items:
        if marker := item.get_closest_marker("once_per_model"):
            things = _looks_at(item.cls, marker.args or ("model_class",))  # type: ignore[attr-defined]
            known = seen[item.function, item.name]  # type: ignore[attr-defined]
            if things <= known:
                repetition = item.function, item.name, frozenset(things)  # type: ignore[attr-defined]
                if item.get_closest_marker("slow") or repetition in repeated:
                    item.add_marker(pytest.mark.nightly)
                item.add_marker(pytest.mark.slow)
                repeated.add(repetition)
            known |= things


def _mark_further_cases(items: list[pytest.Item]) -> None:
    """Of a test marked `cases(m, n)`, the first m cases run by default, the next n are slow, and others nightly."""
    seen: Counter[Any] = Counter()
    for item in items:
        if marker := item.get_closest_marker("cases"):
            by_default, slow = marker.args
            seen[item.function, item.cls] += 1  # type: ignore[attr-defined]
            if seen[item.function, item.cls] > by_default:  # type: ignore[attr-defined]
                item.add_marker(pytest.mark.slow)
            if seen[item.function, item.cls] > by_default + slow:  # type: ignore[attr-defined]
                item.add_marker(pytest.mark.nightly)


def pytest_collection_finish() -> None:
    # What the imports made stays. Looking through it for garbage, as transformers' Trainer asks for at the end of each
    # run, takes a third of a second every time.
    gc.freeze()


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    # As `transformers.set_seed`, which also formats the stack four times, for the day that CUDA is initialised.
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("HF_LECTURE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}; set HF_LECTURE_DATA")
    return folder


def _key(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Within it, other processes that ask for the same lock wait; a process that ends releases its own."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _export_models(classes: Iterable[type[ModelTests]], root: Path) -> None:
    for cls in sorted(classes, key=_key):
        folder = root / _key(cls)
        folder.mkdir()
        try:
            cls().export(folder)
        except Exception:
            (folder / "failure.txt").write_text(traceback.format_exc(), encoding="utf-8")


def _visit_models(classes: Iterable[type[ModelTests]], root: Path) -> None:
    """Export the models, and let new interpreters "with" and "without" the package go through their folders."""

    def start(place: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "HF_MODULES_CACHE": str(root / f"modules_{place}")}
        if other := os.environ.get("HF_LECTURE_READER"):  # a folder with other versions of packages, for the readers
            environment["PYTHONPATH"] = other
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, str(_FRESH_PROCESS), place], env=environment, text=True, **streams)

    processes = {place: start(place) for place in ("with", "without")}  # they import torch during the exports
    try:
        _export_models(classes, root)
        for process in processes.values():  # they go through the folders at the same time
            print(root, file=process.stdin, flush=True)
        for place, process in processes.items():
            (root / f"{place}.txt").write_text(process.communicate(timeout=PATIENCE)[1][-4000:], encoding="utf-8")
    finally:
        for process in processes.values():
            process.kill()


@pytest.fixture(scope="session")
def model_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[type], Path]:
    """Where a model's test class left its saved and exported folder, and fresh processes what they found there.

    The first process of a run that asks writes them for all classes and processes.
    """
    shared = tmp_path_factory.getbasetemp()
    root = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "models"
    with _alone(root.with_name("models.lock")):
        if not (root / "complete").is_file():
            shutil.rmtree(root, ignore_errors=True)  # of a process that was killed
            root.mkdir()
            needed = (item for item in request.session.items if "model_folder" in item.fixturenames)  # type: ignore[attr-defined]
            _visit_models({item.cls for item in needed if issubclass(item.cls, ModelTests)}, root)  # type: ignore[attr-defined]
            (root / "complete").touch()

    def find(cls: type) -> Path:
        folder = root / _key(cls)
        if (failure := folder / "failure.txt").is_file():
            pytest.fail(f"the model could not be exported:\n{failure.read_text(encoding='utf-8')}", pytrace=False)
        return folder

    return find


@pytest.fixture(scope="session")
def fresh_process(model_folder: Callable[[type], Path]) -> Callable[[type, str], dict[str, Any]]:
    """What a new interpreter found in a model's folders, "with" or "without" the package; each serves all models."""

    def find(cls: type, place: str) -> dict[str, Any]:
        folder = model_folder(cls)
        results = folder / f"{place}.json"
        if not results.is_file():
            reported = (folder.parent / f"{place}.txt").read_text(encoding="utf-8")
            pytest.fail(f"the process {place} the package ended early:\n{reported}", pytrace=False)
        found = json.loads(results.read_text(encoding="utf-8"))
        if "error" in found:
            pytest.fail(f"in a process {place} the package:\n{found['error']}", pytrace=False)
        tensors = {path.name.split(".")[1]: load_file(path) for path in folder.glob(f"{place}.*.safetensors")}
        return found | tensors

    return find
