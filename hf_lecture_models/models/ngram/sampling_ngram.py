# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts drawn from an n-gram model, thousands at a time, from its tables alone.

`generate()` computes a row over the vocabulary for each word. Here, with ch(h) the words that are stored after h, each
word is drawn from P(w | h) of `modeling_ngram.py` as follows:

    with probability sum of P(w | h) over ch(h):   a w in ch(h), by a search in the cumulated probabilities
    else:                                          a w that is not in ch(h) from P(w | h'), in the same two steps

The second line draws from bow(h) P(w | h') over the words that are not in ch(h), since bow(h) makes all sum to 1. All
words of ch(h) are in ch(h') too. A word of ch(h') without those is drawn by a search for the place where the cumulated
probability of the others reaches the target. If a file has an n-gram hw without h'w, w is drawn again while it is in
ch(h).
"""

from __future__ import annotations

import numpy as np
import torch

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.layers.ngram_search import find
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.corpus import EncodedCorpus

BATCH = 1 << 16
_NOTHING = 1e-9  # what rounding leaves of differences of sums


def sample_corpus(
    model: NGramForCausalLM, texts: int, seed: int, max_length: int = 100_000, progress: bool = False
) -> EncodedCorpus:
    """Draw the ids of texts from a model, each until its `</s>`.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a b"])
    >>> model = NGramForCausalLM.fit(["a b"], tokenizer, order=2, smoothing="maximum_likelihood")
    >>> [tokenizer.decode(ids) for ids in sample_corpus(model, texts=2, seed=0)]
    ['a b', 'a b']

    The same seed gives the same texts. Those longer than `max_length` words are cut.

    Raises:
        ValueError: the model is of classes, an interpolation or stupid back-off, or has no `<s>` and `</s>`.
    """
    sampler, generator = NGramSampler(model), np.random.default_rng(seed)
    ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    with ProgressBar(total=texts, desc="drawing", unit=" texts", shown=progress) as bar:
        for start in range(0, texts, BATCH):
            count = min(BATCH, texts - start)
            batch = _draw_texts(sampler, generator, count, max_length)
            ids.append(batch.ids)
            lengths.append(batch.lengths)
            bar.update(count)
    return EncodedCorpus(np.concatenate(ids), np.concatenate(lengths))


def _draw_texts(sampler: NGramSampler, generator: np.random.Generator, texts: int, max_length: int) -> EncodedCorpus:
    """Draw texts side by side, word by word; finished ones drop out."""
    contexts = sampler.start(texts)
    rows, drawn = np.arange(texts), []
    lengths = np.full(texts, max_length)
    for length in range(max_length):
        words = sampler.draw(contexts, generator)
        ends = words == sampler.eos
        lengths[rows[ends]] = length
        rows, words = rows[~ends], words[~ends]
        if len(rows) == 0:
            break
        drawn.append((rows, words))
        contexts = sampler.extend([context[~ends] for context in contexts], words)
    ids = np.empty(lengths.sum(), np.int32)
    firsts = np.cumsum(lengths) - lengths
    for place, (at, words) in enumerate(drawn):
        ids[firsts[at] + place] = words
    return EncodedCorpus(ids, lengths)


class NGramSampler:
    """A sampler of the next words of many contexts.

    Contexts are a list of (rows,) indices: of the last 0, 1 ... order-1 words of each row; -1 where not stored.
    """

    def __init__(self, model: NGramForCausalLM) -> None:
        config = model.config
        if config.num_classes is not None or config.mixture_weights is not None or not config.is_distribution:
            raise ValueError("texts are drawn from n-grams of words: not classes, interpolated models, stupid back-off")
        if config.bos_token_id is None or config.eos_token_id is None:
            raise ValueError("NGramConfig.bos_token_id and eos_token_id are needed to begin and end texts")
        if config.hashed:
            raise ValueError("the model has hashes of its n-grams, not their words; draw texts with generate()")
        tables = model.tables()
        self.vocab_size, self.order = tables.vocab_size, tables.order
        self.bos, self.eos = config.bos_token_id, config.eos_token_id
        self.keys = [np.arange(self.vocab_size), *tables.keys]
        # [n]: where the n-grams after each context of n words begin, and the cumulated probabilities of n-grams.
        sizes = [1, *tables.sizes]
        self.firsts = [
            np.searchsorted(keys, np.arange(contexts + 1) * self.vocab_size)
            for keys, contexts in zip(self.keys, sizes[:-1], strict=True)
        ]
        probs = [10.0 ** logs.astype(float) for logs in tables.log10_probs]
        self.cumulated = [_cumulated(p) for p in probs]
        # [n]: for the n-grams hw after a context h of n words, the place of h'w among those after h', and the cumulated
        # P(w | h'); for each h, the probability of the words that are not stored after it.
        self.places, self.passed, self.left = [self.keys[0]], [np.zeros(1)], [np.zeros(1)]
        self.is_closed, suffixes = True, np.zeros(self.vocab_size, np.int64)
        for n in range(1, self.order):
            suffixes = self._add_shorter(n, suffixes, probs[n - 1], tables.log10_backoffs[n - 1] > -np.inf)

    def _add_shorter(self, n: int, suffixes: np.ndarray, probs: np.ndarray, has_backoff: np.ndarray) -> np.ndarray:
        """Look up the n-grams after contexts of n words without their first words; return the next `suffixes`.

        Args:
            suffixes: (contexts,) the index of each context without its first word; -1 where that is not stored.
            probs: (shorter n-grams,) their probabilities.
            has_backoff: (contexts,) True if words that are not stored are possible.
        """
        shorter, (prefixes, words) = self.keys[n - 1], np.divmod(self.keys[n], self.vocab_size)
        queries = suffixes[prefixes] * self.vocab_size + words
        places = np.searchsorted(shorter, queries)
        nearest = np.minimum(places, len(shorter) - 1)
        is_stored = shorter[nearest] == queries
        self.is_closed &= bool(is_stored.all())
        self.places.append(places)
        self.passed.append(_cumulated(np.where(is_stored, probs[nearest], 0)))
        contexts = np.arange(len(suffixes))
        left = np.maximum(1 - self._sums(self.cumulated[n], n, contexts), 0)
        unseen = self._sums(self.cumulated[n - 1], n - 1, suffixes) - self._sums(self.passed[n], n, contexts)
        unseen += np.where(suffixes >= 0, self.left[n - 1][suffixes], 1)
        # If all words are stored, or other words are impossible, anything left is a rounding error.
        self.left.append(np.where(has_backoff & (unseen > _NOTHING), left, 0))
        return np.where(is_stored, places, -1)

    def _sums(self, cumulated: np.ndarray, level: int, contexts: np.ndarray) -> np.ndarray:
        """Return the sum of a cumulated value over the n-grams after each context of `level` words; 0 for -1."""
        firsts = self.firsts[level]
        return np.where(contexts >= 0, cumulated[firsts[contexts + 1]] - cumulated[firsts[contexts]], 0)

    def start(self, rows: int) -> list[np.ndarray]:
        """Return the contexts at the beginning of the texts."""
        return [np.full(rows, index) for index in (0, self.bos, *[-1] * self.order)[: self.order]]

    def extend(self, contexts: list[np.ndarray], words: np.ndarray) -> list[np.ndarray]:
        """Return the contexts after one more word in each row."""
        longer = [self._find(n, context, words) for n, context in enumerate(contexts[:-1], 1)]
        return [contexts[0], *longer] if longer else contexts

    def draw(self, contexts: list[np.ndarray], generator: np.random.Generator) -> np.ndarray:
        """Draw a word after each context, (rows,)."""
        rows = np.arange(len(contexts[0]))
        words = np.full(len(rows), -1)
        tops = np.max([np.where(context >= 0, length, 0) for length, context in enumerate(contexts)], axis=0)
        levels = tops.copy()  # words of the context that is asked
        while len(rows):
            for level in reversed(range(self.order)):
                at = rows[(levels[rows] == level) & (words[rows] < 0)]
                longer = np.where(tops[at] > level, contexts[min(level + 1, self.order - 1)][at], -1)
                words[at] = self._draw_stored(level, contexts[level][at], longer, generator.random(len(at)))
                levels[at[words[at] < 0]] -= 1
            if self.is_closed:
                break
            self._unset_stored(rows, contexts, levels, tops, words)
            rows = rows[words[rows] < 0]
        return words

    def _draw_stored(self, level: int, contexts: np.ndarray, longer: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Draw a word that is stored after each context of `level` words, (rows,), or -1 for one that is not.

        Words that are stored after the `longer` context, of one word more (-1: not stored), are left out.
        """
        words = np.full(len(contexts), -1)
        if not len(contexts):
            return words
        longer = np.where(contexts >= 0, longer, -1)
        share = self._sums(self.cumulated[level], level, contexts)
        if level + 1 < self.order:
            share = share - self._sums(self.passed[level + 1], level + 1, longer)
        target = uniform * (share + np.where(contexts >= 0, self.left[level][contexts], 1))
        drawn = np.flatnonzero((target < share) | (level == 0))
        first, after = (self.firsts[level][contexts[drawn] + side] for side in (0, 1))
        target = self.cumulated[level][first] + target[drawn]
        if level + 1 < self.order:
            target += self._passed_before(level, target, longer[drawn])
        found = np.searchsorted(self.cumulated[level], target, side="right") - 1
        words[drawn] = self.keys[level][np.clip(found, first, after - 1)] % self.vocab_size
        return words

    def _passed_before(self, level: int, target: np.ndarray, longer: np.ndarray) -> np.ndarray:
        """Return the probability of the words after each `longer` context that a search for the target passes, (rows,).

        A search among those words: each one is passed if the others before it do not reach the target.
        """
        places, passed, firsts = self.places[level + 1], self.passed[level + 1], self.firsts[level + 1]
        first = np.where(longer >= 0, firsts[longer], 0)
        low, high = first, np.where(longer >= 0, firsts[longer + 1], 0)
        while (low < high).any():
            middle = (low + high) // 2
            place = places[np.minimum(middle, len(places) - 1)]
            before = self.cumulated[level][place] - (passed[middle] - passed[first])
            goes_on = (low < high) & (before <= target)
            low, high = np.where(goes_on, middle + 1, low), np.where(goes_on, high, middle)
        return passed[low] - passed[first]

    def _unset_stored(
        self, rows: np.ndarray, contexts: list[np.ndarray], levels: np.ndarray, tops: np.ndarray, words: np.ndarray
    ) -> None:
        """Set words that are stored after a longer context to -1, so that their rows draw again below it."""
        for level in range(1, self.order):
            at = rows[(levels[rows] < level) & (level <= tops[rows])]
            at = at[words[at] >= 0]
            stored = at[self._find(level + 1, contexts[level][at], words[at]) >= 0]
            levels[stored], words[stored] = level - 1, -1

    def _find(self, n: int, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the index of each n-gram "context word", (rows,); -1 where it is not stored."""
        if n == 1:
            return words
        found, known = np.full(len(words), -1), contexts >= 0
        queries = torch.from_numpy(contexts[known] * self.vocab_size + words[known])
        found[known] = find(torch.from_numpy(self.keys[n - 1]), queries).numpy()
        return found


def _cumulated(values: np.ndarray) -> np.ndarray:
    """Return the sum of all values before each one, and of all."""
    return np.concatenate(([0.0], np.cumsum(values)))
