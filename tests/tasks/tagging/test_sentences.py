# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which token is which word's, with every tokenizer, beside transformers' own alignment of split words."""

from __future__ import annotations

from typing import Any

import pytest

from hf_lecture_models import RecurrentConfig, RecurrentForTokenClassification
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.tagging.sentences import UNREAD, encode_sentences, place_tokens, token_labels
from tests.tasks.small_tagger import small_tokenizer
from tests.tokenization.spaced_bytes import KINDS, spaced_bytes
from tests.tokenization.test_every_tokenizer import TOKENIZERS

SENTENCES = [
    ["the", "cat", "sat"],
    ["NASA", "sat", "on", "12", "zebras", "."],
    ["né", "€", "漢字", "the"],
    ["the"],
    ["two words", "the", "#1"],
]
MAKERS = {**TOKENIZERS, "bert": small_tokenizer}
IDS = {"O": 0, "B-X": 1, "I-X": 2, "B-Y": 3, "E-Y": 4}


def first_behind_blanks(tokenizer: Any, words: list[str]) -> list[int]:
    """The first token of each word as transformers says it, where a blank in front belongs to it."""
    split = [word if number == 0 else f" {word}" for number, word in enumerate(words)]
    encoded = tokenizer(split, is_split_into_words=True)
    places = encoded.word_ids()
    return [
        next(
            place
            for place, word in enumerate(places)
            if word == number and tokenizer.decode(encoded["input_ids"][place]).strip()
        )
        for number in range(len(words))
    ]


def data_of(sentences: list[list[str]]) -> Rows:
    return Rows({"tokens": sentences}, [("a.jsonl", len(sentences))])


def model_for(tokenizer: Any) -> RecurrentForTokenClassification:
    return RecurrentForTokenClassification(
        RecurrentConfig(vocab_size=len(tokenizer), hidden_size=2, num_hidden_layers=1)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_one_letter_have_a_token_where_the_tokenizer_adds_spaces(kind: str) -> None:
    """Their offsets were those of no letter, (1, 1), so the word was not read and its tag was lost."""
    sentences = [["A", "b", "cat"], ["I", "a"], ["é", "x"]]
    tokenizer = spaced_bytes(kind, ["A b cat", "I a"])
    encoded = encode_sentences(model_for(tokenizer), tokenizer, data_of(sentences))
    for words, sentence in zip(sentences, encoded, strict=True):
        for word, first in zip(words, sentence.first_tokens, strict=True):
            assert first != UNREAD
            token = tokenizer.convert_ids_to_tokens(int(sentence.inputs["input_ids"][first]))
            assert token.removeprefix("Ġ")[0] in (word[0], "Ã")


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("options", [{}, {"add_bos_token": False, "add_eos_token": True}, {"padding_side": "right"}])
def test_first_tokens_are_those_of_split_words(name: str, options: dict[str, Any]) -> None:
    if name == "bert" and "add_bos_token" in options:
        pytest.skip("its template is its own")
    tokenizer = MAKERS[name](**options)
    sentences = [["the", "cat", "sat", "on", "the", "mat"], ["né", "saw"]] if name == "refused" else SENTENCES
    encoded = encode_sentences(model_for(tokenizer), tokenizer, data_of(sentences))
    for words, sentence in zip(sentences, encoded, strict=True):
        assert sentence.inputs["input_ids"] == tokenizer(" ".join(words))["input_ids"]
        if name not in ("char", "byte", "bpe_bytes", "unigram", "unigram_bytes"):  # which read blanks
            split = tokenizer(words, is_split_into_words=True).word_ids()
            assert sentence.first_tokens == [split.index(word) for word in range(len(words))]
            assert sentence.blanks == []
        else:
            assert sentence.first_tokens == first_behind_blanks(tokenizer, words)
        if name in ("char", "byte"):
            blanks = [(sentence.first_tokens[word] - 1, word) for word in range(1, len(words))]
            assert sentence.blanks == blanks


@pytest.mark.parametrize("side", ["left", "right"])
def test_words_that_are_cut_have_no_token(side: str) -> None:
    tokenizer = small_tokenizer(truncation_side=side)
    data = data_of([["Ada", "Lovelace", "met", "Babbage"]])  # two of the words have two pieces
    (sentence,) = encode_sentences(model_for(tokenizer), tokenizer, data, max_length=5)
    assert sentence.first_tokens == ([1, 2, UNREAD, UNREAD] if side == "right" else [UNREAD, UNREAD, 1, 2])
    labels = token_labels(sentence, ["B-X", "I-X", "O", "B-X"], IDS)
    assert labels == ([-100, 1, 2, -100, -100] if side == "right" else [-100, 0, 1, -100, -100])


def test_a_word_of_which_nothing_is_left_has_no_token() -> None:
    """BERT's normalizer takes control characters away."""
    tokenizer = small_tokenizer()
    (sentence,) = encode_sentences(model_for(tokenizer), tokenizer, data_of([["met", "\u200d", "he"]]))
    assert sentence.first_tokens == [1, UNREAD, 2]


@pytest.mark.parametrize(
    ("tags", "others"),
    [
        (["B-X", "I-X", "O", "B-X"], [2, 0, 0, 2]),
        (["B-X", "B-X", "I-X", "I-X"], [0, 2, 2, 2]),
        (["I-X", "I-X", "O", "O"], [2, 0, 0, 0]),
        (["O", "I-X", "B-Y", "E-Y"], [0, 0, -100, -100]),  # the model has no I-Y
    ],
)
def test_blanks_and_further_bytes_of_a_letter_go_on_with_an_entity(tags: list[str], others: list[int]) -> None:
    tokenizer = TOKENIZERS["byte"]()
    (sentence,) = encode_sentences(model_for(tokenizer), tokenizer, data_of([["a", "bc", "d", "é"]]))
    assert sentence.inputs["input_ids"] == [256, *"a bc d é".encode()]
    a, bc, d, e = (IDS[tag] for tag in tags)
    labels = token_labels(sentence, tags, IDS, are_entities=True)
    assert labels == [-100, a, others[0], bc, -100, others[1], d, others[2], e, others[3]]
    assert token_labels(sentence, tags, IDS) == [-100, a, -100, bc, -100, -100, d, -100, e, -100]


def test_offsets_may_begin_with_the_blank_or_behind_it() -> None:
    words = ["New", "York", "is"]
    for offsets in ([(0, 3), (3, 8), (8, 11)], [(0, 3), (4, 8), (9, 11)]):
        assert place_tokens(words, offsets) == ([0, 1, 2], [], [])
