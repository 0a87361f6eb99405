# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Hashed features of words: which words share which feature, and the hash by its formula."""

from __future__ import annotations

import pytest
import torch

from hf_lecture_models import ElmoConfig, ElmoForTokenClassification, ElmoTokenizer
from hf_lecture_models.layers.hashed_words import HashedWords, feature_hashes

PRIME, BASE, FACTOR = 2147483647, 69069, 1103515245


def ids_of(words: str, characters: int = 50) -> torch.Tensor:
    tokenizer = ElmoTokenizer(max_characters_per_token=characters)
    return torch.tensor(tokenizer(words, add_special_tokens=False).input_ids)


def hashed(text: bytes, rows: int) -> int:
    """The hash of a feature by the formula, one character after the other."""
    total = sum((char + 1) * BASE**place for place, char in enumerate(text, start=1))
    return total % PRIME * FACTOR % PRIME % rows


@pytest.mark.parametrize(
    ("word", "features"),
    [
        ("Singing", ("singing", "S", "ing", "Xxxx")),
        ("Berlin-7", ("berlin-7", "B", "n-7", "Xxxx-d")),
        ("12345.6", ("12345.6", "1", "5.6", "ddd.d")),
        ("USA", ("usa", "U", "usa", "XXX")),
        ("a", ("a", "a", "a", "x")),
        ("!!!!!", ("!!!!!", "!", "!!!", "!!!")),
        ("AAbbbbAA", ("aabbbbaa", "A", "baa", "XXxxxXX")),
    ],
)
def test_hashes_of_a_word(word: str, features: tuple[str, ...]) -> None:
    expected = [hashed(feature.encode(), 4096) for feature in features]
    assert feature_hashes(ids_of(word), 4096).tolist() == [expected]
    # The room behind a word says nothing.
    assert feature_hashes(ids_of(word, 12), 4096).tolist() == [expected]


def test_bytes_of_other_letters_are_small_ones_of_the_shape() -> None:
    plain, other = feature_hashes(ids_of("Zoxx Zoë"), 10**6)
    assert plain[3] == other[3]
    assert other[0] == hashed("zoë".encode(), 10**6)


def test_a_word_of_many_characters_stays_in_the_table() -> None:
    hashes = feature_hashes(torch.full((1, 1024), 256), 2**20)
    assert int(hashes.min()) >= 0
    assert int(hashes[0, 0]) == sum(256 * pow(BASE, n, PRIME) for n in range(1, 1025)) % PRIME * FACTOR % PRIME % 2**20


def test_each_feature_has_its_own_table() -> None:
    layer = HashedWords(rows=1000, size=2)
    for number, table in enumerate(layer.tables):
        torch.nn.init.constant_(table.weight, number)
    assert layer(ids_of("a cat")[None])[0, 1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_vectors_of_a_new_model_are_small() -> None:
    config = ElmoConfig(num_hidden_layers=0, hash_rows=500, char_filters=[[2, 8]], word_vector_size=8)
    for name, parameter in ElmoForTokenClassification(config).named_parameters():
        if ".tables." in name:
            assert float(parameter.detach().std()) == pytest.approx(0.1, rel=0.1)
