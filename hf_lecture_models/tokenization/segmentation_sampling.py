# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Segmentations drawn at random while a tokenizer encodes (subword regularization, Kudo 2018, section 3.1).

A segmentation x of a word is drawn with probability ~ P(x)^α among all of them, by forward filtering and backward
sampling in the lattice. The draw depends on the seed, the number of the call and the text alone, not on the order in
which the Rust library's threads come to the texts, nor on the process.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate

import numpy as np
from tokenizers import NormalizedString, PreTokenizedString, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import PreTokenizer
from tokenizers.pre_tokenizers import Sequence as PreTokenizers

from hf_lecture_models.tokenization.lattices import Lattices

# For each node of a string: the cumulative weights of the edges into it, and the nodes where these begin.
_Incoming = list[tuple[list[float], list[int]]]


class SegmentationSampler:
    """Draws segmentations while a tokenizer's `sampling` is on.

    Args:
        scores: ln p of each piece, in the order of their ids.
        unknown: the piece for symbols that are not pieces; None if every symbol is a piece.
        alpha: 0 makes all segmentations of a word equally probable; with a large one, the best is drawn.
        seed: seed of the draws.
    """

    def __init__(self, scores: Mapping[str, float], unknown: str | None, alpha: float, seed: Sequence[int]) -> None:
        self.pieces = {piece: number for number, piece in enumerate(scores)}
        self.known = {piece: number for piece, number in self.pieces.items() if piece != unknown}
        self.unknown = None if unknown is None else self.pieces[unknown]
        self.scores = alpha * np.array(list(scores.values()))
        self.model = WordLevel(self.pieces, unk_token=unknown or next(iter(self.pieces)))
        self.seed, self.calls = tuple(seed), 0
        self.incoming: dict[str, _Incoming] = {}

    @contextmanager
    def applied_to(self, backend: Tokenizer) -> Iterator[None]:
        """Let the backend cut words into drawn pieces, for one call of the tokenizer; each piece is a token."""
        model, split = backend.model, backend.pre_tokenizer
        self.calls += 1
        backend.pre_tokenizer = PreTokenizers([split, PreTokenizer.custom(_Cut(self, self.calls))])
        backend.model = self.model
        try:
            yield
        finally:
            backend.model, backend.pre_tokenizer = model, split

    def draw(self, strings: Sequence[str], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw a segmentation of the string at each place.

        Args:
            strings: the distinct strings.
            places: (places,) the number of the string at each place.

        Returns:
            The ids of the pieces, int32, place after place; (places,) int64, the number of pieces of each.
        """
        self.calls += 1
        lattices = Lattices.of(strings, self.known, self.unknown)
        generator = np.random.default_rng((*self.seed, self.calls))
        ids, sizes = lattices.draw(places, self.scores, generator)
        return ids.astype(np.int32), sizes

    def cut(self, string: str, generator: random.Random) -> list[slice]:
        """Draw a segmentation of a string, and return where its pieces are."""
        incoming = self.incoming.get(string)
        if incoming is None:
            incoming = self.incoming[string] = self._incoming(string)
        slices, node = [], len(string)
        while node:
            sums, begins = incoming[node]
            edge = bisect_right(sums, generator.random() * sums[-1]) if len(sums) > 1 else 0
            begin = begins[min(edge, len(begins) - 1)]
            slices.append(slice(begin, node))
            node = begin
        return slices[::-1]

    def _incoming(self, string: str) -> _Incoming:
        lattice = Lattices.of([string], self.known, self.unknown)
        forward = lattice.forward(self.scores)
        weights = np.exp(forward[lattice.begin] + self.scores[lattice.piece] - forward[lattice.end])
        found: _Incoming = []
        for node in range(len(string) + 1):
            edges = np.flatnonzero(lattice.end == node)
            found.append((list(accumulate(weights[edges].tolist())), lattice.begin[edges].tolist()))
        return found


class _Cut:
    """Cuts each word of a text, after a tokenizer's own pre-tokenizer."""

    def __init__(self, sampler: SegmentationSampler, call: int) -> None:
        self.sampler, self.call = sampler, call

    def pre_tokenize(self, pretokenized: PreTokenizedString) -> None:
        """Cut the words of a text; the Rust library calls this in any of its threads."""
        words = [word for word, *_ in pretokenized.get_splits()]
        generator = random.Random(repr((self.sampler.seed, self.call, words)))
        pretokenized.split(lambda _, word: self._pieces(word, generator))

    def _pieces(self, word: NormalizedString, generator: random.Random) -> list[NormalizedString]:
        pieces = (word[place] for place in self.sampler.cut(str(word), generator))
        return [piece for piece in pieces if piece is not None]
