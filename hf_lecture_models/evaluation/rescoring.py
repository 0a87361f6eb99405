# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-best lists: the hypotheses of a recogniser (speech, OCR, spelling) ranked with a language model (slide Y:47-51).

    total(w) = score(w) + weight * ln P(w) + length_bonus * words(w)

`score` is the recogniser's, ln P(signal | w) or any other number that is larger for better hypotheses; `weight` scales
the language model's log-probability to it, and the bonus makes up for the lower ln P of long sentences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hf_lecture_models.tokenization.splitting import split_words

# Crossings nearer than this, relatively, are one: three lines through one point must not leave an interval between.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Rescoring:
    """The weights of the total's parts."""

    weight: float
    length_bonus: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight", "length_bonus"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}; it must be a finite number")

    def total(self, score: float, log_prob: float, sentence: str) -> float:
        """The number that ranks a hypothesis; a weight of 0 leaves out even a ln P of minus infinity.

        >>> Rescoring(weight=0.5, length_bonus=1.0).total(-3.0, log_prob=-8.0, sentence="two words")
        -5.0
        """
        fluency = self.weight * log_prob if self.weight else 0.0
        return score + fluency + self.length_bonus * len(split_words(sentence))


@dataclass(frozen=True)
class Hypothesis:
    """One sentence of an n-best list, the recogniser's score and the language model's ln P."""

    sentence: str
    score: float
    log_prob: float


def parse_hypothesis(line: str) -> tuple[float, str]:
    r"""Read one line of an n-best list, `score<TAB>sentence`.

    >>> parse_hypothesis("-12.5\tthe cat sat")
    (-12.5, 'the cat sat')

    Raises:
        ValueError: there is no tab, or what stands before it is no number; +inf and NaN are none.
    """
    number, tab, sentence = line.partition("\t")
    if not tab:
        raise ValueError("no tab: a line is score<TAB>sentence, and a blank line ends a group")
    try:
        return checked_score(float(number)), sentence
    except ValueError:
        raise ValueError(f"the score {number!r} is no number below infinity") from None


def checked_score(score: float) -> float:
    """Return the score; minus infinity is one, an impossible hypothesis.

    >>> checked_score(-12.5)
    -12.5

    Raises:
        ValueError: it is NaN or infinite.
    """
    if math.isnan(score) or score == math.inf:
        raise ValueError(f"a score is {score}; it must be a number below infinity")
    return score


def word_errors(sentence: str, reference: str) -> int:
    """Edit distance in words: the fewest insertions, deletions and replacements (Levenshtein 1966).

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
    """Return the hypothesis with the largest total, the first of equal ones.

    >>> group = [Hypothesis("grey tape", -1.2, log_prob=-7.0), Hypothesis("great ape", -1.0, log_prob=-9.0)]
    >>> best_of(group, Rescoring(weight=0.0)).sentence, best_of(group, Rescoring(weight=0.5)).sentence
    ('great ape', 'grey tape')
    """
    return max(group, key=lambda one: rescoring.total(one.score, one.log_prob, one.sentence))


def word_error_rates(
    groups: Sequence[Sequence[Hypothesis]], references: Sequence[str], rescoring: Rescoring
) -> dict[str, float]:
    """Word errors over words of the references, in percent.

    >>> group = [Hypothesis("grey tape", -1.2, log_prob=-7.0), Hypothesis("great ape", -1.0, log_prob=-9.0)]
    >>> word_error_rates([group], ["grey tape"], Rescoring(weight=0.5))
    {'word_error_rate': 0.0, 'word_error_rate_without_model': 100.0, 'lowest_word_error_rate': 0.0}

    Returns:
        `word_error_rate` of the hypotheses that `rescoring` ranks first; `word_error_rate_without_model` at weight 0;
        `lowest_word_error_rate`, that of the best hypothesis of each group, which no ranking can go below.

    Raises:
        ValueError: there are not as many references as groups, or they hold no word.
    """
    words = _check_references(groups, references)
    without = replace(rescoring, weight=0.0)
    pairs = list(zip(groups, references, strict=True))
    return {
        "word_error_rate": 100 * sum(word_errors(best_of(g, rescoring).sentence, r) for g, r in pairs) / words,
        "word_error_rate_without_model": 100
        * sum(word_errors(best_of(g, without).sentence, r) for g, r in pairs)
        / words,
        "lowest_word_error_rate": 100 * sum(min(word_errors(h.sentence, r) for h in g) for g, r in pairs) / words,
    }


def tune_weight(
    groups: Sequence[Sequence[Hypothesis]], references: Sequence[str], length_bonus: float = 0.0
) -> Rescoring:
    """Find the weight above 0 with the fewest word errors, exactly (the line search of Och 2003).

    The total of each hypothesis is a linear function of the weight, so the ranking changes only where two lines cross:
    one weight between each two crossings stands for all weights there. The result is the middle of the best interval
    (of equally good ones, the one nearest to 0); of the last interval, which has no end, twice its beginning.

    >>> group = [Hypothesis("grey tape", -1.2, log_prob=-7.0), Hypothesis("great ape", -1.0, log_prob=-9.0)]
    >>> round(tune_weight([group], ["grey tape"]).weight, 3)
    0.2

    Raises:
        ValueError: there are not as many references as groups, or they hold no word.
    """
    _check_references(groups, references)
    begins, totals = [0.0], [0]
    changes: list[tuple[float, int]] = []
    for group, reference in zip(groups, references, strict=True):
        crossings, errors = _errors_by_weight(group, reference, length_bonus)
        totals[0] += int(errors[0])
        changes += zip(crossings.tolist(), np.diff(errors).tolist(), strict=True)
    for where, change in sorted(change for change in changes if change[1]):
        if where > begins[-1] * (1 + _ROUNDING):
            begins.append(where)
            totals.append(totals[-1])
        totals[-1] += change
    best = totals.index(min(totals))
    begin, ends = begins[best], begins[best + 1 :]
    return Rescoring((begin + ends[0]) / 2 if ends else 2 * begin or 1.0, length_bonus)


def _errors_by_weight(
    group: Sequence[Hypothesis], reference: str, length_bonus: float
) -> tuple[np.ndarray, np.ndarray]:
    """Positive weights (n,) where lines cross, ascending, and (n + 1,) word errors of the first between them."""
    # At any positive weight an impossible hypothesis ranks behind all possible ones.
    possible = [one for one in group if math.isfinite(one.log_prob) and math.isfinite(one.score)] or list(group[:1])
    errors = np.array([word_errors(one.sentence, reference) for one in possible])
    starts = np.array([one.score + length_bonus * len(split_words(one.sentence)) for one in possible])
    slopes = np.array([one.log_prob for one in possible])
    with np.errstate(divide="ignore", invalid="ignore"):
        where = (starts[:, None] - starts) / (slopes - slopes[:, None])
    crossings = np.unique(where[np.isfinite(where) & (where > 0)])
    edges = np.concatenate([[0.0], crossings, [2 * crossings[-1] if len(crossings) else 1.0]])
    weights = (edges[:-1] + edges[1:]) / 2
    first = [int(np.argmax(starts + weight * slopes)) for weight in weights]
    return crossings, errors[first]


def _check_references(groups: Sequence[Sequence[Hypothesis]], references: Sequence[str]) -> int:
    if len(groups) != len(references):
        raise ValueError(
            f"{len(references)} references for {len(groups)} groups of hypotheses: give one line for each group"
        )
    words = sum(len(split_words(reference)) for reference in references)
    if not words:
        raise ValueError("the references hold no word")
    return words
