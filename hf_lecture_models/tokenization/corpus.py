# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Read files into texts, encode whole corpora into one flat array of ids, and compare what encodes them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from hf_lecture_models.io.packing import is_damage, packing_of, packing_of_name, unpacked
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.splitting import (
    CHUNK_CHARACTERS,
    chunk_texts,
    flatten_ids,
    index_chunks,
    split_rows,
    surrogate_errors,
)

# The longest line of a corpus in use is text8's only one, of 100 million bytes.
MAX_LINE_BYTES = 2**27
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class EncodedCorpus:
    """Texts as ids, without special tokens.

    Attributes:
        ids: (tokens,) int32, text after text.
        lengths: (texts,) int64, tokens in each text; 0 for an empty one.
    """

    ids: np.ndarray
    lengths: np.ndarray

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the ids of each text, as views."""
        return split_rows(self.ids, self.lengths)


def encode_corpus(tokenizer: Any, texts: Iterable[str], progress: bool = True, desc: str = "encoding") -> EncodedCorpus:
    """Encode `texts` with any tokenizer of transformers, without special tokens and in bounded memory.

    The spelling of a special token in a text is plain text, as with `split_special_tokens=True`. The classes of this
    package encode each distinct word once, or bypass the Rust library, with the same ids.

    >>> from hf_lecture_models import ByteTokenizer
    >>> encode_corpus(ByteTokenizer(), ["ab", "", "<s>"])
    EncodedCorpus(ids=array([ 97,  98,  60, 115,  62], dtype=int32), lengths=array([2, 0, 3]))

    Raises:
        TypeError: `texts` is one str or holds something that is not a str.
        ValueError: a text holds a lone surrogate, or (`UnknownWordError`) a word without an id; or ids are rows.
    """
    ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for chunk_ids, chunk_lengths in _encode_chunks(tokenizer, texts, progress, desc):
        ids.append(chunk_ids)
        lengths.append(chunk_lengths)
    return EncodedCorpus(np.concatenate(ids), np.concatenate(lengths))


def encode_training_texts(
    tokenizer: Any, texts: Iterable[str], progress: bool = True, desc: str = "encoding"
) -> EncodedCorpus:
    """Encode texts to train on as `encode_corpus` does, without `<s>` and `</s>` around each of them (`plain_texts`).

    >>> from hf_lecture_models import WordTokenizer
    >>> encode_training_texts(WordTokenizer.from_words(["the", "cat"]), ["<s> the cat </s>"])
    EncodedCorpus(ids=array([1, 2], dtype=int32), lengths=array([2]))
    """
    return encode_corpus(tokenizer, plain_texts(texts, tokenizer), progress, desc)


def read_texts(path: str | os.PathLike[str], keep_ends: bool = False) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file, each as one text; blank lines are texts.

    The file may be packed with gzip, bzip2, xz or zstd, whatever its name.
    Only the line's end, `\n` or `\r\n`, and a byte order mark before the first line are removed; in a file without line
    feeds, lines end with `\r`.

    Args:
        keep_ends: leave the line's end where it is.

    Raises:
        ValueError: a line is not UTF-8, or longer than `MAX_LINE_BYTES`; its number is named.
        OSError: the file cannot be opened, or its packed data are damaged.
    """
    with open(path, "rb") as file:
        yield from decode_lines(file, path, keep_ends)


def read_training_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a file to train on, as `read_texts` does, without `<s>` and `</s>` around each of them.

    Raises:
        ValueError, OSError: as `read_texts`; or as `plain_texts`, and the line is named.
    """
    return iter(plain_texts(read_texts(path), where=lambda number: f"{path}, line {number + 1}"))


def decode_lines(file: BinaryIO, source: str | os.PathLike[str], keep_ends: bool = False) -> Iterator[str]:
    """Yield the lines of a file that is open for bytes, as `read_texts` does; errors call the file `source`."""
    for number, line in enumerate(raw_lines(file, source)):
        text = line if number else line.lstrip(BYTE_ORDER_MARK)
        if text:
            yield text if keep_ends else without_end(text)


def without_end(line: str) -> str:
    r"""Return the line without its end.

    >>> without_end("a cat \r\n")
    'a cat '
    """
    return line.removesuffix("\n").removesuffix("\r")


def read_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, packed or not, as they are written; errors are those of `read_texts`."""
    with open(path, "rb") as file:
        yield from raw_lines(file, path)


