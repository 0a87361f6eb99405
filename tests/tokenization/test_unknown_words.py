# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Unknown words by class and in letters: the rules, the patterns, and all that holds of a tokenizer."""

import copy
import pickle
import string
import time
import unicodedata

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, normalizers
from tokenizers.normalizers import Lowercase, Normalizer, Replace
from tokenizers.pre_tokenizers import PreTokenizer
from transformers import AutoTokenizer, TokenizersBackend

from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization import splitting
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts
from hf_lecture_models.tokenization.splitting import split_words
from hf_lecture_models.tokenization.unknown_words import (
    BYTE_TOKENS,
    CLASS_TOKENS,
    class_normalizer,
    is_class_normalizer,
    trie_pattern,
    unknown_class,
)
from hf_lecture_models.tokenization.word import WordTokenizer

CORPUS = ["the cat saw the dog", "a dog né Paris 12 NASA well-known ... <unk> ^.*$ A Par"]
POLICIES = ["classes", "spelled"]
TOKENIZERS = {policy: WordTokenizer.train(CORPUS, unknown_words=policy) for policy in POLICIES}
# Known words, their beginnings and continuations, other words of each class, special spellings, marks and bytes.
WORDS = [
    *(
        "the",
        "th",
        "thee",
        "Paris",
        "Pari",
        "Parisian",
        "PARIS",
        "12",
        "1",
        "123",
        "NASA",
        "NAS",
        "well-known",
        "A",
        "né",
    ),
    *("well-", "...", "..", "<unk>", "<unk:number>", "<unk:all-capitals>", "<s>", "</s>", "<pad>", "<0x41>", "Ġ", "▁"),
    *(
        "^.*$",
        "(?:",
        "[",
        "\\",
        "|x",
        "{1}",
        "-",
        "U.S.-based",
        "1,000-page",
        "ǅ",
        "Ⅳ",
        "É-2",
        "\x1c",
        "\0",
        "👩‍👩‍👧",
        "e\u0301",
    ),
]
SPACES = [" ", "\n", "\t", "\u3000", "\xa0", " \u2028 ", "\x85"]
TEXTS = st.lists(
    st.builds("".join, st.lists(st.sampled_from(WORDS) | st.sampled_from(SPACES) | st.text(max_size=4), max_size=12)),
    max_size=4,
)


def tokens(tokenizer):
    return tokenizer.convert_ids_to_tokens(range(len(tokenizer)))


def generic(tokenizer):
    return TokenizersBackend(
        tokenizer_object=copy.deepcopy(tokenizer.backend_tokenizer),
        **{name: getattr(tokenizer, name) for name in ("bos_token", "eos_token", "pad_token", "unk_token")},
    )


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


@pytest.mark.slow
def test_large_vocabularies_and_long_words():
    # Each word begins the next one: a pattern nested that deep would be refused.
    nested = ["A" * length for length in range(1, 6000, 3)]
    normalizer = class_normalizer([*nested, *(f"{number}W" for number in range(50_000)), "W" * 100_000])
    known = " ".join(["49999W", "A" * 5998, "W" * 100_000])
    assert normalizer.normalize_str(known) == known
    assert normalizer.normalize_str("A" * 6001) == "<unk:all-capitals>"
    start = time.process_time()
    long = ["1" * 10**6, "1" * 10**6 + "a", "-" * 10**6, "a-" * 10**6, "A" * 10**6, "A" * 10**6 + "a"]
    classes = ["number", None, "punctuation", "hyphenated", "all-capitals", "capitalised"]
    assert [unknown_class(word) for word in long] == classes
    assert time.process_time() - start < 20  # about 1 s; a pattern that goes back over the word would need hours


# Encoding


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("pyarrow", [True, False])
@given(texts=TEXTS)
def test_the_path_for_corpora_gives_the_tokenizers_ids(policy, pyarrow, texts):
    tokenizer = TOKENIZERS[policy]
    assert tokenizer.is_unmodified()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "ARROW_CHARACTERS", 0)
        if not pyarrow:
            patch.setattr(splitting, "arrow", lambda: None)
        corpus = encode_corpus(tokenizer, texts)
    rust = [tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids for text in texts]
    assert [ids.tolist() for ids in corpus] == rust
    words = [word for text in texts for word in split_words(text)]
    ids, sizes = tokenizer.encode_words(words)
    assert ids.tolist() == [id_ for row in rust for id_ in row]
    assert (len(sizes), sizes.sum()) == (len(words), len(ids))


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


