# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Unigram segmentation: "better solutions: SentencePiece (unigram model)", "also regularization through sampling"
(slide Y:402; Kudo 2018).

The pieces x_1 ... x_m of a word are independent, P(x_1 ... x_m) = p(x_1) ... p(x_m). Encoding takes the segmentation of
the highest probability; `sampling` draws others while a model is trained. `unigram_training` learns pieces and p.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.decoders import Fuse
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import ByteLevel, Split

from hf_lecture_models.tokenization.backend import special_spellings
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.byte import byte_names
from hf_lecture_models.tokenization.lattices import Lattices
from hf_lecture_models.tokenization.segmentation_sampling import SegmentationSampler
from hf_lecture_models.tokenization.splitting import (
    STRETCH,
    WordIndex,
    count_parts,
    count_words,
    index_stretches,
    shorten,
    splitter,
)
from hf_lecture_models.tokenization.subwords import SubwordTokenizer, set_unknown
from hf_lecture_models.tokenization.unigram_training import learn_pieces

# So improbable that the characters of its spelling, if a text has them, are always better.
_UNKNOWN_SCORE = -1000.0
_DIGITS = 9


@dataclass(frozen=True)
class Segmentation:
    """One segmentation of a text.

    Attributes:
        tokens, ids: the pieces, without special tokens.
        log_prob: ln P(x_1 ... x_m) under the unigram model; an unknown token counts as -1000.
    """

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    log_prob: float


