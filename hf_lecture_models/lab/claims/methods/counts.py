# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What tokenizers and n-gram models make of a text, without any training by gradients."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.evaluation.scoring import TextScore, score_texts
from hf_lecture_models.lab.claims.methods.texts import by_article, part_texts, read_part
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tokenization.word import WordTokenizer


def tokens_per_word(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return the tokens of a word of each article, weighted by its words.

    Args:
        settings: `tokenizer`, as in a recipe, and the texts of `texts.read_part`.
    """
    tokenizer = make_tokenizer(settings["tokenizer"], part_texts(settings, "train"))
    texts, articles = read_part(settings, part)
    tokens = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
    return by_article(tokens, [len(text.split()) for text in texts], articles)


def unseen_ngrams(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return the percentage of each article's n-grams that the training texts lack, weighted by its n-grams.

    Args:
        settings: `order`, the number of words, and the texts of `texts.read_part`.
    """
    order = settings["order"]
    seen = _all_ngrams(part_texts(settings, "train"), order)
    texts, articles = read_part(settings, part)
    new = [[ngram not in seen for ngram in _ngrams(text, order)] for text in texts]
    return by_article([100 * sum(text) for text in new], [len(text) for text in new], articles)


def possible_texts(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return the percentage of each article's texts whose probability is above 0, weighted by its texts.

    Without smoothing a text is possible if the training texts have all of its n-grams.

    Args:
        settings: those of `ngram_log_prob`; or `order` alone for relative frequencies, without smoothing.
    """
    texts, articles = read_part(settings, part)
    if "fit" in settings:
        possible = [score.log_prob > -math.inf for score in _ngram_scores(settings, part)]
    else:
        seen = _all_ngrams(part_texts(settings, "train"), settings["order"])
        possible = [all(ngram in seen for ngram in _ngrams(text, settings["order"])) for text in texts]
    return by_article([100.0 * one for one in possible], [1] * len(texts), articles)


def _all_ngrams(texts: Iterable[str], order: int) -> set[tuple[str, ...]]:
    return {ngram for text in texts for ngram in _ngrams(text, order)}


def _ngrams(text: str, order: int) -> Iterator[tuple[str, ...]]:
    """Return the n-grams of a text with its beginning and its end, as an n-gram model counts them.

    >>> [" ".join(ngram) for ngram in _ngrams("the cat", 3)]
    ['<s> the cat', 'the cat </s>']
    """
    words = ["<s>", *text.split(), "</s>"]
    return (tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def ngram_log_prob(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return 100 ln P of a token of each article by an n-gram model, weighted by its tokens.

    A difference of 1 is about one percent of the perplexity.

    Args:
        settings: `fit`, arguments of `NGramForCausalLM.fit`; `alphas`, numbers to add to each count, of which the best
            on the validation texts is used; `min_count` of the words; and the texts of `texts.read_part`.
    """
    scores = _ngram_scores(settings, part)
    articles = read_part(settings, part).articles
    return by_article([100 * one.log_prob for one in scores], [len(one.log_probs) for one in scores], articles)


def _ngram_scores(settings: Mapping[str, Any], part: str) -> Sequence[TextScore]:
    texts, held_out = part_texts(settings, "train"), part_texts(settings, "validation")
    tokenizer = WordTokenizer.train(texts, min_count=settings.get("min_count", 1), progress=False)

    def scores_of(measured: list[str], options: Mapping[str, Any]) -> Sequence[TextScore]:
        model = NGramForCausalLM.fit(texts, tokenizer, **settings["fit"], **options, progress=False)
        return score_texts(model, tokenizer, measured)

    options: dict[str, Any] = {"held_out": held_out} if settings["fit"]["smoothing"] == "jelinek_mercer" else {}
    if "alphas" in settings:
        tried = {alpha: scores_of(held_out, {"alpha": alpha}) for alpha in settings["alphas"]}
        options["alpha"] = max(tried, key=lambda alpha: sum(one.log_prob for one in tried[alpha]))
    return scores_of(part_texts(settings, part), options)
