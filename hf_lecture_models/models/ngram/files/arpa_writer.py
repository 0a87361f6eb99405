# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Writing ARPA files; `arpa_format.py` describes the format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.packing import packed
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END, PADDING, UNKNOWN, ZERO, check_spellings
from hf_lecture_models.tokenization.splitting import arrow

ROWS_PER_WRITE = 1 << 15
# To write fewer n-grams without Arrow takes no longer than to import it.
ARROW_ROWS = 1 << 17


def write_arpa(
    tables: NGramTables,
    words: Sequence[str],
    path: str | os.PathLike[str],
    unknown: bool = True,
    unknown_word: str = UNKNOWN,
) -> None:
    """Write an ARPA file, packed if the name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.

    Args:
        tables: the model.
        words: by id; ``<s>`` and ``</s>`` among them, the unknown word spelled ``<unk>``; ``<pad>`` is not written.
        path: the file.
        unknown: False: leave ``<unk>`` out if its p is 0, its weight 1, and no n-gram has it.
        unknown_word: how ``<unk>`` is spelled in the file.

    Raises:
        OSError: the file cannot be written; an older file of this name is untouched.
        ValueError: the words are not one per id, or the format cannot hold one of them.
    """
    names = check_names(tables.check(), words)
    if UNKNOWN in words and unknown_word != UNKNOWN:
        check_spellings([unknown_word], "an ARPA file")
        if unknown_word in words:
            raise ValueError(f"the unknown word cannot be spelled {unknown_word!r}, which is another word of the model")
        names[words.index(UNKNOWN)] = unknown_word.encode()
    unigrams = words_of_file(tables, words, unknown)
    with staged_file(path) as stage, open(stage, "wb") as raw, packed(raw, path) as file:
        _write(tables, names, unigrams, file)


def words_of_file(tables: NGramTables, words: Sequence[str], unknown: bool) -> np.ndarray:
    """Return the ids of the words in the order of the file: ``<unk>``, ``<s>``, ``</s>``, then all others but padding.

    ``<unk>`` is left out as `write_arpa` says.
    """
    left_out = [words.index(PADDING)] if PADDING in words else []
    if not unknown and UNKNOWN in words and not _has_weight(tables, words.index(UNKNOWN)):
        left_out.append(words.index(UNKNOWN))
    front = [words.index(word) for word in (UNKNOWN, BEGIN, END) if word in words]
    others = np.delete(np.arange(len(words)), [*front, *left_out])
    return np.array([index for index in front if index not in left_out] + others.tolist())


def check_names(tables: NGramTables, words: Sequence[str]) -> list[bytes]:
    """Return the words as bytes, or raise a ValueError that names one that an ARPA file cannot hold."""
    check_size(words, tables.vocab_size)
    if len(set(words)) < len(words):
        double = next(word for index, word in enumerate(words) if word in words[:index])
        raise ValueError(f"two token ids would both be written as {double!r}; rename one of the tokens")
    for mark in (BEGIN, END):
        if mark not in words:
            raise ValueError(f"no token is the {mark} of the ARPA file; set the tokenizer's bos_token and eos_token")
    if UNKNOWN.upper() in words:
        raise ValueError(
            f"readers of ARPA files take the word {UNKNOWN.upper()} for the unknown word; rename the token"
        )
    check_spellings(words, "an ARPA file")
    if PADDING in words and _occurs(tables, words.index(PADDING)):
        raise ValueError(f"{PADDING} occurs in n-grams, but padding is not written to an ARPA file; rename the token")
    return [word.encode() for word in words]


def check_size(words: Sequence[Any], vocab_size: int) -> None:
    """Raise ValueError unless there is one word per id."""
    if len(words) != vocab_size:
        rule = f"the tokenizer has {len(words)} tokens but the model's vocab_size is {vocab_size}"
        raise ValueError(f"{rule}; take the tokenizer that was saved with the model")


