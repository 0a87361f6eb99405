# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A browser for the tests of the demo page, and trained models for those of other programs."""

import pytest

from tests.browser import chromium
from tests.interop.trained_models import TOKENIZERS, save_trained_model


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The folders of small trained models, by their names."""
    root = tmp_path_factory.mktemp("models")
    return {name: save_trained_model(root, name) for name in TOKENIZERS}


@pytest.fixture(scope="module")
def browser():
    yield from chromium()
