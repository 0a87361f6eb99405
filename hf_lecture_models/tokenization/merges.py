# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Learn the merges of byte-pair encoding (Sennrich et al. 2016, section 3.2; slides Y:371-405).

"Repeat till done: merge most frequent bigram into new compound symbol." Counting all pairs again for every merge would
take hours on a real corpus. Here the count and the places of every pair are kept up to date, so that a merge takes as
many steps as the pair has places; a heap gives the most frequent pair.

No symbol arises in two ways: no earlier merge crossed its borders, so the merges inside it are those of its characters
alone. Hence no pair is learned twice, and encoding splits the words as they are at the end.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Pair = tuple[int, int]

# The symbol between words, and in place of the right half of a merged pair.
NONE = -1


def _descending(symbol: str) -> tuple[int, ...]:
    """Return a key that sorts strings backwards: a longer string comes before its own beginning.

    >>> sorted(["ab", "b", "a"], key=_descending)
    ['b', 'ab', 'a']
    """
    return (*(-ord(character) for character in symbol), 1)


# Of pairs with equal counts, the one whose two symbols come first under this key is merged.
TIE_RULES: dict[str, Callable[[str], Any]] = {"lexicographic": str, "reverse_lexicographic": _descending}


class LinkedWords:
    """The distinct words as linked symbols, with the count and the places of every pair of neighbours.

    All words are in one list, each after a `NONE`. A place is the position of a pair's left symbol. Places are added,
    never removed: `merge` checks whether the pair is still there.
    """

    def __init__(self, words: Mapping[tuple[str, ...], int], key: Callable[[str], Any]) -> None:
        self.key = key
        self.names: list[str] = []
        self.keys: list[Any] = []
        self.numbers: dict[str, int] = {}
        self.symbols: list[int] = []
        self.weights: list[int] = []
        self.counts: defaultdict[Pair, int] = defaultdict(int)
        self.places: defaultdict[Pair, list[int]] = defaultdict(list)
        for word, count in words.items():
            self.symbols += [NONE, *map(self.number, word)]
            self.weights += [count] * (len(word) + 1)
        self.symbols.append(NONE)
        self.left = list(range(-1, len(self.symbols) - 1))
        self.right = list(range(1, len(self.symbols) + 1))
        for place in range(len(self.weights)):
            self.note(place)

    def number(self, name: str) -> int:
        """Return the number of the symbol `name`."""
        number = self.numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
            self.keys.append(self.key(name))
        return number

    def note(self, place: int) -> Pair | None:
        """Count the pair at `place`, and return it; None where a word begins or ends."""
        pair = self.symbols[place], self.symbols[self.right[place]]
        if NONE in pair:
            return None
        self.counts[pair] += self.weights[place]
        self.places[pair].append(place)
        return pair

    def entry(self, pair: Pair) -> tuple[int, Any, Any, Pair]:
        """Return the entry of `pair` in a heap, where the pair to merge first is the smallest."""
        return -self.counts[pair], self.keys[pair[0]], self.keys[pair[1]], pair

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge `pair` in all its places, in each word from left to right; return the new pairs."""
        symbols, left, right, counts = self.symbols, self.left, self.right, self.counts
        merged = self.number(self.names[pair[0]] + self.names[pair[1]])
        made: set[Pair | None] = set()
        for place in sorted(self.places.pop(pair)):
            second = right[place]
            if (symbols[place], symbols[second]) != pair:
                continue
            before, after = left[place], right[second]
            # At the edge of a word these count no pair, and are never read.
            counts[symbols[before], pair[0]] -= self.weights[place]
            counts[pair[1], symbols[after]] -= self.weights[place]
            symbols[place], symbols[second] = merged, NONE
            right[place], left[after] = after, place
            made.add(self.note(before))
            made.add(self.note(place))
        del counts[pair]
        return {pair for pair in made if pair is not None}


def learn_merges(
    words: Mapping[tuple[str, ...], int],
    tie_break: str = "lexicographic",
    min_count: int = 1,
    allowed: Callable[[str, str], bool] = lambda left, right: True,
) -> Iterator[tuple[str, str]]:
    """Yield the merges, the most frequent pair first, until no pair is left.

    The slide's example:

    >>> words = {(*word[:-1], word[-1] + "#"): 1 for word in ("lower", "lowest", "newer", "wider", "wide")}
    >>> merges = learn_merges(words)
    >>> [left + "+" + right for _, (left, right) in zip(range(5), merges)]
    ['e+r#', 'i+d', 'l+o', 'lo+w', 'w+id']

    Args:
        words: each distinct word as its symbols, and how often it occurs.
        tie_break: a key of `TIE_RULES`.
        min_count: a pair that occurs less often is not merged.
        allowed: returns whether a pair's two symbols may become one.
    """
    state = LinkedWords(words, TIE_RULES[tie_break])
    # An entry whose count fell later is corrected when it comes up; a pair whose count rose gets another entry at once.
    heap = [state.entry(pair) for pair in state.counts]
    heapq.heapify(heap)
    while heap and -heap[0][0] >= min_count:
        negative, _, _, pair = heapq.heappop(heap)
        count = state.counts.get(pair, 0)
        if count != -negative:
            if count >= min_count:
                heapq.heappush(heap, state.entry(pair))
            continue
        left, right = state.names[pair[0]], state.names[pair[1]]
        if allowed(left, right):
            yield left, right
            for made in state.merge(pair):
                heapq.heappush(heap, state.entry(made))
