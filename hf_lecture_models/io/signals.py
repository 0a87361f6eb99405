# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Signals as exceptions, so that programs remove unfinished files on the way out; or noted, so that a loop can save."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt and SIGTERM SystemExit(143), as `raise_signal` does.

    A process that ignores a signal, such as a shell's background job, goes on ignoring it.
    """
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _exit}
    handled = [number for number in handlers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handlers[number]) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def received_signals() -> Iterator[list[str]]:
    """Within the block the first SIGINT or SIGTERM is only noted, so that a loop can save; the second one kills.

    Yields the names of the signals that came. Outside the main thread, where Python sets no handlers, none is noted.
    """
    received: list[str] = []
    previous: dict[int, Any] = {}

    def restore() -> None:
        while previous:
            signal.signal(*previous.popitem())

    def note(number: int, _: Any) -> None:
        received.append(signal.Signals(number).name)
        restore()

    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                previous[number] = signal.signal(number, note)
        yield received
    finally:
        restore()


def raise_signal(name: str) -> None:
    """Raise the exception of the signal of this name; do nothing for other words.

    >>> raise_signal("early stopping")
    >>> raise_signal("SIGTERM")
    Traceback (most recent call last):
        ...
    SystemExit: 143
    """
    if name == "SIGINT":
        raise KeyboardInterrupt
    if name == "SIGTERM":
        _exit(signal.SIGTERM, None)


def _exit(number: int, _: Any) -> None:
    sys.exit(128 + number)
