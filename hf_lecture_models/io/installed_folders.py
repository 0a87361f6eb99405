# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Folders of the checkout that an installed package has beside it: the training scripts, and the live pages."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def training_folder() -> Path:
    """Return the folder of the training scripts and their recipes.

    Raises:
        FileNotFoundError: the package was installed without them.
    """
    return _folder(Path("training"), "fit_ngram.py", "training scripts")


def live_folder() -> Path:
    """Return the folder of the JavaScript and the style sheet of the live pages.

    Raises:
        FileNotFoundError: the package was installed without them.
    """
    return _folder(Path("docs", "_static", "live"), "live.css", "live pages")


def _folder(folder: Path, file: str, what: str) -> Path:
    """Return the folder that has the file: the checkout's, or the one of the same name that the package brought."""
    in_checkout = Path(__file__).parents[2] / folder
    if (in_checkout / file).is_file():
        return in_checkout
    try:
        files = distribution("hf-lecture-models").files or []
    except PackageNotFoundError:
        files = []
    for name in files:
        if name.parts[-2:] == (folder.name, file):
            return Path(str(name.locate())).resolve().parent
    raise FileNotFoundError(f"the {what} were not installed; install the package's wheel again")
