# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tokens as numbers: the codings τ of slides R:76-97, and texts of any length as vectors of one length."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.inputs import check_token_ids, real_token_mask


class IntegerCoding(nn.Module):
    """τ(w) in R^1: the number of w, counted from 1 as on slide R:80, over the number of tokens: 1/V, 2/V, ..., 1.

    The numbers are divided because plain ones run into the ten thousands, where no common learning rate fits.

    >>> IntegerCoding(4)(torch.tensor([[0, 3]])).tolist()
    [[[0.25], [1.0]]]
    """

    def __init__(self, vocab_size: int):
        super().__init__()
        self.vocab_size, self.size = vocab_size, 1

    def forward(self, input_ids: Tensor) -> Tensor:
        """(batch, seq) to (batch, seq, 1), float32."""
        _check_ids(input_ids, self.vocab_size)
        return ((input_ids + 1) / self.vocab_size).unsqueeze(-1)


class OneHotCoding(nn.Module):
    """τ(w) in R^V: 1 at the id of w and 0 elsewhere (slide R:95).

    Each token takes V numbers, which suits letters. For a dictionary of words, trained word vectors take far fewer.

    >>> OneHotCoding(3)(torch.tensor([[0, 2]])).tolist()
    [[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]
    """

    def __init__(self, vocab_size: int):
        super().__init__()
        self.size = vocab_size

    def forward(self, input_ids: Tensor) -> Tensor:
        """(batch, seq) to (batch, seq, V), float32."""
        _check_ids(input_ids, self.size)
        return (input_ids.unsqueeze(-1) == torch.arange(self.size, device=input_ids.device)).float()


CODINGS: dict[str, type[IntegerCoding | OneHotCoding]] = {"integer": IntegerCoding, "one_hot": OneHotCoding}


def _check_ids(input_ids: Tensor, vocab_size: int) -> None:
    # The codings compute with any number; on a GPU, the check would wait for it.
    if input_ids.device.type == "cpu":
        check_token_ids(input_ids, vocab_size)


def word_mask(input_ids: Tensor, attention_mask: Tensor | None, special: Iterable[int | None]) -> Tensor:
    """(batch, seq) bool: True at tokens of the text, which are real and not `special`.

    Raises:
        ValueError: ids or mask are of another shape.

    >>> word_mask(torch.tensor([[8, 3, 1, 9]]), torch.tensor([[1, 1, 1, 0]]), [8, None]).tolist()
    [[False, True, True, False]]
    """
    words = real_token_mask(input_ids, attention_mask, None)
    for token in special:
        if token is not None:
            words = words & (input_ids != token)
    return words


def zero_pad(vectors: Tensor, words: Tensor, length: int) -> Tensor:
    """(u_1, ..., u_L, 0, ..., 0): the vectors of each row's words, in their order, and zeros up to `length`.

    Args:
        vectors: (batch, seq, n).
        words: (batch, seq) bool, True at words, wherever they are.
        length: the length of the result, (batch, length, n).

    Raises:
        ValueError: a row has more words. While tracing, which cannot read values, an index is out of range instead.

    >>> u, words = torch.tensor([[[5.0], [6.0], [7.0]]]), torch.tensor([[False, True, True]])
    >>> zero_pad(u, words, 4)[0, :, 0].tolist()
    [6.0, 7.0, 0.0, 0.0]
    """
    _check_lengths(words, length)
    # Place 0, cut off below, takes the tokens that are not words; a word too many has no place at all.
    places = words.cumsum(1).where(words, 0).unsqueeze(-1).expand_as(vectors)
    zeros = vectors.new_zeros(vectors.shape[0], length + 1, vectors.shape[-1])
    return zeros.scatter(1, places, vectors)[:, 1:]


def _check_lengths(words: Tensor, length: int) -> None:
    # Reading values waits for a GPU, so it is done only where rows could be too long.
    if is_traced() or words.shape[1] <= length:
        return
    lengths = words.sum(1)
    longest = int(lengths.argmax())
    if lengths[longest] > length:
        raise ValueError(
            f"row {longest} of the batch has {int(lengths[longest])} words; the model reads at most {length} "
            f"(max_position_embeddings={length}): cut texts, with tokenizer(..., truncation=True, max_length={length}) "
            "or truncation=True in a pipeline, or train a model with a larger maximum"
        )