def _occurs(tables: NGramTables, word: int) -> bool:
    """Return whether a word has a probability or is part of an n-gram."""
    last = any((keys % tables.vocab_size == word).any() for keys in tables.keys)
    first = any((keys // tables.vocab_size == word).any() for keys in tables.keys[:1])
    return last or first or bool(tables.log10_probs[0][word] > -np.inf)


def _has_weight(tables: NGramTables, word: int) -> bool:
    return _occurs(tables, word) or any(backoffs[word] != 0 for backoffs in tables.log10_backoffs[:1])


def _write(tables: NGramTables, names: list[bytes], unigrams: np.ndarray, file: BinaryIO) -> None:
    counts = [len(unigrams), *tables.sizes[1:]]
    file.write(b"\\data\\\n" + b"".join(b"ngram %d=%d\n" % (n, count) for n, count in enumerate(counts, 1)))
    is_large = sum(tables.sizes) >= ARROW_ROWS and arrow() is not None
    spellings = _strings(names) if is_large else np.array(names, object)
    for n in range(1, tables.order + 1):
        file.write(b"\n\\%d-grams:\n" % n)
        rows = unigrams if n == 1 else np.arange(tables.sizes[n - 1])
        numbers = [tables.log10_probs[n - 1], *tables.log10_backoffs[n - 1 : n]][: 2 if n < tables.order else 1]
        numbers = numbers if is_large else list(map(_digits, numbers))
        for start in range(0, len(rows), ROWS_PER_WRITE):
            some = rows[start : start + ROWS_PER_WRITE]
            columns = [column[some] for column in numbers]
            file.write((_lines_with_arrow if is_large else _lines)(spellings, words_of(tables, n, some), columns))
    file.write(b"\n\\end\\\n")


def _lines(spellings: np.ndarray, words: list[np.ndarray], numbers: list[np.ndarray]) -> bytes:
    """Return lines of n-grams: n arrays of ids; the decimals of p, and of the weights if there are any."""
    texts = map(b" ".join, zip(*(spellings[ids] for ids in words), strict=True))
    columns = [numbers[0], texts, *numbers[1:]]
    return b"\n".join(map(b"\t".join, zip(*columns, strict=True))) + b"\n"


def _lines_with_arrow(spellings: Any, words: list[np.ndarray], numbers: list[np.ndarray]) -> memoryview:
    """Return the same lines, in a third of the time, from `_strings` and from the numbers themselves."""
    probs, *backoffs = map(_decimals, numbers)
    first, *others = (spellings.take(_array("int64", ids)) for ids in words)
    tab, blank, end, empty = (_strings([text])[0] for text in (b"\t", b" ", b"\n", b""))
    pieces = [
        probs,
        tab,
        first,
        *chain(*((blank, text) for text in others)),
        *chain(*((tab, text) for text in backoffs)),
    ]
    lines = arrow().compute.binary_join_element_wise(*pieces, end, empty)
    _, ends, joined = lines.buffers()
    return memoryview(joined)[: np.frombuffer(ends, np.int64)[len(lines)]]


def _strings(texts: list[bytes]) -> Any:
    """Return UTF-8 texts as an Arrow array; `pyarrow.array` would import pandas."""
    ends = np.cumsum([0, *map(len, texts)])
    buffers = [None, arrow().py_buffer(ends), arrow().py_buffer(b"".join(texts))]
    return arrow().Array.from_buffers(arrow().large_string(), len(texts), buffers)


def _array(kind: str, values: np.ndarray) -> Any:
    values = np.ascontiguousarray(values, kind)
    return arrow().Array.from_buffers(getattr(arrow(), kind)(), len(values), [None, arrow().py_buffer(values)])


def _decimals(values: np.ndarray) -> Any:
    """Return what `_digits` returns as an Arrow array."""
    finite = np.where(values == -np.inf, np.float32(ZERO), values)
    if (np.abs(finite) < 1e6).all():
        return _array("float32", finite).cast(arrow().large_string())
    return _strings(_digits(values).tolist())  # Arrow's large numbers have exponents


def words_of(tables: NGramTables, n: int, rows: np.ndarray) -> list[np.ndarray]:
    """Return the words of some n-grams of order n: n arrays (rows,) of ids, from the first word to the last."""
    backwards = []
    for keys in reversed(tables.keys[: n - 1]):
        rows, last = np.divmod(keys[rows], tables.vocab_size)
        backwards.append(last)
    return [rows, *reversed(backwards)]


def _digits(values: np.ndarray) -> np.ndarray:
    """Return the shortest decimal that gives back each float32, formatted as by lmplz: (values,) bytes objects.

    >>> _digits(np.array([-0.5, -3, 0, 1e-5, -2.5e-7, -np.inf], np.float32)).tolist()
    [b'-0.5', b'-3', b'0', b'0.00001', b'-2.5e-7', b'-99']
    """
    # Numbers are told apart by their bits, since 0 == -0; each is formatted once, since most occur often.
    distinct, inverse = np.unique(values.view(np.int32), return_inverse=True)
    return np.array([_format(str(value)) for value in distinct.view(np.float32)], object)[inverse]


def _format(number: str) -> bytes:
    """Change numpy's format of a float32 into lmplz's: no ".0", exponents only below 1e-6, without leading zeros."""
    if number == "-inf":
        return b"%d" % ZERO
    if "e" in number:
        digits, exponent = number.split("e")
        number = f"{digits.removesuffix('.0')}e{int(exponent)}" if int(exponent) < -6 else f"{Decimal(number):f}"
    return number.removesuffix(".0").encode()
