# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-gram models as finite-state machines, in OpenFst's text format (slide Y:231).

A state is a context, an arc a word, laid out as OpenGrm's programs expect (its page "NGram Model Format"):

    0 <tab> 2 <tab> <epsilon> <tab> 0.7      back-off: from the state of h to that of h', weight -ln bow(h)
    0 <tab> 5 <tab> the <tab> 1.2            a stored hw: from h to the longest stored suffix of hw, weight -ln P(w | h)
    5 <tab> 2.3                              `</s>`: a final weight, -ln P(</s> | h)

The first line leaves the start, the context `<s>`; `<s>` and `</s>` are not symbols. A second file has the symbols,
"symbol <tab> number": 0 is `<epsilon>`, and a token has its id + 1. States are the contexts that n-grams continue.

Two readings. The model's own probability takes a back-off arc only where no arc (or final weight) has the word: a
*failure* transition, as OpenFst's phi matcher reads it (`ngramapply --bo_arc_type=phi`). Read as epsilon, a back-off
arc may always be taken, and the best path is at least as probable: sometimes the way through a shorter context gives
a stored n-gram more than its own arc does. `fstcompile --acceptor --isymbols=NAME.syms` compiles the file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from hf_lecture_models.io.files import staged_file
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.tools.contexts import Contexts
from hf_lecture_models.tokenization.splitting import split_words

FST_SUFFIX, SYMBOLS_SUFFIX, EPSILON = ".fst.txt", ".syms", "<epsilon>"
ROWS_PER_WRITE = 1 << 15


