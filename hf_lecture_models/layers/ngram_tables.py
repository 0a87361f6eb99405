# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The numbers of a back-off n-gram model: flat sorted arrays, the ARPA form.

An n-gram u w (prefix u of n-1 words) is one integer, ``index of u × vocabulary + w``, and an order's table is the
sorted list of these integers. Its position in the list is the n-gram's index, and the next order's keys are made of it.

    p(w | u) = p_stored(u w)                if u w is stored
             = backoff(u) p(w | u')         else, u' being u without its first word; backoff(u) = 1 if u is not stored
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class NGramTables:
    """The tables that estimation and ARPA files produce. Logarithms are base 10, float32."""

    vocab_size: int
    keys: list[np.ndarray]  # [n-2] for n = 2..order: int64, increasing; a prefix index of order 1 is the word
    log10_probs: list[np.ndarray]  # [n-1]; order 1 is dense over the vocabulary; -inf is probability 0
    log10_backoffs: list[np.ndarray]  # [n-1] for n = 1..order-1; 0 where a context has no weight of its own

    @property
    def order(self) -> int:
        """Words in the longest n-gram."""
        return len(self.log10_probs)

    @property
    def sizes(self) -> list[int]:
        """Number of n-grams of each order."""
        return [len(probs) for probs in self.log10_probs]

    def check(self) -> NGramTables:
        """Return self, or raise a ValueError that names the damaged table."""
        floats = [*self.log10_probs, *self.log10_backoffs]
        if self.sizes[0] != self.vocab_size:
            raise ValueError(f"the 1-gram table has {self.sizes[0]} rows for a vocabulary of {self.vocab_size}")
        if {a.dtype for a in self.keys} - {np.dtype(np.int64)} or {a.dtype for a in floats} - {np.dtype(np.float32)}:
            raise ValueError("the keys are not all int64, or the logarithms not all float32; the tables are damaged")
        for n, keys in enumerate(self.keys, 2):
            if len(keys) != self.sizes[n - 1] or (keys[1:] <= keys[:-1]).any():
                raise ValueError(f"{n}-gram table: the keys are too few, unsorted or repeated; the table is damaged")
            if len(keys) and (keys[0] < 0 or keys[-1] >= self.sizes[n - 2] * self.vocab_size):
                raise ValueError(f"{n}-gram table: a key names a prefix that is not stored; the table is damaged")
        for n, probs in enumerate(self.log10_probs, 1):
            if not (probs <= 0).all():
                raise ValueError(f"{n}-gram table: a log-probability is positive or NaN; the table is damaged")
        for n, backoffs in enumerate(self.log10_backoffs, 1):
            if len(backoffs) != self.sizes[n - 1] or not (backoffs < np.inf).all():
                raise ValueError(f"{n}-gram table: a back-off weight is missing, infinite or NaN; the table is damaged")
        return self
