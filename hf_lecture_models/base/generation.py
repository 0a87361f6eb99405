# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models that predict tokens: their labels, and what `generate()` does with them.

`generate(..., stop_strings=["."], tokenizer=tokenizer)` ends a text after given strings. transformers finds the text of
each token by decoding it after the word "abcdef". A closed vocabulary does not have that word, and where the mark of a
word's end belongs to the token before, "er</w>" becomes " er". Here the last tokens are decoded together, which is
right for every tokenizer that decodes.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.generation.stopping_criteria import StoppingCriteria, StoppingCriteriaList

from hf_lecture_models.base.heads.losses import NOT_COUNTED, class_labels
from hf_lecture_models.io.compat import train_as_causal_lm

# A decoder writes this for bytes that do not make a whole character yet.
_UNFINISHED = "\ufffd"


class StopStrings(StoppingCriteria):
    """End a row as soon as the newest token completes one of the strings.

    For other models than this package's: `generate(..., stopping_criteria=[StopStrings(tokenizer, ["."])])`.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat", "sat"])
    >>> stop = StopStrings(tokenizer, "cat sat")
    >>> [stop(tokenizer([text], return_tensors="pt").input_ids, None).item() for text in ("the cat", "the cat sat")]
    [False, True]

    Raises:
        ValueError: the list of strings is empty, or one of the strings is.
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


class GeneratesTokens:
    """Rules of `generate()` for models of this package; put it before `GenerationMixin`."""

    longest_input: int | None

    def _prepare_position_ids_for_generation(self, inputs_tensor: torch.Tensor, model_kwargs: dict[str, Any]) -> Any:
        # transformers gives padding the position 0, so that what is generated behind padding would begin anew at 1.
        mask = model_kwargs.get("attention_mask")
        if mask is not None:
            return (mask.long().cumsum(-1) - 1).clamp(min=0)
        return super()._prepare_position_ids_for_generation(inputs_tensor, model_kwargs)  # type: ignore[misc]

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


def next_token_labels(
    labels: Tensor | None, shift_labels: Tensor | None, shape: Sequence[int], vocab_size: int
) -> Tensor | None:
    """Return the token after each position, (batch, seq) int64: `shift_labels` as they are, or `labels` moved by one.

    >>> next_token_labels(torch.tensor([[3, 1, 4]]), None, (1, 3), vocab_size=5)
    tensor([[   1,    4, -100]])

    Returns:
        None where neither is given.

    Raises:
        ValueError: see `class_labels`.
    """
    if shift_labels is not None:
        return class_labels(shift_labels, shape, vocab_size, "shift_labels")
    if labels is None:
        return None
    return F.pad(class_labels(labels, shape, vocab_size)[:, 1:], (0, 1), value=NOT_COUNTED)


class PredictsNextToken(GeneratesTokens):
    """A causal language model, whose loss transformers' Trainer divides by the labels that it predicts.

    A label with no real token before it is not predicted: the first of a row, and after padding on the left the first
    real one. Trainer counts the latter too, unless it is -100.
    """

    @property
    def accepts_loss_kwargs(self) -> bool:
        """Return True: `forward` takes `num_items_in_batch`. A Trainer asks for it before it counts labels."""
        train_as_causal_lm(type(self))
        return True

    def prepare_labels(self, batch: dict[str, Any], smoothed: bool = False) -> None:
        """Set the labels of a batch to -100 where no real token stands before them; a Trainer calls it.

        Args:
            batch: what a collator returns; its `labels` or `shift_labels`, (batch, seq), are replaced.
            smoothed: whether the Trainer computes the loss itself, from logits, for `label_smoothing_factor`.

        >>> batch = {"labels": torch.tensor([[-100, 1, 2]]), "attention_mask": torch.tensor([[0, 1, 1]])}
        >>> PredictsNextToken().prepare_labels(batch)
        >>> batch["labels"]
        tensor([[-100, -100,    2]])
        """
        mask = batch.get("attention_mask")
        for name, own_token in (("labels", 0), ("shift_labels", 1)):
            labels = batch.get(name)
            if not isinstance(labels, Tensor) or labels.dim() != 2:
                continue  # `forward` says what is wrong
            real = torch.ones_like(labels)
            if isinstance(mask, Tensor) and mask.shape == labels.shape:  # else it is prepared, or wrong
                real = mask.bool().long()
            before = real.cumsum(1) - real * (1 - own_token)
            batch[name] = labels.masked_fill(before.to(labels.device) == 0, NOT_COUNTED)
