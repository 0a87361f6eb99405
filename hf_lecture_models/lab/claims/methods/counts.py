# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What tokenizers and n-gram models make of a text, without any training by gradients."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.claims.methods.texts import part_texts
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tokenization.word import WordTokenizer


def tokens_per_word(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return the number of tokens of each text, divided by its words.

    Args:
        settings: `tokenizer`, as in a recipe, and the texts of `part_texts`.
    """
    tokenizer = make_tokenizer(settings["tokenizer"], part_texts(settings, "train"))
    texts = part_texts(settings, part)
    return [len(tokenizer(text, add_special_tokens=False)["input_ids"]) / len(text.split()) for text in texts]


def unseen_ngrams(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return the percentage of n-grams that the training texts lack: a value for each text, whose mean is that of all.

    Args:
        settings: `order`, the number of words, and the texts of `part_texts`.
    """
    order = settings["order"]
    seen = _all_ngrams(part_texts(settings, "train"), order)
    new = [[ngram not in seen for ngram in _ngrams(text, order)] for text in part_texts(settings, part)]
    ngrams_per_text = sum(map(len, new)) / len(new)
    return [100 * sum(text) / ngrams_per_text for text in new]


def possible_texts(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each text 100 if its probability is above 0, otherwise 0.

    Without smoothing a text is possible if the training texts have all of its n-grams.

    Args:
        settings: those of `ngram_log_prob`; or `order` alone for relative frequencies, without smoothing.
    """
    if "fit" in settings:
        return [100.0 * (value > -math.inf) for value in ngram_log_prob(settings, seed, folder, part)]
    seen = _all_ngrams(part_texts(settings, "train"), settings["order"])
    texts = part_texts(settings, part)
    return [100.0 * all(ngram in seen for ngram in _ngrams(text, settings["order"])) for text in texts]


def _all_ngrams(texts: Iterable[str], order: int) -> set[tuple[str, ...]]:
    return {ngram for text in texts for ngram in _ngrams(text, order)}


def _ngrams(text: str, order: int) -> Iterator[tuple[str, ...]]:
    """Return the n-grams of a text with its beginning and its end, as an n-gram model counts them.

    >>> [" ".join(ngram) for ngram in _ngrams("the cat", 3)]
    ['<s> the cat', 'the cat </s>']
    """
    words = ["<s>", *text.split(), "</s>"]
    return (tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def ngram_log_prob(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return 100 ln P of each text by an n-gram model, scaled so that the mean is that of a token.

    A difference of 1 is about one percent of the perplexity.

    Args:
        settings: `fit`, arguments of `NGramForCausalLM.fit`; `alphas`, numbers to add to each count, of which the best
            on the validation texts is used; `min_count` of the words; and the texts of `part_texts`.
    """
    texts, held_out = part_texts(settings, "train"), part_texts(settings, "validation")
    tokenizer = WordTokenizer.train(texts, min_count=settings.get("min_count", 1), progress=False)

    def mean_of_tokens(measured: list[str], options: Mapping[str, Any]) -> list[float]:
        model = NGramForCausalLM.fit(texts, tokenizer, **settings["fit"], **options, progress=False)
        scores = score_texts(model, tokenizer, measured)
        tokens_per_text = sum(len(score.log_probs) for score in scores) / len(scores)
        return [100 * score.log_prob / tokens_per_text for score in scores]

    options: dict[str, Any] = {"held_out": held_out} if settings["fit"]["smoothing"] == "jelinek_mercer" else {}
    if "alphas" in settings:
        options["alpha"] = max(settings["alphas"], key=lambda alpha: sum(mean_of_tokens(held_out, {"alpha": alpha})))
    return mean_of_tokens(part_texts(settings, part), options)
