# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from importlib.util import find_spec

import pytest


def need(*packages: str) -> None:
    """Skip the module that calls this where a package is missing; `pytest.importorskip` would import them all.

    That takes seconds, in runs too that then leave out all tests of the module, as slow.
    """
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
