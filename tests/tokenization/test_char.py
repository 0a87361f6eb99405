# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""CharTokenizer: every text comes back exactly, whatever characters it was trained on."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, TokenizersBackend

from hf_lecture_models.tokenization import splitting
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts

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


def test_counts_add_up_over_chunks(monkeypatch):
    monkeypatch.setattr(splitting.chunk_texts, "__defaults__", (False, None, 1))
    assert CharTokenizer.train(text for text in TEXTS).get_vocab() == TOKENIZER.get_vocab()


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
        (["", ""], {}, "no characters are left of the texts"),
        (["ab"], {"min_count": 2}, "no characters are left of the texts"),
        (["ab"], {"min_count": 0}, "min_count must be at least 1"),
        (["ab"], {"vocab_size": 259}, "vocab_size 259 leaves no room for characters beside 259 bytes"),
        (["a", "b\ud800"], {}, r"lone surrogate U\+D800"),
    ],
)
def test_impossible_training_is_refused(texts, options, message):
    with pytest.raises(ValueError, match=message):
        CharTokenizer.train(texts, **options)


def test_bad_types_are_refused():
    with pytest.raises(TypeError, match="not a single str"):
        CharTokenizer.train("the cat")
    with pytest.raises(TypeError, match="text 1"):
        CharTokenizer.train(["a", None])
    with pytest.raises(TypeError, match="has no vocabulary: use CharTokenizer.train"):
        CharTokenizer()


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


def test_special_spellings_batches_pairs_and_split_words():
    begin, pad = TOKENIZER.bos_token_id, TOKENIZER.pad_token_id
    a, b, less = TOKENIZER.encode("a", add_special_tokens=False)[0], ord("b"), TOKENIZER.get_vocab()["<"]
    assert TOKENIZER("a<s>").input_ids == [begin, a, begin]
    assert TOKENIZER("a<s>", split_special_tokens=True).input_ids[:3] == [begin, a, less]
    batch = TOKENIZER(["ab", ""], padding=True)
    assert batch.input_ids == [[begin, a, b], [pad, pad, begin]]
    assert batch.attention_mask == [[1, 1, 1], [0, 0, 1]]
    assert "token_type_ids" not in batch
    assert TOKENIZER("a", "b").input_ids == [begin, a, begin, b]
    assert TOKENIZER(["語a", "b"], is_split_into_words=True).word_ids() == [None, 0, 0, 0, 0, 1]


def test_bytes_that_are_no_text():
    assert TOKENIZER.decode([0xFF]) == "\ufffd"
    assert TOKENIZER.decode([0xC3, *TOKENIZER.encode("a", add_special_tokens=False)]) == "\ufffda"
    with pytest.raises(ValueError, match=r"lone surrogate U\+DC80"):
        TOKENIZER("a\udc80")


def test_a_long_text():
    text = "é語" * 100_000
    ids = TOKENIZER(text).input_ids
    assert len(ids) == 400_001
    assert TOKENIZER.decode(ids, skip_special_tokens=True) == text


@given(st.lists(ANY_TEXT, max_size=5))
def test_encode_corpus_gives_the_ids_of_the_tokenizer(texts):
    assert TOKENIZER.is_unmodified()
    corpus = encode_corpus(TOKENIZER, iter(texts))
    options = {"add_special_tokens": False, "split_special_tokens": True}
    assert [ids.tolist() for ids in corpus] == [TOKENIZER(text, **options).input_ids for text in texts]


# Saving and loading


def test_loading_gives_the_same_tokenizer(tmp_path):
    CharTokenizer.train(TEXTS, add_eos_token=True, bos_token="<begin>", model_max_length=9).save_pretrained(tmp_path)
    for loader in (AutoTokenizer, CharTokenizer):
        loaded = loader.from_pretrained(tmp_path)
        assert type(loaded) is CharTokenizer
        assert (loaded.bos_token, loaded.model_max_length, loaded.padding_side) == ("<begin>", 9, "left")
        assert loaded("é").input_ids == [loaded.bos_token_id, loaded.get_vocab()["é"], loaded.eos_token_id]
        assert loaded.is_unmodified()
    text = " né\n語  <0x41>\0"
    assert TokenizersBackend.from_pretrained(tmp_path)(text).input_ids == loaded(text).input_ids
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer\.json"):
        CharTokenizer.from_pretrained(tmp_path)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda tokenizer: pickle.loads(pickle.dumps(tokenizer))])
def test_copies_are_equal(duplicate):
    assert duplicate(TOKENIZER)("the 語").input_ids == TOKENIZER("the 語").input_ids


def test_damaged_and_foreign_files_are_named(tmp_path):
    for number, other in enumerate([ByteTokenizer(), BpeTokenizer.train(TEXTS)]):
        other.save_pretrained(tmp_path / str(number))
        with pytest.raises(ValueError, match="holds a BPE tokenizer, not a CharTokenizer"):
            CharTokenizer.from_pretrained(tmp_path / str(number))
    TOKENIZER.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds a BPE tokenizer, not a BpeTokenizer"):
        BpeTokenizer.from_pretrained(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8")[:1000], encoding="utf-8")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not a whole tokenizer\.json"):
        CharTokenizer.from_pretrained(tmp_path)


def test_wikitext_2(shared_data):
    texts = list(read_texts(shared_data / "wikitext-2" / "train.txt"))
    tokenizer = CharTokenizer.train(texts, vocab_size=500)
    valid = list(read_texts(shared_data / "wikitext-2" / "valid.txt"))
    corpus = encode_corpus(tokenizer, valid)
    assert tokenizer.decode(corpus.ids[: corpus.lengths[:20].sum()]) == "".join(valid[:20])
