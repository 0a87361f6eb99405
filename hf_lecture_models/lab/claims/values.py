# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What an arm of a comparison reaches on each item of the data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Values:
    """A value for each item; more is what the claim expects of the first arm.

    Attributes:
        values: (items,).
        weights: (items,), what each item counts in the mean, such as its words; empty: all count the same.
        clusters: (items,), the article, document, person or passage that each item is from, since items of one cluster
            resemble each other; empty: each item is a cluster of its own.
    """

    values: Sequence[float]
    weights: Sequence[float] = ()
    clusters: Sequence[Hashable] = ()

    def __post_init__(self) -> None:
        for name in ("weights", "clusters"):
            given = getattr(self, name)
            if len(given) not in (0, len(self.values)):
                raise ValueError(f"there are {len(given)} {name} for {len(self.values)} items")

    @property
    def mean(self) -> float:
        """The mean over the items, by their weights."""
        return float(np.average(self.values, weights=self.weights or None))
