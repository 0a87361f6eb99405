# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files and folders written beside and renamed, so that a crash leaves the old state or the new."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from safetensors import SafetensorError


@contextmanager
def weights_file_errors(source: str) -> Iterator[None]:
    """Within the block, an error of safetensors is a ValueError that says what to do.

    Args:
        source: what is being loaded, for the message.
    """
    try:
        yield
    except SafetensorError as error:
        raise ValueError(f"{source}: its weights file is damaged or cut off ({error}); restore the file") from error


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        _fsync(path)
    _fsync(folder)


def _make_readable(folder: Path) -> None:
    # safetensors writes files that only their owner may read, whatever the umask says.
    for path in folder.rglob("*"):
        path.chmod(_default_mode(path.is_dir()))


def _default_mode(is_folder: bool) -> int:
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if is_folder else 0o666) & ~mask


@contextmanager
def staged_folder(folder: str | os.PathLike[str], replaces: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield an empty folder beside `folder`; when the block succeeds, move what it holds into `folder`.

    A `folder` that does not exist appears whole, by one rename. In one that exists, each written entry replaces its
    namesake and all other entries stay, except old files whose names match a pattern in `replaces` (shards of an
    earlier save, say). When the block raises, the temporary folder is removed and `folder` is untouched.

    Raises:
        NotADirectoryError: a file stands where the folder should be.
        OSError: whatever the file system says (no permission, no space left), before anything in `folder` changed.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"cannot save to {target}: it is a file; name a folder, or move the file away")
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, never inside another file system: a rename must not become a copy.
    stage = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.absolute().parent))
    try:
        stage.chmod(_default_mode(is_folder=True))
        yield stage
        _make_readable(stage)
        _sync_tree(stage)
        if target.exists():
            _move_entries(stage, target, replaces)
        else:
            stage.rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    _fsync(target.absolute().parent)


def _move_entries(stage: Path, target: Path, replaces: tuple[str, ...]) -> None:
    new = {path.name for path in stage.iterdir()}
    # The configuration last: whoever sees the new one finds the new weights beside it.
    for path in sorted(stage.iterdir(), key=lambda p: (p.name == "config.json", p.name)):
        if path.is_dir() and (target / path.name).is_dir():
            shutil.rmtree(target / path.name)
        path.replace(target / path.name)
    for path in target.iterdir():
        if path.name not in new and path.is_file() and any(fnmatch(path.name, pattern) for pattern in replaces):
            path.unlink()
    _fsync(target)


@contextmanager
def staged_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file beside `path`; when the block succeeds, rename it to `path`.

    The temporary name ends as `path` does, so that writers which choose a format by suffix (`.gz`) see it. When the
    block raises, the temporary file is removed and `path` is untouched.

    Raises:
        IsADirectoryError: a folder stands where the file should be.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder; name a file")
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=f".partial.{target.name}", dir=target.absolute().parent)
    os.close(descriptor)
    stage = Path(name)
    try:
        stage.chmod(_default_mode(is_folder=False))
        yield stage
        _fsync(stage)
        stage.replace(target)
    finally:
        stage.unlink(missing_ok=True)
    _fsync(target.absolute().parent)
