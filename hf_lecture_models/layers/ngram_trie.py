# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A back-off n-gram model in flat sorted arrays: the ARPA form, p and a back-off weight per stored n-gram.

An n-gram u w (prefix u of n-1 words) is one integer, ``index of u × vocabulary + w``, and an order's table is the
sorted list of these integers. Its position there is the n-gram's index, of which the next order's keys are made.

    p(w | u) = p_stored(u w)                if u w is stored
             = backoff(u) p(w | u')         else, u' being u without its first word; backoff(u) = 1 if u is not stored
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hf_lecture_models.layers.sorted_search import find


@dataclass
class NGramTables:
    """The same tables as numpy arrays: what estimation and ARPA files produce. Logarithms are base 10, float32."""

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
        if self.sizes[0] != self.vocab_size:
            raise ValueError(f"the 1-gram table has {self.sizes[0]} rows for a vocabulary of {self.vocab_size}")
        for n, keys in enumerate(self.keys, 2):
            if len(keys) != self.sizes[n - 1] or (keys[1:] <= keys[:-1]).any():
                raise ValueError(f"{n}-gram table: the keys are too few, unsorted or stand twice; the table is damaged")
            if len(keys) and (keys[0] < 0 or keys[-1] >= self.sizes[n - 2] * self.vocab_size):
                raise ValueError(f"{n}-gram table: a key names a prefix that is not stored; the table is damaged")
        for n, probs in enumerate(self.log10_probs, 1):
            if not (probs <= 0).all():
                raise ValueError(f"{n}-gram table: a log-probability is positive or NaN; the table is damaged")
        for n, backoffs in enumerate(self.log10_backoffs, 1):
            if len(backoffs) != self.sizes[n - 1] or not (backoffs < np.inf).all():
                raise ValueError(f"{n}-gram table: a back-off weight is missing, infinite or NaN; the table is damaged")
        return self


class NGramTrie(nn.Module):
    """The tables as buffers, and look-up in them. Words and contexts are flat: (tokens,), int64, -1 for "none".

    A new trie is the uniform distribution over the events (all words but ``non_events``), whatever its ``sizes``.
    Its numbers keep their type under ``.half()`` and ``.to(dtype)``: log-probabilities in half precision are useless.
    """

    def __init__(self, vocab_size: int, sizes: Sequence[int], non_events: Sequence[int] = ()) -> None:
        super().__init__()
        self.vocab_size, self.order = vocab_size, len(sizes)
        uniform = torch.full((vocab_size,), -math.log10(vocab_size - len(non_events)))
        uniform[list(non_events)] = -math.inf
        self.register_buffer("log10_probs_1", uniform)
        for n, size in enumerate(sizes[1:], 2):
            self.register_buffer(f"keys_{n}", torch.arange(size))
            self.register_buffer(f"log10_probs_{n}", uniform[torch.arange(size) % vocab_size])
        for n, size in enumerate(sizes[:-1], 1):
            self.register_buffer(f"log10_backoffs_{n}", torch.zeros(size))

    @property
    def sizes(self) -> list[int]:
        """Number of n-grams of each order."""
        return [len(self.log10_probs(n)) for n in range(1, self.order + 1)]

    def keys(self, n: int) -> Tensor:
        """(n-grams of order n,) int64, n >= 2."""
        return self.get_buffer(f"keys_{n}")

    def log10_probs(self, n: int) -> Tensor:
        """(n-grams of order n,) float32."""
        return self.get_buffer(f"log10_probs_{n}")

    def log10_backoffs(self, n: int) -> Tensor:
        """(n-grams of order n,) float32, n < order."""
        return self.get_buffer(f"log10_backoffs_{n}")

    def tables(self) -> NGramTables:
        """The buffers as numpy arrays; on the CPU they share memory."""
        orders = range(1, self.order + 1)
        return NGramTables(
            self.vocab_size,
            [self.keys(n).numpy(force=True) for n in orders[1:]],
            [self.log10_probs(n).numpy(force=True) for n in orders],
            [self.log10_backoffs(n).numpy(force=True) for n in orders[:-1]],
        )

    def load_tables(self, tables: NGramTables) -> None:
        """Take the arrays of ``tables`` as buffers, on the CPU, without a copy."""
        for n, keys in enumerate(tables.keys, 2):
            self._buffers[f"keys_{n}"] = torch.from_numpy(keys)
        for n, probs in enumerate(tables.log10_probs, 1):
            self._buffers[f"log10_probs_{n}"] = torch.from_numpy(probs)
        for n, backoffs in enumerate(tables.log10_backoffs, 1):
            self._buffers[f"log10_backoffs_{n}"] = torch.from_numpy(backoffs)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> NGramTrie:
        # Seen as integers of the same width, floats move to another device and are never cast.
        for name, buffer in self.named_buffers(recurse=False):
            bits = buffer.view(torch.int32) if buffer.is_floating_point() else buffer
            self._buffers[name] = fn(bits).view(buffer.dtype)
        return self

    def extend(self, n: int, contexts: Tensor, words: Tensor, total: Tensor | None = None) -> Tensor:
        """Indices of the n-grams "context word", -1 where not stored, from indices of (n-1)-grams and words.

        ``total``, the log10 p of the words by all shorter contexts, is updated in place: p of the n-gram where it is
        stored, else multiplied by the context's back-off weight.
        """
        found = torch.full_like(words, -1)
        known = (contexts >= 0).nonzero().squeeze(1)
        before = contexts.index_select(0, known)
        places = find(self.keys(n), before * self.vocab_size + words.index_select(0, known))
        found[known] = places
        if total is not None:
            total.index_add_(0, known, self.log10_backoffs(n - 1).index_select(0, before))
            hits = places >= 0
            total[known[hits]] = self.log10_probs(n).index_select(0, places[hits])
        return found

    def contexts(self, words: Tensor, starts: Tensor) -> list[Tensor]:
        """Indices of the n-grams, n = 1 to order-1, that end at each word of a stream; none crosses a row's start."""
        entries = [words]
        for n in range(2, self.order):
            entries.append(self.extend(n, _previous(entries[-1], starts), words))
        return entries[: self.order - 1]

    def score(self, words: Tensor, starts: Tensor) -> Tensor:
        """Natural log p of each word of a stream given those before it in its row; ``starts``: True at rows' starts."""
        total, entries = self.log10_probs(1).index_select(0, words), words
        for n in range(2, self.order + 1):
            entries = self.extend(n, _previous(entries, starts), words, total)
        return total * math.log(10)

    def log_probs(self, contexts: list[Tensor], words: Tensor) -> Tensor:
        """Natural log p of each word after its contexts of 1 to order-1 words, (words,) each."""
        total = self.log10_probs(1).index_select(0, words)
        for n, context in enumerate(contexts, 2):
            self.extend(n, context, words, total)
        return total * math.log(10)

    def distributions(self, contexts: list[Tensor], rows: int) -> Tensor:
        """Natural log p of every word, (rows, vocab), after contexts of 1 to order-1 words, (rows,) each."""
        weights = [self.log10_probs(1).new_zeros(rows) for _ in range(self.order)]
        for n in range(self.order - 1, 0, -1):  # weights[n-1]: of all contexts from n words on
            known = contexts[n - 1] >= 0
            weights[n - 1][known] = self.log10_backoffs(n)[contexts[n - 1][known]]
            weights[n - 1] += weights[n]
        table = self.log10_probs(1) + weights[0][:, None]
        for n, context in enumerate(contexts, 1):
            # The children of a context are one slice of the sorted keys; "none" (-1) has the empty slice before key 0.
            first = torch.searchsorted(self.keys(n + 1), context * self.vocab_size)
            count = torch.searchsorted(self.keys(n + 1), (context + 1) * self.vocab_size) - first
            row = torch.arange(rows, device=context.device).repeat_interleave(count)
            child = torch.arange(len(row), device=context.device) + (first - count.cumsum(0) + count)[row]
            table[row, self.keys(n + 1)[child] % self.vocab_size] = self.log10_probs(n + 1)[child] + weights[n][row]
        return table.mul_(math.log(10))


def _previous(entries: Tensor, starts: Tensor) -> Tensor:
    """The entry one place earlier in the row, -1 at a row's start."""
    return torch.cat((entries.new_full((1,), -1), entries[:-1])).masked_fill_(starts, -1)
