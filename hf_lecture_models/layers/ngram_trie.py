# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Look-up in the tables of a back-off n-gram model, for whole batches at a time.

An n-gram u w (prefix u of n-1 words) is one integer, ``index of u × vocabulary + w``, and an order's table is the
sorted list of these integers. Its position in the list is the n-gram's index, and the next order's keys are made of it.

    p(w | u) = p_stored(u w)                if u w is stored
             = backoff(u) p(w | u')         else, u' being u without its first word; backoff(u) = 1 if u is not stored
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.execution import method_with_weights
from hf_lecture_models.layers.ngram_search import find, where_true

# 16 bits are stored as torch's int16, which more operations support than uint16; `& (2**bits - 1)` restores the number.
CODE_TYPES = {8: torch.uint8, 16: torch.int16}


class NGramTrie(nn.Module):
    """The tables as buffers, and look-up in them. Words and contexts are flat: (tokens,), int64, -1 for "none".

    A new trie is the uniform distribution over the events (all words but ``non_events``), whatever its ``sizes``.
    Its numbers keep their type under ``.half()`` and ``.to(dtype)``: log-probabilities in half precision are useless.
    With ``bits``, 8 or 16, the logarithms of orders 2 and up are numbers of bins, each with one value.
    """

    def __init__(
        self, vocab_size: int, sizes: Sequence[int], non_events: Sequence[int] = (), bits: int | None = None
    ) -> None:
        super().__init__()
        self.arguments: tuple[Any, ...] = (vocab_size, sizes, non_events, bits)
        self.vocab_size, self.order, self.bits = vocab_size, len(sizes), bits
        uniform = torch.full((vocab_size,), -math.log10(vocab_size - len(non_events)), dtype=torch.float32)
        uniform[list(non_events)] = -math.inf
        for n, size in enumerate(sizes, 1):
            if n > 1:
                self.register_buffer(f"keys_{n}", torch.arange(size))
            self.register_buffer(f"log10_probs_{n}", uniform if n == 1 else uniform[torch.arange(size) % vocab_size])
            if n < self.order:
                self.register_buffer(f"log10_backoffs_{n}", torch.zeros(size, dtype=torch.float32))
        if bits is not None:
            self._begin_bins(bits)

    def _begin_bins(self, bits: int) -> None:
        """Put each table of a new trie, which holds one finite number, at most 0, and perhaps -inf, into two bins."""
        orders = range(2, self.order + 1)
        for name in [*(f"probs_{n}" for n in orders), *(f"backoffs_{n}" for n in orders[:-1])]:
            values = self.get_buffer(f"log10_{name}")
            never, centres = values == -math.inf, torch.full((2**bits,), -math.inf)
            centres[0] = values.masked_fill(never, 0).min() if len(values) else 0
            self.register_buffer(f"log10_{name}", centres)
            self.register_buffer(name.replace("_", "_codes_"), never.to(CODE_TYPES[bits]))

    def draw_weights(self) -> None:
        """Become uniform, as a new trie is."""
        for name, value in type(self)(*self.arguments).named_buffers():
            init.copy_(self.get_buffer(name), value)

    def keys(self, n: int) -> Tensor:
        """(n-grams of order n,) int64, n >= 2."""
        return self.get_buffer(f"keys_{n}")

    def log10(self, name: str, n: int, at: Tensor | None = None) -> Tensor:
        """(n-grams of order n,) float32: their "probs", or "backoffs" (n < order); those at some indices, if given."""
        values = self.get_buffer(f"log10_{name}_{n}")
        if self.bits is not None and n > 1:
            codes = self.get_buffer(f"{name}_codes_{n}")
            at = (codes if at is None else codes.index_select(0, at)).long() & (2**self.bits - 1)
        return values if at is None else values.index_select(0, at)

    def find(self, n: int, queries: Tensor) -> Tensor:
        """Index of each query, (queries,), among the keys of order n, or -1; the package's is in `ngram_index.py`."""
        return find(self.keys(n), queries)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> NGramTrie:
        # Seen as integers of the same width, floats move to another device and are never cast.
        for name, buffer in self.named_buffers(recurse=False):
            bits = buffer.view(torch.int32) if buffer.is_floating_point() else buffer
            self._buffers[name] = fn(bits).view(buffer.dtype)
        return self

    def extend(
        self, n: int, at: Tensor, contexts: Tensor, words: Tensor, total: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Go from contexts of n-1 words to the n-grams "context word"; return where they are stored, and their indices.

        Args:
            at: (known,) the positions in `words` that have a stored context; contexts: (known,) its indices.
            words: (tokens,).
            total: (tokens,) log10 p by all shorter contexts, updated in place: p of the n-gram where it is stored, else
                times the context's back-off weight. None if only the indices are wanted.
        """
        entries = self.find(n, contexts * self.vocab_size + words.index_select(0, at))
        hits = where_true(entries >= 0)
        stored, entries = at.index_select(0, hits), entries.index_select(0, hits)
        if total is not None:
            total.index_add_(0, at, self.log10("backoffs", n - 1, contexts))
            total.index_copy_(0, stored, self.log10("probs", n, entries))
        return stored, entries

    def walk(
        self, words: Tensor, starts: Tensor, order: int, total: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, for each order from 2 to ``order``, where stored n-grams end in a stream, and their indices.

        ``starts``, (tokens,) bool, is True where a row starts: no n-gram crosses it.
        """
        row_goes_on = torch.cat((~starts[1:], starts.new_zeros(1)))
        at = where_true(row_goes_on)
        contexts = words.index_select(0, at)
        for n in range(2, order + 1):
            at, entries = self.extend(n, at + 1, contexts, words, total)
            yield at, entries
            longer = where_true(row_goes_on.index_select(0, at))
            at, contexts = at.index_select(0, longer), entries.index_select(0, longer)

    @method_with_weights
    def contexts(self, words: Tensor, starts: Tensor) -> Tensor:
        """(order-1, tokens): index of the n-grams of 1 to order-1 words that end at each word (see `walk`), or -1."""
        found = words.new_full((self.order - 1, len(words)), -1)
        found[:1] = words
        for n, (at, entries) in enumerate(self.walk(words, starts, self.order - 1), 1):
            found[n].index_copy_(0, at, entries)
        return found

    @method_with_weights
    def score(self, words: Tensor, starts: Tensor, measured: bool = False) -> tuple[Tensor, Tensor | None]:
        """Natural log p of each word in its row (see `walk`), and the length of its n-gram if `measured`; (tokens,)."""
        total, lengths = self.log10("probs", 1, words), torch.ones_like(words) if measured else None
        for n, (at, _) in enumerate(self.walk(words, starts, self.order, total), 2):
            if lengths is not None:
                lengths.index_fill_(0, at, n)
        return total.mul_(math.log(10)), lengths

    @method_with_weights
    def log_probs(self, contexts: Tensor, words: Tensor) -> Tensor:
        """Natural log p of each word, (words,), after its `contexts` of 1 to order-1 words, (order-1, words)."""
        total = self.log10("probs", 1, words)
        for n, context in enumerate(contexts, 2):
            at = where_true(context >= 0)
            self.extend(n, at, context.index_select(0, at), words, total)
        return total * math.log(10)

    @method_with_weights
    def distributions(self, contexts: Tensor) -> Tensor:
        """Natural log p of every word, (rows, vocab), after contexts of 1 to order-1 words, (order-1, rows)."""
        # [n-1]: the weights of all contexts from n words on.
        weights = self.log10("probs", 1).new_zeros(self.order, contexts.shape[1])
        for n in range(self.order - 1, 0, -1):
            known = contexts[n - 1] >= 0
            weights[n - 1, known] = self.log10("backoffs", n, contexts[n - 1, known])
            weights[n - 1] += weights[n]
        table = self.log10("probs", 1) + weights[0][:, None]
        for n, context in enumerate(contexts, 1):
            # The children of a context are one slice of the sorted keys; "none" (-1) has the empty slice before key 0.
            first = torch.searchsorted(self.keys(n + 1), context * self.vocab_size)
            count = torch.searchsorted(self.keys(n + 1), (context + 1) * self.vocab_size) - first
            row = torch.arange(len(context), device=context.device).repeat_interleave(count)
            child = torch.arange(len(row), device=context.device) + (first - count.cumsum(0) + count)[row]
            table[row, self.keys(n + 1)[child] % self.vocab_size] = self.log10("probs", n + 1, child) + weights[n][row]
        return table.mul_(math.log(10))
