# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from pathlib import Path

import pytest

from tests.forked_python import run_workers


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


@pytest.fixture(scope="session")
def sharded_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `copied`, by two processes that each hold a part of every weight."""
    folder = tmp_path_factory.mktemp("sharded_small")
    run_workers("-m", "tests.trainer.small_runs", folder, ACCELERATE_USE_FSDP="true")
    return folder
