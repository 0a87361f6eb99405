# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reading ARPA files; `arpa_format.py` describes the format."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files import arpa_columns
from hf_lecture_models.models.ngram.files.arpa_format import (
    BEGIN,
    END,
    KENLM_MAGIC,
    PADDING,
    POCKETSPHINX_MAGIC,
    UNKNOWN,
    ArpaLines,
    quote,
)
from hf_lecture_models.tokenization.splitting import arrow

MAX_ORDER = 64

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COUNT_LINE = re.compile(rb"ngram\s+([-+]?\d{1,20})\s*=\s*([-+]?\d{1,20})")
_UNKNOWN_SPELLINGS = (UNKNOWN.encode(), UNKNOWN.upper().encode())
_CUT_OFF = "it is cut off, so copy or download it again"
_EMPTY = np.empty(0, np.float32)


def read_arpa(path: str | os.PathLike[str], unknown: bool = False) -> tuple[list[str], NGramTables]:
    """Read an ARPA file, packed or not, whatever its name; return its words by id, and the tables of these ids.

    The first word is ``<unk>`` if there is one, then come the others in the order of the file, last ``<s>``, ``</s>``
    and ``<pad>`` (which is not in the file: p = 0).

    Args:
        path: the file.
        unknown: add ``<unk>`` with p = 0 to a file without it. It is in no n-gram: an unknown word cuts the context
            of the next word, as for KenLM and SRILM.

    Raises:
        OSError: the file cannot be read.
        ValueError: it breaks a rule of the format; the message names the file, the line and what to do.
    """
    with ArpaLines(path) as lines:
        counts = _read_counts(lines)
        order = len(counts)
        vocabulary, tables = _read_unigrams(lines, counts[0], order, unknown)
        for n in range(2, order + 1):
            _read_ngrams(lines, n, order, counts[n - 1], vocabulary, tables)
        _read_end(lines)
    return _words_by_id(vocabulary, tables.vocab_size), tables


def read_counts(path: str | os.PathLike[str]) -> list[int]:
    """Return how many n-grams of each order an ARPA file has, as its head says.

    Raises:
        OSError, ValueError: as `read_arpa`.
    """
    with ArpaLines(path) as lines:
        return _read_counts(lines)


def _read_counts(lines: ArpaLines) -> list[int]:
    _find_data(lines)
    counts: list[int] = []
    least_size = 0
    while line := lines.take():
        match = _COUNT_LINE.fullmatch(line)
        if match is None:
            rule = f"{quote(line)} stands where a count 'ngram N=COUNT' was expected"
            raise lines.error(f"{rule}; correct it, and put a blank line behind the counts")
        n, count = map(int, match.groups())
        if n != len(counts) + 1:
            rule = f"the count is of order {n}, expected order {len(counts) + 1}"
            raise lines.error(f"{rule}; list orders from 1 upwards")
        if count < 0:
            raise lines.error(f"the count of {n}-grams is negative: {count}; write how many lines the section has")
        if n > MAX_ORDER:
            raise lines.error(f"order {n} is more than {MAX_ORDER}; this is not a credible n-gram model")
        least_size += count * (2 * n + 2)  # "0 a b c\n" is the shortest line
        if not lines.can_hold(least_size):
            rule = f"the file is too small ({lines.size} bytes) for {count} {n}-grams"
            raise lines.error(f"{rule}; it is cut off, or the count is wrong")
        counts.append(count)
    if line is None:
        raise lines.error(f"the file ends within its counts; {_CUT_OFF}")
    if not counts:
        raise lines.error("no count 'ngram 1=...' follows \\data\\; a model has at least order 1")
    return counts


