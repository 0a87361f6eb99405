# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ByteTokenizer: ids are bytes, texts come back exactly, offsets count characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoTokenizer

from hf_lecture_models.tokenization.byte import ByteTokenizer, byte_names

TOKENIZER = ByteTokenizer()
TEXTS = st.text() | st.text(st.sampled_from("a\0\n \x1f\x85é\u200d👩語\u05d0<s>/"))


@given(TEXTS)
def test_every_text_comes_back_exactly(text):
    ids = TOKENIZER(text, split_special_tokens=True).input_ids
    assert ids == [256, *text.encode()]
    assert TOKENIZER.decode(ids, skip_special_tokens=True) == text


@given(TEXTS)
def test_offsets_count_characters(text):
    encoding = TOKENIZER(text, split_special_tokens=True, add_special_tokens=False, return_offsets_mapping=True)
    expected = [(place, place + 1) for place, character in enumerate(text) for _ in character.encode()]
    assert encoding.offset_mapping == expected


def test_bytes_that_are_no_text():
    assert TOKENIZER.decode([0xFF, 97, 0xC3]) == "\ufffda\ufffd"


def test_the_vocabulary():
    assert len(TOKENIZER) == 259
    assert (TOKENIZER.bos_token_id, TOKENIZER.eos_token_id, TOKENIZER.pad_token_id) == (256, 257, 258)
    assert TOKENIZER.unk_token_id is None
    assert sorted(byte_names()) == sorted(ByteLevel.alphabet())
    assert len(set(byte_names())) == 256


def test_train_has_nothing_to_learn():
    assert ByteTokenizer.train(["text"], vocab_size=259).get_vocab() == TOKENIZER.get_vocab()
    assert ByteTokenizer.train(add_eos_token=True)("a").input_ids == [256, 97, 257]
    with pytest.raises(ValueError, match="at least 259"):
        ByteTokenizer.train(vocab_size=100)


def test_loading_gives_the_same_tokenizer(tmp_path):
    ByteTokenizer(add_eos_token=True, bos_token="<begin>").save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert type(loaded) is ByteTokenizer
    assert loaded("é").input_ids == [256, 195, 169, 257]
    assert loaded.bos_token == "<begin>"
