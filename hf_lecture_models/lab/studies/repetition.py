# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The loss of a word by the distance to its last occurrence in the text (slide Y:648: repetitions).

A model that remembers the text predicts a word that occurred lately better than one that only knows frequencies; how
far back the gain reaches shows how far the model looks. Only scores are needed, so every language model can be
compared.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hf_lecture_models.evaluation.scoring import TextScore
from hf_lecture_models.evaluation.surprisal import causal_spans
from hf_lecture_models.lab.studies.word_surprisal import word_surprisals
from hf_lecture_models.tokenization.splitting import split_words


def last_distances(texts: Sequence[str]) -> np.ndarray:
    """Return for each word of the texts, read one after the other, the number of words since its last occurrence.

    It is 1 for a word that is repeated at once, and 0 for one that has not occurred before; int64 (words,). Words are
    split at white space, and ends of texts are not counted.

    >>> last_distances(["the cat saw the dog", "the dog"]).tolist()
    [0, 0, 0, 3, 0, 2, 2]
    """
    seen: dict[str, int] = {}
    distances = []
    for place, word in enumerate(word for text in texts for word in split_words(text)):
        distances.append(place - seen[word] if word in seen else 0)
        seen[word] = place
    return np.array(distances, np.int64)


def word_bits(model: Any, tokenizer: Any, scores: Sequence[TextScore]) -> np.ndarray:
    """Return the surprisal in bits of each word of scored texts, as `word_surprisals` sums it; float64 (words,).

    The ends of texts are left out. It is infinite for a word of probability 0.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> from hf_lecture_models.evaluation.scoring import score_texts
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="maximum_likelihood")
    >>> scores = score_texts(model, tokenizer, ["the cat sat", "the cat"])
    >>> abs(word_bits(model, tokenizer, scores)).round(2).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0]

    Args:
        model, tokenizer: a causal language model with its tokenizer.
        scores: from `score_stream` or `score_texts`.

    Raises:
        ValueError: a closed vocabulary cannot encode one of the texts.
    """
    bits: list[float] = []
    for score in scores:
        if not score.encoded.possible:
            raise ValueError(
                f"the tokenizer cannot encode {', '.join(score.encoded.unknown_words)}: leave the text out"
            )
        bits += [word.bits for word in word_surprisals(causal_spans(model, tokenizer, score))[:-1]]
    return np.array(bits)


def average_by_distance(
    bits: np.ndarray, distances: np.ndarray, wanted: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """Average the surprisal of words over distances of 1, 2 to 3, 4 to 7 and so on, and over first occurrences.

    >>> average_by_distance(np.array([4.0, 1.0, 2.0, 6.0]), np.array([0, 2, 3, 0]))[-1]
    {'from': None, 'words': 2, 'bits': 5.0, 'standard_error': 1.0}
    >>> [(row["from"], row["words"]) for row in average_by_distance(np.ones(3), np.array([5, 2, 3]))]
    [(1, 0), (2, 2), (4, 1), (None, 0)]

    Args:
        bits: (words,), as `word_bits` gives them.
        distances: (words,), as `last_distances` gives them.
        wanted: bool (words,); other words are left out.

    Returns:
        A row for each range: its least distance `from` (None for first occurrences), the number of `words`, their mean
        `bits` with the `standard_error`; None where there are too few words.

    Raises:
        ValueError: the arrays are not of the same words.
    """
    if len(bits) != len(distances) or (wanted is not None and len(wanted) != len(bits)):
        raise ValueError(
            f"{len(bits)} words have bits and {len(distances)} have distances; give the same texts to both"
        )
    if wanted is not None:
        bits, distances = bits[wanted], distances[wanted]
    ranges = np.where(distances > 0, np.frexp(distances)[1] - 1, -1)
    numbers = [*range(int(ranges.max(initial=-1)) + 1), -1]
    return [{"from": None if number < 0 else 2**number, **_mean(bits[ranges == number])} for number in numbers]


def _mean(bits: np.ndarray) -> dict[str, Any]:
    return {
        "words": len(bits),
        "bits": float(bits.mean()) if len(bits) else None,
        "standard_error": float(bits.std(ddof=1) / len(bits) ** 0.5) if len(bits) > 1 else None,
    }
