# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Does a model's surprisal help to predict how long people read each word?

The logarithm of a word's reading time is predicted by least squares from properties of the word and of the word before
it, such as length and frequency, with and without surprisal. The gain is the difference of the log-densities that both
give to words that they were not fitted on, in nats per word.
"""

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.tokenization.corpus import read_texts

_COLUMNS = ("story", "position", "word", "geometric_mean_ms")


@dataclass(frozen=True)
class ReadWord:
    """A word of a story, and the geometric mean of the times for which people read it."""

    story: str
    word: str
    milliseconds: float


@dataclass(frozen=True)
class Gain:
    """The gain in log-likelihood of each word, in nats, and its mean with two standard errors."""

    per_word: np.ndarray
    """(words,) float64."""
    folds: np.ndarray
    """(words,) int, the part of the words that each was held out with."""

    @property
    def mean(self) -> float:
        """The mean over all words."""
        return float(self.per_word.mean())

    @property
    def error_over_words(self) -> float:
        """The standard error of the mean, as if the words were independent."""
        return float(self.per_word.std(ddof=1) / math.sqrt(len(self.per_word)))

    @property
    def error_over_folds(self) -> float:
        """The standard error of the mean of the folds' means."""
        means = [self.per_word[self.folds == fold].mean() for fold in np.unique(self.folds)]
        return float(np.std(means, ddof=1) / math.sqrt(len(means)))


def read_reading_times(path: str | os.PathLike[str]) -> list[ReadWord]:
    """Read a table of words, separated by tabs: the columns story, position, word, geometric_mean_ms, and any others.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
    ...     _ = file.write("story\\tposition\\tword\\tgeometric_mean_ms\\n1\\t1\\tOnce\\t310.5\\n")
    ...     file.flush()
    ...     read_reading_times(file.name)
    [ReadWord(story='1', word='Once', milliseconds=310.5)]

    Raises:
        OSError: the file cannot be read.
        ValueError: a column is missing; a time is not a positive number; the positions of a story are not 1, 2, 3, ...
            The message names file and line.
    """
    rows = csv.DictReader(read_texts(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise ValueError(f"{path} lacks the columns {', '.join(missing)}; it has {', '.join(rows.fieldnames or ())}")
    words: list[ReadWord] = []
    position = 0
    for row in rows:
        line = rows.line_num
        try:
            word = ReadWord(row["story"], row["word"], float(row["geometric_mean_ms"]))
            expected = position + 1 if words and words[-1].story == word.story else 1
            position = int(row["position"])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {line}: {error}") from None
        if position != expected:
            raise ValueError(f"{path}, line {line}: position {position} of story {word.story} is not {expected}")
        if not 0 < word.milliseconds < math.inf or not word.word.strip():
            raise ValueError(f"{path}, line {line}: needs a word and a positive number of milliseconds")
        words.append(word)
    return words


def folds_of(number: int, folds: int = 10, seed: int = 0) -> np.ndarray:
    """Return a fold for each of `number` words, at random and as equal in size as possible: (number,) int.

    >>> sorted(folds_of(5, folds=2).tolist())
    [0, 0, 0, 1, 1]

    Raises:
        ValueError: there are fewer than two folds, or fewer words than folds.
    """
    if not 2 <= folds <= number:
        raise ValueError(f"{number} words make no {folds} folds; give 2 folds or more, and as many words at least")
    return np.random.default_rng(seed).permutation(number) % folds


def held_out_log_densities(predictors: np.ndarray, values: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the log-density of each value under least squares with a constant, fitted on the other folds.

    The errors are normal; their variance is the mean squared error of the other folds.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0])
    >>> held_out_log_densities(np.zeros((4, 0)), values, np.array([0, 1, 1, 0])).round(3)  # normal around 2.5
    array([-4.726, -1.38 , -1.38 , -4.726])

    Args:
        predictors: (words, predictors), may have no columns.
        values: (words,).
        folds: (words,) int, as from `folds_of`.

    Returns:
        (words,) float64, in nats.

    Raises:
        ValueError: the numbers of words differ, a predictor or value is not finite, or there are too few words.
    """
    if not len(predictors) == len(values) == len(folds):
        raise ValueError(f"{len(predictors)} rows of predictors, {len(values)} values, {len(folds)} folds: not as many")
    if not (np.isfinite(predictors).all() and np.isfinite(values).all()):
        raise ValueError("a predictor or value is not finite; leave out words of probability 0")
    design = np.column_stack([np.ones(len(values)), predictors])
    densities = np.empty(len(values))
    for fold in np.unique(folds):
        held_out = folds == fold
        if (~held_out).sum() <= design.shape[1]:
            raise ValueError(f"{(~held_out).sum()} words are too few to fit {design.shape[1]} weights; give more words")
        weights, *_ = np.linalg.lstsq(design[~held_out], values[~held_out], rcond=None)
        squares = (values - design @ weights) ** 2
        variance = squares[~held_out].mean()
        densities[held_out] = -0.5 * (np.log(2 * np.pi * variance) + squares[held_out] / variance)
    return densities


def with_word_before(values: Sequence[float] | np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the value of each kept word and of the word before it: (kept words, 2).

    >>> with_word_before([5.0, 6.0, 7.0], np.array([2, 1]))
    array([[7., 6.],
           [6., 5.]])
    """
    values = np.asarray(values, float)
    return np.column_stack([values[kept], values[kept - 1]])


def measure_gain(base: np.ndarray, extra: np.ndarray, values: np.ndarray, folds: int = 10, seed: int = 0) -> Gain:
    """Return what the predictors `extra` gain over those of `base` alone, for words that are held out.

    >>> random = np.random.default_rng(0)
    >>> length, surprisal = random.normal(size=(2, 500, 1))
    >>> times = 5.8 + 0.1 * length[:, 0] + 0.1 * surprisal[:, 0] + 0.1 * random.normal(size=500)
    >>> gain = measure_gain(length, surprisal, times)
    >>> round(gain.mean, 2), round(gain.error_over_words, 2)
    (0.3, 0.03)

    Args:
        base, extra: (words, predictors) each.
        values: (words,), such as the logarithms of reading times.
        folds, seed: of `folds_of`.

    Raises:
        ValueError: as `folds_of` and `held_out_log_densities`.
    """
    parts = folds_of(len(values), folds, seed)
    both = held_out_log_densities(np.column_stack([base, extra]), values, parts)
    return Gain(both - held_out_log_densities(base, values, parts), parts)
