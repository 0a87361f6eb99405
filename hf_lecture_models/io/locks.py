# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Let one run at a time work in a folder."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

RUN_LOCK = "run.lock"


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Make a folder and hold it for this run alone; the system frees it when the process dies.

    Raises:
        NotADirectoryError: the path is a file.
        IsADirectoryError: the lock's path is a folder.
        BlockingIOError: another run works in it.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cannot write into {folder}: it is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUN_LOCK
    if path.is_dir():
        raise IsADirectoryError(f"cannot lock {folder}: {path} is a folder; remove it")
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise BlockingIOError(f"{folder} is in use by another run; wait for it, or name another folder") from None
    try:
        yield
    finally:
        # Before the release: whoever comes after it makes a file of its own.
        with suppress(OSError):
            path.unlink()
        lock.release()
