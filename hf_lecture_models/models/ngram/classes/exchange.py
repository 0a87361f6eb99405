# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Word classes by the exchange algorithm (S. Martin, J. Liermann, H. Ney, Algorithms for Bigram and Trigram Word
Clustering, Speech Communication 24, 1998), after the criterion of P. F. Brown et al. (Class-Based n-gram Models of
Natural Language, 1992): the likelihood of the training text under the class bigram

    P(w | v) = P(w | c_w) P(c_w | c_v),        both by relative frequency.

With N(g, h) how often class h follows class g, N_1(g) its sum over h, N_2(h) its sum over g, f(x) = x ln x, this is

    L = sum_gh f(N(g, h)) - sum_g f(N_1(g)) - sum_h f(N_2(h)) + sum_w f(N_2(w))

whose last term no clustering changes. A sweep takes each word out of its class, the most frequent one first, computes L
for each class that it could join, and puts it into the best; sweeps go on until no word moves. L never decreases.

One word changes only the rows and columns of the classes next to which it occurs: with s of them, the gains of all K
classes take s K logarithms, and rare words, which are most, have few neighbours.

N_1 and N_2 differ: `<s>` is never predicted, and nothing follows `</s>`. The paper's criterion for trigrams is not
implemented.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.counting_ngram import Stream

# In nats. A smaller gain may be a rounding error, by which a word would go to and fro for ever.
LEAST_GAIN = 1e-6
MAX_SWEEPS = 20