def _find_data(lines: ArpaLines) -> None:
    """Skip the lines up to \\data\\."""
    if lines.head().startswith(KENLM_MAGIC):
        fix = "read it with NGramForCausalLM.from_kenlm" if lines.packing is None else "unpack it first"
        fix = "copy the pipe to a file, which is read" if lines.size is None else fix
        raise ValueError(f"{lines.path}: this is KenLM's binary format, not an ARPA file; {fix}")
    if lines.head().startswith(POCKETSPHINX_MAGIC):
        rule = "this is pocketsphinx's binary format of n-grams, which is not read"
        raise ValueError(f"{lines.path}: {rule}; take the ARPA file from which it was made")
    line = lines.take()
    if line is None:
        raise ValueError(f"{lines.path}: the file is empty; an ARPA file begins with \\data\\")
    line = line.removeprefix(_BYTE_ORDER_MARK)
    if line == b"iARPA":
        rule = "the numbers of IRSTLM's iARPA format are not back-off weights"
        raise lines.error(f"{rule}; convert the file with IRSTLM's compile-lm --text=yes")
    while line != b"\\data\\":
        if _COUNT_LINE.fullmatch(line):
            raise lines.error(f"{quote(line)} stands where \\data\\ was expected; is this an ARPA file?")
        line = lines.take()
        if line is None:
            raise lines.error("the file ends before a line \\data\\, where one was expected; is this an ARPA file?")


def _take_heading(lines: ArpaLines, heading: str) -> None:
    lines.skip_blank()
    line = lines.take()
    if line is None:
        raise lines.error(f"the file ends where {heading} was expected; {_CUT_OFF}")
    if line != heading.encode():
        rule = f"{quote(line)} stands where {heading} was expected"
        raise lines.error(f"{rule}; the section is missing or out of place, or a count in \\data\\ is wrong")


def _read_end(lines: ArpaLines) -> None:
    _take_heading(lines, "\\end\\")
    # Read to the very end, where gzip checks its data.
    while (line := lines.take()) is not None:
        if line:
            raise lines.error(f"{quote(line)} follows \\end\\; remove what is no part of the model")


def _read_unigrams(lines: ArpaLines, count: int, order: int, unknown: bool) -> tuple[dict[bytes, int], NGramTables]:
    """Return the id of each word, as spelled in the file, and tables of order 1, with ``<unk>`` if it is `unknown`."""
    first = _open_section(lines, 1)
    vocabulary: dict[bytes, int] = {}
    probs, backoffs = [_EMPTY], [_EMPTY]
    for block in _blocks(lines, 1, order, count):
        _add_words(lines, first, block, vocabulary)
        probs.append(block.probs)
        backoffs.append(block.backoffs)
    _check_words(lines, first, vocabulary)
    has_unknown = any(name in vocabulary for name in _UNKNOWN_SPELLINGS)
    size = len(vocabulary) + (unknown and not has_unknown)
    special = {**dict.fromkeys(_UNKNOWN_SPELLINGS, 0), BEGIN.encode(): size - 2, END.encode(): size - 1}
    following = itertools.count(int(unknown or has_unknown))
    for name in vocabulary:
        vocabulary[name] = special[name] if name in special else next(following)
    ids = np.fromiter(vocabulary.values(), np.int64, len(vocabulary))
    tables = NGramTables(size + 1, [], [np.full(size + 1, -np.inf, np.float32)], [])
    tables.log10_probs[0][ids] = np.concatenate(probs)
    tables.log10_probs[0][vocabulary[BEGIN.encode()]] = -np.inf
    if order > 1:
        tables.log10_backoffs.append(np.zeros(size + 1, np.float32))
        tables.log10_backoffs[0][ids] = np.concatenate(backoffs)
    if has_unknown:
        vocabulary.update(dict.fromkeys(_UNKNOWN_SPELLINGS, 0))
    return vocabulary, tables


def _add_words(lines: ArpaLines, first: int, block: _Block, vocabulary: dict[bytes, int]) -> None:
    """Number the words of a block in a section that begins in line `first`."""
    for line, name in enumerate(block.words[0], block.line):
        _decode(lines, line, name)
        earlier = first + vocabulary.setdefault(name, line - first)
        if earlier != line:
            raise lines.error(f"the 1-gram {quote(name)} stands in line {earlier} too; keep one of them", line)


def _check_words(lines: ArpaLines, first: int, vocabulary: dict[bytes, int]) -> None:
    """Raise a ValueError for a vocabulary that lacks a mark of sentences or has a reserved word."""
    if all(name in vocabulary for name in _UNKNOWN_SPELLINGS):
        rule = "<unk> and <UNK> are both 1-grams, but are two spellings of the unknown word"
        line = first + max(vocabulary[name] for name in _UNKNOWN_SPELLINGS)
        raise lines.error(f"{rule}; rename or remove one of them", line)
    for mark in (BEGIN, END):
        if mark.encode() not in vocabulary:
            rule = f"the 1-grams, from line {first} on, lack {mark}, without which no text has a probability"
            raise lines.error(f"{rule}; estimate the model with sentence marks")
    if PADDING.encode() in vocabulary:
        rule = f"the 1-gram {PADDING} has the name that the tokenizer gives to padding; rename the word"
        raise lines.error(rule, first + vocabulary[PADDING.encode()])


