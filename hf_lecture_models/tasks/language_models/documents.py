# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Documents: texts that belong together, as one array of tokens with the place where each document begins."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import encode_corpus

RULES = {
    "blank_lines": "an empty text stands between two documents",
    "titles": "a document begins with a title as WikiText writes it, ` = Title = ` between empty texts",
    "texts": "each text is a document",
}
"""How texts become documents."""

# Not ` = = Section = = `.
_TITLE = re.compile(r"\s*= (?!= ).* =\s*")


@dataclass(frozen=True)
class Documents:
    """Documents as tokens, one after the other; none is empty.

    Attributes:
        ids: (tokens,) int32, without special tokens.
        starts: (documents,) int64, the place of each document's first token.
    """

    ids: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens in each document, (documents,) int64."""
        return np.diff(np.append(self.starts, len(self.ids)))

    def __len__(self) -> int:
        return len(self.starts)


def encode_documents(tokenizer: Any, texts: Sequence[str], rule: str) -> Documents:
    """Encode texts as documents; documents without a token are left out.

    >>> from hf_lecture_models.tokenization.byte import ByteTokenizer
    >>> encode_documents(ByteTokenizer(), ["ab", "c", "", "d"], "blank_lines")
    Documents(ids=array([ 97,  98,  99, 100], dtype=int32), starts=array([0, 3]))

    Args:
        rule: one of `RULES`.

    Raises:
        ValueError: there is no such rule; or as `encode_training_texts`.
    """
    texts = list(plain_texts(texts, tokenizer))
    corpus = encode_corpus(tokenizer, texts)
    ends = np.cumsum(corpus.lengths)
    starts = np.append(0, ends)[:-1][document_starts(texts, rule)]
    # Where several documents begin at one place, all but the last are empty.
    return Documents(corpus.ids, np.unique(starts[starts < len(corpus.ids)]))


def document_starts(texts: Sequence[str], rule: str) -> np.ndarray:
    """Return (texts,) bool: True for each text that begins a document, as the first one always does.

    >>> document_starts([" = A = ", "", "a", " = = B = = ", "", " = C = ", "", "c = "], "titles").nonzero()[0]
    array([0, 5])

    Raises:
        ValueError: there is no such rule.
    """
    if rule not in RULES:
        raise ValueError(f"documents must be one of {', '.join(RULES)}, not {rule!r}")
    blank = np.array([True, *(not text.strip() for text in texts), True])
    if rule == "texts":
        starts = np.ones(len(texts), dtype=bool)
    elif rule == "blank_lines":
        starts = blank[:-2].copy()
    else:
        # A line of a list may look like a title, but has other lines beside it.
        titles = np.array([_TITLE.fullmatch(text) is not None for text in texts], dtype=bool)
        starts = titles & blank[:-2] & blank[2:]
    starts[:1] = True
    return starts
