# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What users of transformers do with any tokenizer, with each of ours."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, DataCollatorForLanguageModeling, GPT2Tokenizer, PreTrainedTokenizerFast

from hf_lecture_models import BpeTokenizer, ByteTokenizer, CharTokenizer, UnigramTokenizer, WordTokenizer
from tests.interop.installed import need

TEXTS = ["the cat sat on the mat .", "a dog né saw 12 mats .", "one bird sang in a tree ."]
TOKENIZERS = {
    "word": lambda **options: WordTokenizer.train(TEXTS, progress=False, **options),
    "refused": lambda **options: WordTokenizer.train(TEXTS, unk_token=None, progress=False, **options),
    "classes": lambda **options: WordTokenizer.train(TEXTS, unknown_words="classes", progress=False, **options),
    "spelled": lambda **options: WordTokenizer.train(TEXTS, unknown_words="spelled", progress=False, **options),
    "char": lambda **options: CharTokenizer.train(TEXTS, progress=False, **options),
    "byte": lambda **options: ByteTokenizer(**options),
    "bpe": lambda **options: BpeTokenizer.train(TEXTS, merges=8, progress=False, **options),
    "bpe_bytes": lambda **options: BpeTokenizer.train(TEXTS, merges=8, form="bytes", progress=False, **options),
    "unigram": lambda **options: UnigramTokenizer.train(TEXTS, vocab_size=40, progress=False, **options),
}
every = pytest.mark.parametrize("name", TOKENIZERS)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@every
def test_saved_again_the_files_are_the_same(name: str, tmp_path: Path) -> None:
    """Neither what the last call asked for, nor where the tokenizer came from, is part of it."""
    TOKENIZERS[name]().save_pretrained(tmp_path / "first")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "first")
    loaded(TEXTS, padding="max_length", truncation=True, max_length=3)
    loaded.save_pretrained(tmp_path / "again")
    assert contents(tmp_path / "first") == contents(tmp_path / "again")
    assert loaded(TEXTS, padding=True, truncation=True, max_length=3)["input_ids"][0][3:] == []


def test_transformers_own_saves_the_last_call(tmp_path: Path) -> None:
    own = PreTrainedTokenizerFast(tokenizer_object=TOKENIZERS["word"]().backend_tokenizer, pad_token="<pad>")
    own(TEXTS, truncation=True, max_length=3)
    own.save_pretrained(tmp_path)
    assert b'"max_length": 3' in (tmp_path / "tokenizer.json").read_bytes()


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
    # transformers' own keeps no side that is set later.
    stock = GPT2Tokenizer(vocab={"a": 0, "<|endoftext|>": 1}, merges=[])
    stock.truncation_side = "left"
    stock.save_pretrained(tmp_path / "stock")
    assert AutoTokenizer.from_pretrained(tmp_path / "stock").truncation_side == "right"


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
        if name in ("spelled", "char", "byte", "bpe_bytes"):
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


@every
def test_offsets_and_words(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    text = "the  cat né sat"
    found = tokenizer(text, return_offsets_mapping=True)
    pieces = [text[start:end] for start, end in found["offset_mapping"]]
    assert pieces[0] == ""
    assert [piece.strip() for piece in pieces if piece.strip()] == [p.strip() for p in pieces[1:] if p.strip()]
    assert found.word_ids() == [found.token_to_word(index) for index in range(len(found["input_ids"]))]
    assert found.sequence_ids() == [None, *[0] * (len(pieces) - 1)]
    words = ["the", "cat", "né", "sat"]
    split = tokenizer(words, is_split_into_words=True, return_offsets_mapping=True)
    of_words = split.word_ids()
    assert [index for index in dict.fromkeys(of_words) if index is not None] == [0, 1, 2, 3]
    for (start, end), word in zip(split["offset_mapping"][1:], of_words[1:], strict=True):
        assert words[word][start:end] in words[word]
    pair = tokenizer("the cat", "a dog")
    assert {side for side in pair.sequence_ids() if side is not None} == {0, 1}


@every
def test_copies_and_processes(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    ids = tokenizer(TEXTS)["input_ids"]
    for other in (copy.copy(tokenizer), copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert type(other) is type(tokenizer)
        assert other(TEXTS)["input_ids"] == ids
        assert (other.padding_side, other.chat_template) == (tokenizer.padding_side, tokenizer.chat_template)


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
def test_the_collator_pads_and_masks(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False, pad_to_multiple_of=8)
    encoded = [tokenizer(text) for text in TEXTS]
    batch = collate(encoded)
    assert batch["input_ids"].shape[1] % 8 == 0
    for row, labels, mask, one in zip(
        batch["input_ids"], batch["labels"], batch["attention_mask"], encoded, strict=True
    ):
        assert row[mask.bool()].tolist() == labels[mask.bool()].tolist() == one["input_ids"]
        assert (labels[~mask.bool()] == -100).all()
        assert mask[-1] == 1  # on the left
    with pytest.raises(ValueError, match="mask token"):
        DataCollatorForLanguageModeling(tokenizer, mlm=True)


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


@every
def test_the_last_message_goes_on(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    chat = [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "sat on"}]
    text = tokenizer.apply_chat_template(chat, continue_final_message=True, tokenize=False)
    assert text == "<s>the cat\nsat on"
    ids = tokenizer.apply_chat_template(chat, continue_final_message=True)["input_ids"]
    assert ids == tokenizer(text, add_special_tokens=False)["input_ids"]
    masked = tokenizer.apply_chat_template(chat, return_assistant_tokens_mask=True, return_dict=True)
    answer = [id_ for id_, own in zip(masked["input_ids"], masked["assistant_masks"], strict=True) if own]
    assert tokenizer.decode(answer, skip_special_tokens=True).strip() == "sat on"
    assert answer[-1] == tokenizer.eos_token_id


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
