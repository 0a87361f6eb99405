# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Byte-pair encoding: frequent words stay whole, rare ones are split (slides Y:371-405; Sennrich et al. 2016).

Deviations: each character is a symbol from the start both within and at the end of a word, so that no word of known
characters is unknown; and no pair becomes a symbol that decoding could mistake for a special token or for a mark within
a word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import groupby, islice
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.decoders import BPEDecoder
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, WhitespaceSplit

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.byte import byte_names
from hf_lecture_models.tokenization.merges import TIE_RULES, learn_merges
from hf_lecture_models.tokenization.splitting import (
    WordIndex,
    count_parts,
    count_words,
    index_stretches,
    index_words,
    splitter,
)
from hf_lecture_models.tokenization.subwords import SubwordTokenizer, set_unknown


class _Words:
    """The form "words": words between white space, whose last symbol ends in `mark`."""

    index_words = staticmethod(index_words)

    def __init__(self, mark: str | None, unk_token: str, special: set[str]) -> None:
        self.mark = "</w>" if mark is None else mark
        self.unk_token, self.special = unk_token, special
        if any(self.mark in token for token in special):
            raise ValueError(
                f"end_of_word {self.mark!r} is empty or part of a special token; choose another mark, such as '#'"
            )

    def start(self, counts: Counter[str], min_count: int) -> tuple[list[str], Counter[tuple[str, ...]]]:
        """Return the symbols before any merge, and the words made of them with their counts."""
        frequent = sorted(character for character, n in count_parts(counts).items() if n >= min_count)
        symbols = [
            symbol
            for character in frequent
            for symbol in (character, character + self.mark)
            if self._is_plain(symbol, ends_word=symbol != character)
        ]
        known = frozenset(symbols)
        words: Counter[tuple[str, ...]] = Counter()
        for word, count in counts.items():
            for is_known, piece in groupby([*word[:-1], word[-1] + self.mark], known.__contains__):
                if is_known:
                    words[tuple(piece)] += count
        return [self.unk_token, *symbols] if words else [], words

    def allows(self, left: str, right: str) -> bool:
        """Return whether a pair may become a symbol."""
        return self._is_plain(left + right, ends_word=right.endswith(self.mark))

    def _is_plain(self, symbol: str, ends_word: bool) -> bool:
        marked = symbol.endswith(self.mark)
        return symbol not in self.special and marked == ends_word and self.mark not in symbol[:-1]

    def backend(self, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
        backend = Tokenizer(BPE(vocabulary, merges, unk_token=self.unk_token, end_of_word_suffix=self.mark))
        backend.pre_tokenizer = WhitespaceSplit()
        backend.decoder = BPEDecoder(self.mark)
        return backend


class _Bytes:
    """The form "bytes": GPT-2's pieces, each byte written as one visible character."""

    index_words = staticmethod(index_stretches)

    def __init__(self, special: set[str]) -> None:
        self.special = special

    def start(self, counts: Counter[str], min_count: int) -> tuple[list[str], Counter[tuple[str, ...]]]:
        words = count_parts(counts, splitter(ByteLevel(add_prefix_space=False)))
        return byte_names(), Counter({tuple(word): count for word, count in words.items()})

    def allows(self, left: str, right: str) -> bool:
        return left + right not in self.special

    def backend(self, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
        backend = Tokenizer(BPE(vocabulary, merges))
        backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
        backend.decoder = ByteLevelDecoder()
        return backend


class BpeTokenizer(SubwordTokenizer):
    """Byte-pair encoding in one of two forms.

    - "words", as in Sennrich et al.: words between white space, made of characters, with a mark at the last one.
      Decoding joins the words by one space; a prompt of the text-generation pipeline must end with a space. A character
      that the training texts lack is an `<unk>`; if it ends a word, decoding joins the next word to it.
    - "bytes": the 256 bytes after GPT-2's split into runs of letters, of digits or of other signs, each with the space
      before it, and English endings such as `'s`. Nothing is unknown, and every text comes back exactly. With
      `is_split_into_words=True` the words are joined without a space.

    The slide's five words and merges:

    >>> tokenizer = BpeTokenizer.train(["lower lowest newer wider wide"], merges=5, end_of_word="#", progress=False)
    >>> tokenizer.tokenize("lowest newer wide")
    ['low', 'e', 's', 't#', 'n', 'e', 'w', 'er#', 'wid', 'e#']
    """

    model_class = BPE

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        merges: int | None = None,
        form: str = "words",
        end_of_word: str | None = None,
        tie_break: str = "lexicographic",
        **kwargs: Any,
    ) -> BpeTokenizer:
        """Merge the most frequent pair of neighbours, again and again, until a limit is met or no pair is left.

        `LectureTokenizer.train` describes the other arguments, and the errors.

        Args:
            min_count: a rarer pair is not merged; in the form "words" a rarer character is unknown.
            merges: the largest number of merges.
            form: "words" or "bytes".
            end_of_word: the mark, by default `</w>`, in the form "words". A mark of one character is unknown in texts.
            tie_break: of equally frequent pairs, "lexicographic" merges the smallest one as a pair of strings, and
                "reverse_lexicographic" the largest one (Sennrich's program).
        """
        if tie_break not in TIE_RULES:
            raise ValueError(f"tie_break is {tie_break!r}; it must be one of {', '.join(map(repr, TIE_RULES))}")
        if form == "bytes" and (end_of_word is not None or kwargs.get("unk_token") is not None):
            raise ValueError("the form 'bytes' has no end_of_word and no unk_token; leave them out")
        set_unknown(form, kwargs)
        special = cls._special_spellings(min_count, kwargs)
        chosen = _Bytes(special) if form == "bytes" else _Words(end_of_word, str(kwargs["unk_token"]), special)
        symbols, words = chosen.start(count_words(plain_texts(texts), chosen.index_words, progress), min_count)
        if not words:
            raise ValueError("no words are left of the texts: give texts that are not blank, or lower min_count")
        limit = _most_merges(symbols, vocab_size, special, merges)
        learned = islice(learn_merges(words, tie_break, min_count, chosen.allows), limit)
        found = list(ProgressBar(learned, total=limit, desc="learning merges", shown=progress))
        pieces = [*symbols, *(left + right for left, right in found)]
        backend = chosen.backend({piece: id_ for id_, piece in enumerate(pieces)}, found)
        return cls(tokenizer_object=backend, **kwargs)

    @classmethod
    def _read_backend(cls, path: str) -> Tokenizer:
        backend = super()._read_backend(path)
        backend.model.dropout = None
        return backend

    @classmethod
    def _is_own_model(cls, model: Any) -> bool:
        return isinstance(model, BPE) and not model.byte_fallback

    @property
    def merges(self) -> list[tuple[str, str]]:
        """The merged pairs, in the order in which they were learned."""
        return [tuple(pair) for pair in json.loads(self.backend_tokenizer.to_str())["model"]["merges"]]

    def _kind(self) -> dict[str, Any]:
        if self.form == "bytes":
            return {"form": "bytes"}
        mark = self.backend_tokenizer.model.end_of_word_suffix
        return {"form": "words", "end_of_word": mark, "unk_token": self.unk_token}

    @staticmethod
    def _splits_words(pre_tokenizer: Any) -> bool:
        return isinstance(pre_tokenizer, WhitespaceSplit)

    def index_words(self, texts: list[str]) -> WordIndex:
        """Split `texts` into words, in the form "bytes" with the white space before them."""
        return index_stretches(texts) if self.form == "bytes" else index_words(texts)

    def encode_words(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of words; raise a ValueError inside a block of `dropout`."""
        if self.backend_tokenizer.model.dropout:
            raise ValueError(
                "a corpus is encoded once for all epochs, which BPE-dropout is not for; leave the block of "
                "tokenizer.dropout(...), or encode the texts of each batch by tokenizer(texts)"
            )
        return super().encode_words(words)

    @contextmanager
    def dropout(self, probability: float) -> Iterator[None]:
        """Leave out each merge with this probability while the block lasts (BPE-dropout, Provilkov et al. 2020).

        A training text then has another segmentation each time it is encoded: encode the batches of every epoch inside
        the block, with `tokenizer(texts)`. `encode_corpus`, and so evaluation, raises an error there. A tokenizer that
        is saved inside the block has no dropout; a copy made there, for example for a worker process, has it. The
        choices come from the Rust library's own generator, which cannot be seeded: `set_seed` does not repeat them.

        >>> tokenizer = BpeTokenizer.train(["low low"], progress=False)
        >>> with tokenizer.dropout(1.0):
        ...     print(tokenizer.tokenize("low"))
        ['l', 'o', 'w</w>']
        >>> tokenizer.tokenize("low")
        ['low</w>']

        Raises:
            ValueError: `probability` is not between 0 and 1.
        """
        if not 0 <= probability <= 1:
            raise ValueError(f"the dropout of merges must be a probability between 0 and 1, not {probability}")
        model = self.backend_tokenizer.model
        before, model.dropout = model.dropout, probability or None
        try:
            yield
        finally:
            model.dropout = before

    def save_pretrained(self, *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save the tokenizer as every class does, with dropout switched off."""
        with self.dropout(0) if self.backend_tokenizer.model.dropout else nullcontext():
            return super().save_pretrained(*args, **kwargs)


def _most_merges(symbols: list[str], vocab_size: int | None, special: set[str], merges: int | None) -> int | None:
    """Return the largest number of merges under both limits; None without a limit."""
    if merges is not None and merges < 0:
        raise ValueError(f"merges must be at least 0, not {merges}")
    if vocab_size is None:
        return merges
    added = len(special - set(symbols))
    if vocab_size < len(symbols) + added:
        raise ValueError(
            f"vocab_size {vocab_size} is less than the {len(symbols)} symbols before any merge and the {added} special "
            "tokens; raise it, or leave out rare characters by min_count"
        )
    room = vocab_size - added - len(symbols)
    return room if merges is None else min(room, merges)
