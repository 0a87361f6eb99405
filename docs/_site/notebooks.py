# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The notebooks as the site shows them: with what their cells print and draw, executed or taken from a cache."""

import hashlib
import importlib.util
import json
import os
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import write_file
from hf_lecture_models.version import REPOSITORY_URL, __version__

ROOT = Path(__file__).resolve().parents[2]
# What the notebooks need; jupytext, which reads them, is of the extra `docs`.
NEEDED = ("datasets", "ipykernel", "matplotlib", "nbclient", "sklearn")
VERSIONS = ("torch", "transformers", "numpy", "matplotlib")
SECONDS_OF_A_CELL = 1800


class NotebookError(RuntimeError):
    """A notebook cannot be shown: packages are missing, a cell fails, or a picture has no text in its place."""


def read_notebook(text: str) -> Any:
    """Return a notebook from its text in MyST Markdown; its cells have the same names at each reading."""
    import jupytext

    notebook = jupytext.reads(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
    return notebook


def to_json(notebook: Any) -> str:
    """Return the text of a notebook's `.ipynb` file."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def add_outputs(notebook: Any, name: str, cache: Path, run: Callable[[Any, Path], None] | None = None) -> None:
    """Add to a notebook what its cells print and draw, from the cache if they were executed before.

    A notebook is executed again if its code, the package or a version that matters has changed; its words may change.

    Args:
        notebook: as `read_notebook` returns it; its cells of code get their outputs.
        name: the name of its file, for messages.
        cache: a folder with one file for each execution; the file is written when all cells have run.
        run: executes a notebook in a folder; `execute` by default.

    Raises:
        NotebookError: a package is missing, a cell fails, or a picture has no text in its place.
    """
    if missing := [package for package in NEEDED if importlib.util.find_spec(package) is None]:
        raise NotebookError(
            f"the site shows what its notebooks print, so they are executed, which needs {', '.join(missing)}: "
            '`pip install -c constraints.txt -e ".[docs,notebooks]"`; '
            "`make -C docs html EXECUTE=off` builds the site without their outputs"
        )
    file = cache / f"{name}-{cache_key(notebook)}.ipynb"
    if not file.is_file():
        print(f"executing {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                (run or execute)(notebook, Path(folder))
            except Exception as error:
                raise NotebookError(f"{name}, {_failed_cell(notebook)}: {error}") from error
        cache.mkdir(parents=True, exist_ok=True)
        write_file(file, to_json(notebook))
    executed = json.loads(file.read_text(encoding="utf-8"))["cells"]
    for cell, with_outputs in zip(notebook.cells, executed, strict=True):
        if cell.cell_type == "code":
            cell.outputs = with_outputs["outputs"]
            cell.execution_count = with_outputs["execution_count"]
            if _has_picture(cell) and not picture_text(cell):
                raise NotebookError(f"{name}, {cell.id}: a picture needs a text in its place, `mystnb: image: alt`")


def execute(notebook: Any, folder: Path) -> None:
    """Run a notebook's cells in Jupyter, on one core, without the internet and with no data but the package's own.

    Args:
        notebook: its cells of code get their outputs.
        folder: an empty one, where the cells run.
    """
    from nbclient import NotebookClient

    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    environment |= {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_LECTURE_DATA": str(folder)}
    client = NotebookClient(
        notebook,
        timeout=SECONDS_OF_A_CELL,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # without it each kernel warns that it talks over TCP
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=environment)


def cache_key(notebook: Any) -> str:
    """Return a key that changes with a notebook's code, the package's files, and the versions that matter.

    >>> a, b = (read_notebook(f"```{{code-cell}}\\n{code}\\n```") for code in ("1 + 1", "1 + 2"))
    >>> cache_key(a) == cache_key(a), cache_key(a) == cache_key(b)
    (True, False)
    """
    facts = {
        "code": [[number, cell.source] for number, cell in enumerate(notebook.cells) if cell.cell_type == "code"],
        "cells": len(notebook.cells),
        "python": platform.python_version(),
        "package": [__version__, package_checksum(ROOT / "hf_lecture_models")],
        **{name: version(name) for name in VERSIONS},
    }
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:20]


def package_checksum(folder: Path) -> str:
    """Return a checksum of the names and contents of a package's files; its pages and compiled files do not count."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in {".md", ".pyc"}:
            found.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def picture_text(cell: Any) -> str:
    """Return what a cell of code says in the place of its picture, which is empty if it says nothing."""
    return str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))


def link_line(file: str) -> str:
    """Return the line below a notebook's title: its file, and Colab once the repository has an address on GitHub.

    Args:
        file: where the notebook is among the site's files, such as "downloads/02_bag_of_words.ipynb".
    """
    line = f"{{download}}`Download this notebook (.ipynb) </{file}>`"
    if not REPOSITORY_URL.startswith("https://github.com/"):
        return (
            f"{line}. It opens in Colab once the package is on PyPI; until then, [bring a wheel](README.md#run-them)."
        )
    # Sphinx puts a download into a folder that is named by its path's checksum; the site is on the branch gh-pages.
    place = f"_downloads/{hashlib.md5(file.encode(), usedforsecurity=False).hexdigest()}/{file.rpartition('/')[2]}"
    repository = REPOSITORY_URL.removeprefix("https://github.com/").strip("/")
    return f"{line} · [Open in Colab](https://colab.research.google.com/github/{repository}/blob/gh-pages/{place})"


def _has_picture(cell: Any) -> bool:
    return any(kind.startswith("image/") for output in cell.outputs for kind in output.get("data", ()))


def _failed_cell(notebook: Any) -> str:
    """Return the name of the cell that failed, which is the last that began."""
    begun = [cell.id for cell in notebook.cells if cell.cell_type == "code" and cell.execution_count is not None]
    failed = [
        cell.id
        for cell in notebook.cells
        if cell.cell_type == "code" and any(output["output_type"] == "error" for output in cell.outputs)
    ]
    return (failed or begun or ["its start"])[-1]
