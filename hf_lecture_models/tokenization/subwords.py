# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The two forms that byte-pair encoding and unigram segmentation have: pieces of words, and pieces of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer

from hf_lecture_models.tokenization.backend import LectureTokenizer
from hf_lecture_models.tokenization.splitting import flatten_ids


class SubwordTokenizer(LectureTokenizer):
    """A tokenizer of one of the forms "words" and "bytes"."""

    pre_tokenizer_class = PreTokenizer

    @property
    def form(self) -> str:
        """Either "words" or "bytes"."""
        return "bytes" if isinstance(self.backend_tokenizer.pre_tokenizer, ByteLevel) else "words"

    @staticmethod
    def _splits_words(pre_tokenizer: Any) -> bool:
        """Return whether the pre-tokenizer is unchanged, in the form "words"."""
        raise NotImplementedError

    def is_unmodified(self) -> bool:
        """Return whether the backend is unchanged."""
        split = self.backend_tokenizer.pre_tokenizer
        splits_bytes = isinstance(split, ByteLevel) and split.use_regex and not split.add_prefix_space
        return (splits_bytes or self._splits_words(split)) and super().is_unmodified()

    def encode_words(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of words."""
        model, split = self.backend_tokenizer.model, self.backend_tokenizer.pre_tokenizer
        return flatten_ids(
            [
                [token.id for piece, _ in split.pre_tokenize_str(word) for token in model.tokenize(piece)]
                for word in words
            ]
        )


def set_unknown(form: str, options: dict[str, Any]) -> None:
    """Give the options of a tokenizer in the form "words" an `unk_token`, unless they have one.

    Raises:
        ValueError: there is no such form, or `unk_token` does not go with it.
    """
    if form not in ("words", "bytes"):
        raise ValueError(f"form is {form!r}; it must be 'words' or 'bytes'")
    if form == "bytes" and options.get("unk_token") is not None:
        raise ValueError("the form 'bytes' has no unk_token; leave it out")
    if form == "words" and options.setdefault("unk_token", "<unk>") is None:
        raise ValueError("the form 'words' needs an unk_token for unknown characters; form='bytes' has none of them")
