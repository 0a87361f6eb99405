# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words as rows of characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, DataCollatorForTokenClassification

from hf_lecture_models import ElmoTokenizer

BLANK = 261


def allennlp_ids(word: str) -> list[int]:
    """As AllenNLP's ELMoCharacterMapper numbers a word: 258, bytes, 259, 260 ..., all plus 1."""
    found = [258, *word.encode("utf-8")[:48], 259]
    return [number + 1 for number in found + [260] * (50 - len(found))]


@pytest.mark.parametrize("word", ["a", "Zoë", "日本", "x" * 48, "x" * 49, "x" * 51, "é" * 100, "<pad>", "", "\x00"])
def test_words_are_numbered_as_allennlp_does(word: str) -> None:
    assert ElmoTokenizer().convert_tokens_to_ids([word]) == [allennlp_ids(word)]


def test_boundaries_and_padding() -> None:
    tokenizer = ElmoTokenizer()
    found = tokenizer(["a cat", ""], padding=True, return_tensors="pt")
    assert found["input_ids"].shape == (2, 4, 50)
    assert found["input_ids"][0, 0].tolist() == [259, 257, 260] + [BLANK] * 47
    assert found["input_ids"][1, 1].tolist() == [259, 258, 260] + [BLANK] * 47
    assert not found["input_ids"][1, 2:].any()
    assert found["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, len(tokenizer)) == (
        0,
        257,
        258,
        262,
    )
    left = tokenizer(["a cat", ""], padding=True, padding_side="left")
    assert left["attention_mask"][1] == [0, 0, 1, 1]
    assert left.word_ids(1) == [None] * 4


