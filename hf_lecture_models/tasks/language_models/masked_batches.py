# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT's training data: masked tokens, and pairs of segments that may follow each other.

Devlin et al. 2018, 3.1: the model predicts 15 % of the tokens of each row. The mask token replaces 80 % of these, a
random token 10 %, and 10 % stay. In half of the pairs the second segment follows the first, in the other half it is
random. A segment is any span of contiguous tokens (section 3), here cut at any token.

Deviations:
- Each epoch has other pairs and masks, as in Liu et al. 2019; Devlin et al. made masked copies once.
- A random segment begins at any token of any other document, all tokens equally likely. It is as long as the segment
  whose place it takes, if its document is as long, so that lengths do not give the answer away.
- A row is as long as its document and `sequence_length` allow; the authors' code makes some shorter.
- Unknown tokens are not masked, and special tokens are never the random ones.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED, cross_entropy
from hf_lecture_models.tasks.core.shuffled import ShuffledRows
from hf_lecture_models.tasks.language_models.documents import Documents
from hf_lecture_models.tasks.language_models.segments import SegmentRows, SegmentTemplate, Spans
from hf_lecture_models.tasks.language_models.tokens import cut_spans
from hf_lecture_models.trainer.batches import Batch, SecondTerm

IS_NEXT, IS_RANDOM = 0, 1
"""The labels of the second segment, as transformers has them."""

_AS_MASK, _AS_RANDOM = 0.8, 0.9


@dataclass(frozen=True)
class MaskedRows:
    """Rows with masked tokens, padded on the right.

    Attributes:
        inputs: (rows, width) int64, the tokens that the model reads.
        labels: (rows, width) int64, the token to predict, or -100.
        token_type_ids: (rows, width) int64.
        is_real: (rows, width) bool, False for padding.
        next_sentence_label: (rows,) int64, `IS_NEXT`, `IS_RANDOM`, or -100 where the row does not count; None without
            pairs.
    """

    inputs: np.ndarray
    labels: np.ndarray
    token_type_ids: np.ndarray
    is_real: np.ndarray
    next_sentence_label: np.ndarray | None

    def to_batch(self, rows: slice) -> Batch:
        """Return a batch of some of the rows, cut to the longest of them, with the counts of both losses."""
        width = int(self.is_real[rows].sum(1).max())
        real, labels = self.is_real[rows, :width], self.labels[rows, :width]
        arrays = {"input_ids": self.inputs[rows, :width], "labels": labels}
        if not real.all():
            arrays["attention_mask"] = real.astype(np.int64)
        second_term = None
        if self.next_sentence_label is not None:
            pairs = self.next_sentence_label[rows]
            arrays |= {"token_type_ids": self.token_type_ids[rows, :width], "next_sentence_label": pairs}
            of = partial(next_sentence_loss, label=torch.from_numpy(pairs))
            second_term = SecondTerm(int((pairs != NOT_COUNTED).sum()), of)
        inputs = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        return Batch(inputs, int((labels != NOT_COUNTED).sum()), second_term)


def next_sentence_loss(outputs: Any, label: Tensor) -> Tensor:
    """Return the mean next-sentence loss over pairs, the second term of a pre-training model's loss."""
    return cross_entropy(outputs.seq_relationship_logits, label)


