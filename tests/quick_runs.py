# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Fixtures for tests that train: what takes longer than runs of a few steps themselves is left out."""

from __future__ import annotations

import pytest


@pytest.fixture
def curves() -> None:
    """Asked for by tests that look at the drawn learning curve."""


@pytest.fixture(autouse=True)
def quick_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No learning curve is drawn, and nothing waits for the disk: what is written need not survive a power cut."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    if "curves" not in request.fixturenames:
        monkeypatch.setattr("hf_lecture_models.trainer.reporting.save_learning_curve", lambda *_: None)
