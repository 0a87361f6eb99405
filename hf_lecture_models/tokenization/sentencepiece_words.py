# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts whose words are the pieces of a sentencepiece model, for n-grams that were estimated on such pieces.

CCNet's models (G. Wenzek et al., CCNet: Extracting High Quality Monolingual Datasets from Web Crawl Data, 2020) are
pairs of files, `XX.arpa.bin` and `XX.sp.model`: a text is cut into pieces, the pieces are joined by spaces, and KenLM
reads them as words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hf_lecture_models.tokenization.splitting import CHUNK_CHARACTERS
from hf_lecture_models.tokenization.word import WordTokenizer

_MARK = "\u2581"  # sentencepiece writes a space so


class SentencePieceWords:
    """Encodes texts with a sentencepiece model and a word tokenizer: each piece is one word of the tokenizer.

    It has what scoring reads of a tokenizer: ids and spellings of tokens, offsets, `<s>`, `</s>` and the unknown word.
    As in KenLM, a piece that holds ASCII white space is split there. All other pieces are looked up as they are.

        tokenizer = SentencePieceWords("en.sp.model", tokenizer)
        score_texts(model, tokenizer, ["The text itself, not its pieces."])

    Args:
        path: the sentencepiece model.
        words: the tokenizer of the n-gram model.

    Raises:
        OSError: there is no such file.
        ValueError: the file is damaged, `words` is not a `WordTokenizer`, or its words are not pieces of this model.
        ImportError: sentencepiece is missing or too old.
    """

    characters_at_once = CHUNK_CHARACTERS

    def __init__(self, path: str | os.PathLike[str], words: Any) -> None:
        if not isinstance(words, WordTokenizer) or not words.is_unmodified() or words.unknown_words == "spelled":
            kind = type(words).__name__
            raise ValueError(
                f"{path}: pieces of sentencepiece can only be the words of a model of words, such as an n-gram's ARPA "
                f"file, and the model has a {kind}, which splits texts itself; leave the sentencepiece model out"
            )
        self._path, self._words = path, words
        self._processor = _load(path)
        self._word_ids = self._look_up_pieces()

    def __len__(self) -> int:
        return len(self._words)

    def __call__(self, text: str, **_: Any) -> dict[str, list[Any]]:
        """Return `input_ids` and `offset_mapping` of one text, as transformers' tokenizers name them."""
        found = list(self._split(text))
        ids, _lengths = self._words.encode_words([word for word, _place in found])
        return {"input_ids": ids.tolist(), "offset_mapping": [place for _word, place in found]}

    @property
    def bos_token_id(self) -> int | None:
        """The id of `<s>`."""
        return self._words.bos_token_id

    @property
    def eos_token_id(self) -> int | None:
        """The id of `</s>`."""
        return self._words.eos_token_id

    @property
    def unk_token(self) -> str | None:
        """The unknown word."""
        return self._words.unk_token

    @property
    def unk_token_id(self) -> int | None:
        """The id of the unknown word."""
        return self._words.unk_token_id

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the ids of words of the vocabulary."""
        return self._words.convert_tokens_to_ids(tokens)

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """Return the words of ids."""
        return self._words.convert_ids_to_tokens(ids)

    def is_unmodified(self) -> bool:
        """Return True: nothing changes the pieces."""
        return True

    def has_tokens_of(self, other: SentencePieceWords) -> bool:
        """Return whether another one cuts texts into the same pieces, and knows the same words."""
        models = [one._processor.serialized_model_proto() for one in (self, other)]
        words = [one._words.backend_tokenizer.to_str() for one in (self, other)]
        return models[0] == models[1] and words[0] == words[1]

    def encode_texts(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of all pieces, text after text, and (texts,) int64, the number of each text.

        Raises:
            UnknownWordError: a piece is unknown, and the vocabulary has no unknown word.
        """
        rows = self._processor.encode(list(texts), return_type="numpy", num_threads=torch.get_num_threads())
        rows = [self._word_ids[row] for row in rows]
        for place, row in enumerate(rows):
            if (row < 0).any():
                rows[place] = self._words.encode_words([word for word, _ in self._split(texts[place])])[0]
        ids = np.concatenate([np.zeros(0, np.int32), *rows])
        return ids, np.fromiter(map(len, rows), np.int64, len(rows))

    def _split(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the words that the pieces of a text give, and their places in it (start and end, in characters)."""
        found = self._processor.encode(text, return_type="offset_mapping")
        for piece, place in zip(found["pieces"], found["offsets"], strict=True):
            for word in _split_ascii(piece):
                yield word, tuple(place)

    def _look_up_pieces(self) -> np.ndarray:
        """Return the word's id of each piece, (pieces,) int32; -1 where a text's spelling decides."""
        size, unknown = self._processor.get_piece_size(), self._processor.unk_id()
        pieces = [self._processor.id_to_piece(index) for index in range(size)]
        vocabulary = self._words.backend_tokenizer.get_vocab(with_added_tokens=False)
        marked = [piece for piece in pieces if _MARK in piece]
        if marked and vocabulary.keys().isdisjoint(marked):
            raise ValueError(
                f"{self._path}: the model's vocabulary has none of its {len(marked):,} pieces that begin a word, such "
                f"as {marked[0]!r}, so the model was not estimated on pieces; leave the sentencepiece model out, or "
                "name the one that cut the model's training text"
            )
        if self._words.unk_token_id is None:
            ids = np.array([vocabulary.get(piece, -1) for piece in pieces], np.int32)
        else:
            ids = self._words.encode_words(pieces)[0].copy()
        # sentencepiece's own unknown piece has the spelling that stands in the text.
        ids[[index for index, piece in enumerate(pieces) if index == unknown or _split_ascii(piece) != [piece]]] = -1
        return ids


def _split_ascii(piece: str) -> list[str]:
    # Bytes are split at ASCII white space alone.
    return [word.decode() for word in piece.encode().split()]


def _load(path: str | os.PathLike[str]) -> Any:
    """Return the processor of a sentencepiece model.

    Raises:
        OSError, ValueError, ImportError: as `SentencePieceWords`.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise ImportError(
            "a sentencepiece model needs sentencepiece: pip install 'hf-lecture-models[pieces]'"
        ) from error
    if not hasattr(SentencePieceProcessor, "encode_as_offset_mapping"):
        raise ImportError("sentencepiece is older than 0.2.3: pip install -U 'hf-lecture-models[pieces]'")
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no sentencepiece model {path}")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file of sentencepiece, such as en.sp.model")
    try:
        return SentencePieceProcessor(model_file=os.fspath(path))
    except RuntimeError as error:
        raise ValueError(f"{path} is not a sentencepiece model, or is damaged ({error}); copy it again") from None
