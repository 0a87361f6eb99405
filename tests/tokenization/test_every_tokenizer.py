# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What users of transformers do with any tokenizer, with each of ours."""

from __future__ import annotations

import copy
import functools
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, normalizers
from transformers import (
    AutoTokenizer,
    TokenizersBackend,
)

from hf_lecture_models.tokenization import (
    BpeTokenizer,
    ByteTokenizer,
    CharTokenizer,
    ElmoTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
    encode_corpus,
    splitting,
)
from tests.interop.installed import need

TEXTS = ["the cat sat on the mat .", "a dog né saw 12 mats .", "one bird sang in a tree ."]
CLASSES = {
    "word": (WordTokenizer, {}),
    "refused": (WordTokenizer, {"unk_token": None}),
    "classes": (WordTokenizer, {"unknown_words": "classes"}),
    "spelled": (WordTokenizer, {"unknown_words": "spelled"}),
    "prose": (WordTokenizer, {"lower_case": True, "split_punctuation": True}),
    "char": (CharTokenizer, {}),
    "byte": (ByteTokenizer, {}),
    "bpe": (BpeTokenizer, {"merges": 8}),
    "bpe_bytes": (BpeTokenizer, {"merges": 8, "form": "bytes"}),
    "unigram": (UnigramTokenizer, {"vocab_size": 40}),
    "unigram_bytes": (UnigramTokenizer, {"vocab_size": 280, "form": "bytes"}),
    "wordpiece": (WordPieceTokenizer, {"vocab_size": 60}),
}


def make(name: str, texts: Iterable[str] = TEXTS, **options: Any) -> Any:
    cls, own = CLASSES[name]
    return cls.train(texts, **{**own, "progress": False, **options})


MADE = {name: make(name) for name in CLASSES}
# Known words, their beginnings and continuations, other words of each class, special spellings, marks and bytes.
WORDS = ["the", "th", "thee", "Paris", "Pari", "Parisian", "PARIS", "12", "1", "123", "NASA", "NAS", "A", "né", "▁"]
WORDS += ["well-known", "well-", "...", "..", "<unk>", "<unk:number>", "<unk:all-capitals>", "<s>", "</s>", "<pad>"]
WORDS += ["<0x41>", "^.*$", "(?:", "[", "\\", "|x", "{1}", "-", "U.S.-based", "1,000-page", "ǅ", "Ⅳ", "É-2", "\x1c"]
WORDS += ["\0", "Ġ", "👩\u200d👩\u200d👧", "e\u0301"]
SPACES = [" ", "\n", "\t", "\u3000", "\xa0", " \u2028 ", "\x85"]
# WordPiece writes BERT's template, and pads on the right.
TOKENIZERS = {name: functools.partial(make, name) for name in CLASSES if name != "wordpiece"}
every = pytest.mark.parametrize("name", TOKENIZERS)
every_class = pytest.mark.parametrize("name", CLASSES)
OPEN = [name for name in CLASSES if name != "refused"]
GENERIC = TokenizersBackend(tokenizer_object=make("word").backend_tokenizer, unk_token="<unk>", pad_token="<pad>")
ANY_TEXT = (
    st.text()
    | st.text(st.sampled_from("ab t'sé \n\u3000\x1f\x85\0👩\u200d語\u05d0<s>/unk19"))
    | st.lists(st.sampled_from([*WORDS, *SPACES]), max_size=12).map("".join)
    | st.sampled_from(TEXTS)
)


# Training