class MaskedTexts:
    """Documents cut into rows, with other masked tokens each time they are drawn.

    Args:
        documents: cut into pieces of `sequence_length` tokens, special ones included; the last piece may be shorter.
        tokenizer: with a mask token; for pairs also with its own [CLS] and [SEP] in its template.
        probability: the share of masked tokens in each row; at least one is masked.
        next_sentence: make pairs. Each piece is cut in two at a random token; random segments of other documents
            replace half of the second parts. Pieces of one token are left out.

    Raises:
        ValueError: the tokenizer lacks a special token; next sentences need a second document; no row can be made.
    """

    def __init__(
        self, documents: Documents, tokenizer: Any, sequence_length: int, probability: float, next_sentence: bool
    ) -> None:
        self.documents, self.probability, self.next_sentence = documents, probability, next_sentence
        self.template = SegmentTemplate.of(tokenizer, pairs=next_sentence)
        _refuse_missing_tokens(tokenizer, self.template, next_sentence)
        self.mask_id = tokenizer.mask_token_id
        self.maskable = np.ones(len(tokenizer), dtype=bool)
        self.maskable[tokenizer.all_special_ids] = False
        self.vocabulary = self.maskable.nonzero()[0]
        room, least = sequence_length - len(self.template.special_ids), 2 if next_sentence else 1
        if room < least:
            raise ValueError(
                f"sequence_length {sequence_length} has no room for text beside {sequence_length - room} special "
                f"tokens; raise it to {sequence_length - room + least} at least"
            )
        if next_sentence and len(documents) < 2:
            raise ValueError(
                "next sentences need two documents at least, to take random segments of another, but there is "
                f"{len(documents)}; say by `documents` how texts become documents, or set next_sentence false"
            )
        starts, lengths = cut_spans(documents.starts, documents.lengths, room)
        self.pieces = Spans(starts[lengths >= least], lengths[lengths >= least])
        if not len(self):
            raise ValueError(f"there is no document of {least} tokens or more; check files and columns")

    def __len__(self) -> int:
        return len(self.pieces.starts)

    def draw(self, rows: np.ndarray, generator: np.random.Generator) -> MaskedRows:
        """Return the rows of these numbers, masked; -1 gives a row that counts nothing."""
        counted, rows = rows >= 0, np.maximum(rows, 0)
        pieces = Spans(self.pieces.starts[rows], self.pieces.lengths[rows])
        segments, is_random = self._pairs(pieces, generator) if self.next_sentence else ([pieces], None)
        filled = self.template.fill(self.documents.ids, *segments)
        inputs, labels = self._mask(filled, counted, generator)
        if is_random is not None:
            counted &= (labels != NOT_COUNTED).any(1)
            is_random = np.where(counted, np.where(is_random, IS_RANDOM, IS_NEXT), NOT_COUNTED)
        return MaskedRows(inputs, labels, filled.token_type_ids, filled.is_real, is_random)

    def _pairs(self, pieces: Spans, generator: np.random.Generator) -> tuple[list[Spans], np.ndarray]:
        """Return both segments of each row, and (rows,) bool: True where the second one is random."""
        cuts = generator.integers(1, pieces.lengths)
        is_random = generator.random(len(cuts)) < 0.5
        following = Spans(pieces.starts + cuts, pieces.lengths - cuts)
        other = self._elsewhere(following, generator)
        starts = np.where(is_random, other.starts, following.starts)
        lengths = np.where(is_random, other.lengths, following.lengths)
        return [Spans(pieces.starts, cuts), Spans(starts, lengths)], is_random

    def _elsewhere(self, spans: Spans, generator: np.random.Generator) -> Spans:
        """Return a random span of another document for each span: as long, or a whole document that is shorter."""
        starts, lengths = self.documents.starts, self.documents.lengths
        own = np.searchsorted(starts, spans.starts, side="right") - 1
        places = generator.integers(0, len(self.documents.ids) - lengths[own])
        places += np.where(places >= starts[own], lengths[own], 0)
        other = np.searchsorted(starts, places, side="right") - 1
        cut = np.minimum(spans.lengths, lengths[other])
        return Spans(np.minimum(places, starts[other] + lengths[other] - cut), cut)

    def _mask(
        self, rows: SegmentRows, counted: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the masked ids that the model reads, and the labels."""
        maskable = rows.is_text & self.maskable[rows.ids] & counted[:, None]
        chosen = choose_tokens(maskable, generator.random(maskable.shape), self.probability)
        fate = generator.random(maskable.shape)
        random_tokens = self.vocabulary[generator.integers(0, len(self.vocabulary), maskable.shape)]
        return replace_tokens(rows.ids, chosen, fate, random_tokens, self.mask_id)


def choose_tokens(maskable: np.ndarray, draws: np.ndarray, probability: float) -> np.ndarray:
    """Return which tokens are masked, (rows, width) bool: this share of each row's maskable ones, and at least one.

    >>> choose_tokens(np.array([[True, True, False]]), np.array([[0.7, 0.2, 0.1]]), probability=0.15).tolist()
    [[False, True, False]]

    Args:
        maskable: (rows, width) bool.
        draws: (rows, width) numbers from [0, 1); the tokens with the smallest ones are masked.
    """
    available = maskable.sum(1)
    numbers = np.minimum(np.maximum(np.rint(probability * available), 1), available)
    # The maskable tokens of each row in a random order, before all others; the first ones are masked.
    order = np.where(maskable, draws, 2.0).argsort(1)
    chosen = np.zeros_like(maskable)
    np.put_along_axis(chosen, order, np.arange(maskable.shape[1]) < numbers[:, None], axis=1)
    return chosen


def replace_tokens(
    ids: np.ndarray, chosen: np.ndarray, fate: np.ndarray, random_tokens: np.ndarray, mask_id: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids that the model reads, and the labels: the chosen tokens, and -100 elsewhere; (rows, width) each.

    >>> ids, chosen, fate = np.array([[5, 6, 7]]), np.array([[True, True, False]]), np.array([[0.1, 0.85, 0.1]])
    >>> inputs, labels = replace_tokens(ids, chosen, fate, random_tokens=np.array([[8, 8, 8]]), mask_id=4)
    >>> inputs.tolist(), labels.tolist()
    ([[4, 8, 7]], [[5, 6, -100]])

    Args:
        ids: (rows, width).
        chosen: (rows, width) bool.
        fate: (rows, width) numbers from [0, 1): below 0.8 the mask token replaces a chosen token, below 0.9 a random
            one, and from there on it stays.
        random_tokens: (rows, width).
    """
    inputs = np.where(chosen & (fate < _AS_RANDOM), random_tokens, ids)
    inputs[chosen & (fate < _AS_MASK)] = mask_id
    return inputs, np.where(chosen, ids, NOT_COUNTED)


class MaskedBatches(ShuffledRows):
    """Rows of `MaskedTexts` in a new order each epoch, each once; seed, epoch and step determine the masks.

    Every process draws the whole step, so that the masks do not depend on the number of processes.
    """

    def __init__(self, texts: MaskedTexts, batch_size: int, seed: int) -> None:
        super().__init__(len(texts), batch_size, seed)
        self.texts = texts

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        drawn = self.texts.draw(step, self.step_generator())
        return [drawn.to_batch(part) for part in self.shard.micro_batches]


def _refuse_missing_tokens(tokenizer: Any, template: SegmentTemplate, next_sentence: bool) -> None:
    """Raise ValueError where the tokenizer has no mask token, or pairs have no beginning or no separator."""
    if tokenizer.mask_token_id is None:
        raise ValueError(
            "the tokenizer has no mask_token, which stands in the place of masked tokens; train one with the template "
            "of BERT (tokenizer.template bert, or roberta), or give it one by tokenizer.set_template('bert')"
        )
    for name in ("cls_token", "sep_token") if next_sentence else ():
        if getattr(tokenizer, f"{name}_id") not in {*template.special_ids} - {None}:
            token = getattr(tokenizer, name)
            raise ValueError(
                f"next sentences need a {name} in each pair, but the tokenizer "
                + ("has none" if token is None else f"puts no {token} around texts")
                + "; train one with the template of BERT (tokenizer.template bert), or set next_sentence false"
            )
