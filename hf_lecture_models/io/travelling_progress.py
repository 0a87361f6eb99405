# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What published code has of io/progress.py: tqdm's own bar, of what takes longer than some seconds."""

from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


class ProgressBar(tqdm):
    """A bar of tqdm after five seconds; `shown=False` shows nothing."""

    def __init__(
        self, iterable: Iterable[Any] | None = None, shown: bool = True, delay: float = 5.0, **options: Any
    ) -> None:
        super().__init__(iterable, disable=not shown, delay=delay, **options)