@pytest.mark.parametrize("make", [lambda tokenizer: tokenizer, generic], ids=["ours", "generic"])
def test_offsets_are_places_in_the_text(make):
    text = " né\u3000zé日 the\n13 IBMs dog"
    spelled = make(TOKENIZERS["spelled"])(text, return_offsets_mapping=True, add_special_tokens=False)
    places = [text[start:end] for start, end in spelled.offset_mapping]
    assert places == ["né", "z", "z", "é", "日", "日", "日", "the", *"113", *"IIBMs", "dog"]
    classes = make(TOKENIZERS["classes"])(text, return_offsets_mapping=True, add_special_tokens=False)
    places = [text[start:end] for start, end in classes.offset_mapping]
    assert places == ["né", "zé日", "the", "13", "IBMs", "dog"]
    assert make(TOKENIZERS["spelled"])(
        ["the", "oz"], is_split_into_words=True, add_special_tokens=False
    ).word_ids() == [
        0,
        *[1] * 3,
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_batches_pairs_split_words_and_special_spellings(policy):
    tokenizer = TOKENIZERS[policy]
    begin, end, pad = tokenizer.convert_tokens_to_ids(["<s>", "</s>", "<pad>"])
    assert [begin, end, pad] == list(range(len(tokenizer) - 3, len(tokenizer)))
    ids = {text: tokenizer(text, add_special_tokens=False).input_ids for text in ("the", "Rome", "a 13", "the Rome")}
    assert tokenizer("the Rome").input_ids == [begin, *ids["the"], *ids["Rome"]]
    assert tokenizer("the", "a 13").input_ids == [begin, *ids["the"], begin, *ids["a 13"]]
    assert tokenizer(["the", "Rome"], is_split_into_words=True).input_ids == [begin, *ids["the Rome"]]
    batch = tokenizer(["the Rome", "the"], padding=True)
    assert batch.input_ids[1] == [pad] * len(ids["Rome"]) + [begin, *ids["the"]]
    assert tokenizer("the<s>Rome").input_ids == [begin, *ids["the"], begin, *ids["Rome"]]
    assert begin not in tokenizer("the<s>Rome <s>", split_special_tokens=True).input_ids[1:]
    with pytest.raises(ValueError, match=r"lone surrogate U\+D800"):
        tokenizer("the \ud800")
    with pytest.raises(ValueError, match=r"lone surrogate U\+D800"):
        encode_corpus(tokenizer, ["the \ud800"])
    assert tokenizer("").input_ids == [begin]
    assert len(tokenizer("x" * 10**6).input_ids) > 1


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
        ({"unknown_words": "spelled", "words": ["a", "a"]}, "twice in the vocabulary"),
        ({"unknown_words": "spelled", "words": ["<s>"]}, "special token"),
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


@pytest.mark.filterwarnings("ignore:.*discounts")
def test_rare_words_of_the_training_texts_count_for_their_class():
    texts = ["the cat saw 12 dogs", "the cat saw 7 dogs", "the cat saw 1990 dogs", "the cat saw Rome"]
    tokenizer = WordTokenizer.train(texts, min_count=2, unknown_words="classes")
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, progress=False)
    input_ids = torch.tensor([tokenizer("the cat saw").input_ids])
    after = model(input_ids=input_ids).logits[0, -1].exp()
    number, capitalised, punctuation, other = after[
        tokenizer.convert_tokens_to_ids([*CLASS_TOKENS[::2], "<unk>"])
    ].tolist()
    assert number > 0.5
    assert number > capitalised > max(punctuation, other)


# Saving and loading


@pytest.mark.parametrize("policy", POLICIES)
def test_loading_gives_the_same_tokenizer(policy, tmp_path):
    tokenizer = TOKENIZERS[policy]
    tokenizer.save_pretrained(tmp_path)
    text = "the Rome 13 zé日 <s> well-known "
    for loader in (AutoTokenizer, WordTokenizer):
        loaded = loader.from_pretrained(tmp_path)
        assert type(loaded) is WordTokenizer
        assert loaded.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
        assert (loaded.special_tokens_map, loaded.padding_side) == (tokenizer.special_tokens_map, "left")
        assert (loaded.unknown_words, loaded.is_unmodified()) == (policy, True)
    for other in (
        copy.deepcopy(tokenizer),
        pickle.loads(pickle.dumps(tokenizer)),
        TokenizersBackend.from_pretrained(tmp_path),
    ):
        assert other(text).input_ids == tokenizer(text).input_ids
        assert other.decode(other(text).input_ids) == tokenizer.decode(tokenizer(text).input_ids)
    both = WordTokenizer.from_pretrained(tmp_path, add_eos_token=True)
    assert both(text).input_ids == [*tokenizer(text).input_ids, tokenizer.eos_token_id]


def test_a_tokenizer_of_bytes_is_none_of_words(tmp_path):
    ByteTokenizer().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds a BPE tokenizer, not a WordTokenizer"):
        WordTokenizer.from_pretrained(tmp_path)


# Real text


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.slow
def test_wikitext_has_the_tokenizers_ids(shared_data, policy):
    folder = shared_data / "wikitext-2"
    tokenizer = WordTokenizer.train(read_texts(folder / "train.txt"), vocab_size=10_000, unknown_words=policy)
    texts = list(read_texts(folder / "valid.txt"))
    corpus = encode_corpus(tokenizer, texts)
    rust = generic(tokenizer)(texts, add_special_tokens=False, split_special_tokens=True).input_ids
    assert [ids.tolist() for ids in corpus] == rust
    if policy == "spelled":
        assert [tokenizer.decode(ids) for ids in rust] == [" ".join(text.split()) for text in texts]


def test_spelled_tokens_joined_one_by_one_are_the_text() -> None:
    """So outlines takes them, to which a space that the decoder strips would be lost between words."""
    tokenizer = TOKENIZERS["spelled"]
    tokens = tokenizer.tokenize("the zebra saw")
    assert tokens[0] == " the"
    assert "".join(tokenizer.convert_tokens_to_string([token]) for token in tokens) == " the zebra saw"
    assert TOKENIZERS["classes"].convert_tokens_to_string(["the"]) == "the"
