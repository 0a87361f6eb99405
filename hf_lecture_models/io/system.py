# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What differs between Linux, macOS and Windows: locks, syncing, files in use, their names, signals, streams, memory.

Nothing else in the package imports a module, or calls a function, that one of these systems lacks. The file is
published with the models' code, so it imports the standard library only.
"""

import codecs
import errno
import mmap
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any

IS_WINDOWS = os.name == "nt"
TRIES, PAUSE = 10, 0.1
"""How often, and after how many seconds, Windows is asked again for a file that is in use."""
# Access denied, sharing violation, lock violation, user-mapped file: errors of Windows for files that are open.
_IN_USE = (5, 32, 33, 1224)
_DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{digit}" for name in ("com", "lpt") for digit in "123456789")}


def _module(name: str) -> Any:
    """Return a module of the standard library; None on systems that lack it."""
    return import_module(name) if find_spec(name) else None


_fcntl, _msvcrt, _resource = _module("fcntl"), _module("msvcrt"), _module("resource")


def sync(path: Path) -> None:
    """Bring a file or a folder to the disk.

    Windows opens no folders, and syncs files only through descriptors that may write.
    """
    if IS_WINDOWS and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if IS_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path) -> Iterator[bool]:
    """Lock a folder within the block; the system frees it when the process dies.

    Windows locks files only, so there it is a file beside the folder. Yields False on a file system without locks,
    where nothing is locked.

    Raises:
        BlockingIOError: another process has it locked.
    """
    place = folder.with_name(f"{folder.name}.lock") if _fcntl is None else folder
    try:
        descriptor = os.open(place, os.O_RDONLY if place is folder else os.O_RDWR | os.O_CREAT)
    except OSError:
        yield False
        return
    try:
        yield _lock(descriptor, folder)
    finally:
        os.close(descriptor)
        if place is not folder:
            with suppress(OSError):  # another process has opened it meanwhile, and deletes it
                place.unlink()


def _lock(descriptor: int, folder: Path) -> bool:
    try:
        if _fcntl is not None:
            _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        elif _msvcrt is not None:
            _msvcrt.locking(descriptor, _msvcrt.LK_NBLCK, 1)
        return (_fcntl or _msvcrt) is not None
    except OSError as error:
        if error.errno == (errno.EACCES if _fcntl is None else errno.EWOULDBLOCK):
            raise BlockingIOError(error.errno, "another process has it locked", str(folder)) from None
        return False


def move(source: Path, target: Path) -> None:
    """Rename a file or a folder; a file of the new name is replaced.

    Raises:
        PermissionError: Windows does not replace `target`, or rename `source`, because it is open or mapped.
        OSError: as `Path.replace`.
    """
    failure = f"cannot write {target}" if target.exists() else f"cannot rename {source}"
    _when_free(lambda: source.replace(target), failure)


def remove(path: Path) -> None:
    """Delete a file, or a folder with all that it holds.

    Raises:
        PermissionError: Windows does not delete a file that is open or mapped.
        OSError: as `Path.unlink` and `shutil.rmtree`.
    """
    _when_free(lambda: shutil.rmtree(path) if path.is_dir() else path.unlink(), f"cannot delete {path}")


def deletes_mapped_files() -> bool:
    """Return whether a file can be deleted while an array is mapped to it, which then stays readable."""
    return not IS_WINDOWS


def _when_free(act: Callable[[], object], failure: str) -> None:
    """Call a function; where Windows says that a file is in use, call it again for a second.

    Scanners for viruses open new files for a moment.
    """
    for tried in range(1, TRIES + 1):
        try:
            act()
            return
        except OSError as error:
            if getattr(error, "winerror", None) not in _IN_USE:
                raise
            if tried == TRIES:
                raise PermissionError(
                    f"{failure}: {error.strerror}. This or another program has a file of it open, or you may not write "
                    "there: close it (in Python delete the model that was loaded from there), or name another folder"
                ) from None
        time.sleep(PAUSE)


def refuse_name(path: Path) -> None:
    """Raise an error for a file name that Windows does not allow, or takes for a device; elsewhere all are allowed.

    Raises:
        ValueError: the name has one of `<>:"|?*` or a control character, or ends in a dot or blank, or is reserved.
    """
    name = path.name
    if not IS_WINDOWS or name == "..":
        return
    is_odd = any(letter in '<>:"|?*' or ord(letter) < 32 for letter in name) or name[-1:] in (".", " ")
    if is_odd or name.partition(".")[0].rstrip().lower() in _DEVICES:
        raise ValueError(
            f'cannot write {path}: Windows allows no file name {name!r}; take one without any of <>:"|?*, without a '
            "dot or blank at its end, and other than CON, PRN, AUX, NUL, COM1, LPT1"
        )


def shell_quoted(text: str) -> str:
    """Return a word of a command for the terminal; Windows' knows no single quotes.

    >>> shell_quoted("my model") in ("'my model'", '"my model"'), shell_quoted("model")
    (True, 'model')
    """
    return subprocess.list2cmdline([text]) if IS_WINDOWS else shlex.quote(text)


def error_number(system_number: int) -> int:
    """Return the `errno` of an error for which a library in Rust gives the system's own number.

    >>> error_number(errno.ENOSPC) == errno.ENOSPC or IS_WINDOWS
    True
    """
    # With the fourth argument, which others than Windows ignore, Python translates Windows' numbers.
    return OSError(system_number, "", None, system_number).errno or system_number


def is_closed_pipe(error: BaseException) -> bool:
    """Return whether an error of a write says that the reader of a pipe has gone.

    Windows says "Invalid argument", as for an impossible file name, but then the error has the name.
    """
    if isinstance(error, BrokenPipeError):
        return True
    return IS_WINDOWS and isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename is None


@contextmanager
def signal_handlers(handlers: Mapping[int, Any]) -> Iterator[None]:
    """Within the block signals have these handlers, except those that the process ignores.

    In other threads than the main one, where Python sets no handlers, nothing is changed.
    """
    before: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                # None: a handler that was not set from Python, and cannot be put back.
                if signal.getsignal(number) not in (None, signal.SIG_IGN):
                    before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def use_utf8() -> None:
    r"""Let the standard streams have UTF-8 and write `\n`, unless PYTHONIOENCODING is set.

    On Windows, pipes and files would have one of its encodings of 256 characters, and `\r\n`.
    """
    if "PYTHONIOENCODING" in os.environ:
        return
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            if codecs.lookup(stream.encoding).name != "utf-8":
                stream.reconfigure(encoding="utf-8", errors=stream.errors)
            if stream is not sys.stdin:
                stream.reconfigure(newline="\n")


def resident_bytes() -> int:
    """Return the bytes that this process holds in memory; on macOS without psutil, the most that it has held.

    Raises:
        ImportError: Windows tells it by psutil, which is not installed.
    """
    statm = Path("/proc/self/statm")
    if statm.is_file():
        return int(statm.read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
    if find_spec("psutil"):
        return import_module("psutil").Process().memory_info().rss
    if _resource is None:
        raise ImportError("Windows tells the memory of a process by psutil, which is not installed: pip install psutil")
    return _resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def free_bytes() -> int | None:
    """Return the bytes of memory and swap that are free, at most what the process may take in all; None if unknown.

    Linux tells it, and psutil elsewhere.
    """
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        lines = (line.split() for line in meminfo.read_text(encoding="ascii").splitlines())
        free = 1024 * sum(int(line[1]) for line in lines if line[0] in ("MemAvailable:", "SwapFree:"))
        limit = Path("/sys/fs/cgroup/memory.max")  # of a container
        most = limit.read_text(encoding="ascii").strip() if limit.is_file() else ""
        return min(free, int(most)) if most.isdecimal() else free
    if find_spec("psutil"):
        psutil = import_module("psutil")
        return psutil.virtual_memory().available + psutil.swap_memory().free
    return None