def symbols_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a machine's symbols.

    >>> symbols_path("models/trigram.fst.txt").name
    'trigram.syms'
    """
    name = os.fspath(path)
    return Path(name.removesuffix(FST_SUFFIX) + SYMBOLS_SUFFIX)


def write_fst(
    tables: NGramTables, words: Sequence[str | None], begin: int, end: int, path: str | os.PathLike[str]
) -> tuple[int, int]:
    """Write a machine and its symbols; return the numbers of states and arcs.

    Beside the tables, memory holds two integers for each n-gram below the highest order, and blocks of lines.

    Args:
        tables: the model.
        words: by id; None for `<s>`, `</s>` and `<pad>`, which are not symbols.
        begin, end: the ids of `<s>` and `</s>`.
        path: the file, by custom NAME.fst.txt; the symbols go to NAME.syms.

    Raises:
        OSError: a file cannot be written.
        ValueError: two words are spelled alike, or one is empty, holds white space or is `<epsilon>`.
    """
    names = [word for word in words if word is not None]
    for word in names:
        if not word or split_words(word) != [word] or word == EPSILON:
            raise ValueError(f"the token {word!r} is empty, holds white space or is {EPSILON}; it cannot be a symbol")
    if len(set(names)) < len(names):
        raise ValueError("two tokens are spelled alike, but symbols must differ; rename one of the tokens")
    machine = _Machine(tables, begin, end)
    with staged_file(symbols_path(path)) as symbols, staged_file(path) as stage:
        numbered = [(EPSILON, 0), *((word, index) for index, word in enumerate(words, 1) if word is not None)]
        symbols.write_text("".join(f"{word}\t{index}\n" for word, index in numbered), "utf-8", newline="\n")
        with open(stage, "w", encoding="utf-8", newline="\n") as file:
            return machine.states, machine.write(file, words)


class _Machine(Contexts):
    """States and arcs. A context has a state where n-grams continue it, or where it has a weight of its own."""

    def __init__(self, tables: NGramTables, begin: int, end: int) -> None:
        super().__init__(tables.check())
        self.tables, self.begin, self.end = tables, begin, end
        self.start = 1 + begin if self.order > 1 else 0
        self.is_state = self._find_states()
        self.states = int(self.is_state.sum())
        self.numbers = self._number_states()

    def _find_states(self) -> np.ndarray:
        is_state = np.zeros(len(self.suffixes), bool)
        for n in range(1, self.order):
            here = is_state[self.first[n] : self.first[n + 1]]
            here[self.tables.keys[n - 1] // self.vocab_size] = True
            here |= self.tables.log10_backoffs[n - 1] != 0
            here &= self.words(n, np.arange(len(here))) != self.end
        is_state[[0, self.start]] = True
        return is_state

    def _number_states(self) -> np.ndarray:
        """Return the state of each context (0: the start): its own, or that of its longest suffix with a state."""
        numbers = np.cumsum(self.is_state) - 1
        numbers += numbers < numbers[self.start]
        numbers[self.start] = 0
        for n in range(1, self.order):
            here = slice(self.first[n], self.first[n + 1])
            numbers[here] = np.where(self.is_state[here], numbers[here], numbers[self.suffixes[here]])
        return numbers

    def _blocks(self, n: int) -> Iterator[np.ndarray]:
        """Return the rows of an order's table in blocks."""
        size = self.tables.sizes[n - 1]
        return (np.arange(start, min(start + ROWS_PER_WRITE, size)) for start in range(0, size, ROWS_PER_WRITE))

    def write(self, file: TextIO, words: Sequence[str | None]) -> int:
        """Write all lines; return how many arcs they are."""
        symbols, is_symbol = np.array(words, object), np.array([word is not None for word in words])
        arcs = self._write_back_offs(file, np.array([self.start]), first=True) if self.order > 1 else 0
        for n in range(1, self.order):
            for rows in self._blocks(n):
                contexts = self.first[n] + rows
                arcs += self._write_back_offs(file, contexts[contexts != self.start])
        for n in range(1, self.order + 1):
            for rows in self._blocks(n):
                arcs += self._write_words(file, n, rows, symbols, is_symbol)
        return arcs

    def _write_back_offs(self, file: TextIO, contexts: np.ndarray, first: bool = False) -> int:
        """Write an arc to each suffix; weights of 0 are left out, except in the first line, which names the start."""
        n = int(np.searchsorted(self.first, contexts[0], side="right")) - 1 if len(contexts) else 1
        backoffs = self.tables.log10_backoffs[n - 1][contexts - self.first[n]]
        some = self.is_state[contexts] & (first | (backoffs > -np.inf))
        targets = self.numbers[self.suffixes[contexts[some]]].tolist()
        rows = zip(self.numbers[contexts[some]].tolist(), targets, _weights(backoffs[some]), strict=True)
        file.writelines(f"{source}\t{target}\t{EPSILON}\t{weight}\n" for source, target, weight in rows)
        return len(targets)

    def _write_words(self, file: TextIO, n: int, rows: np.ndarray, symbols: np.ndarray, is_symbol: np.ndarray) -> int:
        """Write the arcs of some n-grams, and the final weights of those that end in `</s>`."""
        words, prefixes, probs = self.words(n, rows), self.prefixes(n, rows), self.tables.log10_probs[n - 1][rows]
        # A longer n-gram of probability 0 is kept, so that its word is not found in the shorter context.
        stored = self.is_state[prefixes] & ((n > 1) | (probs > -np.inf))
        ends, goes_on = stored & (words == self.end), stored & is_symbol[words]
        finals = zip(self.numbers[prefixes[ends]].tolist(), _weights(probs[ends]), strict=True)
        file.writelines(f"{state}\t{weight}\n" for state, weight in finals)
        some = rows[goes_on]
        contexts = self.first[n] + some if n < self.order else self.suffixes_of(n, some)
        columns = (self.numbers[prefixes[goes_on]], self.numbers[contexts], symbols[words[goes_on]])
        arcs = zip(*(column.tolist() for column in columns), _weights(probs[goes_on]), strict=True)
        file.writelines(f"{source}\t{target}\t{word}\t{weight}\n" for source, target, word, weight in arcs)
        return len(some)


def _weights(log10_probs: np.ndarray) -> list[str]:
    """Return -ln p in the fewest digits that give back the same float32.

    >>> _weights(np.array([-1, 0, -np.inf], np.float32))
    ['2.3025851', '0.0', 'Infinity']
    """
    weights = (log10_probs.astype(float) * -math.log(10) + 0.0).astype(np.float32)
    return ["Infinity" if weight == np.inf else str(weight) for weight in weights]