def test_offsets_words_and_pairs() -> None:
    tokenizer = ElmoTokenizer()
    found = tokenizer(" a  cat\n", "sat", return_offsets_mapping=True, return_token_type_ids=True)
    assert found.tokens() == ["<S>", "a", "cat", "</S>", "<S>", "sat", "</S>"]
    assert found["offset_mapping"] == [(0, 0), (1, 2), (4, 7), (0, 0), (0, 0), (0, 3), (0, 0)]
    assert found.word_ids() == [None, 0, 1, None, None, 0, None]
    assert found.sequence_ids() == [None, 0, 0, None, None, 1, None]
    assert found["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]
    split = tokenizer([["New York", "is"], ["big"]], is_split_into_words=True, padding=True)
    assert split.tokens(0) == ["<S>", "New York", "is", "</S>"]
    assert split.word_ids(1) == [None, 0, None, None]
    assert len(split["input_ids"][1]) == 4


@pytest.mark.parametrize(
    ("strategy", "words"),
    [("longest_first", (3, 3)), ("only_first", (2, 4)), ("only_second", (5, 1))],
)
def test_truncation(strategy: str, words: tuple[int, int]) -> None:
    found = ElmoTokenizer()("a b c d e", "f g h i", truncation=strategy, max_length=10)
    sequences = found.sequence_ids()
    assert (sequences.count(0), sequences.count(1)) == words
    assert len(found["input_ids"]) == 10


def test_windows() -> None:
    options = {"truncation": "only_second", "max_length": 8, "stride": 1, "return_overflowing_tokens": True}
    found = ElmoTokenizer()("q", "a b c d e", **options)
    assert [found.tokens(index)[4:-1] for index in range(len(found["input_ids"]))] == [["a", "b", "c"], ["c", "d", "e"]]
    assert found["overflow_to_sample_mapping"] == [0, 0]
    with pytest.raises(ValueError, match="raise max_length, or lower stride"):
        ElmoTokenizer()("q " * 9, "a b c d e", **options)
    with pytest.raises(ValueError, match="no room for the special tokens"):
        ElmoTokenizer()("a b", truncation=True, max_length=1)


def test_decoding() -> None:
    tokenizer = ElmoTokenizer()
    ids = tokenizer(["Zoë sat", "a"], padding=True, return_tensors="pt")["input_ids"]
    assert tokenizer.decode(ids[0]) == "<S> Zoë sat </S>"
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == ["Zoë sat", "a"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == ["Zoë sat", "a"]
    assert tokenizer.convert_ids_to_tokens(ids[1, 1].tolist()) == "a"


def test_padding_what_collators_give() -> None:
    tokenizer = ElmoTokenizer()
    rows = [tokenizer(text) for text in ("a cat sat", "a")]
    found = tokenizer.pad([{**rows[0]}, {**rows[1]}], return_tensors="pt", pad_to_multiple_of=4)
    assert found["input_ids"].shape == (2, 8, 50)
    assert found["attention_mask"].sum(1).tolist() == [5, 3]
    alone = tokenizer.pad(rows[1], padding="max_length", max_length=5)
    assert alone["attention_mask"] == [1, 1, 1, 0, 0]
    assert np.shape(alone["input_ids"]) == (5, 50)
    labelled = [{**row, "labels": [-100, *[1] * (len(row["input_ids"]) - 2), -100]} for row in rows]
    batch = DataCollatorForTokenClassification(tokenizer)(labelled)
    assert batch["labels"].tolist() == [[-100, 1, 1, 1, -100], [-100, 1, -100, -100, -100]]


def test_words_to_predict_are_saved(tmp_path: Path) -> None:
    tokenizer = ElmoTokenizer.train(["the cat", "the dog"], vocab_size=5, max_characters_per_token=20)
    assert tokenizer.words == ["<S>", "</S>", "<UNK>", "the", "cat"]
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert type(loaded) is ElmoTokenizer
    assert (loaded.words, loaded.max_characters_per_token) == (tokenizer.words, 20)
    assert loaded.word_numbers(["the", "dog", "</S>"]) == [3, 2, 1]
    assert loaded("the cat").input_ids == tokenizer("the cat").input_ids
    path = tmp_path / "vocab.txt"
    path.write_text("\ufeff" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert AutoTokenizer.from_pretrained(tmp_path).words == tokenizer.words  # without a byte order mark
    with pytest.raises(ValueError, match="no words to predict"):
        ElmoTokenizer().word_numbers(["a"])


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"<S>\n</S>\n<UNK>\na\na\n", "different words"), (b"<S>\n</S>\na\n", "no word <UNK>"), (b"\xff\n", "not UTF-8")],
)
def test_bad_words_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        ElmoTokenizer(str(tmp_path / "vocab.txt"))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([["a", "b", "c"]],), {}, "need is_split_into_words=True"),
        (("a b",), {"is_split_into_words": True}, "a text is a list of words"),
        ((["a", "b"], ["c"]), {}, "not equally many"),
        ((3,), {}, "a text is a str, not a int"),
    ],
)
def test_bad_input_is_refused(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ElmoTokenizer()(*arguments, **options)


def test_options_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        ElmoTokenizer(max_characters_per_token=2)
    with pytest.raises(ValueError, match="bos_token"):
        ElmoTokenizer(bos_token="[CLS]")
    with pytest.raises(TypeError, match="not a str"):
        ElmoTokenizer.train("a cat")


def test_special_words_are_marked() -> None:
    tokenizer = ElmoTokenizer()
    found = tokenizer("a cat", return_special_tokens_mask=True)
    assert found["special_tokens_mask"] == [1, 0, 0, 1]
    assert tokenizer.get_special_tokens_mask(found["input_ids"], already_has_special_tokens=True) == [1, 0, 0, 1]
    assert torch.tensor(found["input_ids"]).shape == (4, 50)


def test_marks_around_texts_are_no_words():
    plain = ElmoTokenizer.train(["a cat", "a dog"]).words
    assert ElmoTokenizer.train(["<s> a cat </s>", "<s> a dog </s>"]).words == plain
    with pytest.raises(ValueError, match="text 2 does not begin with <s>"):
        ElmoTokenizer.train(["<s> a cat </s>", "a dog"])
