# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What BERT is trained on: which tokens are masked and by what, which pairs are made, and that a seed says it all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from transformers import RobertaTokenizer

from hf_lecture_models.tasks.language_models.masked_batches import (
    IS_NEXT,
    IS_RANDOM,
    MaskedBatches,
    MaskedRows,
    MaskedTexts,
)
from hf_lecture_models.tasks.language_models.segments import SegmentTemplate
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.trainer.batches import RowShard
from tests.tasks.small_pretraining import FIRST, SPECIALS, TEXTS, masked_texts, numbered_texts, word_tokenizer

LENGTHS = [40, 3, 17, 2, 9, 60, 1, 33, 10, 12, 11]
MASK = list(SPECIALS).index("mask_token")


def draw(texts: MaskedTexts, times: int = 1, seed: int = 0) -> MaskedRows:
    """All rows, so many times."""
    return texts.draw(np.tile(np.arange(len(texts)), times), np.random.default_rng(seed))


def unmasked(rows: MaskedRows) -> np.ndarray:
    return np.where(rows.labels >= 0, rows.labels, rows.inputs)


def assert_share(found: int, of: int, probability: float) -> None:
    """Within five standard deviations of a binomial distribution."""
    assert abs(found - of * probability) < 5 * math.sqrt(of * probability * (1 - probability)), (found, of)


@pytest.mark.parametrize("next_sentence", [True, False])
@pytest.mark.parametrize("probability", [0.15, 0.5])
def test_exactly_so_many_of_each_row_are_masked_and_80_10_10(probability: float, next_sentence: bool) -> None:
    texts = numbered_texts([50] * 40, 32, probability=probability, next_sentence=next_sentence)
    rows = draw(texts, times=30)
    original, chosen = unmasked(rows), rows.labels >= 0
    specials = len(SPECIALS) - 2 - (not next_sentence)  # [CLS] and one or two [SEP]
    lengths = rows.is_real.sum(1) - specials
    assert (chosen.sum(1) == np.maximum(1, np.rint(probability * lengths))).all()
    assert (original[chosen] >= FIRST).all(), "no special token is masked"
    masked, stays = rows.inputs[chosen] == MASK, rows.inputs[chosen] == original[chosen]
    count = int(chosen.sum())
    assert count > 2000
    assert_share(int(masked.sum()), count, 0.8)
    # A random token may be the one that stood there: one in 2,000.
    assert_share(int(stays.sum()), count, 0.1 + 0.1 / 2000)
    swapped = rows.inputs[chosen][~masked & ~stays]
    assert (swapped >= FIRST).all(), "a random token is no special one"
    assert len(np.unique(swapped)) > 0.5 * min(len(swapped), 2000)
    # Every place of a row is as likely as any other.
    place = np.broadcast_to(np.arange(chosen.shape[1]), chosen.shape)[chosen & (lengths == lengths.max())[:, None]]
    text = (original >= FIRST) & (lengths == lengths.max())[:, None]
    share = chosen[lengths == lengths.max()].sum() / text.sum()
    assert_share(int((place < 8).sum()), int(text[:, :8].sum()), float(share))


def test_padding_unknown_and_special_tokens_are_never_masked_nor_changed() -> None:
    tokenizer = word_tokenizer()
    texts = masked_texts(tokenizer, ["the zebra reads the zebra", "zebra zebra zebra", "in town"], probability=1.0)
    rows = draw(texts, times=50)
    original = unmasked(rows)
    assert (rows.labels >= 0).sum() == (original >= FIRST).sum(), "all that can be masked are, with probability 1"
    assert (rows.inputs[(original < FIRST) & (original != MASK)] == original[original < FIRST]).all()
    # Where both segments are unknown words, there is nothing to predict, and the pair does not count.
    nothing = (original < FIRST).all(1)
    assert nothing.any()
    assert rows.next_sentence_label is not None
    assert (rows.next_sentence_label[nothing] == -100).all()
    assert (rows.next_sentence_label[~nothing] != -100).all()


def segments(row: np.ndarray, types: np.ndarray) -> tuple[list[int], list[int]]:
    return row[(types == 0) & (row >= FIRST)].tolist(), row[(types == 1) & (row >= FIRST)].tolist()


def test_next_is_what_follows_and_random_is_of_another_document() -> None:
    texts = numbered_texts(LENGTHS)
    document = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    rows = draw(texts, times=300)
    assert rows.next_sentence_label is not None
    pieces = set(zip(texts.pieces.starts.tolist(), texts.pieces.lengths.tolist(), strict=True))
    begins: set[int] = set()
    for row, types, label in zip(unmasked(rows), rows.token_type_ids, rows.next_sentence_label, strict=True):
        first, second = ([token - FIRST for token in part] for part in segments(row, types))
        for part in (first, second):
            assert part == list(range(part[0], part[0] + len(part))), "a segment is a span"
            assert len(set(document[part])) == 1, "of one document"
        if label == IS_NEXT:
            assert second[0] == first[-1] + 1
            assert (first[0], len(first + second)) in pieces, "all that follows in the row's piece"
        else:
            assert label == IS_RANDOM
            assert document[second[0]] != document[first[0]]
            begins.add(second[0])
    assert_share(int((rows.next_sentence_label == IS_RANDOM).sum()), len(rows.inputs), 0.5)
    assert len(begins) > 0.9 * sum(LENGTHS), "random segments begin anywhere"


