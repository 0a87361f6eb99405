# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""WordTokenizer: its vocabulary, the two policies for unknown words, saving and loading."""

import errno
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, TokenizersBackend

from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.unknown_words import UnknownWordError
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["the cat saw the dog", "", "a dog"]
WORDS = ["the", "cat", "né", "<", "\0", "x\x1fy", "👩‍👩‍👧", "\u05d0\u05d1", "w" * 100]


def tokens(tokenizer):
    return tokenizer.convert_ids_to_tokens(range(len(tokenizer)))


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(TEXTS)


@pytest.fixture(scope="module")
def closed():
    return WordTokenizer.train(["a b <unk>"], unk_token=None)


# Vocabulary


def test_words_by_count_then_code_point_then_special_tokens(tokenizer):
    assert tokens(tokenizer) == ["<unk>", "dog", "the", "a", "cat", "saw", "<s>", "</s>", "<pad>"]
    assert (tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (
        0,
        6,
        7,
        8,
    )
    assert len(tokenizer) == 9
    assert tokenizer.vocab_size == 6


def test_minimum_count_and_largest_vocabulary():
    assert tokens(WordTokenizer.train(TEXTS, min_count=2)) == ["<unk>", "dog", "the", "<s>", "</s>", "<pad>"]
    assert tokens(WordTokenizer.train(TEXTS, vocab_size=5)) == ["<unk>", "dog", "<s>", "</s>", "<pad>"]
    assert tokens(WordTokenizer.train(TEXTS, vocab_size=5, unk_token=None)) == ["dog", "the", "<s>", "</s>", "<pad>"]
    assert len(WordTokenizer.train(TEXTS, vocab_size=1000)) == 9


def test_special_spellings_in_the_corpus_are_no_words():
    assert tokens(WordTokenizer.train(["<s> <s> a <unk> </s>"])) == ["<unk>", "a", "<s>", "</s>", "<pad>"]
    assert tokens(WordTokenizer.train(["<s> a <unk>"], unk_token=None)) == ["<unk>", "a", "<s>", "</s>", "<pad>"]
    other = WordTokenizer.train(["<s> [B] a"], bos_token="[B]", unk_token="[U]")
    assert tokens(other) == ["[U]", "<s>", "a", "[B]", "</s>", "<pad>"]
    more = WordTokenizer.train(["None [X] a"], pad_token=None, extra_special_tokens=["[X]"], vocab_size=5)
    assert tokens(more) == ["<unk>", "None", "<s>", "</s>", "[X]"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"texts": ["", " \n"]}, "no words are left of the texts: they are empty"),
        ({"min_count": 3}, "every word is special or occurs less than 3 times"),
        ({"vocab_size": 4}, "vocab_size 4 leaves no room for words beside 4 special tokens"),
        ({"vocab_size": 3, "unk_token": None}, "beside 3 special tokens"),
    ],
)
def test_impossible_sizes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        WordTokenizer.train(**{"texts": TEXTS, **options})


@pytest.mark.parametrize("words", [["a", "a"], ["a", ""], ["<s>"], ["a", "<unk>"]])
def test_lists_of_words_are_checked(words):
    with pytest.raises(ValueError, match="list each ordinary word once"):
        WordTokenizer.from_words(words)


def test_a_large_vocabulary_stays_as_it_is(tmp_path):
    words = [f"w{number}" for number in range(100_001)]  # transformers patches some tokenizers above 100,000
    WordTokenizer.from_words(words).save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)("w100000 w0").input_ids == [100_002, 100_001, 1]


# Encoding and decoding


@given(st.lists(st.sampled_from(WORDS)), st.sampled_from([" ", "\n", " \u3000\t"]))
def test_known_words_come_back_joined_by_one_space(words, space):
    ids = KNOWN(space.join(words), split_special_tokens=True).input_ids
    assert KNOWN.decode(ids, skip_special_tokens=True) == " ".join(words)
    assert KNOWN.unk_token_id not in ids


KNOWN = WordTokenizer.from_words(WORDS)


def test_special_spellings_in_user_text(tokenizer):
    assert tokenizer("the <s> </s>").input_ids == [6, 2, 6, 7]
    assert tokenizer("the <s> </s> <pad>", split_special_tokens=True).input_ids == [6, 2, 0, 0, 0]
    assert tokenizer("a<s>dog", split_special_tokens=True).input_ids == [6, 0]
    assert tokenizer("the <unk>", split_special_tokens=True).input_ids == [6, 2, 0]


