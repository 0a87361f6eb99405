# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What Windows does otherwise, for the package alone, in every interpreter that has this folder in PYTHONPATH.

The package sees `os.name` as "nt", no module or function of Unix, and an `msvcrt` that locks. Folders cannot be opened,
and read-only files cannot be synced. The standard streams have an encoding of Windows, and an EncodingWarning is an
error. Below OTHER_SYSTEM_FOLDER, a file that this process has open or mapped cannot be replaced, renamed or deleted.
It runs on Linux, whose libraries keep all their modules: a stand-in for Windows, no proof that the package runs there.
"""

import builtins
import importlib
import importlib.util
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix", "readline"}
FUNCTIONS = {
    "os": {"fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getuid", "killpg", "mkfifo", "nice"}
    | {"sched_getaffinity", "setsid", "statvfs", "sysconf", "ttyname", "uname", "wait"},
    "signal": {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "alarm", "pause"},
}
OURS = {"hf_lecture_models", "hf_lecture_cli", "__main__"}
REAL_IMPORT, IMPORT_MODULE, FIND_SPEC = builtins.__import__, importlib.import_module, importlib.util.find_spec
REAL_OPEN, REAL_FSYNC = os.open, os.fsync


class Seen(ModuleType):
    """A module as the package sees it."""

    def __init__(self, module: ModuleType, hidden: set[str], **others: Any) -> None:
        super().__init__(module.__name__)
        self.__dict__.update({"_module": module, "_hidden": hidden}, **others)

    def __getattr__(self, name: str) -> Any:
        if name in self._hidden:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._module, name)


def windows_open(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", os.fspath(path))
    return REAL_OPEN(path, flags, mode, **options)


def windows_fsync(descriptor: int) -> None:
    import fcntl

    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(9, "Bad file descriptor")
    REAL_FSYNC(descriptor)


def windows_locking(descriptor: int, mode: int, _: int) -> None:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(13, "Permission denied") from None


MSVCRT = ModuleType("msvcrt")
MSVCRT.LK_NBLCK, MSVCRT.locking = 2, windows_locking
SEEN = {name: Seen(sys.modules.get(name) or IMPORT_MODULE(name), hidden) for name, hidden in FUNCTIONS.items()}
SEEN["os"].__dict__.update(name="nt", open=windows_open, fsync=windows_fsync)
SEEN["msvcrt"] = MSVCRT


def is_ours(globals: Any) -> bool:
    return str((globals or {}).get("__name__")).split(".")[0] in OURS


def hide(name: str) -> None:
    if name.split(".")[0] in MODULES:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_as_on_windows(name: str, globals: Any = None, *others: Any, **options: Any) -> Any:
    if not is_ours(globals):
        return REAL_IMPORT(name, globals, *others, **options)
    hide(name)
    return SEEN.get(name) or REAL_IMPORT(name, globals, *others, **options)


def import_module(name: str, package: str | None = None) -> Any:
    if is_ours(sys._getframe(1).f_globals):
        hide(name)
        return SEEN.get(name) or IMPORT_MODULE(name, package)
    return IMPORT_MODULE(name, package)


def find_spec(name: str, package: str | None = None) -> Any:
    if is_ours(sys._getframe(1).f_globals) and (name in SEEN or name in MODULES):
        return None if name in MODULES else FIND_SPEC("os")
    return FIND_SPEC(name, package)


def is_in_use(path: Path) -> bool:
    """Whether this process has the file, or a file of the folder, open or mapped."""
    place = os.path.realpath(path.parent) + os.sep + path.name
    opened = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile, by another thread
            opened.append(os.readlink(f"/proc/self/fd/{number}"))
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        opened += [line.split(maxsplit=5)[-1].rstrip("\n") for line in lines]
    return any(one == place or one.startswith(place + os.sep) for one in opened if not one.endswith(" (deleted)"))


def refusing(act: Any) -> Any:
    """The function of `os`, refused for files that are in use."""

    def acts(first: Any, *others: Any, **options: Any) -> Any:
        folder = options.get("dir_fd", options.get("src_dir_fd"))
        base = Path() if folder is None else Path(os.readlink(f"/proc/self/fd/{folder}"))
        place = str(base.absolute() / os.fsdecode(first))
        # filelock deletes its file itself on Windows, after it has closed it.
        is_watched = place.startswith(os.environ["OTHER_SYSTEM_FOLDER"]) and not place.endswith("/run.lock")
        for path in (first, *others[:1]) if is_watched else ():
            if isinstance(path, str | os.PathLike) and is_in_use(base / path):
                error = PermissionError(13, "The process cannot access the file because it is in use", os.fspath(path))
                error.winerror = 32
                raise error
        return act(first, *others, **options)

    return acts


def begin() -> None:
    builtins.__import__ = import_as_on_windows
    importlib.import_module, importlib.util.find_spec = import_module, find_spec
    for name in ("replace", "rename", "unlink", "remove", "rmdir"):
        setattr(os, name, refusing(getattr(os, name)))
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if "PYTHONIOENCODING" not in os.environ:
            stream.reconfigure(encoding="cp1252")
            if stream is not sys.stdin:
                stream.reconfigure(newline="\r\n")
    warnings.filterwarnings("ignore", category=EncodingWarning)
    warnings.filterwarnings("error", category=EncodingWarning, module="hf_lecture")


if __name__ == "sitecustomize":
    begin()
