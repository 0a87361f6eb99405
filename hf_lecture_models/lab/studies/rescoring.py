# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rank the n-best list of a recogniser (speech, OCR, spelling) with a language model (slide Y:47-51).

    total(w) = score(w) + weight * ln P(w) + length_bonus * words(w)

`score` is the recogniser's, ln P(signal | w) or any other number that is larger for better hypotheses. `weight` scales
the language model's log-probability to it, and the bonus makes up for the lower ln P of long sentences. Totals are
compared as rational numbers, from the decimals that Python prints, so totals that are equal on paper are equal here;
the first hypothesis then wins.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

from hf_lecture_models.tokenization.splitting import split_words


@dataclass(frozen=True)
class Rescoring:
    """The weights of ln P and of the number of words in the total."""

    weight: float
    length_bonus: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight", "length_bonus"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}; it must be a finite number")

    def total(self, score: float, log_prob: float, sentence: str) -> Fraction | float:
        """Return the number that ranks a hypothesis, a float if it is infinite.

        A weight of 0 ignores even a ln P of minus infinity.

        >>> Rescoring(weight=0.5, length_bonus=1.0).total(-3.0, log_prob=-8.0, sentence="two words")
        Fraction(-5, 1)
        """
        log_prob = log_prob if self.weight else 0.0
        if math.isinf(score) or math.isinf(log_prob):
            return score + self.weight * log_prob
        bonus = _exact(self.length_bonus) * len(split_words(sentence))
        return _exact(score) + _exact(self.weight) * _exact(log_prob) + bonus


@dataclass(frozen=True)
class Hypothesis:
    """One sentence of an n-best list, with the recogniser's score and the language model's ln P."""

    sentence: str
    score: float
    log_prob: float
    finite_log_prob: float = -math.inf
    """If P = 0: ln P with a small probability for 0 (`Score.finite_log_prob`), which orders such hypotheses."""


def parse_hypothesis(line: str) -> tuple[float, str]:
    r"""Read one line of an n-best list, `score<TAB>sentence`.

    >>> parse_hypothesis("-12.5\tthe cat sat")
    (-12.5, 'the cat sat')

    Raises:
        ValueError: the line has no tab, or does not begin with a number below infinity.
    """
    number, tab, sentence = line.partition("\t")
    if not tab:
        raise ValueError("no tab: a line is score<TAB>sentence, and a blank line ends a group")
    try:
        score = float(number)
    except ValueError:
        score = math.nan
    if math.isnan(score) or score == math.inf:
        raise ValueError(f"the score {number!r} is no number below infinity")
    return score, sentence


def word_errors(sentence: str, reference: str) -> int:
    """Return the edit distance in words: the fewest insertions, deletions and replacements (Levenshtein 1966).

    >>> word_errors("the cat sat down", "a cat sat")
    2
    """
    words = split_words(sentence)
    row = list(range(len(words) + 1))
    for expected in split_words(reference):
        diagonal, row[0] = row[0], row[0] + 1
        for place, word in enumerate(words, start=1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (word != expected)),
            )
    return row[-1]


def best_of(group: Sequence[Hypothesis], rescoring: Rescoring) -> Hypothesis:
    """Return the hypothesis with the largest total, or the first one of several.

    Totals that are infinite by P = 0 are compared by `finite_log_prob`.

    >>> group = [Hypothesis("grey tape", -1.2, log_prob=-7.0), Hypothesis("great ape", -1.0, log_prob=-9.0)]
    >>> best_of(group, Rescoring(weight=0.0)).sentence, best_of(group, Rescoring(weight=0.5)).sentence
    ('great ape', 'grey tape')
    """

    def key(one: Hypothesis) -> tuple[Fraction | float, Fraction | float]:
        total = rescoring.total(one.score, one.log_prob, one.sentence)
        return total, rescoring.total(one.score, one.finite_log_prob, one.sentence) if math.isinf(total) else total

    return max(group, key=key)