@every_class
def test_neither_the_order_of_texts_nor_chunks_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = MADE[name].get_vocab()
    assert make(name, reversed(TEXTS)).get_vocab() == expected
    for function in (splitting.chunk_texts, splitting.index_chunks):
        monkeypatch.setattr(function, "__defaults__", (False, None, 1))
    assert make(name, (text for text in TEXTS)).get_vocab() == expected


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "byte"])
def test_texts_that_cannot_be_trained_on(name: str) -> None:
    for empty in ([], [""], iter(())):
        with pytest.raises(ValueError, match="no (words|characters) are left of the texts"):
            make(name, empty)
    if not name.endswith("bytes"):  # which are always kept
        with pytest.raises(ValueError, match="no (words|characters) are left of the texts"):
            make(name, min_count=99)
    with pytest.raises(TypeError, match="not a single str"):
        make(name, "the cat")
    with pytest.raises(TypeError, match="text 1"):
        make(name, ["a", None])
    with pytest.raises(ValueError, match=r"lone surrogate U\+D800"):
        make(name, ["a", "b \ud800"])
    cls = CLASSES[name][0]
    with pytest.raises(TypeError, match=rf"{cls.__name__}\(\) has no vocabulary: use {cls.__name__}.train"):
        cls()


# Encoding


@every
def test_texts_pairs_batches_and_special_spellings(name: str) -> None:
    tokenizer = MADE[name]
    begin, _, pad = special = tokenizer.convert_tokens_to_ids(["<s>", "</s>", "<pad>"])
    assert special == list(range(len(tokenizer) - 3, len(tokenizer)))
    the, a = (tokenizer.encode(word, add_special_tokens=False) for word in ("the", "a"))
    assert tokenizer("").input_ids == [begin]
    assert tokenizer("the").input_ids == [begin, *the]
    assert tokenizer("the", "a").input_ids == [begin, *the, begin, *a]
    assert tokenizer("the<s>a").input_ids == [begin, *the, begin, *a]
    assert name == "refused" or begin not in tokenizer("the<s> <s>", split_special_tokens=True).input_ids[1:]
    batch = tokenizer(["the", ""], padding=True)
    assert batch.input_ids == [[begin, *the], [pad] * len(the) + [begin]]
    assert batch.attention_mask[1] == [0] * len(the) + [1]
    assert "token_type_ids" not in batch
    split = tokenizer(["the", "a"], is_split_into_words=True)
    assert split.input_ids == [begin, *the, *a]
    assert split.word_ids() == [None] + [0] * len(the) + [1] * len(a)


ENCODERS = {name: MADE[name] for name in OPEN} | {"generic": GENERIC}
ENCODERS |= {f"{name} known": make(name, [*TEXTS, " ".join(WORDS[::2])]) for name in ("classes", "spelled")}


