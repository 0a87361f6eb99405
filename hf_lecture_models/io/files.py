# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files and folders written beside and renamed, so that a crash leaves the old state or the new."""

import errno
import glob
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from hf_lecture_models.io.system import (
    error_number,
    locked_folder,
    move,
    refuse_name,
    remove,
    signal_handlers,
    sync,
)

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_RANDOM_NAME = "[!.]" * 8  # of tempfile


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


def _make_durable(stage: Path) -> None:
    """Give all that was written the rights that the umask leaves, and bring it to the disk."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (*sorted(stage.rglob("*"), reverse=True), stage):  # a folder after what it holds
        # safetensors and tempfile write for their owner alone.
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
        sync(path)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Within the block Ctrl-C and SIGTERM wait, since their exceptions would leave it half done."""
    came: list[int] = []
    try:
        with signal_handlers(dict.fromkeys((signal.SIGINT, signal.SIGTERM), lambda number, _: came.append(number))):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


@contextmanager
def _stage(target: Path, is_folder: bool) -> Iterator[Path]:
    """Yield an empty folder beside `target`, locked by this process; remove it after the block.

    Within the block, what a full or broken disk raises is an OSError that names `target`; Python's own error names no
    file, or a temporary one.
    """
    if is_folder and target.exists() and not target.is_dir():
        raise NotADirectoryError(f"cannot save to {target}: it is a file; name a folder, or move the file away")
    if not is_folder and target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder; name a file")
    refuse_name(target)
    parent, stage = target.absolute().parent, None
    locks = ExitStack()
    try:
        with _signals_held():
            parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned_stages(target)
            while stage is None:
                # Beside the target, never inside another file system: a rename must not become a copy.
                made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=parent))
                # Before the lock, another process may have removed it, or be about to.
                with suppress(BlockingIOError):
                    locks.enter_context(locked_folder(made))
                    stage = made if made.is_dir() else None
        yield stage
        sync(parent)
    except (FileExistsError, NotADirectoryError) as error:
        if stage is not None:
            raise
        raise NotADirectoryError(f"cannot write {target}: {error.filename} is a file, not a folder") from None
    except Exception as error:
        if (number := _system_error(error)) not in _DISK_ERRORS:
            raise
        failure = OSError(f"cannot write {target}: {os.strerror(number)}")
        failure.errno = number
        raise failure from error
    finally:
        with _signals_held():
            if stage is not None:
                shutil.rmtree(stage, ignore_errors=True)
            locks.close()


def _system_error(error: Exception) -> int | None:
    """Return the system's number of an error; libraries in Rust (safetensors, tokenizers) have it in their text."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    return error.errno if isinstance(error, OSError) else error_number(int(found[1])) if found else None


def _remove_abandoned_stages(target: Path) -> None:
    """Remove the temporary folders of `_stage` that no process has locked any more."""
    name = glob.escape(target.name)
    stage = f".{name}.{_RANDOM_NAME}.partial"
    for pattern in (stage, f".{stage}.{_RANDOM_NAME}.partial"):
        for path in target.absolute().parent.glob(pattern):
            with suppress(BlockingIOError), locked_folder(path) as is_locked:
                if is_locked:
                    shutil.rmtree(path, ignore_errors=True)


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
    with _stage(target, is_folder=True) as stage:
        yield stage
        _make_durable(stage)
        with _signals_held():
            if target.exists():
                _move_entries(stage, target, replaces)
            else:
                move(stage, target)


def _move_entries(stage: Path, target: Path, replaces: tuple[str, ...]) -> None:
    # The configuration last: whoever sees the new one finds the new weights beside it. The weights first: where a model
    # has them mapped, Windows refuses before anything else was replaced.
    new = sorted(os.listdir(stage), key=lambda name: (name == "config.json", not name.endswith(".safetensors")))
    for name in new:
        is_folder = (stage / name).is_dir()
        if (target / name).exists() and (target / name).is_dir() != is_folder:
            there, wanted = ("a file", "a folder") if is_folder else ("a folder", "a file")
            raise FileExistsError(f"cannot write {target / name}: {there} stands in the place of {wanted}; move it")
    for name in new:
        if (target / name).is_dir():
            remove(target / name)
        move(stage / name, target / name)
    stage.rmdir()
    for pattern in replaces:
        for path in sorted(target.glob(pattern)):
            if path.name not in new and path.is_file():
                remove(path)
    sync(target)


@contextmanager
def staged_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a file to write in a temporary folder; when the block succeeds, rename it to `path`.

    The temporary file has the same name, so that writers which choose a format by suffix (`.gz`) see it. When the block
    raises, the temporary file is removed and `path` is untouched.

    Raises:
        IsADirectoryError: a folder stands where the file should be.
        NotADirectoryError: a file stands where its folder should be.
        OSError: as in `staged_folder`.
    """
    target = Path(path)
    with _stage(target, is_folder=False) as folder:
        stage = folder / target.name
        yield stage
        _make_durable(stage)
        with _signals_held():
            move(stage, target)


def write_file(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text in UTF-8 as `staged_file` does, and return the path."""
    with staged_file(path) as stage:
        stage.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def check_writable(folder: str | os.PathLike[str] | None, file: str | os.PathLike[str] | None = None) -> None:
    """Raise the error that `staged_folder` or `staged_file` would raise, before what goes there is computed.

    >>> check_writable("/dev/null/model")
    Traceback (most recent call last):
        ...
    NotADirectoryError: cannot write /dev/null/model: /dev/null is a file, not a folder

    Args:
        folder, file: where to write; None or an empty name is not checked.
    """
    for target, is_folder in ((folder, True), (file, False)):
        if target:
            try:
                with _stage(Path(target), is_folder):
                    if Path(target).is_dir():
                        tempfile.TemporaryDirectory(dir=target, prefix=".").cleanup()
            except OSError as error:
                if error.filename is None:
                    raise  # it names the target
                raise type(error)(f"cannot write {target}: {error.strerror}") from None
