# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Checkpoints that are complete or do not exist, in safetensors and JSON only.

A checkpoint is a folder `step-00000100` with `model.safetensors`, `state.safetensors`, `state.json` and the marker
`complete.json`, which holds the size and SHA-256 of the others. It is written to a temporary folder, synced and
renamed. A file that is missing, cut short or from another step is found before anything is loaded.
"""

import glob
import hashlib
import json
import os
import random
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor, nn

from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.io.system import move

MARKER = "complete.json"


def write_checkpoint(folder: Path, step: int, model: nn.Module, state: dict[str, Any], keep: int) -> Path:
    """Write the checkpoint of `step` into `folder`, then delete all but the newest `keep`.

    Args:
        state: nested dicts and lists of tensors and JSON values.

    Raises:
        FloatingPointError: a weight is NaN or infinite; nothing is written.
        OSError: the checkpoint cannot be written; older ones are untouched.
    """
    refuse_non_finite(model)
    path = folder / f"step-{step:08d}"
    if path.exists():  # it is damaged: the run would have resumed from it otherwise
        _discard(path)
    with staged_folder(path) as stage:
        tensors: dict[str, Tensor] = {}
        tree = pack(state, tensors)
        save_model(model, str(stage / "model.safetensors"))
        save_file(tensors, stage / "state.safetensors")
        (stage / "state.json").write_text(json.dumps(tree), encoding="utf-8", newline="\n")
        files = {}
        for file in sorted(stage.iterdir()):
            files[file.name] = _fingerprint(file)
        marker = {"step": step, "files": files}
        (stage / MARKER).write_text(json.dumps(marker, indent=2), encoding="utf-8", newline="\n")
    for old in _step_folders(folder)[:-keep]:
        _discard(old)
    return path


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint, or None before the first one; warn about damaged ones and skip them.

    Raises:
        ValueError: all checkpoints are damaged.
    """
    problems = []
    for path in reversed(_step_folders(folder)):
        problem = _damage(path)
        if problem is None:
            return path
        problems.append(problem)
        warnings.warn(f"checkpoint passed over: {problem}", stacklevel=2)
    if problems:
        raise ValueError(f"no undamaged checkpoint left: {'; '.join(problems)}. Start again in another output folder")
    return None


def holds_run(output_dir: Path) -> bool:
    """Return whether a run has left a checkpoint or its record in a folder."""
    return (output_dir / "training.json").exists() or any((output_dir / "checkpoints").glob("step-*"))


def complete_checkpoints(folder: Path) -> list[Path]:
    """Return all complete checkpoints, newest first."""
    return [path for path in reversed(_step_folders(folder)) if _damage(path) is None]


def read_state(path: Path) -> dict[str, Any]:
    """Return the `state` that was given to `write_checkpoint`."""
    tree = json.loads((path / "state.json").read_text(encoding="utf-8"))
    return unpack(tree, load_file(path / "state.safetensors"))


def read_model(path: Path, model: nn.Module) -> None:
    """Load the checkpoint's weights, tied ones included, into `model`, which must have the same set of tensors."""
    load_model(model, path / "model.safetensors", strict=True)


def remove_stale(output_dir: Path) -> None:
    """Delete the half-written files of killed runs: their staging folders, recognised by name."""
    name = glob.escape(output_dir.name)
    stale = [*(output_dir / "checkpoints").glob(".*.partial*"), *output_dir.glob(".*.partial*")]
    stale += [*output_dir.parent.glob(f".{name}.*.partial"), *output_dir.parent.glob(f"..{name}.*.partial")]
    for path in stale:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def refuse_non_finite(model: nn.Module) -> None:
    """Raise FloatingPointError, naming the tensor, if a weight is NaN or infinite."""
    for name, parameter in model.named_parameters():
        # A finite sum proves finite terms; a sum that overflowed does not disprove them.
        if not torch.isfinite(parameter.sum()) and not torch.isfinite(parameter).all():
            raise FloatingPointError(f"{name} holds NaN or infinite values and is not saved; lower learning_rate")


def pack(tree: Any, tensors: dict[str, Tensor], path: str = "") -> Any:
    """Return `tree` for JSON; each tensor is moved into `tensors` under its path.

    >>> found = {}
    >>> pack({"a": [1, torch.ones(2)]}, found), list(found)
    ({'a': [1, {'tensor': '/a/1'}]}, ['/a/1'])
    """
    if isinstance(tree, Tensor):
        # A copy of its own: safetensors refuses tensors that share memory.
        tensors[path] = tree.detach().cpu().contiguous().clone()
        return {"tensor": path}
    if isinstance(tree, dict):
        return {str(key): pack(value, tensors, f"{path}/{key}") for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [pack(value, tensors, f"{path}/{index}") for index, value in enumerate(tree)]
    return tree


def unpack(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """Reverse `pack`; tuples have become lists, and keys strings."""
    if isinstance(tree, dict):
        if list(tree) == ["tensor"] and isinstance(tree["tensor"], str):
            # Cloned: the file's offsets are not aligned as torch aligns tensors, which may change the last bit.
            return tensors[tree["tensor"]].clone()
        return {key: unpack(value, tensors) for key, value in tree.items()}
    if isinstance(tree, list):
        return [unpack(value, tensors) for value in tree]
    return tree


def random_state() -> dict[str, Any]:
    """Return the state of every random generator of this process."""
    kind, keys, position, has_gauss, cached = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": [kind, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restore every random generator of this process to what `random_state` returned."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def _step_folders(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*/"))


def _discard(path: Path) -> None:
    """Delete a checkpoint; if the process is killed meanwhile, `remove_stale` deletes the rest."""
    doomed = path.with_name(f".{path.name}.discarded.partial")
    shutil.rmtree(doomed, ignore_errors=True)
    move(path, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _fingerprint(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        return {"size": os.path.getsize(file), "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def _damage(path: Path) -> str | None:
    """Return a sentence on what is wrong with a checkpoint; None if it is complete."""
    try:
        files = json.loads((path / MARKER).read_text(encoding="utf-8"))["files"]
        for name, expected in files.items():
            if _fingerprint(path / name) != expected:
                return f"{path / name} is damaged or belongs to another checkpoint"
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except IsADirectoryError as error:
        return f"{error.filename} is a folder in the place of a file"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{path / MARKER} is damaged"
    return None
