# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files and folders written beside and renamed, so that a crash leaves the old state or the new."""

import errno
import glob
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_RANDOM_NAME = "[!.]" * 8  # of tempfile


class _NothingToWrite(Exception):
    pass


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


@contextmanager
def _write_errors(target: Path) -> Iterator[None]:
    """Within the block, what a full or broken disk raises is an OSError that names `target`.

    Python's own error names no file, or a temporary one; libraries in Rust (safetensors, tokenizers) raise errors of
    their own, with the system's number in their text.
    """
    try:
        yield
    except Exception as error:
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = error.errno if isinstance(error, OSError) else found and int(found[1])
        if number not in _DISK_ERRORS:
            raise
        failure = OSError(f"cannot write {target}: {os.strerror(number)}")
        failure.errno = number
        raise failure from error


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_durable(stage: Path) -> None:
    """Give all that was written the rights that the umask leaves, and bring it to the disk."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (*sorted(stage.rglob("*"), reverse=True), stage):  # a folder after what it holds
        # safetensors and tempfile write for their owner alone.
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
        _fsync(path)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Within the block Ctrl-C and SIGTERM wait, since their exceptions would leave it half done."""
    came: list[int] = []
    held: dict[int, Any] = {}
    number: int
    is_main = threading.current_thread() is threading.main_thread()  # no other one hears them
    try:
        for number in (signal.SIGINT, signal.SIGTERM) if is_main else ():
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):
                held[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@contextmanager
def _staged(
    target: Path, make: Callable[[], str], commit: Callable[[Path], object], remove: Callable[[Path], None]
) -> Iterator[Path]:
    """Yield what `make` makes beside `target`; `commit` it when the block succeeds, `remove` it when it does not."""
    with _write_errors(target):
        try:
            target.absolute().parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise NotADirectoryError(f"cannot write {target}: {error.filename} is a file, not a folder") from None
        stage = None
        try:
            with _signals_held():
                stage = Path(make())
            yield stage
            _make_durable(stage)
            with _signals_held():
                commit(stage)
        finally:
            if stage is not None:
                with _signals_held():
                    remove(stage)
        _fsync(target.absolute().parent)


@contextmanager
def staged_folder(folder: str | os.PathLike[str], replaces: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield an empty folder beside `folder`; when the block succeeds, move what it holds into `folder`.

    A `folder` that does not exist appears whole, by one rename. In one that exists, each written entry replaces its
    namesake and all other entries stay, except old files whose names match a pattern in `replaces` (shards of an
    earlier save, say). When the block raises, the temporary folder is removed and `folder` is untouched. What a killed
    process left of an earlier call is removed.

    Raises:
        NotADirectoryError: a file stands where the folder should be.
        FileExistsError: an entry of `folder` is a folder and its new namesake a file, or the other way round.
        OSError: whatever the file system says (no permission, no space left), before anything in `folder` changed; a
            full disk in a message that names `folder`, whatever the block raised for it.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"cannot save to {target}: it is a file; name a folder, or move the file away")

    held: list[int] = []

    def make() -> str:
        _remove_stages_of_the_dead(target)
        while True:
            # Beside the target, never inside another file system: a rename must not become a copy.
            stage = tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.absolute().parent)
            # Before the lock, another process may have removed it, or be about to.
            with suppress(BlockingIOError):
                held.extend(_lock_folder(Path(stage)))
                if os.path.isdir(stage):
                    return stage

    def commit(stage: Path) -> None:
        if target.exists():
            _move_entries(stage, target, replaces)
        else:
            stage.rename(target)

    try:
        with _staged(target, make, commit, partial(shutil.rmtree, ignore_errors=True)) as stage:
            yield stage
    finally:
        for descriptor in held:
            os.close(descriptor)


def _lock_folder(folder: Path) -> list[int]:
    """Lock a folder until the descriptor is closed or the process dies; on a file system without locks, do nothing.

    Raises:
        BlockingIOError: another process has it locked.
    """
    if fcntl is None:
        return []
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return []
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return []
    return [descriptor]


def _remove_stages_of_the_dead(target: Path) -> None:
    """Remove the temporary folders of `staged_folder` that no process holds any more."""
    name = glob.escape(target.name)
    stage = f".{name}.{_RANDOM_NAME}.partial"
    for pattern in (stage, f".{stage}.{_RANDOM_NAME}.partial"):
        for path in target.absolute().parent.glob(pattern):
            with suppress(BlockingIOError):
                for descriptor in _lock_folder(path):
                    shutil.rmtree(path, ignore_errors=True)
                    os.close(descriptor)


def check_writable(folder: str | os.PathLike[str] | None, file: str | os.PathLike[str] | None = None) -> None:
    """Raise the error that `staged_folder` or `staged_file` would raise, before what goes there is computed.

    >>> check_writable("/dev/null/model")
    Traceback (most recent call last):
        ...
    NotADirectoryError: cannot write /dev/null/model: /dev/null is a file, not a folder

    Args:
        folder, file: where to write; None or an empty name is not checked.
    """
    stages = [(target, stage) for target, stage in ((folder, staged_folder), (file, staged_file)) if target]
    for target, stage in stages:
        try:
            with suppress(_NothingToWrite), stage(target):
                if Path(target).is_dir():
                    tempfile.TemporaryDirectory(dir=target, prefix=".").cleanup()
                raise _NothingToWrite
        except OSError as error:
            if error.filename is None:
                raise  # it names the target
            raise type(error)(f"cannot write {target}: {error.strerror}") from None


def _move_entries(stage: Path, target: Path, replaces: tuple[str, ...]) -> None:
    new = {path.name: path.is_dir() for path in stage.iterdir()}
    for name, is_folder in new.items():
        if (target / name).exists() and (target / name).is_dir() != is_folder:
            there, wanted = ("a file", "a folder") if is_folder else ("a folder", "a file")
            raise FileExistsError(f"cannot write {target / name}: {there} stands in the place of {wanted}; move it")
    # The configuration last: whoever sees the new one finds the new weights beside it.
    for path in sorted(stage.iterdir(), key=lambda p: (p.name == "config.json", p.name)):
        if path.is_dir() and (target / path.name).is_dir():
            shutil.rmtree(target / path.name)
        path.replace(target / path.name)
    stage.rmdir()
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
        NotADirectoryError: a file stands where its folder should be.
        OSError: as in `staged_folder`.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder; name a file")

    def make() -> str:
        folder = target.absolute().parent
        descriptor, name = tempfile.mkstemp(prefix=".", suffix=f".partial.{target.name}", dir=folder)
        os.close(descriptor)
        return name

    commit, remove = partial(Path.replace, target=target), partial(Path.unlink, missing_ok=True)
    with _staged(target, make, commit, remove) as stage:
        yield stage
