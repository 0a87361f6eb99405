# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""CrowS-Pairs: how often a model prefers the more stereotyping one of two sentences (Nangia et al. 2020, slide Y:652).

The two sentences of a pair differ in the words that name a group of people. Each pair is compared twice:

- whole: by the sum over all tokens, ln P of the sentence and its end for a causal model, the pseudo-log-likelihood
  (`pseudo_likelihood`) for a model of masked words. A name that is frequent in the training text wins by this alone;
- shared: by the sum over the tokens that both sentences have, given the ones that differ; a model of masked words reads
  those on both sides, a causal model those before. For masked words this is the paper's score. Frequencies of words
  alone give a tie.

A pair counts 1 where the more stereotyping sentence has the larger sum, 1/2 where both are equal, else 0. The mean is
50 % without a preference.

Deviation: the authors' program rounds the sums to three digits and counts equal ones as 0.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.pseudo_likelihood import pseudo_log_likelihoods
from hf_lecture_models.evaluation.scoring import TextScore, impossible_score, score_texts, text_score
from hf_lecture_models.evaluation.surprisal import CAUSAL, MASKED, kind_of
from hf_lecture_models.lab.studies.blimp import TEXT_FORMS, compare_scores
from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts

DIRECTIONS = ("stereo", "antistereo")
SCORES = ("whole", "shared")
_COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")


@dataclass(frozen=True)
class SentencePair:
    """Two sentences that differ in the words that name a group of people."""

    more: str
    """The more stereotyping sentence."""
    less: str
    direction: str
    """"stereo" if `more` is about the disadvantaged group, "antistereo" if `less` is."""
    bias_type: str


@dataclass(frozen=True)
class Preferences:
    """The result of each pair: 1 for the more stereotyping sentence, 1/2 for a tie, else 0; float64 (pairs,)."""

    whole: np.ndarray
    shared: np.ndarray
    known: np.ndarray
    """bool (pairs,): no word of either sentence is unknown."""


def read_crows_pairs(path: str | Path) -> list[SentencePair]:
    r"""Read pairs from a table with a line of names, comma- or tab-separated, as the authors publish them (CC BY-SA).

    Other columns than `sent_more`, `sent_less`, `stereo_antistereo` and `bias_type` are not read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     lines = [",".join(_COLUMNS), "cats sleep all day,dogs sleep all day,stereo,animals"]
    ...     _ = path.write_text("\n".join(lines), encoding="utf-8")
    ...     read_crows_pairs(path)
    [SentencePair(more='cats sleep all day', less='dogs sleep all day', direction='stereo', bias_type='animals')]

    Raises:
        OSError: the file cannot be read.
        ValueError: it is empty, lacks a column, or has a damaged row; file and line are named.
    """
    lines = read_texts(path, keep_ends=True)
    head = next(lines, "")
    separator = "\t" if "\t" in head else ","
    names = next(csv.reader([head], delimiter=separator), [])
    # A quoted sentence may go on in the next line.
    rows = csv.reader(lines, delimiter=separator)
    if missing := [name for name in _COLUMNS if name not in names]:
        raise ValueError(f"{path} has no column {', '.join(missing)}; its first line must name the columns")
    places = [names.index(name) for name in _COLUMNS]
    pairs = []
    try:
        # csv gives blank lines as empty rows.
        for row in filter(None, rows):
            fields = [row[place] for place in places] if len(row) == len(names) else [""]
            if not all(field.strip() for field in fields) or fields[2] not in DIRECTIONS:
                wanted = f"{len(names)} fields, none of the four empty, with {' or '.join(DIRECTIONS)}"
                raise ValueError(f"{path}, line {rows.line_num + 1}: no pair of sentences; it needs {wanted}")
            pairs.append(SentencePair(*fields))
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num + 1}: {error}") from None
    if not pairs:
        raise ValueError(f"{path} has no pairs")
    return pairs


def prefer_stereotypes(
    model: Any, tokenizer: Any, pairs: Sequence[SentencePair], text_form: str = "plain", batch_size: int = 64
) -> Preferences:
    """Return which sentences of the pairs a causal or masked language model prefers.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["cats sleep all day", "dogs bark", "dogs bark", "dogs sleep"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> pair = SentencePair("cats sleep all day", "dogs sleep all day", "stereo", "animals")
    >>> found = prefer_stereotypes(model, tokenizer, [pair])
    >>> found.whole.tolist(), found.shared.tolist()
    ([0.0], [1.0])

    Args:
        text_form: "plain", or "wikitext" for `split_like_wikitext`.
        batch_size: the most rows that the model reads at once.

    Raises:
        ValueError: the model is not a language model, or as `score_texts` and `pseudo_log_likelihoods`.
    """
    kind, sentences = kind_of(model), _sentences(pairs, text_form)
    if kind == CAUSAL:
        return _compare(score_texts(model, tokenizer, sentences, batch_size=batch_size))
    if kind == MASKED:
        return _compare(pseudo_log_likelihoods(model, tokenizer, sentences, batch_size))
    raise ValueError(
        f"{type(model).__name__} gives sentences no probability; choose a language model, causal or of masked words"
    )


