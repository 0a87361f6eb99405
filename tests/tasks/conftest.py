# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    # What these tests write need not survive a power cut; waiting for the disk was most of their time.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
