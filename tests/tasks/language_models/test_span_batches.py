# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What T5 is trained on: how much of a text is left out, what source and target look like, and what a seed says."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.tasks.language_models.documents import Documents, encode_documents
from hf_lecture_models.tasks.language_models.span_batches import CorruptedTexts, SpanBatches, SpanNoise, random_segments
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.sentinels import add_sentinels, sentinel_ids
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.trainer.batches import Batch

WORDS = [f"w{number}" for number in range(400)]


def word_tokenizer(sentinels: int = 20, **options: Any) -> Any:
    options = {"add_bos_token": False, "add_eos_token": True, "padding_side": "right"} | options
    tokenizer = WordTokenizer.train([" ".join(WORDS)], progress=False, **options)
    add_sentinels(tokenizer, sentinels)
    return tokenizer


def corrupted(lengths: list[int], sequence_length: int = 32, noise: SpanNoise | None = None, **options: Any) -> Any:
    """Documents of these lengths, of words in a row."""
    tokenizer = word_tokenizer(**options)
    ids = tokenizer(" ".join((WORDS * 9)[: sum(lengths)]), add_special_tokens=False)["input_ids"]
    documents = Documents(np.array(ids, dtype=np.int32), np.cumsum([0, *lengths[:-1]]))
    return CorruptedTexts(documents, tokenizer, sequence_length, noise or SpanNoise())


def restore(source: list[int], target: list[int], sentinels: list[int]) -> list[int]:
    """The text: each sentinel of the source gives way to what stands behind it in the target."""
    places = [target.index(token) for token in sentinels if token in target]
    spans = {target[a]: target[a + 1 : b] for a, b in zip(places, [*places[1:], len(target)], strict=True)}
    return [token for given in source for token in spans.get(given, [given])]


# How much