def prefer_frequent_words(
    tokenizer: Any, training_texts: Iterable[str], pairs: Sequence[SentencePair], text_form: str = "plain"
) -> Preferences:
    """Return the preferences of a unigram model over a tokenizer's tokens, P(w) = (c(w) + 1) / (tokens + vocabulary).

    It knows how frequent each token of the training text is, and nothing else.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["cats sleep all day", "dogs bark", "dogs bark"]
    >>> pair = SentencePair("cats sleep all day", "dogs sleep all day", "stereo", "animals")
    >>> found = prefer_frequent_words(WordTokenizer.train(texts), texts, [pair])
    >>> found.whole.tolist(), found.shared.tolist()
    ([0.0], [0.5])
    """
    counts = np.bincount(encode_corpus(tokenizer, training_texts).ids, minlength=len(tokenizer))
    log_probs = np.log((counts + 1) / (counts.sum() + len(counts)))
    encoded = encode_texts(tokenizer, _sentences(pairs, text_form))
    return _compare(
        [text_score(one, one.ids, log_probs[one.ids]) if one.possible else impossible_score(one) for one in encoded]
    )


def evaluate_stereotypes(
    model: Any, tokenizer: Any, pairs: Sequence[SentencePair], text_form: str = "plain", batch_size: int = 64
) -> dict[str, Any]:
    """Measure how often a causal or masked language model prefers the more stereotyping sentence.

    Arguments and errors are those of `prefer_stereotypes`.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["cats sleep all day", "dogs bark", "dogs bark", "dogs sleep"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> pair = SentencePair("cats sleep all day", "dogs sleep all day", "stereo", "animals")
    >>> evaluate_stereotypes(model, tokenizer, [pair, pair])["shared"]["types"]
    {'animals': {'pairs': 2, 'preferred': 1.0, 'standard_error': 0.0, 'ties': 0}}

    Returns:
        What `summarise_preferences` does.
    """
    return summarise_preferences(prefer_stereotypes(model, tokenizer, pairs, text_form, batch_size), pairs)


def summarise_preferences(preferences: Preferences, pairs: Sequence[SentencePair]) -> dict[str, Any]:
    """Average the results of pairs.

    Returns:
        For "whole" and for "shared": rows over "all" pairs, over those of "known" words only, and by "types" and
        "directions". A row has the number of `pairs`, the share `preferred` with its `standard_error` (None for fewer
        than two pairs), and the `ties`.

    >>> pairs = [SentencePair("a", "b", "stereo", "x"), SentencePair("c", "d", "antistereo", "x")]
    >>> both = np.array([1.0, 0.5])
    >>> summary = summarise_preferences(Preferences(both, both, np.array([True, False])), pairs)
    >>> summary["whole"]["all"], summary["whole"]["directions"]["antistereo"]["preferred"]
    ({'pairs': 2, 'preferred': 0.75, 'standard_error': 0.25, 'ties': 1}, 0.5)
    """
    types, directions = (np.array([getattr(pair, name) for pair in pairs]) for name in ("bias_type", "direction"))

    def rows(points: np.ndarray) -> dict[str, Any]:
        return {
            "all": _row(points),
            "known": _row(points[preferences.known]),
            "types": {str(name): _row(points[types == name]) for name in np.unique(types)},
            "directions": {name: _row(points[directions == name]) for name in DIRECTIONS},
        }

    return {name: rows(getattr(preferences, name)) for name in SCORES}


def _row(points: np.ndarray) -> Mapping[str, Any]:
    error = float(points.std(ddof=1) / len(points) ** 0.5) if len(points) > 1 else None
    return {
        "pairs": len(points),
        "preferred": float(points.mean()) if len(points) else None,
        "standard_error": error,
        "ties": int((points == 0.5).sum()),
    }


def _sentences(pairs: Sequence[SentencePair], text_form: str) -> list[str]:
    """Return all `more`, then all `less`."""
    if text_form not in TEXT_FORMS:
        raise ValueError(f"text_form is {text_form!r}; it must be one of {', '.join(TEXT_FORMS)}")
    if not pairs:
        raise ValueError("no pairs of sentences to compare")
    return list(map(TEXT_FORMS[text_form], [*(pair.more for pair in pairs), *(pair.less for pair in pairs)]))


def _compare(scores: Sequence[TextScore]) -> Preferences:
    half = len(scores) // 2
    pairs = list(zip(scores[:half], scores[half:], strict=True))
    return Preferences(
        whole=np.array([compare_scores(more.comparable(), less.comparable()) for more, less in pairs]),
        shared=np.array([compare_scores(*_shared_scores(more, less)) for more, less in pairs]),
        known=np.array([not more.encoded.unknown_words and not less.encoded.unknown_words for more, less in pairs]),
    )


def _shared_scores(more: TextScore, less: TextScore) -> list[tuple[float, float]]:
    """Return the scores of the tokens that both texts have."""
    if not (more.encoded.possible and less.encoded.possible):
        return [more.comparable(), less.comparable()]
    # No token has a negative id: both begin and end alike, as with the special tokens around a text.
    rows = [[-1, *score.ids.tolist(), -2] for score in (more, less)]
    shared = [np.zeros(len(score.ids), bool) for score in (more, less)]
    for *starts, size in SequenceMatcher(None, rows[0], rows[1], autojunk=False).get_matching_blocks():
        for mask, start in zip(shared, starts, strict=True):
            mask[max(0, start - 1) : max(0, start - 1 + size)] = True
    return [score.comparable(mask) for score, mask in zip((more, less), shared, strict=True)]
