# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The folder of the training scripts and their recipes."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def training_folder() -> Path:
    """Return the folder of the scripts: the checkout's, or the one that the installed package brought.

    Raises:
        FileNotFoundError: the package was installed without them.
    """
    beside = Path(__file__).parents[2] / "training"
    if (beside / "fit_ngram.py").is_file():
        return beside
    try:
        files = distribution("hf-lecture-models").files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        if file.parts[-2:] == ("training", "fit_ngram.py"):
            return Path(str(file.locate())).resolve().parent
    raise FileNotFoundError("the training scripts were not installed; install the package's wheel again")
