# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two vocabularies used like one tokenizer: each text by its own, in our programs and in others."""

from __future__ import annotations

import copy
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, DataCollatorForSeq2Seq

from hf_lecture_models import WordTokenizer
from hf_lecture_models.tokenization.pairs import TokenizerPair

FRENCH, ENGLISH = ["je suis là", "tu es grand"], ["I am there", "you are tall"]
OPTIONS: dict[str, Any] = {"add_bos_token": False, "add_eos_token": True, "progress": False, "padding_side": "right"}


@pytest.fixture
def pair() -> TokenizerPair:
    return TokenizerPair(*(WordTokenizer.train(texts, **OPTIONS) for texts in (FRENCH, ENGLISH)))


def check(found: Any, pair: TokenizerPair) -> None:
    """`found` encodes and decodes as `pair` does, each side by its own vocabulary."""
    assert isinstance(found, TokenizerPair)
    sources, targets = pair.source(FRENCH)["input_ids"], pair.target(ENGLISH)["input_ids"]
    assert found(FRENCH)["input_ids"] == found(text=FRENCH)["input_ids"] == sources
    assert found(text_target=ENGLISH)["input_ids"] == targets
    both = found(FRENCH, text_target=ENGLISH, return_tensors="pt")
    assert (both["input_ids"].tolist(), both["labels"].tolist()) == (sources, targets)
    options = {"skip_special_tokens": True}
    assert found.batch_decode(targets, **options) == ENGLISH
    assert found.decode(torch.tensor(targets[0]), **options) == ENGLISH[0]
    assert found.batch_decode(sources, use_source_tokenizer=True, **options) == FRENCH
    assert found.decode(sources[0], use_source_tokenizer=True, **options) == FRENCH[0]


def test_each_side_has_its_own_vocabulary(pair: TokenizerPair) -> None:
    check(pair, pair)
    rows = [dict(pair(text, text_target=target)) for text, target in zip(FRENCH, ENGLISH, strict=True)]
    batch = DataCollatorForSeq2Seq(pair)(rows)
    assert pair.batch_decode(batch["labels"], skip_special_tokens=True) == ENGLISH


def test_copies_are_pairs(pair: TokenizerPair) -> None:
    for made in (copy.copy(pair), copy.deepcopy(pair), pickle.loads(pickle.dumps(pair)), TokenizerPair(pair, pair)):
        check(made, pair)


def test_the_auto_class_loads_a_pair(pair: TokenizerPair, tmp_path: Path) -> None:
    saved = pair.save_pretrained(tmp_path / "one")
    assert {str(tmp_path / "one" / name / "tokenizer.json") for name in (".", "target_tokenizer")} <= set(
        map(str, map(Path, saved))
    )
    loaded = AutoTokenizer.from_pretrained(tmp_path / "one", model_max_length=9)
    assert type(loaded.source) is type(loaded.target) is WordTokenizer
    assert loaded.source.model_max_length == loaded.target.model_max_length == 9
    check(loaded, pair)
    loaded.save_pretrained(tmp_path / "two")
    check(AutoTokenizer.from_pretrained(tmp_path / "two"), pair)
    # What is saved alone afterwards is no pair, and one side can be loaded by itself.
    loaded.source.save_pretrained(tmp_path / "alone")
    assert type(AutoTokenizer.from_pretrained(tmp_path / "alone")) is WordTokenizer
    assert type(AutoTokenizer.from_pretrained(tmp_path / "one", subfolder="target_tokenizer")) is WordTokenizer
    assert type(WordTokenizer.from_pretrained(tmp_path / "one")) is WordTokenizer
    shutil.rmtree(tmp_path / "two" / "target_tokenizer")
    with pytest.raises(FileNotFoundError, match="two has no folder target_tokenizer"):
        AutoTokenizer.from_pretrained(tmp_path / "two")


def test_an_attribute_that_is_set_is_set_on_both(pair: TokenizerPair) -> None:
    """Other programs set `padding_side` before they encode a batch."""
    pair.padding_side = "left"
    assert pair.source.padding_side == pair.target.padding_side == "left"
    ids = pair(["je", "je suis là"], padding=True)["input_ids"]
    assert ids[0][0] == pair.pad_token_id


def test_ids_without_special_tokens_are_of_a_target(pair: TokenizerPair) -> None:
    assert pair.encode("je suis") == pair.source.encode("je suis")
    with pytest.warns(UserWarning, match="takes the text for a target's"):
        assert pair.encode("I am", add_special_tokens=False) == pair.target("I am")["input_ids"][:-1]