def test_which_special_tokens_surround_a_text_is_saved(tmp_path):
    both = WordTokenizer.train(TEXTS, add_eos_token=True)
    assert both("dog").input_ids == [6, 1, 7]
    assert both("the", "dog").input_ids == [6, 2, 7, 6, 1, 7]
    both.save_pretrained(tmp_path / "both")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "both")
    assert (loaded.add_bos_token, loaded.add_eos_token) == (True, True)
    assert loaded("dog").input_ids == [6, 1, 7]
    assert WordTokenizer.from_pretrained(tmp_path / "both", add_bos_token=False)("dog").input_ids == [1, 7]

    loaded.add_bos_token = loaded.add_eos_token = False
    loaded.save_pretrained(tmp_path / "none")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "none")
    assert (loaded.add_bos_token, loaded.add_eos_token) == (False, False)
    assert loaded("dog").input_ids == [1]


# No unknown token

ENTRY_POINTS = {
    "call": lambda tokenizer: tokenizer("a zebra"),
    "batch": lambda tokenizer: tokenizer(["a", "b zebra"]),
    "pair": lambda tokenizer: tokenizer("a", "zebra"),
    "target": lambda tokenizer: tokenizer("a", text_target="zebra"),
    "encode": lambda tokenizer: tokenizer.encode("a zebra"),
    "tokenize": lambda tokenizer: tokenizer.tokenize("a zebra"),
    "split words": lambda tokenizer: tokenizer(["a", "zebra"], is_split_into_words=True),
    "batch of split words": lambda tokenizer: tokenizer([["a"], ["zebra"]], is_split_into_words=True),
    "after a special token": lambda tokenizer: tokenizer("<s> zebra"),
    "corpus": lambda tokenizer: encode_corpus(tokenizer, ["a", "zebra"]),
    "words": lambda tokenizer: tokenizer.encode_words(["a", "zebra"]),
}


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_without_an_unknown_token_encoding_names_the_word(closed, entry):
    with pytest.raises(UnknownWordError, match="the word 'zebra' is not in the vocabulary") as raised:
        ENTRY_POINTS[entry](closed)
    assert raised.value.word == "zebra"


def test_without_an_unknown_token_the_spelling_of_one_is_a_word(closed, tmp_path):
    assert closed.unk_token_id is None
    assert closed("a <unk>").input_ids == [3, 1, 0]
    with pytest.raises(UnknownWordError, match="'<s>'"):
        closed("a <s>", split_special_tokens=True)
    closed.save_pretrained(tmp_path)
    with pytest.raises(UnknownWordError, match="'zebra'"):
        AutoTokenizer.from_pretrained(tmp_path)("zebra")
    # What a user without this package sees: no id in silence either.
    with pytest.raises(Exception, match=r"Missing \[UNK\]"):
        TokenizersBackend.from_pretrained(tmp_path)("zebra")


def test_the_error_crosses_processes():
    error = pickle.loads(pickle.dumps(UnknownWordError("zebra")))
    assert error.word == "zebra"
    assert "'zebra'" in str(error)
    assert len(str(UnknownWordError("z" * 1_000_000))) < 300


# Saving and loading


