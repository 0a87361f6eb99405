# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from pathlib import Path

import pytest

from tests.forked_python import run_workers


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    # What these tests write need not survive a power cut; waiting for the disk was most of their time.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes that each hold the whole model left."""
    folder = tmp_path_factory.mktemp("copied")
    run_workers("-m", "tests.trainer.small_runs", folder)
    return folder


@pytest.fixture(scope="session")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes that each hold a part of every weight left."""
    folder = tmp_path_factory.mktemp("sharded")
    run_workers("-m", "tests.trainer.sharded_runs", folder, ACCELERATE_USE_FSDP="true")
    return folder