def word_error_rates(
    groups: Sequence[Sequence[Hypothesis]], references: Sequence[str], rescoring: Rescoring
) -> dict[str, float]:
    """Return the word errors per word of the references, in percent.

    >>> group = [Hypothesis("grey tape", -1.2, log_prob=-7.0), Hypothesis("great ape", -1.0, log_prob=-9.0)]
    >>> word_error_rates([group], ["grey tape"], Rescoring(weight=0.5))
    {'word_error_rate': 0.0, 'word_error_rate_without_model': 100.0, 'lowest_word_error_rate': 0.0}

    Returns:
        `word_error_rate` of the hypotheses that `rescoring` ranks first; `word_error_rate_without_model` with weight 0;
        `lowest_word_error_rate`, that of a ranking which always finds the best hypothesis.

    Raises:
        ValueError: the numbers of references and groups differ, or the references have no words.
    """
    words = _check_references(groups, references)
    pairs = list(zip(groups, references, strict=True))

    def rate(ranking: Rescoring) -> float:
        return 100 * sum(word_errors(best_of(group, ranking).sentence, right) for group, right in pairs) / words

    lowest = sum(min(word_errors(one.sentence, right) for one in group) for group, right in pairs)
    return {
        "word_error_rate": rate(rescoring),
        "word_error_rate_without_model": rate(replace(rescoring, weight=0.0)),
        "lowest_word_error_rate": 100 * lowest / words,
    }


def tune_weight(
    groups: Sequence[Sequence[Hypothesis]], references: Sequence[str], length_bonus: float = 0.0
) -> Rescoring:
    """Find the weight above 0 with the fewest word errors, exactly (the line search of Och 2003).

    The total of each hypothesis is a linear function of the weight, so the ranking changes only where two lines cross,
    and all weights between two crossings give the same errors. The result is the middle of the best interval that has a
    floating-point number inside; among equally good intervals, of the one nearest to 0. The last interval has no end,
    so its result is twice its beginning.

    >>> group = [Hypothesis("grey tape", -1.2, log_prob=-7.0), Hypothesis("great ape", -1.0, log_prob=-9.0)]
    >>> tune_weight([group], ["grey tape"]).weight
    0.2

    Raises:
        ValueError: the numbers of references and groups differ, or the references have no words.
    """
    _check_references(groups, references)
    changes: defaultdict[Fraction, int] = defaultdict(int)
    for group, reference in zip(groups, references, strict=True):
        before = 0
        for begin, errors in _errors_by_weight(group, reference, length_bonus):
            changes[begin] += errors - before
            before = errors
    begins = sorted(begin for begin, change in changes.items() if change or not begin)
    errors_from = accumulate(changes[begin] for begin in begins)
    weights = [_between(begin, end) for begin, end in zip(begins, [*begins[1:], None], strict=True)]
    # min() gives the first of equals.
    _, weight = min(((n, w) for n, w in zip(errors_from, weights, strict=True) if w), key=lambda pair: pair[0])
    return Rescoring(weight, length_bonus)


def _errors_by_weight(group: Sequence[Hypothesis], reference: str, length_bonus: float) -> list[tuple[Fraction, int]]:
    """Return weights, ascending from 0, each with the word errors of the best hypothesis from this weight on."""
    # At any positive weight an impossible hypothesis ranks after all possible ones.
    possible = _finite(group) or _finite([replace(one, log_prob=one.finite_log_prob) for one in group])
    if not possible:
        return [(Fraction(0), word_errors(group[0].sentence, reference))]
    slopes = [_exact(one.log_prob) for one in possible]
    starts = [_exact(one.score) + _exact(length_bonus) * len(split_words(one.sentence)) for one in possible]
    first, begin = max(range(len(possible)), key=lambda i: (starts[i], slopes[i], -i)), Fraction(0)
    found = [(begin, word_errors(possible[first].sentence, reference))]
    # The first steeper line that crosses this one is best from there on, or the steepest of several in one point.
    while steeper := [i for i, slope in enumerate(slopes) if slope > slopes[first]]:
        start, slope = starts[first], slopes[first]
        begin, _, first = min(((start - starts[i]) / (slopes[i] - slope), -slopes[i], i) for i in steeper)
        found.append((begin, word_errors(possible[first].sentence, reference)))
    return found


def _finite(group: Sequence[Hypothesis]) -> list[Hypothesis]:
    return [one for one in group if math.isfinite(one.log_prob) and math.isfinite(one.score)]


def _between(begin: Fraction, end: Fraction | None) -> float | None:
    """Return a number between the two, or None if floating point has none there."""
    number = float((begin + end) / 2 if end is not None else 2 * begin or 1)
    return number if begin < _exact(number) and (end is None or _exact(number) < end) else None


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def _check_references(groups: Sequence[Sequence[Hypothesis]], references: Sequence[str]) -> int:
    if len(groups) != len(references):
        raise ValueError(
            f"{len(references)} references for {len(groups)} groups of hypotheses: give one line for each group"
        )
    words = sum(len(split_words(reference)) for reference in references)
    if not words:
        raise ValueError("the references hold no word")
    return words
