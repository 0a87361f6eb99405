# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""All segmentations of strings, as lattices: a node between any two symbols, an edge for each piece.

With s(x) the score of piece x, the sum over all segmentations x_1 ... x_m of a string,

    ln Σ exp(s(x_1) + ... + s(x_m)),

takes one step for each edge, however many segmentations there are (forward-backward; forward filtering and backward
sampling). One numpy operation handles all edges, of all strings, that begin at the same distance from the front.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Lattices:
    """The lattices of some strings, one string's nodes after the other's.

    Attributes:
        first, last: (strings,) each string's first and last node: before its first symbol, after its last one.
        begin, end, piece: (edges,) the nodes that an edge leads from and to, and the number of its piece.
    """

    first: np.ndarray
    last: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    piece: np.ndarray

    @classmethod
    def of(cls, strings: Sequence[str], pieces: Mapping[str, int], unknown: int | None = None) -> Lattices:
        """Build the lattices of strings over a vocabulary.

        >>> Lattices.of(["ab"], {"a": 0, "b": 1, "ab": 2}).count().tolist()
        [2.0]

        Args:
            pieces: the number of each piece.
            unknown: the number of the piece for a run of symbols that are not pieces. None: a string with such a symbol
                may have no segmentation.
        """
        longest = max(map(len, pieces), default=0)
        edges: list[tuple[int, int, int]] = []
        first, last, start = [], [], 0
        for string in strings:
            edges += ((start + b, start + e, number) for b, e, number in _edges(string, pieces, longest, unknown))
            first.append(start)
            last.append(start + len(string))
            start += len(string) + 1
        columns = np.array(edges, np.int64).reshape(-1, 3).T
        return cls(np.array(first, np.int64), np.array(last, np.int64), *columns)

    def keep(self, pieces: np.ndarray) -> Lattices:
        """Return the lattices without the edges of other pieces than these, which are numbered in their order."""
        numbers = np.full(max(self.piece.max(initial=-1), pieces.max(initial=-1)) + 1, -1)
        numbers[pieces] = np.arange(len(pieces))
        edges = np.flatnonzero(numbers[self.piece] >= 0)
        return Lattices(self.first, self.last, self.begin[edges], self.end[edges], numbers[self.piece[edges]])

    def join(self, strings: np.ndarray) -> Lattices:
        """Return the lattices of texts that consist of so many consecutive strings; no edge crosses their borders.

        >>> lattices = Lattices.of(["ab", "ab"], {"a": 0, "b": 1, "ab": 2})
        >>> lattices.join(np.array([0, 2])).count().tolist()
        [1.0, 4.0]
        """
        # The last node of a string and the first node of the next one of its text become one node.
        offsets = np.concatenate([[0], np.cumsum(strings)])
        starts = np.append(self.first, self.last[-1:] + 1 if len(self.last) else 0)[offsets] - offsets
        texts = np.arange(len(strings))
        owner = np.searchsorted(self.first, self.begin, side="right") - 1
        shift = (owner - np.repeat(texts, strings)[owner]) if len(owner) else owner
        return Lattices(starts[:-1] + texts, starts[1:] + texts, self.begin - shift, self.end - shift, self.piece)

    @cached_property
    def _depth(self) -> np.ndarray:
        """(nodes,) symbols before each node in its string."""
        sizes = self.last - self.first + 1
        return np.arange(int(sizes.sum())) - np.repeat(self.first, sizes)

    @cached_property
    def _by_begin(self) -> list[np.ndarray]:
        return _levels(self._depth[self.begin])

    @cached_property
    def _by_end(self) -> list[np.ndarray]:
        return _levels(self._depth[self.end])

    def forward(self, scores: np.ndarray) -> np.ndarray:
        """Return ln of the sum over all paths from the string's first node to each node, (nodes,) float64.

        Args:
            scores: (pieces,) s(x).
        """
        sums = np.full(len(self._depth), -np.inf)
        sums[self.first] = 0.0
        for edges in self._by_begin:
            # No two of these edges have the same end.
            end = self.end[edges]
            sums[end] = np.logaddexp(sums[end], sums[self.begin[edges]] + scores[self.piece[edges]])
        return sums

    def backward(self, scores: np.ndarray) -> np.ndarray:
        """Return ln of the sum over all paths from each node to the string's last node, (nodes,) float64."""
        sums = np.full(len(self._depth), -np.inf)
        sums[self.last] = 0.0
        for edges in reversed(self._by_end):
            begin = self.begin[edges]
            sums[begin] = np.logaddexp(sums[begin], sums[self.end[edges]] + scores[self.piece[edges]])
        return sums

    def log_sum(self, scores: np.ndarray) -> np.ndarray:
        """Return ln of the sum over all segmentations, (strings,) float64; -inf for a string without one."""
        return self.forward(scores)[self.last]

    def count(self) -> np.ndarray:
        """Return the number of segmentations, (strings,) float64."""
        return np.rint(np.exp(self.log_sum(np.zeros(int(self.piece.max(initial=-1)) + 1))))

    def posteriors(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability that the segmentation of its string takes each edge, and `log_sum`.

        Returns:
            (edges,) and (strings,) float64.
        """
        forward, backward = self.forward(scores), self.backward(scores)
        totals = forward[self.last]
        string = np.searchsorted(self.first, self.begin, side="right") - 1
        ways = forward[self.begin] + scores[self.piece] + backward[self.end]
        return np.exp(np.minimum(ways - totals[string], 0.0)), totals

    def draw(
        self, strings: np.ndarray, scores: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a segmentation for each of `strings` with probability ~ exp(sum of scores).

        Args:
            strings: (draws,) the numbers of strings, which may repeat.

        Returns:
            The pieces, draw after draw, and (draws,) int64, the number of pieces of each.

        Raises:
            ValueError: a string has no segmentation.
        """
        forward = self.forward(scores)
        if not np.isfinite(forward[self.last]).all():
            raise ValueError("a string has no segmentation over these pieces")
        order = np.argsort(self.end, kind="stable")
        begin, end, piece = self.begin[order], self.end[order], self.piece[order]
        # The probabilities of the edges into one node add up to one.
        sums = np.cumsum(np.exp(forward[begin] + scores[piece] - forward[end]))
        bounds = np.searchsorted(end, np.arange(len(forward) + 1))
        below = np.concatenate([[0.0], sums])[bounds]
        node, active = self.last[strings].copy(), np.arange(len(strings))
        steps: list[tuple[np.ndarray, np.ndarray]] = []
        sizes = np.zeros(len(strings), np.int64)
        active = active[node > self.first[strings]]
        while len(active):
            at = node[active]
            target = below[at] + generator.random(len(at)) * (below[at + 1] - below[at])
            edge = np.clip(np.searchsorted(sums, target, side="right"), bounds[at], bounds[at + 1] - 1)
            steps.append((active, piece[edge]))
            node[active] = begin[edge]
            sizes[active] += 1
            active = active[begin[edge] > self.first[strings[active]]]
        ends = np.cumsum(sizes)
        drawn = np.zeros(int(sizes.sum()), np.int64)
        for number, (rows, pieces) in enumerate(steps, 1):
            drawn[ends[rows] - number] = pieces
        return drawn, sizes

    def nbest(self, scores: np.ndarray, n: int) -> list[list[tuple[float, list[int]]]]:
        """Return the sum of scores and the pieces of each string's `n` best segmentations, the best first.

        >>> lattices = Lattices.of(["aab"], {"a": 0, "b": 1, "ab": 2})
        >>> lattices.nbest(np.array([-1.0, -2.0, -2.5]), 2)
        [[(-3.5, [0, 2]), (-4.0, [0, 0, 1])]]
        """
        into: dict[int, list[tuple[int, int]]] = {}
        for begin, end, piece in zip(self.begin.tolist(), self.end.tolist(), self.piece.tolist(), strict=True):
            into.setdefault(end, []).append((begin, piece))
        found = []
        for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True):
            # The best paths to each node: score, where the last edge begins, which path leads there, the edge's piece.
            ways: dict[int, list[tuple[float, int, int, int]]] = {first: [(0.0, -1, -1, -1)]}
            for node in range(first + 1, last + 1):
                ways[node] = heapq.nlargest(
                    n,
                    (
                        (way[0] + float(scores[piece]), -begin, rank, piece)
                        for begin, piece in into.get(node, ())
                        for rank, way in enumerate(ways[begin])
                    ),
                )
            found.append([(way[0], _trace(ways, way)) for way in ways[last]])
        return found


def _edges(string: str, pieces: Mapping[str, int], longest: int, unknown: int | None) -> Iterable[tuple[int, int, int]]:
    run = None
    for begin in range(len(string)):
        for end in range(begin + 1, min(begin + longest, len(string)) + 1):
            number = pieces.get(string[begin:end])
            if number is not None:
                yield begin, end, number
        is_unknown = unknown is not None and string[begin] not in pieces
        if is_unknown:
            run = begin if run is None else run
        elif run is not None:
            yield run, begin, unknown  # type: ignore[misc]
            run = None
    if run is not None:
        yield run, len(string), unknown  # type: ignore[misc]


def _levels(depths: np.ndarray) -> list[np.ndarray]:
    """Return the numbers of the edges of each depth, in ascending order of depth."""
    order = np.argsort(depths, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depths[order])) + 1) if len(order) else []


def _trace(ways: Mapping[int, list[tuple[float, int, int, int]]], way: tuple[float, int, int, int]) -> list[int]:
    pieces: list[int] = []
    while way[3] >= 0:
        _, negative_begin, rank, piece = way
        pieces.append(piece)
        way = ways[-negative_begin][rank]
    return pieces[::-1]