def _words_by_id(vocabulary: dict[bytes, int], vocab_size: int) -> list[str]:
    """Return the words and ``<pad>``; empties `vocabulary`, as two copies of a large one would fill the memory."""
    words = [UNKNOWN, *[PADDING] * (vocab_size - 1)]
    while vocabulary:
        name, index = vocabulary.popitem()
        words[index] = UNKNOWN if name in _UNKNOWN_SPELLINGS else name.decode()
    return words


def _read_ngrams(
    lines: ArpaLines, n: int, order: int, count: int, vocabulary: dict[bytes, int], tables: NGramTables
) -> None:
    """Read the section of order n >= 2 and append it to the tables of the lower orders."""
    first = _open_section(lines, n)
    ids, probs, backoffs = [np.empty((n, 0), np.int32)], [], []
    for block in _blocks(lines, n, order, count, vocabulary):
        ids.append(_encode(lines, block, vocabulary) if block.ids is None else block.ids)
        probs.append(block.probs)
        backoffs.append(block.backoffs)
    words = np.concatenate(ids, axis=1)  # (n, n-grams)
    del ids
    keys = _keys(lines, first, words, tables)
    places = np.argsort(keys)
    ascending = keys[places]
    if (ascending[1:] == ascending[:-1]).any():
        places = np.argsort(keys, kind="stable")  # takes several times as long
        same = np.flatnonzero(ascending[1:] == ascending[:-1])
        place = same[places[same + 1].argmin()]
        again = first + int(places[place + 1])
        raise lines.error(f"the {n}-gram stands in line {first + int(places[place])} too; keep one of them", again)
    log10_probs = np.concatenate([*probs, _EMPTY])
    log10_probs[words[-1] == vocabulary[BEGIN.encode()]] = -np.inf
    tables.keys.append(ascending)
    tables.log10_probs.append(log10_probs[places])
    if n < order:
        tables.log10_backoffs.append(np.concatenate([*backoffs, _EMPTY])[places])


def _keys(lines: ArpaLines, first: int, words: np.ndarray, tables: NGramTables) -> np.ndarray:
    """Return the key of each n-gram, (n-grams,) int64: the index of its prefix × vocabulary + its last word.

    The prefix is looked up word by word, from (n, n-grams) ids; n-gram i is in line `first + i`.
    """
    prefix = words[0].astype(np.int64)
    for table, following in zip(tables.keys, words[1:-1], strict=True):
        sought = prefix * tables.vocab_size + following
        ascending = np.argsort(sought)  # a sorted search walks the table instead of jumping in it
        sought = sought[ascending]
        found = np.searchsorted(table, sought)
        prefix[ascending] = found
        missing = ascending[table.take(found, mode="clip") != sought] if len(table) else ascending
        if len(missing):
            n = len(words)
            rule = f"its first {n - 1} words are no {n - 1}-gram of the file, but each {n}-gram extends one"
            raise lines.error(f"{rule}; add the {n - 1}-gram or remove this {n}-gram", first + int(missing.min()))
    return prefix * tables.vocab_size + words[-1]


@dataclass
class _Block:
    """Consecutive entries of a section."""

    line: int  # of the first entry
    words: list[list[bytes]]  # the first words, the second words, ...
    probs: np.ndarray
    backoffs: np.ndarray
    ids: np.ndarray | None = None  # (n, entries) int32, instead of the words where they were read with Arrow


def _open_section(lines: ArpaLines, n: int) -> int:
    """Take the heading of section n; return the line number of the first entry."""
    _take_heading(lines, f"\\{n}-grams:")
    lines.skip_blank()
    return lines.number + 1


