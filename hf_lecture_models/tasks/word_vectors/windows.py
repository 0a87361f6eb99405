# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec's training data: blocks of neighbouring words, from texts without most of their frequent words.

A word of relative frequency f is kept with this probability (at most 1), where t is a threshold:

    program    √(t/f) + t/f        word2vec.c, and gensim
    paper      √(t/f)              Mikolov et al., "Distributed representations ...", NeurIPS 2013, equation 5

Each epoch draws again which words are kept. They form one line, without the words that the vocabulary lacks; a window
ends where its text ends. The line is cut into blocks: a few words, with the windows around them. An update of the
weights reads some random blocks, and one step of the training loop has many updates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hf_lecture_models.trainer.batches import Batch, Batches, RowShard

SUBSAMPLING = {
    "program": "keep a word of frequency f with probability sqrt(t/f) + t/f, as word2vec.c and gensim do",
    "paper": "keep it with probability sqrt(t/f)",
}

NO_WORD = -1
"""The id that fills places of a block without a word."""


@dataclass(frozen=True)
class WordLine:
    """The words of all texts, one after the other.

    Attributes:
        ids: (words,) int64, without special tokens.
        texts: (words,) int64, the number of each word's text.
    """

    ids: np.ndarray
    texts: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, lengths: np.ndarray, special_ids: list[int]) -> "WordLine":
        """Return the words of a corpus of `ids` (tokens,) in texts of these lengths, without its special ids.

        >>> WordLine.of(np.array([5, 0, 6, 7]), np.array([3, 1]), special_ids=[0])
        WordLine(ids=array([5, 6, 7]), texts=array([0, 0, 1]))
        """
        is_word = ~np.isin(ids, special_ids)
        texts = np.repeat(np.arange(len(lengths)), lengths)
        return cls(ids[is_word].astype(np.int64), texts[is_word])

    def __len__(self) -> int:
        return len(self.ids)

    def subsampled(self, keep: np.ndarray, generator: np.random.Generator) -> "WordLine":
        """Return a line in which each word w is kept with probability `keep[w]`."""
        kept = generator.random(len(self), dtype=np.float32) < keep[self.ids]
        return WordLine(self.ids[kept], self.texts[kept])


def keep_probabilities(counts: np.ndarray, threshold: float, formula: str = "program") -> np.ndarray:
    """Return the probability with which each word is kept, (vocab,) float32.

    >>> keep_probabilities(np.array([64, 32, 4]), threshold=0.01, formula="paper")[[0, 2]].tolist()
    [0.125, 0.5]

    Args:
        counts: (vocab,), how often each word occurs.
        threshold: t; 0 keeps all words.
        formula: one of `SUBSAMPLING`.
    """
    if threshold == 0:
        return np.ones(len(counts), np.float32)
    ratio = threshold * counts.sum() / np.maximum(counts, 1)
    kept = np.sqrt(ratio) + (ratio if formula == "program" else 0)
    return np.minimum(kept, 1).astype(np.float32)


@dataclass(frozen=True)
class WindowOptions:
    """The sizes of windows, blocks, updates and steps.

    Attributes:
        window_size: the largest window.
        block_words: words in the middle of a block, which has `window_size` more on either side.
        blocks: the number in one update.
        updates: the approximate number in one step of the training loop.
        noise: noise words of an update, shared by its blocks; 0 for none.
    """

    window_size: int
    block_words: int
    blocks: int
    updates: int
    noise: int


class WordBlocks(Batches):
    """The `Batches` of word vectors; seed, epoch and step determine everything that is drawn.

    Args:
        line: the words of the training texts.
        keep: (vocab,), the probability with which each word is kept.
        cumulative_noise: (vocab,), the cumulative distribution of noise words.

    Raises:
        ValueError: no text has two words.
    """

    def __init__(
        self, line: WordLine, keep: np.ndarray, cumulative_noise: np.ndarray, options: WindowOptions, seed: int
    ) -> None:
        if not (line.texts[1:] == line.texts[:-1]).any():
            raise ValueError("there are no two words of the vocabulary in one text: nothing to learn from")
        self.line, self.keep, self.options, self.seed = line, keep, options, seed
        self.cumulative_noise = cumulative_noise
        kept = float(keep[line.ids].sum(dtype=np.float64))
        self.steps_per_epoch = max(1, round(kept / (options.block_words * options.blocks * options.updates)))
        self.device: torch.device | str = "cpu"
        self._lay_out()

    def set_shard(self, shard: RowShard) -> None:
        """Take all rows: each update must see the one before it, so there is only one process.

        Raises:
            ValueError: there are several processes or micro-batches.
        """
        if shard.micro_batches != [slice(0, shard.batch_size)]:
            raise ValueError(
                "word vectors are trained in one process and without accumulation_steps: each update must see the one "
                "before it"
            )
        self.device = shard.device

    def next_step(self) -> list[Batch]:
        """Return the blocks of the next step, as one batch."""
        if self.position == self.steps_per_epoch:
            self.epoch, self.position = self.epoch + 1, 0
            self._lay_out()
        self.position += 1
        generator = np.random.default_rng((self.seed, self.epoch, self.position))
        rows = self.parts[self.position - 1]
        words, texts = self.words[rows], self.texts[rows]
        width = self.options.window_size
        sizes = generator.integers(1, width + 1, (len(rows), self.options.block_words))
        updates = -(-len(rows) // self.options.blocks)
        noise = self.cumulative_noise.searchsorted(generator.random((updates, self.options.noise)), side="right")
        inputs = {"words": words, "texts": texts, "sizes": sizes, "noise": noise}
        tensors = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
        return [Batch(tensors, self._neighbours(texts, sizes))]

    def _neighbours(self, texts: np.ndarray, sizes: np.ndarray) -> int:
        """Return the number of words in all windows."""
        width, length = self.options.window_size, self.options.block_words
        middle, total = texts[:, width : width + length], 0
        for offset in range(1, width + 1):
            wide = (sizes >= offset) & (middle != NO_WORD)
            for start in (width - offset, width + offset):
                total += int(np.count_nonzero(wide & (texts[:, start : start + length] == middle)))
        return total

    def _lay_out(self) -> None:
        """Draw the words of the epoch, and put its blocks into a random order."""
        # Two numbers and not three, as each step's generator has them.
        generator = np.random.default_rng((self.seed, self.epoch))
        line, length = self.line.subsampled(self.keep, generator), self.options.block_words
        blocks = max(1, -(-len(line) // length))
        self.words, self.texts = (self._blocks_of(values, blocks) for values in (line.ids, line.texts))
        self.parts = np.array_split(generator.permutation(blocks), self.steps_per_epoch)

    def _blocks_of(self, values: np.ndarray, blocks: int) -> np.ndarray:
        """Return the values of each block and of its windows on either side, (blocks, block_words + 2 window_size)."""
        width, length = self.options.window_size, self.options.block_words
        after = blocks * length - len(values) + width
        padded = np.concatenate((np.full(width, NO_WORD), values, np.full(after, NO_WORD)))
        return np.lib.stride_tricks.sliding_window_view(padded, length + 2 * width)[::length]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position; seed and epoch determine the blocks."""
        super().load_state_dict(state)
        self._lay_out()
