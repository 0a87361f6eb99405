# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""All segmentations of many strings at once, as lattices: a node between any two symbols, an edge for each piece.

With s(x) the score of piece x, the logarithm of the sum over all segmentations x_1 ... x_m of a string of

    exp(s(x_1) + ... + s(x_m))

takes one step for each edge, whatever the number of segmentations (forward-backward; forward filtering and backward
sampling). Strings are worked on together, all edges that begin at the same distance from the front in one step.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Lattices:
    """The lattices of some strings; the nodes of a string follow each other.

    Attributes:
        first, last: (strings,) the nodes in front of the first symbol of a string and behind its last one.
        begin, end, piece: (edges,) the nodes that an edge leads from and to, and the number of its piece.
    """

    first: np.ndarray
    last: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    piece: np.ndarray

    @classmethod
    def of(cls, strings: Sequence[str], pieces: Mapping[str, int], unknown: int | None = None) -> Lattices:
        """The lattices of strings over a vocabulary.

        >>> Lattices.of(["ab"], {"a": 0, "b": 1, "ab": 2}).count().tolist()
        [2.0]

        Args:
            pieces: the number of each piece.
            unknown: of the piece that a run of symbols which are no pieces themselves becomes; None: there is none, and
                a string with such a symbol may have no segmentation.
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

    def keep(self, edges: np.ndarray, piece: np.ndarray) -> Lattices:
        """The lattices with some of the edges; `piece` has other numbers for the pieces of those."""
        return Lattices(self.first, self.last, self.begin[edges], self.end[edges], piece)

    def join(self, strings: np.ndarray) -> Lattices:
        """The lattices of texts, each of so many neighbouring strings; no edge reaches over their borders.

        >>> lattices = Lattices.of(["ab", "ab"], {"a": 0, "b": 1, "ab": 2})
        >>> lattices.join(np.array([0, 2])).count().tolist()
        [1.0, 4.0]
        """
        # Where one string ends and the next one of its text begins there is one node, not two.
        offsets = np.concatenate([[0], np.cumsum(strings)])
        starts = np.append(self.first, self.last[-1:] + 1 if len(self.last) else 0)[offsets] - offsets
        texts = np.arange(len(strings))
        owner = np.searchsorted(self.first, self.begin, side="right") - 1
        shift = (owner - np.repeat(texts, strings)[owner]) if len(owner) else owner
        return Lattices(starts[:-1] + texts, starts[1:] + texts, self.begin - shift, self.end - shift, self.piece)

    @cached_property
    def _depth(self) -> np.ndarray:
        """(nodes,) symbols between a node and the front of its string."""
        sizes = self.last - self.first + 1
        return np.arange(int(sizes.sum())) - np.repeat(self.first, sizes)

    @cached_property
    def _by_begin(self) -> list[np.ndarray]:
        return _levels(self._depth[self.begin])

    @cached_property
    def _by_end(self) -> list[np.ndarray]:
        return _levels(self._depth[self.end])

    def forward(self, scores: np.ndarray) -> np.ndarray:
        """(nodes,) float64: ln of the sum over all ways from the front of the string to each node.

        Args:
            scores: (pieces,) s(x).
        """
        sums = np.full(len(self._depth), -np.inf)
        sums[self.first] = 0.0
        for edges in self._by_begin:
            # Each node once: an edge that begins here is known by its end.
            end = self.end[edges]
            sums[end] = np.logaddexp(sums[end], sums[self.begin[edges]] + scores[self.piece[edges]])
        return sums

    def backward(self, scores: np.ndarray) -> np.ndarray:
        """(nodes,) float64: ln of the sum over all ways from each node to the end of the string."""
        sums = np.full(len(self._depth), -np.inf)
        sums[self.last] = 0.0
        for edges in reversed(self._by_end):
            begin = self.begin[edges]
            sums[begin] = np.logaddexp(sums[begin], sums[self.end[edges]] + scores[self.piece[edges]])
        return sums

    def log_sum(self, scores: np.ndarray) -> np.ndarray:
        """(strings,) float64: ln of the sum over all segmentations, -inf where there is none."""
        return self.forward(scores)[self.last]

    def count(self) -> np.ndarray:
        """(strings,) float64: the number of segmentations."""
        return np.rint(np.exp(self.log_sum(np.zeros(int(self.piece.max(initial=-1)) + 1))))

    def posteriors(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The probability that the segmentation of its string takes an edge, and what `log_sum` gives.

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
        """Draw a segmentation for each of `strings`, numbers that may repeat, with probability ~ exp(sum of scores).

        Returns:
            The pieces, string after string, and (draws,) int64, how many each one has.

        Raises:
            ValueError: a string has no segmentation.
        """
        forward = self.forward(scores)
        if not np.isfinite(forward[self.last]).all():
            raise ValueError("a string has no segmentation over these pieces")
        order = np.argsort(self.end, kind="stable")
        begin, end, piece = self.begin[order], self.end[order], self.piece[order]
        # Each node's edges into it have probabilities that add up to one.
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
        """For each string its `n` segmentations of the highest scores, the best first: sum of scores, and pieces.

        >>> lattices = Lattices.of(["aab"], {"a": 0, "b": 1, "ab": 2})
        >>> lattices.nbest(np.array([-1.0, -2.0, -2.5]), 2)
        [[(-3.5, [0, 2]), (-4.0, [0, 0, 1])]]
        """
        into: dict[int, list[tuple[int, int]]] = {}
        for begin, end, piece in zip(self.begin.tolist(), self.end.tolist(), self.piece.tolist(), strict=True):
            into.setdefault(end, []).append((begin, piece))
        found = []
        for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True):
            # Of each node the best ways to it: score, and the edge by which a way comes, with the way before it.
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
    """The numbers of the edges of each depth that occurs, in ascending order of depth."""
    order = np.argsort(depths, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depths[order])) + 1) if len(order) else []


def _trace(ways: Mapping[int, list[tuple[float, int, int, int]]], way: tuple[float, int, int, int]) -> list[int]:
    pieces: list[int] = []
    while way[3] >= 0:
        _, negative_begin, rank, piece = way
        pieces.append(piece)
        way = ways[-negative_begin][rank]
    return pieces[::-1]
