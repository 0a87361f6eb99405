# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Errors of old files of weights, which torch pickled."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch


@contextmanager
def pickled_weights_errors(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Within the block, an error while a folder's `pytorch_model.bin` cannot be read is a ValueError that names it.

    What torch raises of a file that is cut off depends on the place: errors of any class, often without a text.

    Args:
        folder: what is being loaded; a name on the Hub has no such file.
    """
    try:
        yield
    except Exception as error:
        file = Path(folder, "pytorch_model.bin")
        if not file.is_file() or file.name in str(error):  # it names the file already
            raise
        try:
            torch.load(file, map_location="cpu", weights_only=True)
        except Exception as reason:
            said = f"{type(reason).__name__}: {str(reason)[:80]}".rstrip(": ")
            raise ValueError(
                f"{file} cannot be read as weights ({said}): it is cut off or damaged, or holds other objects; get it "
                "from its source again"
            ) from error
        raise