def test_a_failed_save_leaves_the_folder_as_it_was(tokenizer, tmp_path, monkeypatch):
    tokenizer.save_pretrained(tmp_path / "folder")
    before = {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()}

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(TokenizersBackend, "_save_pretrained", full)
    with pytest.raises(OSError, match="No space left"):
        WordTokenizer.train(["other words"]).save_pretrained(tmp_path / "folder")
    assert {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(NotADirectoryError, match="it is a file"):
        tokenizer.save_pretrained(tmp_path / "folder" / "tokenizer.json")


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("tokenizer.json", lambda text: text[: len(text) // 2], "tokenizer.json is not a whole tokenizer.json"),
        ("tokenizer.json", lambda text: "", "tokenizer.json is not a whole tokenizer.json"),
        ("tokenizer.json", lambda text: "{}", "tokenizer.json is not a whole tokenizer.json"),
        ("tokenizer.json", lambda text: "[1]", "tokenizer.json is not a whole tokenizer.json"),
        ("tokenizer.json", lambda text: text.replace('"dog": 1', '"dog": 2147483648'), "token ids are not 0 to 8"),
        ("tokenizer.json", lambda text: text.replace('"dog": 1', '"dog": 2'), "token ids are not 0 to 8"),
        ("tokenizer_config.json", lambda text: text[:40], "tokenizer_config.json is not whole JSON"),
        ("tokenizer_config.json", lambda text: "[]", r"tokenizer_config.json holds \[\], not an object of fields"),
    ],
)
def test_damaged_files_are_named(tokenizer, tmp_path, name, damage, message):
    tokenizer.save_pretrained(tmp_path)
    file = tmp_path / name
    damaged = damage(file.read_text(encoding="utf-8"))
    assert damaged != file.read_text(encoding="utf-8")
    file.write_text(damaged, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        WordTokenizer.from_pretrained(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    for loader in (AutoTokenizer, WordTokenizer):
        (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "WordTokenizer"}')
        with pytest.raises(FileNotFoundError, match=r"has no tokenizer\.json"):
            loader.from_pretrained(tmp_path)


# Running text


def test_small_letters_and_punctuation(tmp_path):
    texts = ["The cat's mat, the CAT.", "It cost 3.50!"]
    tokenizer = WordTokenizer.train(texts, lower_case=True, split_punctuation=True, progress=False)
    assert tokens(tokenizer)[:5] == ["<unk>", ".", "cat", "the", "!"]
    assert tokenizer.tokenize("THE mat's 3, 4") == ["the", "mat", "'", "s", "3", ",", "<unk>"]
    tokenizer.save_pretrained(tmp_path)
    saved = AutoTokenizer.from_pretrained(tmp_path)
    assert (saved.lower_case, saved.split_punctuation, saved.is_unmodified()) == (True, True, True)
    assert saved("The Cat.").input_ids == tokenizer("the cat .").input_ids
    again = saved.train_new_from_iterator(["One, TWO"], vocab_size=9)
    assert again.tokenize("one,two") == ["one", ",", "two"]


def test_each_option_of_running_text_alone():
    assert WordTokenizer.train(["The cat."], lower_case=True, progress=False).tokenize("THE cat.") == ["the", "cat."]
    split = WordTokenizer.train(["The cat."], split_punctuation=True, progress=False)
    assert split.tokenize("The.cat the") == ["The", ".", "cat", "<unk>"]


@pytest.mark.parametrize("lower_case", [False, True])
def test_a_literal_unknown_word_is_not_split_at_its_brackets(lower_case):
    options = {"lower_case": lower_case, "split_punctuation": True}
    tokenizer = WordTokenizer.train(["a <unk> < b ."], progress=False, **options)
    assert {">", "unk"}.isdisjoint(tokenizer.get_vocab())
    text = "a <unk> b."
    ids = tokenizer(text, add_special_tokens=False).input_ids
    assert tokenizer.encode_words(text.split())[0].tolist() == ids


@pytest.mark.parametrize("policy", ["classes", "spelled"])
def test_running_text_has_one_unknown_word(policy):
    with pytest.raises(ValueError, match="set lower_case and split_punctuation to false"):
        WordTokenizer.train(["a"], unknown_words=policy, lower_case=True, progress=False)


def test_an_unknown_piece_is_named_without_an_unknown_token():
    tokenizer = WordTokenizer.train(["a."], unk_token=None, split_punctuation=True, progress=False)
    with pytest.raises(UnknownWordError, match="b"):
        tokenizer("b.")
    with pytest.raises(UnknownWordError, match="b"):
        encode_corpus(tokenizer, ["b."], progress=False)


def test_a_tokenizer_of_some_of_the_words_keeps_options_and_order():
    texts = ["A cat, a dog.", "a cow"]
    tokenizer = WordTokenizer.train(
        texts, lower_case=True, split_punctuation=True, unk_token="[?]", padding_side="left", progress=False
    )
    kept = [tokenizer.convert_tokens_to_ids(word) for word in ("[?]", "a", "dog", "<s>", "</s>", "<pad>")]
    smaller = tokenizer.restrict(kept)
    assert smaller.convert_ids_to_tokens(range(len(smaller))) == ["[?]", "a", "dog", "<s>", "</s>", "<pad>"]
    assert smaller.tokenize("A DOG, a cow") == ["a", "dog", "[?]", "a", "[?]"]
    assert (smaller.padding_side, smaller.unk_token) == ("left", "[?]")
    assert len(tokenizer) == len(kept) + 4  # it stays as it is: cat, cow and two marks
    with pytest.raises(ValueError, match="further special tokens"):
        tokenizer.restrict(kept[:-1])
    with pytest.raises(ValueError, match="no <unk> alone"):
        WordTokenizer.train(texts, unknown_words="spelled", progress=False).restrict(range(5))
