# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from pathlib import Path

import pytest

from tests.trainer.small_runs import start_processes


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    # What these tests write need not survive a power cut; waiting for the disk was most of their time.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def _finished(folder: Path, module: str, **environment: str) -> Path:
    process = start_processes(module, folder, **environment)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-4000:]
    return folder


# Started once for all tests: an interpreter that imports torch costs more than all these runs.
@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes that each hold the whole model left."""
    return _finished(tmp_path_factory.mktemp("copied"), "tests.trainer.small_runs")


@pytest.fixture(scope="session")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes that each hold a part of every weight left."""
    return _finished(tmp_path_factory.mktemp("sharded"), "tests.trainer.sharded_runs", ACCELERATE_USE_FSDP="true")
