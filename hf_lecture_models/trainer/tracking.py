# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Experiment trackers by name: TensorBoard, trackio, Weights & Biases. Nothing is uploaded unless the user asks for it.

TensorBoard and wandb write into `runs` in the run's folder, trackio into TRACKIO_DIR, where its own page looks. wandb
is offline unless WANDB_MODE says otherwise. A resumed run continues the log of the run from the checkpoint's step.
"""

import contextlib
import io
import os
import sys
import textwrap
import uuid
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from hf_lecture_models.io.files import write_file

TRACKERS = ("tensorboard", "trackio", "wandb")
PROJECT = "hf-lecture-models"


def check_tracker(name: str) -> None:
    """Raise an ImportError that names the extra to install if the tracker's package is missing."""
    if name in TRACKERS and find_spec(name) is None:
        raise ImportError(f"report_to {name} needs {name}: pip install 'hf-lecture-models[trackers]'")


def start_tracker(accelerator: Accelerator, name: str, recipe: Mapping[str, Any], folder: Path, step: int) -> str:
    """Open the log of the run in `folder`, a new one at step 0, and return the command that shows it.

    Args:
        recipe: shown with the run, as a flat table.
        step: the number of steps that the run has made; if not 0, its existing log is continued.
    """
    run = ""
    if accelerator.is_main_process:
        run = _run_id(folder / "runs" / "id", new=step == 0)
    options: dict[str, Any] = {
        # Steps that a killed run logged after its last checkpoint are logged again; TensorBoard hides the old ones.
        "tensorboard": {"purge_step": step + 1},
        "trackio": {"name": f"{folder.name}-{run}", "resume": "allow", "embed": False, "auto_log_cpu": False},
        "wandb": {
            "id": run,
            "name": folder.name,
            "dir": str(folder / "runs"),
            "mode": os.environ.get("WANDB_MODE", "offline"),
            "settings": {"silent": True, "console": "off"},
        },
    }
    if options["wandb"]["mode"] == "online":
        options["wandb"]["resume"] = "allow"
    with contextlib.redirect_stdout(io.StringIO()):  # trackio prints a greeting
        accelerator.init_trackers(PROJECT, config=flat(recipe), init_kwargs={name: options[name]})
    looks = {
        "tensorboard": f"tensorboard --logdir {folder / 'runs'}",
        "trackio": f"trackio show --project {PROJECT}",
        "wandb": f"wandb sync {folder / 'runs' / 'wandb' / '*'}",
    }
    return looks[name]


def finish_trackers(accelerator: Accelerator) -> None:
    """Flush and close the logs, silently."""
    with contextlib.redirect_stdout(io.StringIO()):
        for tracker in accelerator.trackers:
            # trackio's own function, because it would otherwise finish the run once more when the program ends.
            (sys.modules["trackio"] if tracker.name == "trackio" else tracker).finish()


def _run_id(path: Path, new: bool) -> str:
    """Return the run's name in the tracker, which stays the same when the run is resumed."""
    if new or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, uuid.uuid4().hex[:8])
    return path.read_text(encoding="utf-8")


def flat(recipe: Mapping[str, Any], prefix: str = "") -> dict[str, int | float | str]:
    """Return a recipe as a mapping of one level for trackers, with long values shortened.

    >>> flat({"seed": 0, "clip_norm": None, "model": {"order": 3}, "train_files": ["a.txt", "b.txt"]})
    {'seed': 0, 'clip_norm': 'null', 'model.order': 3, 'train_files': 'a.txt, b.txt'}
    """
    found: dict[str, int | float | str] = {}
    for name, value in recipe.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float):
            found[prefix + name] = value
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str("null" if value is None else value)
            found[prefix + name] = textwrap.shorten(shown, 200, placeholder=" ...")
    return found
