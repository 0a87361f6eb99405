# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sentences of words in the form that a model reads: the tokens of each word, labels of tokens, tags of words.

A model reads the words with one blank between them, as its pipeline reads a text, and a token belongs to the word at
its place in the text. The first token of a word has the word's tag as its label; the others have no label.

If tags are parts of entities, two more kinds of tokens have a label, I-X within an entity and else O: tokens of a
blank, which tokenizers of letters and bytes have, and tokens with the same offset as a word's first token, such as the
bytes of one letter. Without these labels the pipeline, which separates words at blanks, would split an entity.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.tasks.core.inputs import Example, encode_inputs, model_inputs
from hf_lecture_models.tasks.tagging.entities import OUTSIDE, UNREAD, tag_words
from hf_lecture_models.tokenization.offsets import whole_offsets
from hf_lecture_models.trainer.batches import Batch

_EVALUATION_BATCH = 64


@dataclass(frozen=True)
class Sentence:
    """A sentence in the form that a model reads.

    Attributes:
        inputs: the model's inputs.
        first_tokens: (words) the index of each word's first token, or `UNREAD`.
        blanks: the indices of tokens of blanks, each with the number of the word after it.
        same_offset_tokens: the indices of tokens with the offset of a word's first token, each with the word's number.
    """

    inputs: Example
    first_tokens: list[int]
    blanks: list[tuple[int, int]]
    same_offset_tokens: list[tuple[int, int]]


def encode_sentences(model: Any, tokenizer: Any, data: Rows, max_length: int | None = None) -> list[Sentence]:
    """Tokenize sentences, and find the tokens of their words.

    Args:
        data: rows with the words of a sentence in the column `tokens`.
        max_length: the most tokens of a sentence; None: a sentence that is too long for the model is an error.

    Raises:
        ValueError: a sentence is too long for the model and `max_length` is None; `max_length` is too long for it; or
            the tokenizer belongs to another model, or lacks a padding token or the offsets of tokens.
    """
    if not getattr(tokenizer, "gives_offsets", tokenizer.is_fast):
        raise ValueError(
            f"{type(tokenizer).__name__} does not say where its tokens stand in a text (it is no fast tokenizer), so "
            "nothing tells which word they are of; use one with a tokenizer.json"
        )
    texts = [" ".join(words) for words in data.columns["tokens"]]
    encoded = encode_inputs(model, tokenizer, data, texts, max_length=max_length, return_offsets_mapping=True)
    inputs = model_inputs(model, encoded)
    places = [
        whole_offsets(text, encoded.tokens(row), offsets)
        for row, (text, offsets) in enumerate(zip(texts, encoded["offset_mapping"], strict=True))
    ]
    rows = zip(data.columns["tokens"], places, inputs, strict=True)
    return [Sentence(own, *place_tokens(words, offsets)) for words, offsets, own in rows]


def place_tokens(
    words: Sequence[str], offsets: Sequence[tuple[int, int]]
) -> tuple[list[int], list[tuple[int, int]], list[tuple[int, int]]]:
    """Find the first token of each word, the tokens of blanks, and the tokens with the offset of a first token.

    >>> place_tokens(["New", "York"], [(0, 0), (0, 3), (3, 4), (4, 5), (4, 5), (5, 8)])
    ([1, 3], [(2, 1)], [(4, 1)])

    Args:
        words: the words of a text, which has one blank between them.
        offsets: the start and the end of each token in that text; equal for special tokens.

    Returns:
        `first_tokens`, `blanks` and `same_offset_tokens` of a `Sentence`.
    """
    text = " ".join(words)
    starts = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
    firsts, begins, blanks, same_offset_tokens = [UNREAD] * len(words), [-1] * len(words), [], []
    for place, (start, end) in enumerate(offsets):
        # A token may begin with the blank before its word.
        begin = end - len(text[start:end].lstrip())
        word = bisect_right(starts, begin) - 1
        if begin == end:
            if start < end == starts[word] and word:
                blanks.append((place, word))
        elif firsts[word] == UNREAD:
            firsts[word], begins[word] = place, begin
        elif begin == begins[word]:
            same_offset_tokens.append((place, word))
    return firsts, blanks, same_offset_tokens