def test_lengths_do_not_tell_which_segments_are_random() -> None:
    texts = numbered_texts([100, 200, 150])
    rows = draw(texts, times=200)
    lengths, is_random = rows.is_real.sum(1), rows.next_sentence_label == IS_RANDOM
    for piece in np.unique(lengths):
        of = lengths == piece
        assert_share(int((of & is_random).sum()), int(of.sum()), 0.5)


def test_rows_are_laid_out_by_the_tokenizers_template() -> None:
    texts = numbered_texts([30, 30])
    rows = draw(texts)
    for row, types, real in zip(rows.inputs, rows.token_type_ids, rows.is_real, strict=True):
        length = int(real.sum())
        assert length <= 16
        assert real[:length].all()
        cls_id, sep_id = (list(SPECIALS).index(name) for name in ("cls_token", "sep_token"))
        separators = (row == sep_id).nonzero()[0].tolist()
        assert row[0] == cls_id
        assert separators[1] == length - 1
        assert types[: separators[0] + 1].sum() == 0
        assert types[separators[0] + 1 : length].all()
        assert (row[length:] == 0).all()
    tokenizer = word_tokenizer()
    row = draw(masked_texts(tokenizer, ["the keeper reads", "a ship"], next_sentence=False), seed=1)
    assert unmasked(row)[0].tolist() == tokenizer("the keeper reads")["input_ids"]


def test_templates_of_other_tokenizers() -> None:
    names = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "Ġa": 5, "<mask>": 6}
    roberta = RobertaTokenizer(vocab=names, merges=[])
    assert SegmentTemplate.of(roberta, pairs=True).parts == ([0], 0, [2, 2], 1, [2])
    ours = WordTokenizer.train(["a b"], progress=False)
    assert SegmentTemplate.of(ours, pairs=True).parts == ([ours.bos_token_id], 0, [ours.bos_token_id], 1)


def test_every_token_but_single_ones_is_in_one_row() -> None:
    for next_sentence in (True, False):
        texts = numbered_texts(LENGTHS, next_sentence=next_sentence)
        ends = texts.pieces.starts + texts.pieces.lengths
        covered = np.concatenate([np.arange(*span) for span in zip(texts.pieces.starts, ends, strict=True)])
        assert len(covered) == len(set(covered.tolist()))
        room = 16 - (3 if next_sentence else 2)
        single = sum(length % room == 1 for length in LENGTHS) if next_sentence else 0
        assert len(covered) == sum(LENGTHS) - single


def test_counts_are_those_of_the_labels_and_an_empty_place_counts_nothing() -> None:
    source = MaskedBatches(numbered_texts(LENGTHS), batch_size=8, seed=0)
    source.set_shard(RowShard(8, accumulation_steps=4))
    steps = [source.next_step() for _ in range(source.steps_per_epoch)]
    for batch in (batch for step in steps for batch in step):
        assert batch.num_items == (batch.inputs["labels"] != -100).sum()
        assert batch.second_term is not None
        assert batch.second_term.num_items == (batch.inputs["next_sentence_label"] != -100).sum()
    pairs = [batch.second_term.num_items for step in steps for batch in step]  # type: ignore[union-attr]
    assert sum(pairs) == len(source.texts)
    assert 0 in pairs
    assert [bool(count) for count in pairs] == [bool(batch.num_items) for step in steps for batch in step]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["the keeper reads"]}, "need two documents at least, .* but there is 1; say by `documents`"),
        ({"texts": ["", ""]}, "but there is 0"),
        ({"texts": ["the", "a"]}, "there is no document of 2 tokens or more"),
        ({"texts": [""], "next_sentence": False}, "there is no document of 1 tokens or more"),
        ({"sequence_length": 4}, "sequence_length 4 has no room for text beside 3 special tokens; raise it to 5"),
        ({"without": "mask_token"}, r"has no mask_token.*template of BERT \(tokenizer.template bert, or roberta\)"),
        ({"without": "cls_token"}, "next sentences need a cls_token in each pair, but the tokenizer has none; train"),
        ({"without": "sep_token"}, "need a sep_token in each pair, but the tokenizer has none"),
        ({"template": False}, r"the tokenizer puts no \[CLS\] around texts; train one with the template of BERT"),
        ({"without": "pad_token"}, "the tokenizer has no pad_token"),
    ],
)
def test_what_makes_no_rows_is_refused(change: dict[str, Any], message: str) -> None:
    tokenizer = word_tokenizer(without=change.pop("without", ""), template=change.pop("template", True))
    with pytest.raises(ValueError, match=message):
        masked_texts(tokenizer, change.pop("texts", TEXTS), **change)


def test_documents_shorter_than_a_pair_are_read_only_as_random_segments() -> None:
    texts = numbered_texts([1, 20, 1], 32)
    assert len(texts) == 1
    rows = draw(texts, times=100)
    random = unmasked(rows)[rows.next_sentence_label == IS_RANDOM]
    assert set(random.flatten().tolist()) >= {FIRST, FIRST + 21}
    assert len(numbered_texts([1, 20, 1], 32, next_sentence=False)) == 3
