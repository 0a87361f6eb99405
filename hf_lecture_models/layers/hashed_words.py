# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A word's vector from features of its spelling, each looked up in a table by its hash.

Miranda, Kádár, Boyd, Van Landeghem, Søgaard & Honnibal, "Multi hash embeddings in spaCy", 2022; Svenstrup, Hansen &
Winther, "Hash embeddings for efficient word representations", NeurIPS 2017, with one hash function. For the features

    the word in small letters; its first letter; its last three in small letters; its shape

with the characters c_1 ... c_n, n their number, and a table E of N rows for each feature,

    h = (Σ_i c_i r^i mod p) a mod p mod N,  p = 2^31 - 1

the word's vector is the four rows E[h] side by side. The shape writes X for a capital, x for any other letter, d for a
digit, and the same sign three times at most: `Berlin-7` has `Xxxx-d`. Letters are those of ASCII, and the bytes of all
others count as small letters. A word that training lacks shares features with words that it has. Two features with the
same hash share a vector.
"""

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init

_PRIME, _BASE, _FACTOR = 2**31 - 1, 69_069, 1_103_515_245
_LONGEST_RUN, _SUFFIX = 3, 3
# Ids of ElmoTokenizer: a byte's value + 1; the two marks of a text come after the bytes.
_LAST_LETTER = 258
_CAPITALS, _SMALL, _DIGITS, _OTHER_BYTES = (66, 91), (98, 123), (49, 58), (129, 256)
_TO_SMALL = 32
_FEATURES = 4


class _SmallVectors(nn.Embedding):
    """Vectors that start small: the one of a feature that training lacks should say little."""

    def draw_weights(self) -> None:
        """Draw the vectors."""
        init.normal_(self.weight, std=0.1)


class HashedWords(nn.Module):
    """The vector of each word, given as a row of `ElmoTokenizer`'s character ids.

    Args:
        rows: number of vectors for each feature.
        size: width of each feature's vector.

    >>> HashedWords(rows=100, size=5)(torch.ones(2, 7, 50, dtype=int)).shape
    torch.Size([2, 7, 20])
    """

    def __init__(self, rows: int, size: int):
        super().__init__()
        self.tables = nn.ModuleList(_SmallVectors(rows, size) for _ in range(_FEATURES))
        self.rows, self.output_size = rows, _FEATURES * size

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, seq, characters) ids to (batch, seq, 4 * size)."""
        hashes = feature_hashes(ids, self.rows)
        return torch.cat([table(hashes[..., k]) for k, table in enumerate(self.tables)], -1)


def feature_hashes(ids: Tensor, rows: int) -> Tensor:
    """Return the hash of each feature, 0 to rows - 1: (..., characters) ids to (..., 4).

    >>> from hf_lecture_models import ElmoTokenizer
    >>> words = torch.tensor(ElmoTokenizer()("Singing singing Bringing", add_special_tokens=False).input_ids)
    >>> hashes = feature_hashes(words, 10**6)
    >>> (hashes == hashes[0]).tolist()  # lower-cased word, first letter, last three letters, shape
    [[True, True, True, True], [True, False, True, False], [False, False, True, True]]
    """
    is_letter = (ids > 0) & (ids <= _LAST_LETTER)
    from_left = is_letter.long().cumsum(-1)
    from_right = from_left[..., -1:] - from_left
    small = torch.where(_between(ids, _CAPITALS), ids + _TO_SMALL, ids)
    shape = _shape(ids)
    found = [
        _hashed(small, is_letter),
        _hashed(ids, is_letter & (from_left == 1)),
        _hashed(small, is_letter & (from_right < _SUFFIX)),
        _hashed(shape, is_letter & ~_goes_on(shape)),
    ]
    return torch.stack(found, -1) % rows


def _between(ids: Tensor, ends: tuple[int, int]) -> Tensor:
    return (ids >= ends[0]) & (ids <= ends[1])


def _shape(ids: Tensor) -> Tensor:
    """Replace each letter or digit by X, x or d."""
    shape = ids
    for kinds, sign in (((_CAPITALS,), "X"), ((_SMALL, _OTHER_BYTES), "x"), ((_DIGITS,), "d")):
        for ends in kinds:
            shape = torch.where(_between(ids, ends), ord(sign) + 1, shape)
    return shape


def _goes_on(shape: Tensor) -> Tensor:
    """Return the places that the three before them equal."""
    before = nn.functional.pad(shape, (_LONGEST_RUN, 0), value=0).unfold(-1, _LONGEST_RUN + 1, 1)
    return (before[..., :-1] == shape.unsqueeze(-1)).all(-1)


def _hashed(ids: Tensor, kept: Tensor) -> Tensor:
    """Return the hash of the kept ids of each row, read in their order."""
    powers = [1]
    for _ in range(ids.shape[-1]):
        powers.append(powers[-1] * _BASE % _PRIME)
    places = kept.long().cumsum(-1)
    # Every product is below 2^9 * 2^31 and every factor of the last one below 2^31: int64 holds them.
    summed = (ids * kept * torch.tensor(powers, device=ids.device)[places]).sum(-1) % _PRIME
    return summed * _FACTOR % _PRIME
