# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Progress of what takes longer than some seconds: a bar on a terminal, plain lines in a log, both on standard error.

Nothing is shown in the first five seconds, and nothing at all where bars are switched off: by transformers'
`disable_progress_bar`, by HF_DATASETS_DISABLE_PROGRESS_BARS, HF_HUB_DISABLE_PROGRESS_BARS or TQDM_DISABLE in the
environment, by the level ERROR of the logger "hf_lecture_models", or within `no_progress`.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm
from transformers.utils import logging as transformers_logging

FIRST_AFTER, LINES_EVERY = 5.0, 30.0
"""Seconds until the first report, and between lines in a log."""
_SWITCHES = ("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS")
_ON = ("1", "on", "yes", "true")
_state = {"others_hidden": False, "off": 0}


class ProgressBar(tqdm):
    """A bar of tqdm on a terminal; elsewhere a line after five seconds, and one every thirty seconds from then on.

    >>> [step for step in ProgressBar(["a", "b"], desc="counting")]
    ['a', 'b']

    Args:
        iterable, total, desc, unit, ...: as tqdm's.
        shown: False shows nothing.
        delay: seconds without a bar on a terminal.
    """

    disable: bool
    is_made = False

    def __init__(
        self, iterable: Iterable[Any] | None = None, shown: bool = True, delay: float = FIRST_AFTER, **options: Any
    ) -> None:
        self.on_terminal, self.closed = sys.stderr.isatty(), threading.Event()
        self.written: int | None = None  # the count of the last line
        if self.on_terminal:
            options = {"dynamic_ncols": True, "leave": None} | options
        else:
            options["ncols"] = 0  # a line is as long as its text
            delay = math.inf  # tqdm writes nothing: `watch` and `close` do
        super().__init__(iterable, file=sys.stderr, disable=not shown or is_switched_off(), delay=delay, **options)
        self.is_made = True
        if not (self.on_terminal or self.disable):
            threading.Thread(target=watch, args=(weakref.ref(self), self.closed), daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        """Yield the items, each counted after its turn."""
        with self:
            for item in self.iterable:
                yield item
                self.update()

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar on a terminal."""
        return self.on_terminal and super().display(msg, pos)

    def clear(self, nolock: bool = False) -> None:
        """Remove the bar from the terminal."""
        if self.on_terminal:
            super().clear(nolock)

    def write_line(self) -> None:
        """Write a line of a log."""
        self.written = self.n
        self.fp.write(f"{self!s}\n")
        self.fp.flush()

    def close(self) -> None:
        """Show the end, if anything was shown before."""
        if not self.is_made:
            return  # a signal ended its making, and tqdm closes what is deleted
        self.closed.set()
        with self.get_lock():
            if self.written not in (None, self.n):
                self.write_line()
            super().close()


def watch(reference: weakref.ref[ProgressBar], closed: threading.Event) -> None:
    """Write the lines of a bar when they are due, until it is closed or nobody uses it any more."""
    due = FIRST_AFTER
    while not closed.wait(due):
        bar = reference()
        if bar is None:
            return
        with bar.get_lock():
            if not closed.is_set():
                bar.write_line()
        due = LINES_EVERY
        del bar


def is_switched_off() -> bool:
    """Return True where the user wants no reports of progress."""
    if _state["off"] or any(os.environ.get(name, "").lower() in _ON for name in _SWITCHES):
        return True
    if logging.getLogger("hf_lecture_models").getEffectiveLevel() >= logging.ERROR:
        return True
    return not _state["others_hidden"] and not transformers_logging.is_progress_bar_enabled()


def hide_other_bars() -> None:
    """Switch transformers' bars of loading and saving off, and keep those of this package."""
    _state["others_hidden"] = transformers_logging.is_progress_bar_enabled() or _state["others_hidden"]
    transformers_logging.disable_progress_bar()


@contextmanager
def no_progress(off: bool = True) -> Iterator[None]:
    """Show no progress within the block, if `off`.

    >>> with no_progress():
    ...     is_switched_off()
    True
    """
    _state["off"] += off
    try:
        yield
    finally:
        _state["off"] -= off
