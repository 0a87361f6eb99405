# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Unknown words by class and in letters: the rules, the patterns, and all that holds of a tokenizer."""

import re
import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, normalizers
from tokenizers.models import BPE
from tokenizers.normalizers import Lowercase, Normalizer, Replace
from tokenizers.pre_tokenizers import PreTokenizer
from transformers import AutoTokenizer, TokenizersBackend

from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import split_words
from hf_lecture_models.tokenization.unknown_words import (
    _CLASSES,
    BYTE_TOKENS,
    CLASS_TOKENS,
    class_normalizer,
    is_class_normalizer,
    trie_pattern,
    unknown_class,
)
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.tokenization.test_every_tokenizer import SPACES, WORDS

CORPUS = ["the cat saw the dog", "a dog né Paris 12 NASA well-known ... <unk> ^.*$ A Par"]
POLICIES = ["classes", "spelled"]
TOKENIZERS = {policy: WordTokenizer.train(CORPUS, unknown_words=policy) for policy in POLICIES}
TEXTS = st.lists(
    st.builds("".join, st.lists(st.sampled_from(WORDS) | st.sampled_from(SPACES) | st.text(max_size=4), max_size=12)),
    max_size=4,
)


def tokens(tokenizer):
    return tokenizer.convert_ids_to_tokens(range(len(tokenizer)))


# The classes


def class_by_hand(word):
    kinds = [unicodedata.category(char) for char in word]
    first = next((kind for kind in kinds if kind[0] in "LN"), None)
    letters = "".join(char for char, kind in zip(word, kinds, strict=True) if kind[0] == "L")
    if first is None:
        return "punctuation"
    if "Nd" in kinds:
        after = word[max(place for place, kind in enumerate(kinds) if kind == "Nd") + 1 :]
        ending = "".join(char for char in after if char.isalpha())
        if letters == ending and ending in ("", "st", "nd", "rd", "th", "s") and ending in after:
            return "number"
    if kinds.count("Lu") > 1 and "Ll" not in kinds:
        return "all-capitals"
    if first in ("Lu", "Lt"):
        return "capitalised"
    parts = word.split("-")
    alphanumeric = [any(char.isalnum() for char in part) for part in parts]
    return "hyphenated" if sum(alphanumeric) > 1 else None


@settings(max_examples=500)
@given(
    st.text(st.sampled_from("aZ9-.s" + "thnd") | st.sampled_from(string.printable[:94] + "éÉßж漢")).filter(split_words)
)
def test_a_class_is_what_its_rule_says(word):
    assert unknown_class(word) == class_by_hand(word)


def test_the_rules_of_a_saved_folder_are_known_by_their_form():
    assert is_class_normalizer(class_normalizer(["a"]))
    assert is_class_normalizer(normalizers.Sequence([Replace(Regex("x"), token) for token in CLASS_TOKENS])), (
        "saved until 0.1.0"
    )
    assert not is_class_normalizer(normalizers.Sequence([Replace(Regex("x"), "y")]))


def test_class_tokens_are_no_unknown_words_themselves():
    assert [unknown_class(token) for token in CLASS_TOKENS] == [None] * 5
    assert class_normalizer([]).normalize_str(" ".join(CLASS_TOKENS)) == " ".join(CLASS_TOKENS)
    known = ["<unk:number", "<unk:numberfoo"]
    assert class_normalizer(known).normalize_str(" ".join(known)) == " ".join(known)


# The patterns


