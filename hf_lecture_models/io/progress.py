# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Progress of what takes longer than some seconds: a bar on a terminal, plain lines in a log, both on standard error.

Nothing is shown in the first five seconds, and nothing at all where bars are switched off: by transformers'
`disable_progress_bar`, by HF_DATASETS_DISABLE_PROGRESS_BARS, HF_HUB_DISABLE_PROGRESS_BARS or TQDM_DISABLE in the
environment, by the level ERROR of the logger "hf_lecture_models", or within `no_progress`.
"""

from __future__ import annotations

import logging
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

    A thread writes these lines where a single step takes longer.

    >>> [step for step in ProgressBar(["a", "b"], desc="counting")]
    ['a', 'b']

    Args:
        iterable, total, desc, unit, ...: as tqdm's.
        shown: False shows nothing.
        delay: seconds without a report.
    """

    disable: bool

    def __init__(
        self, iterable: Iterable[Any] | None = None, shown: bool = True, delay: float = FIRST_AFTER, **options: Any
    ) -> None:
        self.on_terminal = sys.stderr.isatty()
        self.written: float | None = None  # the count of the last line
        if not self.on_terminal:
            # Each line is as long as its text, and the clock is read at each update.
            options |= {"mininterval": FIRST_AFTER, "miniters": 1, "ncols": 0}
            delay = FIRST_AFTER
        else:
            options = {"dynamic_ncols": True, "leave": None} | options
        self.closed, self.written_at = threading.Event(), 0.0
        super().__init__(iterable, file=sys.stderr, disable=not shown or is_switched_off(), delay=delay, **options)
        if not (self.on_terminal or self.disable):
            threading.Thread(target=watch, args=(weakref.ref(self), self.closed), daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        """Yield the items, each counted after its turn."""
        if self.disable:
            yield from self.iterable
            return
        try:
            for item in self.iterable:
                yield item
                self.update()
        finally:
            self.close()

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar, or write a line."""
        if self.on_terminal:
            return super().display(msg, pos)
        self.mininterval, self.written, self.written_at = LINES_EVERY, self.n, self._time()
        self.fp.write(f"{self!s}\n" if msg is None else f"{msg}\n")
        self.fp.flush()
        return True

    def close(self) -> None:
        """Show the end, if anything was shown before."""
        if self.on_terminal or self.disable:
            super().close()
            return
        self.closed.set()
        with self.get_lock():
            if self.written not in (None, self.n):
                self.display()
            self.disable = True
        self._decr_instances(self)

    def write_if_late(self) -> float:
        """Write a line if none was written for thirty seconds, or ever; return the seconds until the next is due."""
        with self.get_lock():
            passed = LINES_EVERY if self.written is None else self._time() - self.written_at
            if passed < LINES_EVERY:
                return LINES_EVERY - passed
            if not self.disable:
                self.display()
            return LINES_EVERY

    def clear(self, nolock: bool = False) -> None:
        """Remove the bar from the terminal; lines of a log stay."""
        if self.on_terminal:
            super().clear(nolock)


def watch(reference: weakref.ref[ProgressBar], closed: threading.Event) -> None:
    """Let a bar write its late lines, until it is closed or nobody uses it any more."""
    due = FIRST_AFTER
    while not closed.wait(due):
        bar = reference()
        if bar is None:
            return
        due = bar.write_if_late()
        del bar


def is_switched_off() -> bool:
    """Return True where the user wants no reports of progress.

    >>> with no_progress():
    ...     is_switched_off()
    True
    """
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
    """Show no progress within the block, if `off`."""
    _state["off"] += off
    try:
        yield
    finally:
        _state["off"] -= off
