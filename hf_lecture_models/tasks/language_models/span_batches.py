# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""T5's training data: the source is a text with spans left out, the target these spans.

Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text Transformer", JMLR 2020, section
3.3.4: 15 % of the tokens of a text are left out, in spans of 3 on average. The source has a sentinel in the place of
each span; the target has each sentinel followed by its span (figure 2):

    Thank you for inviting me to your party last week .
    Thank you <extra_id_0> me to your party <extra_id_1> week . </s>
    <extra_id_0> for inviting <extra_id_1> last </s>

The length of a text determines how many tokens and spans are left out. Their places are random: all ways to cut the
left-out tokens into that many spans are equally likely, and so are all ways to cut the rest. A text begins with a token
that stays and ends with a span, as in the authors' code (`random_spans_noise_mask` of the library t5). A text of 30
tokens or fewer has one span, and so always loses its last tokens: train on longer texts.

Deviations:
- From the paper: a target ends with </s> and not with one more sentinel, as in the authors' code.
- From the authors' code: texts are cut within documents, at the same tokens in each epoch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_lecture_models.tasks.core.shuffled import ShuffledRows
from hf_lecture_models.tasks.language_models.documents import Documents
from hf_lecture_models.tasks.language_models.segments import SegmentTemplate
from hf_lecture_models.tasks.language_models.tokens import cut_spans
from hf_lecture_models.tasks.translation.batches import PairCollator
from hf_lecture_models.tokenization.sentinels import SENTINEL, sentinel_ids
from hf_lecture_models.trainer.batches import Batch


@dataclass(frozen=True)
class SpanNoise:
    """The share of a text that is left out, and the mean length of a span.

    >>> SpanNoise().counts(100), SpanNoise().lengths(100)
    ((15, 5), (90, 20))
    """

    density: float = 0.15
    mean_length: float = 3.0

    def counts(self, length: int) -> tuple[int, int]:
        """Return how many tokens and spans are left out of a text; one token at least stays, and one does not.

        Args:
            length: tokens of the text, at least two.
        """
        tokens = min(max(round(length * self.density), 1), length - 1)
        spans = max(round(tokens / self.mean_length), 1)
        return tokens, min(spans, tokens, length - tokens)

    def lengths(self, length: int) -> tuple[int, int]:
        """Return the numbers of tokens of source and target, without the special tokens around them."""
        tokens, spans = self.counts(length)
        return length - tokens + spans, tokens + spans

    def longest_text(self, source: int) -> int:
        """Return the length of the longest text whose source has at most `source` tokens (two or more).

        >>> SpanNoise().longest_text(511), SpanNoise().lengths(568)
        (568, (511, 113))
        """
        length = source
        while self.lengths(length + 1)[0] <= source:
            length += 1
        return length

    def draw(self, length: int, generator: np.random.Generator) -> np.ndarray:
        """Return (length,) bool: True for the tokens of a text (two or more) that are left out.

        >>> SpanNoise(density=0.4).draw(10, np.random.default_rng(0)).astype(int)
        array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
        """
        tokens, spans = self.counts(length)
        left_out, kept = (random_segments(number, spans, generator) for number in (tokens, length - tokens))
        return np.repeat(np.arange(2 * spans) % 2 == 1, np.stack((kept, left_out), axis=1).ravel())


