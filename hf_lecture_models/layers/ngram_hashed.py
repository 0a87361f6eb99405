# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Look-up in a back-off n-gram model that stores a hash of each n-gram, and not its words (KenLM's "probing" files).

The key of w_1 ... w_n, of 64 bits, begins with the last word; i(w) is the number of w in the program that made it:

    k_1 = i(w_n),   k_(j+1) = (k_j x 8978948897894561157) xor ((1 + i(w_(n-j))) x 17894857484156487943)   mod 2^64

(K. Heafield's KenLM, lm/search_hashed.hh). An order's table is the sorted list of its keys, read as signed numbers.
Where an n-gram is stored, so are its first n-1 words and its last n-1 words; hence few keys are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from hf_lecture_models.layers.execution import method_with_weights
from hf_lecture_models.layers.ngram_search import where_true
from hf_lecture_models.layers.ngram_trie import NGramTrie

_PAIRS = 1 << 20  # of a context and a word, that are looked up at a time
# As torch has it, with a sign; products are taken mod 2^64.
_OF_KEY, _OF_WORD = 8978948897894561157, 17894857484156487943 - 2**64


def extended(keys: Tensor, numbers: Tensor) -> Tensor:
    """Return the keys of n-grams that are longer by one word to the left, whose numbers are given; (n-grams,) int64.

    >>> extended(torch.tensor([2]), torch.tensor([1]))
    tensor([691822346385848580])
    """
    return (keys * _OF_KEY) ^ ((numbers + 1) * _OF_WORD)


class HashedNGrams(NGramTrie):
    """An `NGramTrie` that finds n-grams by hashes.

    Its ``contexts`` are words: the last one, the one before it, and so on, (order-1, tokens); -1 where the n-gram of
    that many words is not stored.
    """

    def __init__(
        self, vocab_size: int, sizes: Sequence[int], non_events: Sequence[int] = (), bits: int | None = None
    ) -> None:
        super().__init__(vocab_size, sizes, non_events, bits)
        self.register_buffer("hash_numbers", torch.arange(vocab_size))

    def _numbers(self, words: Tensor) -> Tensor:
        return self.get_buffer("hash_numbers").index_select(0, words)

    def _walk(self, words: Tensor, starts: Tensor, order: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, for orders from 2, indices of the n-grams that end at each word, and of the contexts before it.

        The contexts have n-1 words; both are (tokens,), -1 where nothing is stored.
        """
        numbers, entries = self._numbers(words), words
        keys = numbers
        for n in range(2, order + 1):
            contexts = entries.roll(1).masked_fill_(starts, -1)
            contexts[:1] = -1
            at = where_true((entries >= 0) & (contexts >= 0))
            longer = extended(keys.index_select(0, at), numbers.index_select(0, at - (n - 1)))
            keys = keys.index_copy(0, at, longer)
            entries = torch.full_like(words, -1).index_copy_(0, at, self.find(n, longer))
            yield entries, contexts

    @method_with_weights
    def contexts(self, words: Tensor, starts: Tensor) -> Tensor:
        """(order-1, tokens): the words of the stored n-grams that end at each word, from the last one on, or -1."""
        found = words.new_full((self.order - 1, len(words)), -1)
        found[:1] = words
        for n, (entries, _) in enumerate(self._walk(words, starts, self.order - 1), 1):
            at = where_true(entries >= 0)
            found[n].index_copy_(0, at, words.index_select(0, at - n))
        return found

    @method_with_weights
    def score(self, words: Tensor, starts: Tensor, measured: bool = False) -> tuple[Tensor, Tensor | None]:
        """Natural log p of each word in its row, and the length of its n-gram, as `NGramTrie.score`."""
        alone = self.log10("probs", 1, words)
        total, lengths = alone.clone(), torch.ones_like(words) if measured else None
        for n, (entries, contexts) in enumerate(self._walk(words, starts, self.order), 2):
            known, at = where_true(contexts >= 0), where_true(entries >= 0)
            total.index_add_(0, known, self.log10("backoffs", n - 1, contexts.index_select(0, known)))
            total.index_copy_(0, at, self.log10("probs", n, entries.index_select(0, at)))
            if lengths is not None:
                lengths.index_fill_(0, at, n)
        return total.masked_fill_(alone == -math.inf, -math.inf) * math.log(10), lengths

    @method_with_weights
    def log_probs(self, contexts: Tensor, words: Tensor) -> Tensor:
        """Natural log p of each word, (words,), after its contexts, (order-1, words)."""
        return self._of_pairs(contexts, torch.arange(len(words), device=words.device), words)

    @method_with_weights
    def distributions(self, contexts: Tensor) -> Tensor:
        """Natural log p of every word, (rows, vocab), after contexts of (order-1, rows)."""
        found = []
        for part in contexts.split(max(_PAIRS // self.vocab_size, 1), dim=1):
            pairs = torch.arange(part.shape[1] * self.vocab_size, device=contexts.device)
            found.append(self._of_pairs(part, pairs // self.vocab_size, pairs % self.vocab_size))
        return torch.cat(found).view(-1, self.vocab_size)

    def _of_pairs(self, contexts: Tensor, rows: Tensor, words: Tensor) -> Tensor:
        """Natural log p of each word, (pairs,), after the contexts in its column of `contexts`, `rows`."""
        alone, weights = self.log10("probs", 1, words), self._weights(contexts)
        total, places, keys = (
            alone + weights[0].index_select(0, rows),
            torch.arange(len(rows), device=rows.device),
            self._numbers(words),
        )
        for n, context in enumerate(contexts, 2):
            before = context.index_select(0, rows)
            at = where_true(before >= 0)
            longer = extended(keys.index_select(0, at), self._numbers(before.index_select(0, at)))
            entries = self.find(n, longer)
            hits = where_true(entries >= 0)
            places, rows = (one.index_select(0, at).index_select(0, hits) for one in (places, rows))
            keys = longer.index_select(0, hits)
            probs = self.log10("probs", n, entries.index_select(0, hits))
            total.index_copy_(0, places, probs + weights[n - 1].index_select(0, rows))
        return total.masked_fill_(alone == -math.inf, -math.inf).mul_(math.log(10))

    def _weights(self, contexts: Tensor) -> Tensor:
        """(order, rows): [n-1] is the log10 weight of all contexts of n words and more."""
        weights = self.log10("probs", 1).new_zeros(self.order, contexts.shape[1])
        keys = contexts.new_zeros(contexts.shape[1])
        for n, context in enumerate(contexts, 1):
            at = where_true(context >= 0)
            words = context.index_select(0, at)
            found = self._numbers(words)
            if n > 1:
                found = extended(keys.index_select(0, at), found)
            keys.index_copy_(0, at, found)
            entries = words if n == 1 else self.find(n, found)
            weights[n - 1].index_copy_(0, at, self.log10("backoffs", n, entries))
        return weights.flip(0).cumsum(0).flip(0)
