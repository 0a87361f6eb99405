# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a published copy has of layers/recurrent_export.py: an error that names the package."""

from typing import Any


def run_exported(*args: Any) -> Any:
    """Refuse to export: the loop over a written-out cell stays in the package."""
    raise NotImplementedError(
        "published code cannot export a recurrent layer (torch.export, ONNX): pip install hf_lecture_models, and load "
        "the folder with the package"
    )


run_traced = run_exported