@dataclass(frozen=True)
class Bigrams:
    """The different pairs of neighbouring words in a text; (pairs,) int64 each."""

    first: np.ndarray
    second: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, stream: Stream, vocab_size: int) -> Bigrams:
        """Count the pairs of a stream.

        >>> bigrams = Bigrams.of(Stream(np.array([0, 1, 1, 2, 0, 1, 2]), np.array([0, 1, 2, 3, 0, 1, 2])), 3)
        >>> bigrams.first.tolist(), bigrams.second.tolist(), bigrams.counts.tolist()
        ([0, 1, 1], [1, 1, 2], [2, 1, 2])
        """
        words, ends = stream.words, np.flatnonzero(stream.places)
        keys, counts = np.unique(words[ends - 1] * vocab_size + words[ends], return_counts=True)
        return cls(keys // vocab_size, keys % vocab_size, counts)


class BigramClustering:
    """Classes of words and the counts of their bigrams; words are taken out of their classes and put into others.

    Args:
        bigrams: of the text.
        class_of: (vocab,) the first class of each word.
        num_classes: how many there are.

    >>> bigrams = Bigrams(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.array([5, 5, 5, 5]))
    >>> clustering = BigramClustering(bigrams, np.array([0, 1, 2, 3]), 4)
    >>> clustering.remove(2)
    >>> clustering.gains(2).round(2).tolist()  # 0 in the class of word 1, which has the same neighbours
    [-9.55, 0.0, 0.0, -9.55]
    """

    def __init__(self, bigrams: Bigrams, class_of: np.ndarray, num_classes: int) -> None:
        self.class_of, self.num_classes = class_of.copy(), num_classes
        different = bigrams.first != bigrams.second
        self.repeats = np.zeros(len(class_of))
        self.repeats[bigrams.first[~different]] = bigrams.counts[~different]
        pairs = [bigrams.first[different], bigrams.second[different]]
        # [0]: the words after each word, [1]: those before it; see `_grouped`.
        self.neighbours = [
            _grouped(pairs[side], pairs[1 - side], bigrams.counts[different], len(class_of)) for side in (0, 1)
        ]
        table = np.zeros((num_classes, num_classes))
        np.add.at(table, (class_of[bigrams.first], class_of[bigrams.second]), bigrams.counts)
        # [g, h] and [h, g], so that each step reads whole rows.
        self.tables = [table, table.T.copy()]
        self.terms = [x_log_x(of) for of in self.tables]
        self.totals = [table.sum(1), table.sum(0)]
        self.word_totals = [
            np.bincount(side, bigrams.counts, minlength=len(class_of)) for side in (bigrams.first, bigrams.second)
        ]

    def remove(self, word: int) -> None:
        """Take a word out of its class."""
        self._add(word, int(self.class_of[word]), -1)
        self.class_of[word] = -1

    def insert(self, word: int, into: int) -> None:
        """Put a word that was removed into a class."""
        self.class_of[word] = into
        self._add(word, into, 1)

    def gains(self, word: int) -> np.ndarray:
        """Return how much L grows if a word that was removed joins each class, (num_classes,), in nats."""
        own, repeats = self._neighbour_classes(word), self.repeats[word]
        gains = np.zeros(self.num_classes)
        for side in (0, 1):
            classes = own[side].nonzero()[0]
            joined = self.tables[1 - side][classes]
            joined += own[side][classes, None]
            gains += np.einsum("ij,ij->j", joined, np.log(joined)) - self.terms[1 - side][classes].sum(0)
            totals = self.totals[side]
            gains -= x_log_x(totals + self.word_totals[side][word]) - x_log_x(totals)
        # The diagonal is counted twice above, as row and as column; a word that follows itself is only there.
        same = self.tables[0].diagonal()
        gains += x_log_x(same + own[0] + own[1] + repeats) + x_log_x(same)
        gains -= x_log_x(same + own[0]) + x_log_x(same + own[1])
        return gains

    def _neighbour_classes(self, word: int) -> list[np.ndarray]:
        """Return how often each class comes after a word, and before it: (num_classes,) each, without the word."""
        found = []
        for starts, words, counts in self.neighbours:
            part = slice(starts[word], starts[word + 1])
            found.append(np.bincount(self.class_of[words[part]], counts[part], minlength=self.num_classes))
        return found

    def _add(self, word: int, to: int, sign: int) -> None:
        own = self._neighbour_classes(word)
        for side in (0, 1):
            table = self.tables[side]
            table[to] += sign * own[side]
            table[:, to] += sign * own[1 - side]
            table[to, to] += sign * self.repeats[word]
            self.terms[side][to] = x_log_x(table[to])
            self.terms[side][:, to] = x_log_x(table[:, to])
            self.totals[side][to] += sign * self.word_totals[side][word]


def x_log_x(counts: np.ndarray) -> np.ndarray:
    """x ln x, 0 where x = 0.

    >>> x_log_x(np.array([0.0, 1.0, 2.0])).round(3).tolist()
    [0.0, 0.0, 1.386]
    """
    return counts * np.log(np.maximum(counts, 1))


def exchange(
    bigrams: Bigrams, class_of: np.ndarray, num_classes: int, movable: np.ndarray, progress: bool = False
) -> np.ndarray:
    """Return the class of each word, (vocab,), such that no single move makes the text more probable.

    Args:
        bigrams: of the text.
        class_of: (vocab,) the first class of each word.
        num_classes: the classes that words may join; words that do not move may be in further classes.
        movable: (words,) the ids that may move, in the order in which they are tried.
        progress: show the progress of more than five seconds.
    """
    clustering = BigramClustering(bigrams, class_of, int(class_of.max()) + 1)
    with ProgressBar(total=len(movable), desc="classes", unit=" words", shown=progress) as bar:
        for sweep in range(1, MAX_SWEEPS + 1):
            bar.reset()
            moves = 0
            for word in movable.tolist():
                moves += _move_to_best(clustering, word, num_classes)
                bar.update()
            bar.set_postfix_str(f"sweep {sweep} of at most {MAX_SWEEPS}, {moves:,} moves")
            if not moves:
                break
    return clustering.class_of


def _move_to_best(clustering: BigramClustering, word: int, num_classes: int) -> bool:
    """Move a word into its best class; return whether that is another one."""
    old = int(clustering.class_of[word])
    clustering.remove(word)
    gains = clustering.gains(word)[:num_classes]
    best = int(gains.argmax())
    if gains[best] - gains[old] <= LEAST_GAIN:
        best = old
    clustering.insert(word, best)
    return best != old


def _grouped(
    by: np.ndarray, words: np.ndarray, counts: np.ndarray, vocab_size: int
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Sort pairs by one of their words; return where each word's part begins, the other words, and the counts."""
    order = np.argsort(by, kind="stable")
    starts = np.concatenate(([0], np.bincount(by, minlength=vocab_size).cumsum()))
    return starts.tolist(), words[order], counts[order]