def raw_lines(file: BinaryIO, source: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a file that is open for bytes, with their ends and a byte order mark.

    Joined, they are the file. Errors are those of `read_texts`; they call the file `source`.
    """
    for number, line in enumerate(_bounded_lines(file, source), start=1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{source}, line {number}: not UTF-8 ({error}); convert the file to UTF-8") from None


def _bounded_lines(packed: BinaryIO, source: str | os.PathLike[str]) -> Iterator[bytes]:
    number, packing = 0, packing_of(packed.peek(8)) or packing_of_name(source)  # type: ignore[attr-defined]
    try:
        file = unpacked(packed, packing)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    try:
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise ValueError(
                    f"{source}, line {number}: longer than {MAX_LINE_BYTES} bytes; give each text a line of its own, "
                    "or restore the file if it is damaged"
                )
            if number == 1 and not line.endswith(b"\n"):
                yield from line.splitlines(keepends=True)  # a file without line feeds; bytes have no further line ends
            else:
                yield line
    except Exception as error:
        if packing is None or not is_damage(error):
            raise
        raise OSError(f"{source}, after line {number}: damaged {packing} file ({error}); copy it again") from None


def _encode_chunks(
    tokenizer: Any, texts: Iterable[str], progress: bool, desc: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    is_own = hasattr(tokenizer, "encode_texts") and tokenizer.is_unmodified()
    if is_own and hasattr(tokenizer, "has_one_token_per_word"):
        for index in index_chunks(texts, progress, desc, CHUNK_CHARACTERS):
            yield index.expand(*tokenizer.encode_words(index.words))
        return
    # The Rust library holds a hundred bytes and more per token until the batch is done.
    characters = tokenizer.characters_at_once if is_own else CHUNK_CHARACTERS >> 3
    for chunk in chunk_texts(texts, progress, desc, characters):
        with surrogate_errors(chunk):
            yield tokenizer.encode_texts(chunk) if is_own else _encode_any(tokenizer, chunk)


def _encode_any(tokenizer: Any, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(tokenizer, "max_characters_per_token"):
        kind = type(tokenizer).__name__
        raise ValueError(
            f"{kind} gives each word a row of character ids, where one id is needed; use another tokenizer"
        )
    rows = tokenizer(
        texts, add_special_tokens=False, split_special_tokens=True, return_attention_mask=False, verbose=False
    )["input_ids"]
    return flatten_ids(rows)


def fingerprint(values: Iterable[Any]) -> str:
    """Return a checksum of values in their order; the `repr` of a value must show all of it.

    >>> fingerprint(["a b", "c"]) == fingerprint(["a", "b c"])
    False
    """
    digest = hashlib.sha256()
    for value in values:
        digest.update(f"{value!r}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def fingerprint_tokenizer(tokenizer: Any) -> str:
    """Return a checksum of all that turns texts into ids: vocabulary, merges, rules, special tokens.

    For a `TokenizerPair` it covers both tokenizers, for an image processor all its settings, and for a processor of
    images and texts both parts.
    """
    for parts in (("image_processor", "tokenizer"), ("source", "target")):
        if all(hasattr(tokenizer, name) for name in parts):
            return fingerprint(fingerprint_tokenizer(getattr(tokenizer, name)) for name in parts)
    if not hasattr(tokenizer, "get_vocab"):
        return fingerprint(sorted(tokenizer.to_dict().items()))
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = {} if backend is None else json.loads(backend.to_str())
    for name in ("truncation", "padding"):  # the options of its latest call
        rules.pop(name, None)
    known = [sorted(tokenizer.get_vocab().items()), sorted(tokenizer.special_tokens_map.items()), rules]
    # Only ElmoTokenizer has words beside its vocabulary, the characters.
    words = getattr(tokenizer, "words", None)
    return fingerprint(known if words is None else [*known, words, tokenizer.max_characters_per_token])
