# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Ending a generated text after given strings: `generate(..., stop_strings=["."], tokenizer=tokenizer)`.

transformers finds the text of each token by decoding it after the word "abcdef". A closed vocabulary does not have
that word, and where the mark of a word's end belongs to the token before, "er</w>" becomes " er". Here the last tokens
are decoded together, which is right for every tokenizer that decodes.
"""

from typing import Any

import torch
from torch import Tensor
from transformers.generation.stopping_criteria import StoppingCriteria, StoppingCriteriaList

# A decoder writes this for bytes that do not make a whole character yet.
_UNFINISHED = "\ufffd"


class StopStrings(StoppingCriteria):
    """End a row as soon as the newest token completes one of the strings.

    Models of this package use it in `generate()`. For others, with a tokenizer of this package:

        generate(..., stopping_criteria=[StopStrings(tokenizer, ["."])])

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat", "sat"])
    >>> stop = StopStrings(tokenizer, "cat sat")
    >>> [stop(tokenizer([text], return_tensors="pt").input_ids, None).item() for text in ("the cat", "the cat sat")]
    [False, True]

    Args:
        tokenizer: of the model.
        stop_strings: one string or several.

    Raises:
        ValueError: the list is empty, or one of the strings is.
    """

    def __init__(self, tokenizer: Any, stop_strings: str | list[str]) -> None:
        strings = [stop_strings] if isinstance(stop_strings, str) else list(stop_strings)
        if not strings or not all(isinstance(string, str) and string for string in strings):
            raise ValueError(f"stop_strings is {stop_strings!r}; it must hold strings that are not empty")
        self.tokenizer, self.strings = tokenizer, strings
        # Each token is at least a byte of text; decoding may leave out the space in front of the first one.
        self.tokens = 1 + max(len(string.encode()) for string in strings)

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Return for each text of `input_ids` (batch, seq) whether it has just completed a string: (batch,) bool."""
        rows = input_ids[:, -self.tokens :].tolist()
        texts = zip(self._decode(rows), self._decode([row[:-1] for row in rows]), strict=True)
        return torch.tensor([self._ends(text, before) for text, before in texts], device=input_ids.device)

    def _decode(self, rows: list[list[int]]) -> list[str]:
        return self.tokenizer.batch_decode(rows, clean_up_tokenization_spaces=False)

    def _ends(self, text: str, before: str) -> bool:
        known = len(before.rstrip(_UNFINISHED))
        return any(string in text[max(0, known - len(string) + 1) :] for string in self.strings)


class StopStringsMixin:
    """A mixin that makes `generate()` use `StopStrings`; put it before `GenerationMixin`."""

    def _get_stopping_criteria(
        self, generation_config: Any, stopping_criteria: Any, tokenizer: Any = None
    ) -> StoppingCriteriaList:
        strings = generation_config.stop_strings
        if strings is None or tokenizer is None:
            return super()._get_stopping_criteria(generation_config, stopping_criteria, tokenizer)  # type: ignore[misc]
        generation_config.stop_strings = None  # of this call's copy
        criteria = super()._get_stopping_criteria(generation_config, stopping_criteria)  # type: ignore[misc]
        criteria.append(StopStrings(tokenizer, strings))
        return criteria