def token_labels(
    sentence: Sentence, tags: Sequence[str], ids: Mapping[str, int], are_entities: bool = False
) -> list[int]:
    """Return the label of each token of a sentence: the tag of the word that begins there, or -100.

    >>> sentence = Sentence({"input_ids": [9, 8, 7, 6]}, *place_tokens(["Ed", "is"], [(0, 2), (2, 3), (3, 4), (4, 5)]))
    >>> token_labels(sentence, ["B-PER", "O"], {"O": 0, "B-PER": 1}, are_entities=True)
    [1, 0, 0, -100]

    Args:
        tags: the tag of each word.
        ids: the model's ids of tags.
        are_entities: whether tags are parts of entities, so that blanks and same_offset_tokens have labels, too.
    """
    labels = [NOT_COUNTED] * len(sentence.inputs["input_ids"])
    for place, tag in zip(sentence.first_tokens, tags, strict=True):
        if place != UNREAD:
            labels[place] = ids[tag]
    if not are_entities:
        return labels
    for place, word in sentence.blanks:
        before, behind = tags[word - 1], tags[word]
        goes_on = behind[:2] in ("I-", "E-") and before[:2] in ("B-", "I-") and before[2:] == behind[2:]
        labels[place] = ids.get(f"I-{behind[2:]}" if goes_on else OUTSIDE, NOT_COUNTED)
    for place, word in sentence.same_offset_tokens:
        labels[place] = ids.get(OUTSIDE if tags[word] == OUTSIDE else f"I-{tags[word][2:]}", NOT_COUNTED)
    return labels


def count_words(sentences: Sequence[Sentence]) -> tuple[int, int]:
    """Return the number of words, and how many of them have no token."""
    firsts = [place for sentence in sentences for place in sentence.first_tokens]
    return len(firsts), firsts.count(UNREAD)


def predict_words(
    model: Any, tokenizer: Any, sentences: Sequence[Sentence], batch_size: int = _EVALUATION_BATCH
) -> list[list[tuple[int, float]]]:
    """Return the most probable tag of each word of encoded sentences, and its probability."""

    def predict_batch(batch: list[Sentence]) -> list[list[tuple[int, float]]]:
        inputs = [sentence.inputs for sentence in batch]
        logits = model(**tokenizer.pad(inputs, return_tensors="pt").to(model.device)).logits.cpu()
        skipped = [_padding_in_front(tokenizer, own, logits.shape[1]) for own in inputs]
        rows = zip(logits, skipped, batch, strict=True)
        return [tag_words(own[start:], sentence.first_tokens) for own, start, sentence in rows]

    return predict_by_length(model, sentences, predict_batch, batch_size, lambda one: len(one.inputs["input_ids"]))


class SentenceCollator:
    """The collator of encoded sentences; each tag is an item.

    Args:
        inputs: the model's inputs for each sentence.
        labels: the labels of each sentence's tokens.
    """

    def __init__(self, inputs: Sequence[Example], labels: Sequence[Sequence[int]], tokenizer: Any) -> None:
        self.inputs, self.labels, self.tokenizer = inputs, labels, tokenizer

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return the sentences, padded on the tokenizer's side, without empty places (-1), except one if all are."""
        real = [int(row) for row in rows if row >= 0]
        batch = self.tokenizer.pad([self.inputs[row] for row in real or [0]], return_tensors="pt")
        labels = torch.full(batch["input_ids"].shape[:2], NOT_COUNTED)
        for index, row in enumerate(real):
            skipped = _padding_in_front(self.tokenizer, self.inputs[row], labels.shape[1])
            labels[index, skipped : skipped + len(self.labels[row])] = torch.tensor(self.labels[row])
        return Batch({**batch, "labels": labels}, int((labels != NOT_COUNTED).sum()))


def _padding_in_front(tokenizer: Any, example: Example, width: int) -> int:
    return width - len(example["input_ids"]) if tokenizer.padding_side == "left" else 0