@given(
    st.sets(
        st.text(st.sampled_from("abA1.*(|[\\^$ \n") | st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1
    )
)
def test_a_trie_matches_its_words_and_nothing_else(words):
    whole = Replace(Regex(rf"\A(?:{trie_pattern(words)})\z"), "found")
    shallow = Replace(Regex(rf"\A(?:{trie_pattern(words, depth=0)})\z"), "found")
    others = {word[:-1] for word in words} | {word + "a" for word in words} | {word[1:] for word in words}
    for word in words | others:
        expected = "found" if word in words else word
        assert (whole.normalize_str(word), shallow.normalize_str(word)) == (expected, expected)


@given(st.sets(st.sampled_from(WORDS) | st.text(min_size=1, max_size=5)), TEXTS)
def test_only_unknown_words_are_rewritten(vocabulary, texts):
    normalizer = class_normalizer(vocabulary)
    for text in texts:
        expected = []
        for word in split_words(text):
            name = None if word in vocabulary else unknown_class(word)
            expected.append(f"<unk:{name}>" if name else word)
        assert split_words(normalizer.normalize_str(text)) == expected


@pytest.mark.nightly
@pytest.mark.slow
def test_large_vocabularies_and_long_words():
    # Each word begins the next one: a pattern nested that deep would be refused.
    nested = ["A" * length for length in range(1, 6000, 3)]
    normalizer = class_normalizer([*nested, *(f"{number}W" for number in range(50_000)), "W" * 100_000])
    known = " ".join(["49999W", "A" * 5998, "W" * 100_000])
    assert normalizer.normalize_str(known) == known
    assert normalizer.normalize_str("A" * 6001) == "<unk:all-capitals>"
    long = ["1" * 10**6, "1" * 10**6 + "a", "-" * 10**6, "a-" * 10**6, "A" * 10**6, "A" * 10**6 + "a"]
    classes = ["number", None, "punctuation", "hyphenated", "all-capitals", "capitalised"]
    assert [unknown_class(word) for word in long] == classes


def test_a_word_is_classified_in_steps_that_grow_with_its_length():
    """A repetition that gives characters back costs the square of the length; all are possessive, `*+` or `++`."""
    for name, pattern in _CLASSES.items():
        simple = re.sub(r"\[[^]]*\]|\\p\{\w+\}", ".", pattern)
        assert not re.search(r"[*+{]", re.sub(r"[*+]\+", "", simple)), name


class ThroughPython:
    """Parts written in Python, which the Rust library takes but cannot save."""

    def normalize(self, normalized):
        pass

    def pre_tokenize(self, pretokenized):
        pass


def test_a_changed_tokenizer_is_asked_itself():
    for policy in POLICIES:
        changed = WordTokenizer.train(CORPUS, unknown_words=policy)
        own = [changed.backend_tokenizer.normalizer] if policy == "classes" else []
        changed.backend_tokenizer.normalizer = normalizers.Sequence([Lowercase(), *own])
        assert not changed.is_unmodified()
        expected = changed("THE cat", add_special_tokens=False).input_ids
        assert encode_corpus(changed, ["THE cat"]).ids.tolist() == expected
        assert len(expected) == 2
        changed.backend_tokenizer.normalizer = normalizers.Sequence([Normalizer.custom(ThroughPython())])
        changed.backend_tokenizer.pre_tokenizer = PreTokenizer.custom(ThroughPython())
        assert not changed.is_unmodified()
    # The pre-tokenizer is the same, but known words are no longer whole.
    changed = WordTokenizer.train(CORPUS, unknown_words="spelled")
    vocabulary = changed.backend_tokenizer.get_vocab(with_added_tokens=False)
    changed.backend_tokenizer.model = BPE(vocabulary, merges=[], byte_fallback=True)
    assert not changed.is_unmodified()


# Encoding


def test_each_unknown_word_has_the_token_of_its_class():
    tokenizer = TOKENIZERS["classes"]
    text = "the 13 IBM Rome anti-Hutu -- zebra 12 NASA Paris well-known ..."
    unknown = [
        "<unk:number>",
        "<unk:all-capitals>",
        "<unk:capitalised>",
        "<unk:hyphenated>",
        "<unk:punctuation>",
        "<unk>",
    ]
    known = ["12", "NASA", "Paris", "well-known", "..."]
    assert tokenizer.tokenize(text) == ["the", *unknown, *known]
    assert tokenizer.unknown_words == "classes"
    assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == " ".join(
        ["the", *unknown[:-1], *known]
    )


@pytest.mark.parametrize("new", ["Oslo", AddedToken("Oslo", single_word=True)])
def test_an_added_word_is_itself_and_takes_no_others_in(new, tmp_path):
    tokenizer = WordTokenizer.train(CORPUS, unknown_words="classes")
    tokenizer.add_tokens([new])
    tokenizer.save_pretrained(tmp_path)
    for same in (tokenizer, AutoTokenizer.from_pretrained(tmp_path), TokenizersBackend.from_pretrained(tmp_path)):
        assert same.tokenize("the Oslo Rome") == ["the", "Oslo", "<unk:capitalised>"]
        assert same.convert_tokens_to_ids("Oslo") == len(same) - 1


@settings(max_examples=300)
@given(text=st.sampled_from(WORDS) | TEXTS.map(" ".join))
def test_spelled_text_comes_back_up_to_white_space(text):
    tokenizer = TOKENIZERS["spelled"]
    assert tokenizer.unk_token is None
    encoding = tokenizer(text, split_special_tokens=True)
    assert tokenizer.decode(encoding.input_ids, skip_special_tokens=True) == " ".join(split_words(text))


def test_known_words_are_whole_and_others_are_letters_and_bytes():
    tokenizer = WordTokenizer.train(["the cat", "the né"], min_count=2, unknown_words="spelled")
    # Letters that occur once are spelled in bytes as well.
    assert tokens(tokenizer) == [" the", " ", "t", "e", "h", *BYTE_TOKENS, "<s>", "</s>", "<pad>"]
    assert tokenizer.tokenize("the tea") == [" the", " ", "t", "e", "<0x61>"]
    assert tokenizer.tokenize("é") == [" ", "<0xC3>", "<0xA9>"]
    assert tokenizer("the").input_ids == [tokenizer.bos_token_id, 0]
    assert tokenizer.decode([0, 1, 2, 3], skip_special_tokens=True) == "the te"
    # A generated half of a character.
    assert tokenizer.decode(tokenizer.convert_tokens_to_ids([" ", "t", "<0xC3>"])) == "t\ufffd"


def test_offsets_are_places_in_the_text():
    text = " né\u3000zé日 the\n13 IBMs dog"
    for policy, expected in (
        ("spelled", ["né", "z", "z", "é", "日", "日", "日", "the", *"113", *"IIBMs", "dog"]),
        ("classes", ["né", "zé日", "the", "13", "IBMs", "dog"]),
    ):
        encoding = TOKENIZERS[policy](text, return_offsets_mapping=True, add_special_tokens=False)
        assert [text[start:end] for start, end in encoding.offset_mapping] == expected


# Vocabulary


def test_classes_have_the_ids_behind_the_unknown_word():
    tokenizer = WordTokenizer.train(["the <unk:number> 13 the 1"], unknown_words="classes", min_count=2)
    assert tokens(tokenizer) == ["<unk>", *CLASS_TOKENS, "the", "<s>", "</s>", "<pad>"]
    assert tokenizer("<unk:number> 13").input_ids == [7, 1, 1]
    assert tokens(WordTokenizer.train(CORPUS, unknown_words="classes", vocab_size=10))[6] == "dog"
    other = WordTokenizer.train(["the OFF"], unk_token="[UNK]", unknown_words="classes")
    assert other.tokenize("[UNK] OFF ON on", split_special_tokens=True) == [
        "[UNK]",
        "OFF",
        "<unk:all-capitals>",
        "[UNK]",
    ]


def test_the_largest_vocabulary_counts_letters_and_bytes():
    tokenizer = WordTokenizer.train(["aa aa b"], vocab_size=263, unknown_words="spelled")
    assert tokens(tokenizer)[:4] == [" aa", " ", "a", "b"]
    assert len(tokenizer) == 263
    with pytest.raises(
        ValueError, match="leaves no room for words beside 3 special tokens, 2 letters, 256 bytes and a m"
    ):
        WordTokenizer.train(["aa aa b"], vocab_size=262, unknown_words="spelled")
    with pytest.raises(ValueError, match="beside 9 special tokens"):
        WordTokenizer.train(["aa aa b"], vocab_size=9, unknown_words="classes")


def test_given_words_and_letters():
    tokenizer = WordTokenizer.from_words(["b a", "né", "<unk>"], unknown_words="spelled")
    assert tokens(tokenizer)[: 3 + 1 + 8] == [" b a", " né", " <unk>", " ", *"<>abknué"]
    assert tokenizer.tokenize("b a <unk>") == [" ", "b", " ", "a", " <unk>"]
    tokenizer = WordTokenizer.from_words(["né"], unknown_words="spelled", letters="xx")
    assert tokenizer.tokenize("né x n") == [" né", " ", "x", " ", "<0x6E>"]
    classes = WordTokenizer.from_words(["Rome 1", "Rome"], unknown_words="classes")
    assert classes.tokenize("Rome 1") == ["Rome", "<unk:number>"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unknown_words": "letters"}, "unknown_words is 'letters'; it must be one of 'token', 'classes', 'spelled'"),
        ({"unknown_words": "classes", "unk_token": None}, "needs an unk_token"),
        ({"unknown_words": "spelled", "unk_token": "[U]"}, r"has no unknown word; leave out unk_token='\[U\]'"),
        ({"unknown_words": "spelled", "letters": ["ab"]}, "the letter 'ab' is not one character"),
        ({"unknown_words": "spelled", "letters": "\u3000"}, "is white space"),
        ({"letters": "ab"}, "letters are for unknown_words='spelled', not 'token'"),
        ({"unknown_words": "classes", "words": ["<unk:number>"]}, "twice in the vocabulary"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        WordTokenizer.from_words(**{"words": ["a"], **options})


def test_the_policy_is_known():
    assert WordTokenizer.train(CORPUS).unknown_words == "token"
    assert WordTokenizer.train(CORPUS, unk_token=None).unknown_words == "refused"
    assert TOKENIZERS["spelled"].unknown_words == "spelled"
    assert WordTokenizer.train(CORPUS, unk_token=None, unknown_words="spelled").unknown_words == "spelled"


def test_spelled_tokens_joined_one_by_one_are_the_text() -> None:
    """So outlines takes them, to which a space that the decoder strips would be lost between words."""
    tokenizer = TOKENIZERS["spelled"]
    tokens = tokenizer.tokenize("the zebra saw")
    assert tokens[0] == " the"
    assert "".join(tokenizer.convert_tokens_to_string([token]) for token in tokens) == " the zebra saw"
    assert TOKENIZERS["classes"].convert_tokens_to_string(["the"]) == "the"
