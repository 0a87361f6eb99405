# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sentinels: special tokens in place of the spans of a text that are left out (Raffel et al. 2020, figure 2)."""

from __future__ import annotations

from itertools import count, takewhile
from typing import Any

SENTINEL = "<extra_id_{}>"
"""The spelling of a sentinel, with its number from 0, as in T5's tokenizers."""


def add_sentinels(tokenizer: Any, number: int) -> None:
    """Give a tokenizer so many sentinels; those that it has already do not change.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a cat"], progress=False)
    >>> add_sentinels(tokenizer, 2)
    >>> tokenizer.tokenize("a <extra_id_0> cat <extra_id_1>")
    ['a', '<extra_id_0>', 'cat', '<extra_id_1>']
    """
    wanted = [SENTINEL.format(index) for index in range(number)]
    missing = [token for token in wanted if token not in tokenizer.all_special_tokens]
    tokenizer.add_special_tokens({"extra_special_tokens": [*tokenizer.extra_special_tokens, *missing]})


def sentinel_ids(tokenizer: Any) -> list[int]:
    """Return the ids of a tokenizer's sentinels, in the order of their numbers.

    >>> from hf_lecture_models import WordTokenizer
    >>> sentinel_ids(WordTokenizer.train(["a cat"], progress=False))
    []
    """
    vocabulary = tokenizer.get_vocab()
    return [vocabulary[token] for token in takewhile(vocabulary.__contains__, map(SENTINEL.format, count()))]
