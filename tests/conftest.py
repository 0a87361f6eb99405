# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One thread, fixed seeds, no network; and the two fresh processes that serve all models at once."""

from __future__ import annotations

import os
import tempfile

# Before transformers is imported: it reads these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"
# Copied remote code of one run must not serve the next.
_MODULES = tempfile.TemporaryDirectory(prefix="hf_modules_")
os.environ["HF_MODULES_CACHE"] = _MODULES.name

import gc  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from transformers import set_seed  # noqa: E402
from transformers.utils import logging  # noqa: E402

pytest.register_assert_rewrite("tests.model_tests")

import hf_lecture_models  # noqa: E402, F401  registers every model
from tests.model_tests import ModelTests  # noqa: E402

torch.set_num_threads(1)
logging.disable_progress_bar()

_FRESH_PROCESS = Path(__file__).with_name("fresh_process.py")


def pytest_collection_finish() -> None:
    # What the imports made stays. Looking through it for garbage, as transformers' Trainer asks for at the end of each
    # run, takes a third of a second every time.
    gc.freeze()


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    set_seed(0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("HF_LECTURE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}; set HF_LECTURE_DATA")
    return folder


def _key(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@pytest.fixture(scope="session")
def model_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[type], Path]:
    """Where a model's test class left its saved and exported folder; written once for all classes of the run."""
    root = tmp_path_factory.mktemp("models")
    collected = (getattr(item, "cls", None) for item in request.session.items)
    classes = {cls for cls in collected if cls is not None and issubclass(cls, ModelTests)}
    failures: dict[str, str] = {}
    for cls in sorted(classes, key=_key):
        folder = root / _key(cls)
        folder.mkdir()
        try:
            cls().export(folder)
        except Exception:
            failures[_key(cls)] = traceback.format_exc()

    def find(cls: type) -> Path:
        if _key(cls) in failures:
            pytest.fail(f"the model could not be exported:\n{failures[_key(cls)]}", pytrace=False)
        return root / _key(cls)

    find.root = root  # type: ignore[attr-defined]
    return find


@pytest.fixture(scope="session")
def fresh_process(
    model_folder: Callable[[type], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[type, str], dict[str, Any]]:
    """What a new interpreter found in a model's folders, "with" or "without" the package; each serves all models."""
    finished: dict[str, str] = {}
    root = model_folder.root  # type: ignore[attr-defined]

    def run(place: str) -> str:
        environment = {**os.environ, "HF_MODULES_CACHE": str(tmp_path_factory.mktemp(f"modules_{place}"))}
        command = [sys.executable, str(_FRESH_PROCESS), str(root), place]
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
        return done.stderr[-4000:]

    def find(cls: type, place: str) -> dict[str, Any]:
        folder = model_folder(cls)
        if place not in finished:
            finished[place] = run(place)
        results = folder / f"{place}.json"
        if not results.is_file():
            pytest.fail(f"the process {place} the package ended early:\n{finished[place]}", pytrace=False)
        found = json.loads(results.read_text(encoding="utf-8"))
        if "error" in found:
            pytest.fail(f"in a process {place} the package:\n{found['error']}", pytrace=False)
        tensors = {path.name.split(".")[1]: load_file(path) for path in folder.glob(f"{place}.*.safetensors")}
        return found | tensors

    return find
