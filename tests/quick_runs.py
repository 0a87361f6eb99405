# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Fixtures for tests that train: a learning curve takes longer than a run of a few steps itself."""

from __future__ import annotations

import pytest


@pytest.fixture
def curves() -> None:
    """Asked for by tests that look at the drawn learning curve."""


@pytest.fixture(autouse=True)
def quick_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No learning curve is drawn."""
    if "curves" not in request.fixturenames:
        monkeypatch.setattr("hf_lecture_models.trainer.reporting.save_learning_curve", lambda *_: None)
