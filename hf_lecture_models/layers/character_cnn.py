# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A word's vector from its characters: convolutions of several widths, and the maximum of each over the word.

Kim, Jernite, Sontag & Rush, "Character-aware neural language models", AAAI 2016; the token layer of ELMo (Peters et
al. 2018). With the vectors e_1 ... e_m of a word's characters and, for each width w, a matrix F of n filters

    y_t = F [e_t; ...; e_{t+w-1}] + b
    x_w = σ(max_t y_t)                       in each coordinate

the word's vector is all x_w side by side.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.inputs import check_integers, check_token_ids, no_tokens


class CharacterCnn(nn.Module):
    """The vector of each word, given as a row of character ids.

    Args:
        vocab_size: number of character ids.
        embedding_size: width of a character's vector.
        filters: pairs (width in characters, number of filters).
        activation: a key of `ACTIVATIONS`.

    >>> CharacterCnn(vocab_size=9, embedding_size=4, filters=[(1, 2), (3, 5)])(torch.ones(2, 7, 6, dtype=int)).shape
    torch.Size([2, 7, 7])
    """

    def __init__(
        self, vocab_size: int, embedding_size: int, filters: Sequence[Sequence[int]], activation: str = "relu"
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embedding_size)
        self.convolutions = nn.ModuleList(nn.Conv1d(embedding_size, number, width) for width, number in filters)
        self.activation = ACTIVATIONS[activation]()

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, seq, characters) ids to (batch, seq, number of all filters).

        Raises:
            ValueError: on the CPU, where an id is outside the vocabulary.
        """
        try:
            characters = self.embed(ids)
        except IndexError:
            check_token_ids(ids, self.embed.num_embeddings)
            raise
        characters = characters.flatten(0, 1).transpose(1, 2)  # (batch * seq, embedding_size, characters)
        found = [convolution(characters).amax(2) for convolution in self.convolutions]
        return self.activation(torch.cat(found, 1)).unflatten(0, ids.shape[:2])


def character_ids(input_ids: Tensor, characters: int) -> Tensor:
    """`input_ids` (batch, seq, characters), of any integer type, as int64.

    Raises:
        ValueError: they are not a tensor of integers, have another shape, or hold no words.

    >>> character_ids(torch.ones(1, 2, 50, dtype=torch.uint8), 50).dtype
    torch.int64
    """
    check_integers(input_ids, f"(batch, seq, {characters})", "input_ids")
    if 0 in input_ids.shape:
        raise no_tokens(input_ids.shape)
    if input_ids.dim() != 3 or input_ids.shape[2] != characters:
        raise ValueError(
            f"input_ids has shape {tuple(input_ids.shape)}; (batch, seq, {characters}) is needed, the characters of "
            "each word: ElmoTokenizer gives them"
        )
    return input_ids.long()