def random_segments(items: int, segments: int, generator: np.random.Generator) -> np.ndarray:
    """Cut a row of items into so many segments, none empty, all ways equally likely; return their lengths.

    >>> int(random_segments(7, 3, np.random.default_rng(0)).sum())
    7
    """
    cuts = np.sort(generator.choice(items - 1, segments - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=items)


def replace_spans(ids: np.ndarray, is_replaced: np.ndarray, sentinels: np.ndarray) -> np.ndarray:
    """Return a text with sentinels in the place of its spans, the first sentinel for the first span and so on.

    >>> replace_spans(np.array([1, 2, 3, 4, 5]), np.array([0, 1, 1, 0, 1], dtype=bool), np.array([90, 91]))
    array([ 1, 90,  4, 91])
    """
    is_first = is_replaced & ~np.append(False, is_replaced[:-1])
    filled = np.where(is_first, sentinels[is_first.cumsum() - 1], ids)
    return filled[is_first | ~is_replaced]


class CorruptedTexts:
    """Documents cut into texts, with other spans left out each time they are drawn.

    Args:
        documents: cut into texts whose sources have `sequence_length` tokens; the last text may be shorter.
        tokenizer: with sentinels; it puts its special tokens around source and target, with the end of text last.
        sequence_length: tokens of the longest source, special ones included.

    Raises:
        ValueError: the tokenizer lacks special tokens, or has fewer sentinels than a text has spans; or no text has two
            tokens.
    """

    def __init__(self, documents: Documents, tokenizer: Any, sequence_length: int, noise: SpanNoise) -> None:
        self.documents, self.noise = documents, noise
        self.before, self.after = _around_texts(tokenizer)
        special = len(self.before) + len(self.after)
        if sequence_length < special + 2:
            raise ValueError(
                f"sequence_length {sequence_length} has no room for text beside {special} special token(s); raise it "
                f"to {special + 2} at least"
            )
        longest = noise.longest_text(sequence_length - special)
        starts, lengths = cut_spans(documents.starts, documents.lengths, longest)
        self.starts, self.lengths = starts[lengths > 1], lengths[lengths > 1]
        if not len(self):
            raise ValueError("there is no document of 2 tokens or more; check files and columns")
        self.sentinels = np.array(sentinel_ids(tokenizer), dtype=np.int32)
        most = noise.counts(int(self.lengths.max()))[1]
        if len(self.sentinels) < most:
            raise ValueError(
                f"a text of {int(self.lengths.max())} tokens has {most} spans, but the tokenizer has "
                f"{len(self.sentinels)} sentinel(s), {SENTINEL.format(0)} and so on; give it {most} (sentinels, of a "
                "new tokenizer), make sequence_length smaller, or mean_span_length larger"
            )

    def __len__(self) -> int:
        return len(self.starts)

    def draw(self, row: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return source and target of the text of this number."""
        ids = self.documents.ids[self.starts[row] : self.starts[row] + self.lengths[row]]
        noise = self.noise.draw(len(ids), generator)
        source, target = (
            np.concatenate((self.before, replace_spans(ids, is_replaced, self.sentinels), self.after))
            for is_replaced in (noise, ~noise)
        )
        return source, target


class SpanBatches(ShuffledRows):
    """Texts in a new order each epoch, each once; seed, epoch and text determine the spans that are left out.

    Args:
        start_id: the token that the decoder reads first.
        pad_id: of source and target.
    """

    def __init__(self, texts: CorruptedTexts, start_id: int, pad_id: int, batch_size: int, seed: int) -> None:
        super().__init__(len(texts), batch_size, seed)
        self.texts, self.start_id, self.pad_id = texts, start_id, pad_id

    def _micro_batches(self, step: np.ndarray) -> list[Batch]:
        return [self._collate(step[part]) for part in self.shard.micro_batches]

    def _collate(self, rows: np.ndarray) -> Batch:
        # A trailing 0 would give the generator that has shuffled the rows.
        keys = [(self.seed, self.epoch, int(row) + 1) for row in rows if row >= 0]
        pairs = [self.texts.draw(key[-1] - 1, np.random.default_rng(key)) for key in keys]
        return collate_pairs(pairs, len(rows), self.start_id, self.pad_id)


def collate_pairs(pairs: list[tuple[np.ndarray, np.ndarray]], count: int, start_id: int, pad_id: int) -> Batch:
    """Return a batch of `count` rows: the pairs, then rows that count nothing."""
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    places = np.where(np.arange(count) < len(pairs), np.arange(count), -1)
    return PairCollator(sources, targets, (pad_id, pad_id), start_id)(places)


def _around_texts(tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the special ids before a text, and those after it.

    Raises:
        ValueError: the tokenizer puts no end of text after a text, or has no padding token.
    """
    parts = SegmentTemplate.of(tokenizer, pairs=False).parts
    place = parts.index(0)
    before, after = (
        np.array([id_ for part in side if isinstance(part, list) for id_ in part], dtype=np.int32)
        for side in (parts[:place], parts[place:])
    )
    if tokenizer.eos_token_id is None or tokenizer.eos_token_id not in after:
        raise ValueError(
            "the tokenizer puts no end of text behind a text, by which a target ends; set tokenizer.add_eos_token = "
            "True and save it again"
        )
    return before, after