class UnigramTokenizer(SubwordTokenizer):
    r"""The most probable segmentation of each word under a unigram model of pieces, in one of two forms.

    - "words": words with the white space in front of them, made of characters. A run of characters that the training
      texts lack is an `<unk>`; all other texts come back exactly.
    - "bytes": the 256 bytes after GPT-2's split, as `BpeTokenizer` has it. Nothing is unknown, and every text comes
      back exactly.

    In both, with `is_split_into_words=True` the words are joined without a space.

    >>> texts = ["new newer newest low lower lowest wide wider widest"]
    >>> tokenizer = UnigramTokenizer.train(texts, vocab_size=22, progress=False)
    >>> tokenizer.tokenize("newest wide lowest")
    ['new', 'est', ' wide', ' low', 'est']
    >>> [one.tokens for one in tokenizer.nbest("newest", 2)]
    [('new', 'est'), ('n', 'e', 'w', 'est')]

    `AutoTokenizer` loads a saved one where this package is absent, too. Only sampling needs the package.
    """

    model_class = Unigram
    _sampler: SegmentationSampler | None = None

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        form: str = "words",
        max_piece_length: int = 16,
        seed_size: int | None = None,
        shrinking_factor: float = 0.75,
        **kwargs: Any,
    ) -> UnigramTokenizer:
        """Learn pieces and probabilities by expectation-maximization and pruning; see `unigram_training`.

        `LectureTokenizer.train` describes the other arguments, and the errors.

        Args:
            vocab_size: the largest number of tokens; None: 8,000. There are fewer if no more strings repeat.
            min_count: a rarer string does not become a piece; in the form "words" a rarer character is unknown.
            form: "words" or "bytes".
            max_piece_length: the longest piece, in characters, or in bytes in the form "bytes".
            seed_size: strings to begin with; by default ten for each token (`unigram_training` says why not more).
            shrinking_factor: the share of pieces that is left after each cut.
        """
        vocab_size = 8_000 if vocab_size is None else vocab_size
        seed_size = 10 * vocab_size if seed_size is None else seed_size
        set_unknown(form, kwargs)
        _check_options(shrinking_factor, vocab_size=vocab_size, max_piece_length=max_piece_length, seed_size=seed_size)
        special = cls._special_spellings(min_count, kwargs)
        counts, symbols = _count(texts, form, min_count, special, progress)
        size = vocab_size - len(special)
        if size < len(symbols):
            raise ValueError(
                f"vocab_size {vocab_size} is less than the {len(symbols)} symbols that always stay and the "
                f"{len(special)} special tokens; raise it" + (", or min_count" if form == "words" else "")
            )
        options = (max_piece_length, seed_size, shrinking_factor, max(2, min_count), progress)
        learned = learn_pieces(counts, symbols, size, special, *options)
        return cls.from_scores({piece: math.log(p) for piece, p in learned.items()}, form, **kwargs)

    @classmethod
    def from_scores(cls, scores: dict[str, float], form: str = "words", **kwargs: Any) -> UnigramTokenizer:
        """Build a tokenizer from its pieces with ln p of each, in the order of their ids.

        In the form "words" the unknown token is put in front, unless it is the first of them.

        >>> tokenizer = UnigramTokenizer.from_scores({"a": -2.0, "b": -2.0, "ab": -3.0, " ": -4.0})
        >>> tokenizer.tokenize("ab ba")
        ['ab', ' ', 'b', 'a']

        Raises:
            ValueError: a score is not finite or above 0; a piece is empty or spelled like another special token; in the
                form "bytes" a byte is missing; or in the form "words" a piece has a character that is not a piece, and
                so would be known in one place and unknown in another.
        """
        set_unknown(form, kwargs)
        unknown = kwargs.get("unk_token")
        first = {} if form == "bytes" or unknown in scores else {str(unknown): _UNKNOWN_SCORE}
        others = special_spellings(kwargs) - {str(unknown)}
        for piece, score in scores.items():
            if not piece or piece in others or not (math.isfinite(score) and score <= 0):
                raise ValueError(
                    f"{shorten(piece)} with the score {score} is no piece: it is empty, a special token, or not ln p"
                )
        if form == "words" and next(iter(first | scores)) != unknown:
            raise ValueError(f"the unknown token {unknown!r} must be the first piece")
        if form == "words" and (lone := _unscored_character(scores.keys() - {unknown}, scores)):
            raise ValueError(
                f"the piece {shorten(lone[0])} has the character {lone[1]!r}, which has no score; give it one"
            )
        if form == "bytes" and (missing := [name for name in byte_names() if name not in scores]):
            raise ValueError(f"the form 'bytes' lacks the bytes {' '.join(missing[:5])}; give all 256 a score")
        return cls(tokenizer_object=_backend(form, first | scores), **kwargs)

    @property
    def scores(self) -> dict[str, float]:
        """The pieces with ln p of each, in the order of their ids; the unknown token has -1000 in its place."""
        return dict(json.loads(self.backend_tokenizer.to_str())["model"]["vocab"])

    def _kind(self) -> dict[str, Any]:
        return {"form": "bytes"} if self.form == "bytes" else {"form": "words", "unk_token": self.unk_token}

    @staticmethod
    def _splits_words(pre_tokenizer: Any) -> bool:
        own = _splitter("words").__getstate__()
        return isinstance(pre_tokenizer, Split) and bool(pre_tokenizer.__getstate__() == own)

    def is_unmodified(self) -> bool:
        """Return whether the backend is unchanged."""
        model = self.backend_tokenizer.model
        return super().is_unmodified() and model.alpha is None and model.nbest_size is None

    def index_words(self, texts: list[str]) -> WordIndex:
        """Split `texts` into words with the white space before them."""
        return index_stretches(texts)

    # All segmentations

    def nbest(self, text: str, n: int) -> list[Segmentation]:
        """Return the `n` most probable segmentations of a text, the best first, or all if it has fewer.

        Raises:
            ValueError: `n` is less than 1, or the text holds a lone surrogate.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        lattice, scores = self.lattice(text), self._score_array()
        return [self._segmentation(pieces, score) for score, pieces in lattice.nbest(scores, n)[0]]

    def sample(
        self, text: str, alpha: float = 1.0, n: int = 1, nbest: int | None = None, seed: int | None = None
    ) -> list[Segmentation]:
        """Draw `n` segmentations of a text, each with probability ~ P(x)^alpha.

        >>> tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "b": -1.0, "ab": -2.0})
        >>> sorted({one.tokens for one in tokenizer.sample("ab", n=50, seed=0)})
        [('a', 'b'), ('ab',)]

        Args:
            alpha: with 1, the unigram model's probabilities; with 0, all segmentations are equally probable; with a
                large number, the best one is drawn.
            nbest: draw among so many of the most probable ones (Kudo's l); None: among all.
            seed: None takes one from Python's `random`, which transformers' `set_seed` sets.

        Raises:
            ValueError: `alpha` is negative or not finite, `n` or `nbest` is less than 1, or the text holds a lone
                surrogate.
        """
        _check_alpha(alpha)
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        generator = np.random.default_rng(_seed(seed))
        if nbest is not None:
            best = self.nbest(text, nbest)
            weights = np.exp(alpha * np.array([one.log_prob - best[0].log_prob for one in best]))
            return [best[number] for number in generator.choice(len(best), n, p=weights / weights.sum())]
        lattice, scores = self.lattice(text), self._score_array()
        ids, sizes = lattice.draw(np.zeros(n, np.int64), alpha * scores, generator)
        rows = np.split(ids, np.cumsum(sizes)[:-1])
        return [self._segmentation(row.tolist(), float(scores[row].sum())) for row in rows]

    def lattice(self, text: str) -> Lattices:
        """Return all segmentations of a text, as one lattice; the numbers of pieces are their ids.

        Raises:
            ValueError: the text holds a lone surrogate.
        """
        self.check_text(text)
        return self.lattices([text])

    def lattices(self, texts: Sequence[str]) -> Lattices:
        """Return the lattices of texts; see `lattice`."""
        pieces = self.scores
        unknown = None if self.form == "bytes" else self.backend_tokenizer.token_to_id(str(self.unk_token))
        known = {piece: number for number, piece in enumerate(pieces) if number != unknown}
        rows = list(map(splitter(self.backend_tokenizer.pre_tokenizer), texts))
        lattices = Lattices.of(list(chain.from_iterable(rows)), known, unknown)
        return lattices.join(np.array([len(row) for row in rows]))

    def _score_array(self) -> np.ndarray:
        return np.array(list(self.scores.values()))

    def _segmentation(self, ids: Sequence[int], log_prob: float) -> Segmentation:
        return Segmentation(tuple(self.convert_ids_to_tokens(list(ids))), tuple(ids), log_prob)

    # Sampling while encoding

    @property
    def is_sampling(self) -> bool:
        """True inside a block of `sampling`."""
        return self._sampler is not None

    @contextmanager
    def sampling(self, alpha: float, seed: int | Sequence[int] | None = None) -> Iterator[None]:
        """Draw the segmentation of each word with probability ~ P(x)^alpha while the block lasts.

        Every call of the tokenizer, and of `encode_corpus`, draws other segmentations: encode the batches of each epoch
        inside the block. Equal texts of one call have equal segmentations. The draws follow from the seed and the
        number of the call in the block. A tokenizer that is saved inside the block does not sample; a copy made there,
        for example for a worker process, does. Evaluation raises an error inside the block. Training scripts do all of
        this with `tokenizer.sampling`.

        >>> tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "b": -1.0, "ab": -2.5})
        >>> with tokenizer.sampling(0.0, seed=1):
        ...     print([tokenizer.tokenize("ab") for _ in range(4)])
        [['a', 'b'], ['ab'], ['ab'], ['a', 'b']]

        Args:
            alpha, seed: as for `sample`. Kudo 2018 trains with an alpha of 0.1 to 0.5.

        Raises:
            ValueError: `alpha` is negative or not finite.
        """
        _check_alpha(alpha)
        before = self._sampler
        unknown = None if self.form == "bytes" else str(self.unk_token)
        self._sampler = SegmentationSampler(self.scores, unknown, alpha, _seed(seed))
        try:
            yield
        finally:
            self._sampler = before

    def encode_texts(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encode texts as every class does; inside a block of `sampling`, with a segmentation for every place."""
        if self._sampler is None:
            return super().encode_texts(texts)
        index = self.index_words(texts)
        rows = list(map(splitter(self.backend_tokenizer.pre_tokenizer), index.words))
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(piece, len(numbers)) for row in rows for piece in row]
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        places, lengths = index.expand(np.array(codes, np.int64), sizes)
        ids, tokens = self._sampler.draw(list(numbers), places)
        ends = np.concatenate([[0], np.cumsum(tokens)])
        return ids, np.diff(ends[np.concatenate([[0], np.cumsum(lengths)])])

    def _encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        if self._sampler is None:
            return super()._encode_plus(*args, **kwargs)
        with self._sampler.applied_to(self.backend_tokenizer):
            return super()._encode_plus(*args, **kwargs)


