# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""CharTokenizer: every text comes back exactly, whatever characters it was trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_lecture_models.tokenization.char import CharTokenizer

TEXTS = ["the cat saw the dog", "", "a né👩 <s>"]
TOKENIZER = CharTokenizer.train(TEXTS)
BYTES_ONLY = CharTokenizer.from_characters("")
ANY_TEXT = (
    st.text() | st.text(st.sampled_from("ab\0\n \x1f\x85éx\u0301\u200d👩語\u05d0<s>/0x41")) | st.just("<0x41><s>")
)


def tokens(tokenizer):
    return tokenizer.convert_ids_to_tokens(range(len(tokenizer)))


# Vocabulary


def test_bytes_then_characters_by_count_and_code_point_then_special_tokens():
    tokenizer = CharTokenizer.train(["cbb", "aé"])
    assert tokens(tokenizer)[:256] == [f"<0x{byte:02X}>" for byte in range(256)]
    assert tokens(tokenizer)[256:] == ["b", "a", "c", "é", "<s>", "</s>", "<pad>"]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (260, 261, 262)
    assert tokenizer.unk_token_id is None
    assert CharTokenizer.train(iter(["aé", "cbb"])).get_vocab() == tokenizer.get_vocab()


def test_minimum_count_and_largest_vocabulary():
    assert tokens(CharTokenizer.train(["aab"], min_count=2))[256:] == ["a", "<s>", "</s>", "<pad>"]
    assert tokens(CharTokenizer.train(["aab"], vocab_size=260))[256:] == ["a", "<s>", "</s>", "<pad>"]
    assert len(CharTokenizer.train(["aab"], vocab_size=1000)) == 261


def test_a_special_token_of_one_character_is_no_character():
    tokenizer = CharTokenizer.train(["^a^"], bos_token="^")
    assert tokens(tokenizer)[256:] == ["a", "^", "</s>", "<pad>"]
    assert tokenizer("^a", split_special_tokens=True).input_ids == [257, ord("^"), 256]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["ab"], {"min_count": 2}, "no characters are left of the texts"),
        (["ab"], {"vocab_size": 259}, "vocab_size 259 leaves no room for characters beside 259 bytes"),
    ],
)
def test_impossible_training_is_refused(texts, options, message):
    with pytest.raises(ValueError, match=message):
        CharTokenizer.train(texts, **options)


@pytest.mark.parametrize("characters", ["aa", ["ab"], ["<0x41>"], [""], ["a", "<s>"]])
def test_lists_of_characters_are_checked(characters):
    with pytest.raises(ValueError, match="is not one character, stands here twice, or is a special token"):
        CharTokenizer.from_characters(characters)


# Encoding and decoding


@given(ANY_TEXT)
def test_every_text_comes_back_exactly(text):
    for tokenizer in (TOKENIZER, BYTES_ONLY, CharTokenizer.from_characters(sorted(set(text)))):
        ids = tokenizer(text, split_special_tokens=True).input_ids
        assert ids[0] == tokenizer.bos_token_id
        assert max(ids[1:], default=0) < tokenizer.bos_token_id
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


@given(ANY_TEXT)
def test_a_character_is_one_token_or_its_bytes_in_its_place(text):
    encoding = TOKENIZER(text, split_special_tokens=True, add_special_tokens=False, return_offsets_mapping=True)
    known = TOKENIZER.get_vocab()
    expected = [
        (id_, (place, place + 1))
        for place, character in enumerate(text)
        for id_ in ([known[character]] if character in known else character.encode())
    ]
    assert list(zip(encoding.input_ids, map(tuple, encoding.offset_mapping), strict=True)) == expected


# Saving and loading