def _blocks(
    lines: ArpaLines, n: int, order: int, count: int, vocabulary: dict[bytes, int] | None = None
) -> Iterator[_Block]:
    """Yield the entries of section n, up to the blank line or heading after it; there must be `count` of them."""
    first, highest = lines.number + 1, n == order
    while True:
        block = _take_plain(lines, n, highest, vocabulary) if vocabulary else None
        columns = lines.take_columns(n) if block is None else []
        if lines.number - first >= count:
            rule = f"\\data\\ counts {count} {n}-grams, but here is one more"
            raise lines.error(f"{rule}; correct the count, or remove the line", first + count)
        if block is None and not columns[0]:
            break
        yield block or _parse(lines, lines.number - len(columns[0]) + 1, columns, highest)
    following, read = lines.peek(), lines.number - first + 1
    if following is None:
        raise lines.error(f"the file ends behind {read} of {count} {n}-grams; {_CUT_OFF}")
    if following and not following.startswith(b"\\"):
        expected = f"{n + 1} or {n + 2}" if n < order else n + 1
        rule = f"{quote(following)} has {len(following.split())} columns, where a {n}-gram has {expected}"
        raise lines.error(f"{rule}; write log10 p, {n} words, and the back-off weight if any", lines.number + 1)
    if read < count:
        rule = f"\\data\\ counts {count} {n}-grams, but the section ends behind {read}"
        raise lines.error(f"{rule}; correct the count, or restore the missing lines")


def _take_plain(lines: ArpaLines, n: int, highest: bool, vocabulary: dict[bytes, int]) -> _Block | None:
    """Take the next entries of a large file with Arrow; None: one of them is not plain, or has a fault."""
    rest = lines.rest()
    if lines.unpacked < arpa_columns.ARROW_BYTES or arrow() is None:
        return None
    entries = arpa_columns.read_entries(*rest, n, highest, vocabulary)
    if entries is None:
        return None
    ids, probs, backoffs, size = entries
    lines.skip(len(probs), size)
    return _Block(lines.number - len(probs) + 1, [], probs, backoffs, ids)


def _parse(lines: ArpaLines, line: int, columns: list[list[bytes]], highest: bool) -> _Block:
    """Turn the first and the last column into numbers."""
    probs = _numbers(lines, line, columns[0], "log-probability")
    bad = np.flatnonzero(~(probs <= 0))
    if len(bad):
        rule = f"the log-probability is {quote(columns[0][bad[0]])}; it must be 0 or negative"
        raise lines.error(f"{rule}, so estimate the model again, or write 0 for p = 1", line + int(bad[0]))
    backoffs = _numbers(lines, line, columns[-1], "back-off weight")
    bad = np.flatnonzero(backoffs != 0 if highest else ~(backoffs < np.inf))
    if len(bad):
        rule = f"the back-off weight is {quote(columns[-1][bad[0]])}"
        fix = "write a finite number, or -99 for a weight of 0"
        if highest:
            fix = "n-grams of the highest order have none; remove it"
        raise lines.error(f"{rule}; {fix}", line + int(bad[0]))
    return _Block(line, columns[1:-1], probs, backoffs)


def _numbers(lines: ArpaLines, line: int, texts: Sequence[bytes], what: str) -> np.ndarray:
    """Return the numbers, (texts,) float32, correctly rounded; -99 and less become -inf."""
    try:
        exact = np.fromiter(map(float, texts), np.float64, len(texts))
        if b"_" in b"".join(texts):  # Python's own extension of numbers
            raise ValueError
    except ValueError:
        place = next(i for i, text in enumerate(texts) if not _is_number(text))
        raise lines.error(f"the {what} {quote(texts[place])} is not a number; correct it", line + place) from None
    return arpa_columns.to_float32(exact, texts.__getitem__)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text


def _encode(lines: ArpaLines, block: _Block, vocabulary: dict[bytes, int]) -> np.ndarray:
    """Return the ids of the words of a block, (n, entries) int32."""
    try:
        return np.stack([np.fromiter(map(vocabulary.__getitem__, column), np.int32) for column in block.words])
    except KeyError:
        known = [[word in vocabulary for word in column] for column in block.words]
        place = int(np.argmin(np.all(known, axis=0)))
        word = next(column[place] for column in block.words if column[place] not in vocabulary)
    _decode(lines, block.line + place, word)
    rule = f"the word {quote(word)} is not among the 1-grams, which are the whole vocabulary"
    raise lines.error(f"{rule}; add it there, or remove the n-gram", block.line + place)


def _decode(lines: ArpaLines, line: int, word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        rule = f"the word {quote(word)} is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8"
        raise lines.error(rule, line) from None