@pytest.mark.cases(8, 18)
@pytest.mark.parametrize("pyarrow", [True, False])
@pytest.mark.parametrize("name", ENCODERS)
@given(texts=st.lists(ANY_TEXT, max_size=5))
def test_a_corpus_has_the_ids_of_its_texts(name: str, pyarrow: bool, texts: list[str]) -> None:
    tokenizer = ENCODERS[name]
    if name == "prose":  # in a corpus `<unk>` is the unknown word, which split_special_tokens parts at its brackets
        texts = [text.replace("<unk>", "") for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "ARROW_CHARACTERS", 0)
        if not pyarrow:
            patch.setattr(splitting, "arrow", lambda: None)
        assert name == "generic" or tokenizer.is_unmodified()
        corpus = encode_corpus(tokenizer, iter(texts))
    options = {"add_special_tokens": False, "split_special_tokens": True}
    assert [ids.tolist() for ids in corpus] == [tokenizer(text, **options).input_ids if text else [] for text in texts]
    assert (corpus.ids.dtype, corpus.lengths.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("name", [*CLASSES, "generic"])
def test_texts_that_cannot_be_encoded(name: str) -> None:
    tokenizer = GENERIC if name == "generic" else MADE[name]
    with pytest.raises(TypeError, match="not a single str"):
        encode_corpus(tokenizer, "text")
    with pytest.raises(TypeError, match="text 1"):
        encode_corpus(tokenizer, ["a", None])
    with pytest.raises(ValueError, match=r"lone surrogate U\+D800"):
        encode_corpus(tokenizer, ["a", "the \ud800"])
    if name != "generic":
        with pytest.raises(ValueError, match=r"character 4 of the text 'the \\ud800' is the lone surrogate U\+D800"):
            tokenizer(["the", "the \ud800"])


@pytest.mark.cases(4, 6)
@pytest.mark.parametrize("name", OPEN)
def test_long_words_and_long_texts(name: str) -> None:
    tokenizer, text = MADE[name], "the" * 100_000
    ids = tokenizer(text, verbose=False).input_ids
    if name not in ("word", "classes", "prose", "wordpiece"):
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert len(tokenizer("dog " * 50_000, verbose=False).input_ids) > 50_000


# Saving and loading


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@every_class
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    """Neither what the last call asked for, nor where the tokenizer came from, is part of it."""
    tokenizer = MADE[name]
    tokenizer.save_pretrained(tmp_path / "first")
    chat = set() if name == "wordpiece" else {"chat_template.jinja"}
    assert contents(tmp_path / "first").keys() == {"tokenizer.json", "tokenizer_config.json"} | chat
    for loader in (type(tokenizer), AutoTokenizer):
        loaded = loader.from_pretrained(tmp_path / "first")
        assert type(loaded) is type(tokenizer)
        assert loaded.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
        assert loaded.special_tokens_map == tokenizer.special_tokens_map
        assert (loaded.padding_side, loaded._kind()) == (tokenizer.padding_side, tokenizer._kind())
        assert loaded.is_unmodified()
    loaded(TEXTS, padding="max_length", truncation=True, max_length=3)
    loaded.save_pretrained(tmp_path / "again")
    assert contents(tmp_path / "first") == contents(tmp_path / "again")
    assert loaded(TEXTS, padding=True, truncation=True, max_length=3)["input_ids"][0][3:] == []


@pytest.mark.parametrize("name", [*CLASSES, "elmo"])
def test_decoding_joins_nothing_in_javascript_either(name: str, tmp_path: Path) -> None:
    """Hugging Face's JavaScript joins "fine !" unless the file says no; folders of before do not, and are as they were.

    @huggingface/tokenizers 0.2.0 gives these texts with the field, for every class, and "do n't!" without it.
    """
    text, settings = "the cat do n't !", tmp_path / "tokenizer_config.json"
    tokenizer = ElmoTokenizer() if name == "elmo" else make(name, [*TEXTS, text])
    ids = tokenizer(text).input_ids
    expected = {"prose": "the cat do n ' t !", "wordpiece": "the cat do n ' t!"}.get(name, text)
    tokenizer.save_pretrained(tmp_path)
    first = json.loads(settings.read_text(encoding="utf-8"))
    assert first["clean_up_tokenization_spaces"] is False
    del first["clean_up_tokenization_spaces"]
    settings.write_text(json.dumps(first), encoding="utf-8")
    old = AutoTokenizer.from_pretrained(tmp_path)
    for one in (tokenizer, old):
        assert (one(text).input_ids, one.decode(ids, skip_special_tokens=True)) == (ids, expected)
    old.save_pretrained(tmp_path)
    assert json.loads(settings.read_text(encoding="utf-8"))["clean_up_tokenization_spaces"] is False


@every_class
def test_a_file_of_another_class_is_named(name: str, tmp_path: Path) -> None:
    MADE[name].save_pretrained(tmp_path)
    # Bytes are byte pairs without merges.
    own = {CLASSES[name][0]} | ({BpeTokenizer} if name == "byte" else set())
    for cls in {cls for cls, _ in CLASSES.values()} - own:
        with pytest.raises(ValueError, match=rf"holds a \w+ tokenizer, not a {cls.__name__}; load it with Auto"):
            cls.from_pretrained(tmp_path)


@every
def test_the_sides_are_saved(name: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[name]()
    assert (tokenizer.padding_side, tokenizer.truncation_side) == ("left", "right")
    tokenizer.padding_side, tokenizer.truncation_side = "right", "left"
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert (loaded.padding_side, loaded.truncation_side) == ("right", "left")
    whole = loaded(TEXTS[0])["input_ids"]
    assert loaded(TEXTS[0], truncation=True, max_length=4)["input_ids"] == [whole[0], *whole[-3:]]


@every
def test_options_of_loading(name: str, tmp_path: Path) -> None:
    TOKENIZERS[name]().save_pretrained(tmp_path)
    options = {"use_fast": False, "padding_side": "right", "truncation_side": "left", "model_max_length": 3}
    loaded = AutoTokenizer.from_pretrained(tmp_path, **options)
    whole = loaded(TEXTS[0], verbose=False)["input_ids"]
    assert loaded(TEXTS[0], truncation=True)["input_ids"] == [whole[0], *whole[-2:]]
    assert loaded(["a", TEXTS[0]], padding=True, truncation=True)["attention_mask"][0] in ([1, 1, 0], [1, 1, 1])
    assert loaded.is_fast


NEW_TEXTS = ["foo bar 7 Zug the foo", "Haus bar né"] * 3


@every
def test_a_new_vocabulary_of_the_same_kind(name: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[name](add_eos_token=True, bos_token="<begin>", model_max_length=20)
    size = 400
    new = tokenizer.train_new_from_iterator([NEW_TEXTS[:3], NEW_TEXTS[3:]], vocab_size=size)
    same = type(tokenizer).train(
        NEW_TEXTS, vocab_size=size, **tokenizer._kind(), add_eos_token=True, bos_token="<begin>", model_max_length=20
    )
    assert new.get_vocab() == same.get_vocab()
    assert sorted(new.get_vocab().values()) == list(range(len(new)))
    new.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert (type(loaded), loaded.model_max_length, loaded.chat_template) == (
        type(tokenizer),
        20,
        tokenizer.chat_template,
    )
    for text in NEW_TEXTS[:2] if name == "refused" else ["foo bar", "Berg 12 €", *TEXTS]:
        ids = loaded(text)["input_ids"]
        assert ids == new(text)["input_ids"] == same(text)["input_ids"]
        assert (ids[0], ids[-1]) == (loaded.bos_token_id, loaded.eos_token_id)
        if name in ("spelled", "char", "byte", "bpe_bytes", "unigram_bytes"):
            assert loaded.decode(ids, skip_special_tokens=True) == text
    if name == "classes":
        assert loaded.tokenize("Zug Berg 7 8") == ["Zug", "<unk:capitalised>", "7", "<unk:number>"]


def test_a_new_vocabulary_with_other_special_tokens() -> None:
    new = TOKENIZERS["word"]().train_new_from_iterator(
        iter(NEW_TEXTS),
        30,
        new_special_tokens=["<sep>"],
        special_tokens_map={"<s>": "[B]", "<unk>": "[U]"},
        min_frequency=4,
    )
    assert new.tokenize("[B] the bar <sep> foo") == ["[B]", "[U]", "bar", "<sep>", "foo"]
    assert (new.bos_token, new.unk_token, new("foo")["input_ids"][0]) == ("[B]", "[U]", new.bos_token_id)
    with pytest.raises(TypeError, match="initial_alphabet"):
        TOKENIZERS["word"]().train_new_from_iterator(NEW_TEXTS, 30, initial_alphabet=["a"])


def words_of(encoding: Any) -> dict[int, tuple[int, int]]:
    """The characters from the first token of each word to its last, by the number of the word."""
    spans: dict[int, tuple[int, int]] = {}
    for word, (start, end) in zip(encoding.word_ids(), encoding.offset_mapping, strict=True):
        if word is not None:
            first, last = spans.get(word, (start, end))
            spans[word] = (min(first, start), max(last, end))
    return spans


# Known and unknown words, accents, signs beyond the first plane, a word of one letter, and words cut into pieces.
GIVEN = ["the", "Rome", "cat", "né", "zoo", "a", "dog", "𝔘🙂", "catdog", "12,5", "東"]


@pytest.mark.parametrize("template", [None, "bert", "gpt1"])
@pytest.mark.parametrize("name", OPEN)
def test_tokens_of_given_words_bear_their_numbers(name: str, template: str | None) -> None:
    tokenizer = make(name, template=template)
    encoding = tokenizer(GIVEN, is_split_into_words=True, return_special_tokens_mask=True)
    numbers = encoding.word_ids()
    assert [number is None for number in numbers] == [bool(flag) for flag in encoding.special_tokens_mask]
    found = [number for number in numbers if number is not None]
    assert found == sorted(found)
    assert set(found) == set(range(len(GIVEN)))
    # A word that is cut off leaves the others their numbers.
    cut = tokenizer(GIVEN, is_split_into_words=True, truncation=True, max_length=8, truncation_side="right")
    kept = [number for number in cut.word_ids() if number is not None]
    assert kept == found[: len(kept)]


@pytest.mark.parametrize("name", OPEN)
def test_offsets_cover_given_words(name: str) -> None:
    encoding = MADE[name](GIVEN, is_split_into_words=True, return_offsets_mapping=True)
    assert words_of(encoding) == {number: (0, len(word)) for number, word in enumerate(GIVEN)}
    if name in ("word", "bpe", "wordpiece"):
        encoding = MADE[name](["the", "", " ", "dog 12"], is_split_into_words=True)
        assert set(encoding.word_ids()) == {None, 0, 3}, "words of white space have no token"


@every
def test_copies_and_processes(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    ids = tokenizer(TEXTS)["input_ids"]
    for other in (copy.copy(tokenizer), copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert type(other) is type(tokenizer)
        assert other(TEXTS)["input_ids"] == ids
        assert (other.padding_side, other.chat_template) == (tokenizer.padding_side, tokenizer.chat_template)
        assert (other.add_bos_token, other._kind()) == (True, tokenizer._kind())


@pytest.mark.slow
@every
def test_data_sets_are_encoded_in_several_processes(name: str) -> None:
    need("datasets")
    import datasets
    from datasets.fingerprint import Hasher

    tokenizer = TOKENIZERS[name]()
    before = Hasher.hash(tokenizer)
    rows = datasets.Dataset.from_dict({"text": TEXTS * 4})
    encoded = rows.map(lambda batch: tokenizer(batch["text"]), batched=True, num_proc=2, remove_columns=["text"])
    assert encoded["input_ids"][:] == [tokenizer(text)["input_ids"] for text in TEXTS * 4]
    assert Hasher.hash(tokenizer) == before  # the cache of datasets finds it again


@every
def test_added_words_and_special_tokens(name: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[name]()
    size = len(tokenizer)
    assert tokenizer.add_tokens(["zebra"]) == 1
    assert tokenizer.add_special_tokens({"mask_token": "<mask>", "extra_special_tokens": ["<answer>"]}) == 2
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "the zebra <answer> cat"
    assert loaded(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert {size, size + 2} < set(loaded(text)["input_ids"])
    shown = loaded.decode(loaded(text)["input_ids"], skip_special_tokens=True)
    # An added token is written as it was added: words that carry their blank themselves lose the one around it.
    expected: dict[str, Any] = {"spelled": "thezebra cat", "bpe": "the zebracat"}
    assert " ".join(shown.split()) == expected.get(name, "the zebra cat")


NORMALIZERS = {
    "own": None,
    "lower case": normalizers.Lowercase(),
    "NFKC": normalizers.NFKC(),
    "no accents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
}
# With capitals, accents in both forms, a ligature, and letters that name other bytes in a vocabulary of bytes.
SPELLINGS = ("NEWTOK", "Élan", "e\u0301x", "ﬁne", "[X Y]", "Ġx")


@pytest.mark.parametrize("rules", NORMALIZERS)
@every_class
def test_an_added_token_comes_back_as_it_was_added(name: str, rules: str, tmp_path: Path) -> None:
    """By itself and from a text, in every class that loads it; special or not, whatever the normalizer changes."""
    tokenizer = make(name)
    if NORMALIZERS[rules] is not None and name not in ("classes", "wordpiece"):  # which have their own
        tokenizer.backend_tokenizer.normalizer = NORMALIZERS[rules]
    size = len(tokenizer)
    assert tokenizer.add_tokens([*SPELLINGS[:4]]) == 4
    more = [AddedToken(SPELLINGS[4], normalized=True), SPELLINGS[5]]
    assert tokenizer.add_special_tokens({"extra_special_tokens": more}) == 2
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, AutoTokenizer.from_pretrained(tmp_path), TokenizersBackend.from_pretrained(tmp_path)):
        assert len(one) == size + len(SPELLINGS)
        for id_, spelling in enumerate(SPELLINGS, size):
            found = one(f"the {spelling} cat", add_special_tokens=False)["input_ids"]
            assert found.count(id_) == 1
            assert one.convert_tokens_to_ids(spelling) == id_
            assert one.convert_ids_to_tokens(id_) == one.decode([id_]) == spelling
            assert spelling in one.decode(found)


def test_an_added_token_without_capitals_is_found_in_any_case() -> None:
    """The normalizer does not change it, so it is looked for in normalized texts, as transformers documents it."""
    tokenizer = make("wordpiece")
    tokenizer.add_tokens(["zebra", "Gnu"])
    assert tokenizer.tokenize("Zebra zebra Gnu") == ["zebra", "zebra", "Gnu"]
    assert "Gnu" not in tokenizer.tokenize("gnu")


def test_a_special_token_in_capitals_of_a_new_tokenizer() -> None:
    tokenizer = make("wordpiece", bos_token=AddedToken("<S>", normalized=True))
    assert tokenizer.convert_ids_to_tokens(tokenizer("<S> the", add_special_tokens=False)["input_ids"]) == [
        "<S>",
        "the",
    ]


@pytest.mark.parametrize("name", ["byte", "bpe_bytes", "unigram_bytes"])
def test_the_name_of_a_byte_is_no_added_token(name: str) -> None:
    """`é` names the byte E9 there: texts with it would get that token, and be decoded to U+FFFD."""
    tokenizer = make(name)
    with pytest.raises(ValueError, match="'é' cannot be added"):
        tokenizer.add_tokens(["é"])
    assert tokenizer.decode(tokenizer("né", add_special_tokens=False)["input_ids"]) == "né"


@every
def test_the_last_message_goes_on(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    chat = [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "sat on"}]
    text = tokenizer.apply_chat_template(chat, continue_final_message=True, tokenize=False)
    assert text == "<s>the cat\nsat on"
    ids = tokenizer.apply_chat_template(chat, continue_final_message=True)["input_ids"]
    assert ids == tokenizer(text, add_special_tokens=False)["input_ids"]


@every
def test_tokens_stand_where_their_word_does(name: str) -> None:
    """Programs that mark words in a text, as transformers' token-classification does, find them by these offsets."""
    words = ["the", "cat", "Zug", "NASA", "12", "né", "X", "R2D2", "well-known", "漢字", "€", "..."]
    words = [word for word in words if name != "refused" or word in " ".join(TEXTS).split()]
    text = "  ".join(words)
    for tokenizer in (TOKENIZERS[name](), TOKENIZERS[name](add_eos_token=True)):
        encoded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        places = [
            (start, end)
            for (start, end), special in zip(encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True)
            if not special and text[start:end].strip()
        ]
        at = 0
        for word in words:
            at = text.index(word, at)
            own = [(start, end) for start, end in places if at < end and start < at + len(word)]
            begin, end = own[0][0], own[-1][1]
            assert (begin, end) == (at, at + len(word)) or text[begin:end] == f" {word}", (
                "a byte-pair may begin with a blank"
            )
            assert [start for start, _ in own] == sorted(start for start, _ in own)
            at += len(word)
