# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A character n-gram, which gives every sentence a probability, also one with words that the text lacks."""

from collections.abc import Sequence

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.char import CharTokenizer

ORDER = 6


def score_by_letters(texts: Sequence[str], sentences: Sequence[str]) -> dict[str, float]:
    """Return ln P of each sentence under a 6-gram of the characters of `texts`, with modified Kneser-Ney smoothing.

    >>> scores = score_by_letters(["he was a light sleeper", "they keep the lighthouse"], ["a keeper", "a keepxr"])
    >>> scores["a keeper"] > scores["a keepxr"]
    True
    """
    tokenizer = CharTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=ORDER, smoothing="modified_kneser_ney", progress=False)
    return {score.encoded.text: score.log_prob for score in score_texts(model, tokenizer, sentences)}