@pytest.mark.parametrize("density", [0.15, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("mean_length", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("length", [2, 3, 4, 7, 13, 20, 100, 568])
def test_counts_are_exact(length: int, mean_length: float, density: float) -> None:
    """As many tokens and spans as rounding says, but of each kind one at least, and no span is empty."""
    noise = SpanNoise(density, mean_length)
    tokens, spans = noise.counts(length)
    assert tokens == min(max(round(length * density), 1), length - 1)
    assert spans == min(max(round(tokens / mean_length), 1), length - tokens)
    for seed in range(5):
        mask = noise.draw(length, np.random.default_rng(seed))
        assert (mask.shape, mask.sum()) == ((length,), tokens)
        assert not mask[0]
        assert mask[-1]
        assert (np.diff(mask.astype(int)) == 1).sum() == spans
    kept, written = noise.lengths(length)
    assert (kept, written) == (length - tokens + spans, tokens + spans)


@pytest.mark.parametrize(
    ("source", "text", "target"), [(512, 568, 114), (256, 284, 58), (128, 141, 29), (1024, 1137, 229)]
)
def test_full_lengths_are_those_of_t5(source: int, text: int, target: int) -> None:
    """The first pair is the paper's setting; all follow from the formula of its code, the end of text counted."""
    found = SpanNoise().longest_text(source - 1)
    assert found == text == t5_text_length(source)
    assert [side + 1 for side in SpanNoise().lengths(found)][1] == target
    texts = corrupted([2 * text], source, sentinels=100)
    source_ids, target_ids = texts.draw(0, np.random.default_rng(0))
    assert len(source_ids) <= source
    assert (len(source_ids), len(target_ids)) == (SpanNoise().lengths(text)[0] + 1, target)


def t5_text_length(source: int, density: float = 0.15, mean_length: float = 3.0) -> int:
    """Word for word what the authors' `random_spans_helper` is said to do: raise it while the source still fits."""

    def lengths(tokens: int) -> int:
        noise = round(tokens * density)
        return tokens - noise + round(noise / mean_length) + 1

    tokens = source
    while lengths(tokens + 1) <= source:
        tokens += 1
    return tokens


def test_all_ways_to_cut_are_equally_likely() -> None:
    """7 items in 3 segments: 15 ways."""
    generator = np.random.default_rng(0)
    found = Counter(tuple(random_segments(7, 3, generator).tolist()) for _ in range(6000))
    assert len(found) == math.comb(6, 2)
    assert all(sum(cut) == 7 and min(cut) >= 1 for cut in found)
    assert max(abs(count - 400) for count in found.values()) < 5 * math.sqrt(400)


def test_spans_are_as_long_as_asked_on_average() -> None:
    generator = np.random.default_rng(0)
    masks = [SpanNoise().draw(568, generator) for _ in range(50)]
    share = np.mean([mask.mean() for mask in masks])
    assert share == pytest.approx(0.15, abs=0.001)
    lengths = Counter(len(span) for mask in masks for span in re.findall("1+", "".join(map(str, mask.astype(int)))))
    assert sum(length * count for length, count in lengths.items()) / lengths.total() == pytest.approx(85 / 28)
    assert len(lengths) > 5
    # Every place but the first and the last is as likely as any other, to a little less at the ends.
    middle = np.mean(masks, axis=0)[20:-20]
    assert middle.mean() == pytest.approx(0.15, abs=0.02)


def test_the_figure_of_the_paper() -> None:
    text = "Thank you for inviting me to your party last week ."
    tokenizer = WordTokenizer.train([text], add_bos_token=False, add_eos_token=True, progress=False)
    add_sentinels(tokenizer, 2)
    texts = CorruptedTexts(encode_documents(tokenizer, [text], "texts"), tokenizer, 30, SpanNoise(0.3, 1.5))
    source, target = (tokenizer.decode(ids) for ids in texts.draw(0, np.random.default_rng(1)))
    assert source.count("<extra_id_") == target.count("<extra_id_") == 2
    assert re.fullmatch(r"Thank.*<extra_id_0> .* <extra_id_1> ?</s>", source)
    assert re.fullmatch(r"<extra_id_0> .* <extra_id_1> .*\. ?</s>", target)


# What it looks like


@pytest.mark.parametrize("lengths", [[2], [3], [2, 40, 5], [600, 1, 30]])
def test_source_and_target_together_are_the_text(lengths: list[int]) -> None:
    texts = corrupted(lengths, 64)
    sentinels = texts.sentinels.tolist()
    assert len(texts) == len(texts.starts)
    assert sum(texts.lengths) == sum(length for length in lengths if length > 1)
    for row in range(len(texts)):
        ids = texts.documents.ids[texts.starts[row] :][: texts.lengths[row]].tolist()
        for seed in range(4):
            source, target = (side.tolist() for side in texts.draw(row, np.random.default_rng(seed)))
            assert source.pop() == target.pop() == texts.after[0]
            assert restore(source, target, sentinels) == ids
            assert len(source) + 1 <= 64
            used = [token for token in source if token in sentinels]
            assert used == [token for token in target if token in sentinels] == sentinels[: len(used)]


def test_sentinels_of_any_tokenizer() -> None:
    tokenizer = BpeTokenizer.train(["a cat and a dog"], form="bytes", progress=False)
    before = len(tokenizer)
    add_sentinels(tokenizer, 3)
    add_sentinels(tokenizer, 5)
    assert len(tokenizer) == before + 5
    assert sentinel_ids(tokenizer) == tokenizer.convert_tokens_to_ids([f"<extra_id_{n}>" for n in range(5)])
    assert tokenizer.decode(tokenizer("a<extra_id_3>dog", add_special_tokens=False)["input_ids"]) == "a<extra_id_3>dog"
    # Spelled in a text, it is text.
    documents = encode_documents(tokenizer, ["a <extra_id_0> dog"], "texts")
    assert not set(documents.ids) & set(sentinel_ids(tokenizer))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": [1, 1]}, "there is no document of 2 tokens or more"),
        ({"lengths": [40], "sequence_length": 2}, "sequence_length 2 has no room for text beside 1 special token"),
        ({"lengths": [40], "sentinels": 1}, "a text of 34 tokens has 2 spans, but the tokenizer has 1 sentinel(s)"),
        ({"lengths": [40], "sentinels": 0}, "has 0 sentinel(s), <extra_id_0> and so on; give it 2"),
        ({"lengths": [40], "add_eos_token": False}, "puts no end of text behind a text"),
        ({"lengths": [40], "pad_token": None}, "has no pad_token"),
    ],
    ids=str,
)
def test_texts_that_cannot_be_corrupted_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        corrupted(**options)


# What a seed says


def batches(seed: int = 0, batch_size: int = 4) -> SpanBatches:
    return SpanBatches(corrupted([33, 9, 60, 2, 28, 17, 3]), start_id=402, pad_id=401, batch_size=batch_size, seed=seed)


def pairs_of(batch: Batch) -> set[tuple[Any, ...]]:
    """Source and target of each row that counts."""
    found = set()
    for row, labels in enumerate(batch.inputs["labels"]):
        real = labels[labels != NOT_COUNTED]
        mask = batch.inputs.get("attention_mask", torch.ones_like(batch.inputs["input_ids"]))[row].bool()
        if len(real):
            found.add((tuple(batch.inputs["input_ids"][row][mask].tolist()), tuple(real.tolist())))
    return found


def epoch(source: SpanBatches) -> list[set[tuple[Any, ...]]]:
    return [set().union(*map(pairs_of, source.next_step())) for _ in range(source.steps_per_epoch)]


def test_each_text_once_an_epoch_and_other_spans_in_the_next() -> None:
    source = batches()
    first, second = (set().union(*epoch(source)) for _ in range(2))
    assert len(first) == len(second) == len(source.texts) == 8
    sentinels = source.texts.sentinels.tolist()
    texts = [{tuple(restore(list(s[:-1]), list(t[:-1]), sentinels)) for s, t in each} for each in (first, second)]
    assert texts[0] == texts[1]
    # A text with one span always loses its last tokens: only the two long ones have more.
    assert len(first - second) == 2
    assert epoch(batches()) == epoch(batches())
    assert set().union(*epoch(batches(seed=1))) != first
    assert set().union(*epoch(batches(batch_size=3))) == first, "spans do not depend on the size of a step"