def _unscored_character(pieces: Iterable[str], scores: Mapping[str, float]) -> tuple[str, str] | None:
    """Return the first piece with a character that is not itself a piece, and that character; None without one.

    For the Rust library such a character is unknown alone, but known within the piece; in the lattices a run of unknown
    characters is one edge, which the piece would have to cross.
    """
    return next(((piece, x) for piece in sorted(pieces) for x in piece if x not in scores), None)


def _seed(seed: int | Sequence[int] | None) -> Sequence[int]:
    if seed is None:
        return (random.getrandbits(64),)
    return (seed,) if isinstance(seed, int) else tuple(seed)


def _check_alpha(alpha: float) -> None:
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha must be a finite number of at least 0, not {alpha}")


def _check_options(shrinking_factor: float, **sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if not 0 < shrinking_factor < 1:
        raise ValueError(f"shrinking_factor must be between 0 and 1, not {shrinking_factor}")


def _splitter(form: str) -> Any:
    return ByteLevel(add_prefix_space=False) if form == "bytes" else Split(Regex(STRETCH), "isolated")


def _backend(form: str, scores: dict[str, float]) -> Tokenizer:
    # The library reads so many digits of a saved score exactly, but not always all digits of a float64.
    rounded = [(piece, round(score, _DIGITS)) for piece, score in scores.items()]
    backend = Tokenizer(Unigram(rounded, unk_id=None if form == "bytes" else 0))
    backend.pre_tokenizer = _splitter(form)
    backend.decoder = ByteLevelDecoder() if form == "bytes" else Fuse()
    return backend


def _count(
    texts: Iterable[str], form: str, min_count: int, special: set[str], progress: bool
) -> tuple[Counter[str], list[str]]:
    """Return how often each word occurs, cut at characters that get no piece; and the symbols."""
    counts = count_parts(count_words(plain_texts(texts), index_stretches, progress), splitter(_splitter(form)))
    symbols = byte_names()
    if form == "words":
        symbols = sorted(x for x, n in count_parts(counts).items() if n >= min_count and x not in special)
        known = frozenset(symbols)
        whole, counts = counts, Counter()
        for word, count in whole.items():
            for is_known, run in groupby(word, known.__contains__):
                if is_known:
                    counts["".join(run)] += count
    if not counts:
        raise ValueError("no words are left of the texts: give texts that are not empty, or lower min_count")
    return counts, symbols
