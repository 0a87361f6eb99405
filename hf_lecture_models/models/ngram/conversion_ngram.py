# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ARPA files, the common form of back-off n-gram models (SRILM, KenLM, MITLM, ...), read and written.

    \\data\\
    ngram 1=4                 how many n-grams of each order follow
    ngram 2=2

    \\1-grams:
    -99 <tab> <s> <tab> -0.3  log10 p, the words, log10 of the back-off weight (none: 0)
    ...
    \\2-grams:
    -0.5 <tab> <s> the        no weight at the highest order
    ...
    \\end\\

What is read. Columns are separated by tabs or spaces, lines end in LF or CRLF; a byte order mark, blank lines and
lines with ``#`` may stand before ``\\data\\``; n-grams stand in any order within their section. The vocabulary is the
unigrams; ``<s>`` and ``</s>`` must be among them (without them no text has a probability); ``<UNK>``, SRILM's other
spelling, is ``<unk>``. A logarithm of -99 or less, ``-inf`` too, is that of 0. ``<s>`` is no event: whatever the file
says (lmplz writes 0, SRILM -99), its probability is 0; its weight is kept. Words are UTF-8, of any characters but the
separators of the format and NUL. The prefix of every n-gram must be an (n-1)-gram. Anything else is refused with file,
line, rule and mend.

What is written. Each number has the fewest digits that give back the same float32, laid out as lmplz does, so a file
from lmplz keeps its numbers digit for digit, but for p of ``<s>``: that is -99, as every p = 0. The unigrams begin with
``<unk>``, ``<s>``, ``</s>`` like lmplz's; longer n-grams are sorted by their prefixes, not by their last words. Reading
back gives the same arrays, bit for bit (but a finite logarithm below -99 becomes -inf).
"""

from __future__ import annotations

import gzip
import io
import itertools
import os
import re
import stat
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from transformers import AutoTokenizer

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.io.files import staged_file, staged_folder
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

UNKNOWN, BEGIN, END, PADDING = "<unk>", "<s>", "</s>", "<pad>"
ZERO = -99.0  # the logarithm that stands for p = 0
LARGEST_ORDER = 64
BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 20
ROWS_PER_WRITE = 1 << 15

_GZIP_MAGIC, _KENLM_MAGIC = b"\x1f\x8b", b"mmap lm http://kheafield.com/code"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGEST_DEFLATE_RATIO = 1032
# Text of n-grams shrinks to a third or a tenth. Beyond this the file is made to fill the memory.
_CREDIBLE_RATIO, _CREDIBLE_BYTES = 200, 1 << 25
_COUNT_LINE = re.compile(rb"ngram\s+([-+]?\d{1,20})\s*=\s*([-+]?\d{1,20})")
_UNKNOWN_SPELLINGS = (UNKNOWN.encode(), UNKNOWN.upper().encode())
_CUT_OFF = "it is cut off, so copy or download it again"
_EMPTY = np.empty(0, np.float32)
_SEPARATORS = re.compile(r"[\t\n\v\f\r \0]")

_Path = str | os.PathLike[str]


class _ArpaLines:
    """The lines of a file, plain or gzip, in blocks of bounded size; every line has its number."""

    def __init__(self, path: _Path) -> None:
        self.path = Path(path)
        self.number = 0  # of the line taken last
        self._lines: list[bytes] = []
        self._next = 0
        self._file = open(path, "rb")  # noqa: SIM115 (closed by __exit__)
        self.head = self._file.peek(len(_KENLM_MAGIC))
        self._packed = self.head.startswith(_GZIP_MAGIC)
        self._text: BinaryIO = self._file
        if self._packed:
            self._text = io.BufferedReader(gzip.GzipFile(fileobj=self._file))
        self._unpacked = 0
        status = os.fstat(self._file.fileno())
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None  # None: a pipe

    def __enter__(self) -> _ArpaLines:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._text.close()
        self._file.close()

    def error(self, rule: str, line: int | None = None) -> ValueError:
        """A ValueError about a line, by default the one taken last."""
        return ValueError(f"{self.path}, line {self.number if line is None else line}: {rule}")

    def can_hold(self, size: int) -> bool:
        """Whether the file is large enough for `size` bytes of text."""
        return self.size is None or size <= self.size * (_LARGEST_DEFLATE_RATIO if self._packed else 1)

    def peek(self) -> bytes | None:
        """The next line without white space around it; None at the end of the file."""
        if self._next == len(self._lines):
            self._fill()
        return self._lines[self._next].strip() if self._lines else None

    def take(self) -> bytes | None:
        """The next line, taken."""
        line = self.peek()
        if line is not None:
            self.number += 1
            self._next += 1
        return line

    def skip_blank(self) -> None:
        """Take all blank lines that come next."""
        while self.peek() == b"":
            rest = self._lines[self._next :]
            blank = next((i for i, line in enumerate(rest) if line.strip()), len(rest))
            self.number += blank
            self._next += blank

    def take_columns(self, n: int) -> list[list[bytes]]:
        """Take entries of order n as far as they go in this block: n + 2 columns, the last b"0" where there is none.

        The columns are empty where the next line is no entry.
        """
        self.peek()
        cells: list[bytes] = []
        for line in self._lines[self._next :]:
            row = line.split()
            if len(row) == n + 1:
                row.append(b"0")
            elif len(row) != n + 2:
                break
            cells += row  # one flat list: millions of small ones would keep the garbage collector busy
        self.number += len(cells) // (n + 2)
        self._next += len(cells) // (n + 2)
        return [cells[column :: n + 2] for column in range(n + 2)]

    def _fill(self) -> None:
        last = self.number
        try:
            block = self._text.read(BLOCK_BYTES)
            block += self._text.readline(LONGEST_LINE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            rule = f"the gzip data that follow are cut off or damaged ({error}); copy or download the file again"
            raise self.error(rule) from None
        self._lines, self._next = block.split(b"\n"), 0
        if not self._lines[-1]:  # behind the last line's end; or nothing was left
            self._lines.pop()
        elif len(self._lines[-1]) >= LONGEST_LINE:
            rule = f"the line is longer than {LONGEST_LINE} bytes; this is not an ARPA file, or it is damaged"
            raise self.error(rule, last + len(self._lines))
        self._unpacked += len(block)
        self._check_block(block)

    def _check_block(self, block: bytes) -> None:
        if self._packed and self.size and self._unpacked > max(_CREDIBLE_BYTES, _CREDIBLE_RATIO * self.size):
            raise self.error(
                f"the gzip data unpack to more than {_CREDIBLE_RATIO} times their size, as no language model does; "
                "if you trust the file, unpack it with gunzip and read the .arpa"
            )
        if any(byte in block for byte in (b"\0", b"\v", b"\f")) or block.count(b"\r") != block.count(b"\r\n"):
            for number, line in enumerate(self._lines, self.number + 1):
                if re.search(rb"[\0\v\f]|\r(?!$)", line):
                    rule = "a NUL, vertical tab, form feed or bare carriage return stands in the line"
                    raise self.error(f"{rule}; is this an ARPA file, in UTF-8, with LF or CRLF line ends?", number)


def read_arpa(path: _Path) -> tuple[list[str], NGramTables]:
    """Read an ARPA file, plain or gzip whatever its name.

    Args:
        path: the file.

    Returns:
        The words by id: ``<unk>`` first if there is one, then the others as the file has them, last ``<s>``, ``</s>``
        and ``<pad>`` (which the file does not have: p = 0). And the tables of these ids.

    Raises:
        OSError: the file cannot be read.
        ValueError: it breaks a rule of the format (see above); the message names the file, the line and the mend.
    """
    with _ArpaLines(path) as lines:
        counts = _read_counts(lines)
        order = len(counts)
        vocabulary, tables = _read_unigrams(lines, counts[0], order)
        for n in range(2, order + 1):
            _read_ngrams(lines, n, order, counts[n - 1], vocabulary, tables)
        _read_end(lines)
    return _words_by_id(vocabulary, tables.vocab_size), tables


def _read_counts(lines: _ArpaLines) -> list[int]:
    _find_data(lines)
    counts: list[int] = []
    least_size = 0
    while line := lines.take():
        match = _COUNT_LINE.fullmatch(line)
        if match is None:
            rule = f"{_quote(line)} stands where a count 'ngram N=COUNT' was expected"
            raise lines.error(f"{rule}; correct it, and put a blank line behind the counts")
        n, count = map(int, match.groups())
        if n != len(counts) + 1:
            raise lines.error(
                f"the count is of order {n}, expected order {len(counts) + 1}; list orders from 1 upwards"
            )
        if count < 0:
            raise lines.error(f"the count of {n}-grams is negative: {count}; write how many lines the section has")
        if n > LARGEST_ORDER:
            raise lines.error(f"order {n} is more than {LARGEST_ORDER}; this is not a credible n-gram model")
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


def _find_data(lines: _ArpaLines) -> None:
    """Take the lines to \\data\\."""
    if lines.head.startswith(_KENLM_MAGIC):
        raise ValueError(
            f"{lines.path}: this is KenLM's binary format, which holds hashes in place of its words; "
            "read the .arpa file that it was built from, or make one from the text with lmplz or NGramForCausalLM.fit"
        )
    line = lines.take()
    if line is None:
        raise ValueError(f"{lines.path}: the file is empty; an ARPA file begins with \\data\\")
    line = line.removeprefix(_BYTE_ORDER_MARK)
    while line == b"" or line.startswith(b"#"):
        line = lines.take()
        if line is None:
            raise lines.error(f"the file ends before \\data\\; {_CUT_OFF}")
    if line != b"\\data\\":
        raise lines.error(f"{_quote(line)} stands where \\data\\ was expected; is this an ARPA file?")


def _take_heading(lines: _ArpaLines, heading: str) -> None:
    lines.skip_blank()
    line = lines.take()
    if line is None:
        raise lines.error(f"the file ends where {heading} was expected; {_CUT_OFF}")
    if line != heading.encode():
        rule = f"{_quote(line)} stands where {heading} was expected"
        raise lines.error(f"{rule}; the section is missing or out of place, or a count in \\data\\ is wrong")


def _read_end(lines: _ArpaLines) -> None:
    _take_heading(lines, "\\end\\")
    # To the very end: only there does gzip find out whether the data are whole.
    while (line := lines.take()) is not None:
        if line:
            raise lines.error(f"{_quote(line)} follows \\end\\; remove what is no part of the model")


def _read_unigrams(lines: _ArpaLines, count: int, order: int) -> tuple[dict[bytes, int], NGramTables]:
    """The id of each word, as spelled in the file, and tables of order 1."""
    first = _open_section(lines, 1)
    vocabulary: dict[bytes, int] = {}
    probs, backoffs = [_EMPTY], [_EMPTY]
    for block in _blocks(lines, 1, order, count):
        _add_words(lines, first, block, vocabulary)
        probs.append(block.probs)
        backoffs.append(block.backoffs)
    _check_words(lines, first, vocabulary)
    unknown = [name for name in _UNKNOWN_SPELLINGS if name in vocabulary]
    size = len(vocabulary)
    special = {**dict.fromkeys(unknown, 0), BEGIN.encode(): size - 2, END.encode(): size - 1}
    following = itertools.count(len(unknown))
    for name in vocabulary:
        vocabulary[name] = special[name] if name in special else next(following)
    ids = np.fromiter(vocabulary.values(), np.int64, size)
    tables = NGramTables(size + 1, [], [np.full(size + 1, -np.inf, np.float32)], [])
    tables.log10_probs[0][ids] = np.concatenate(probs)
    tables.log10_probs[0][vocabulary[BEGIN.encode()]] = -np.inf
    if order > 1:
        tables.log10_backoffs.append(np.zeros(size + 1, np.float32))
        tables.log10_backoffs[0][ids] = np.concatenate(backoffs)
    if unknown:
        vocabulary.update(dict.fromkeys(_UNKNOWN_SPELLINGS, 0))
    return vocabulary, tables


def _add_words(lines: _ArpaLines, first: int, block: _Block, vocabulary: dict[bytes, int]) -> None:
    """Number the words of a block, which begins in line `block.line` of a section that begins in line `first`."""
    for line, name in enumerate(block.words[0], block.line):
        _decode(lines, line, name)
        earlier = first + vocabulary.setdefault(name, line - first)
        if earlier != line:
            raise lines.error(f"the 1-gram {_quote(name)} stands in line {earlier} too; keep one of them", line)


def _check_words(lines: _ArpaLines, first: int, vocabulary: dict[bytes, int]) -> None:
    """Refuse a vocabulary without the marks of sentences, or with words that mean something else to readers."""
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
    """The words and ``<pad>``; empties `vocabulary`, for two copies of a large one would fill the memory."""
    words = [PADDING] * vocab_size
    while vocabulary:
        name, index = vocabulary.popitem()
        words[index] = UNKNOWN if name in _UNKNOWN_SPELLINGS else name.decode()
    return words


def _read_ngrams(
    lines: _ArpaLines, n: int, order: int, count: int, vocabulary: dict[bytes, int], tables: NGramTables
) -> None:
    """Read the section of order n >= 2 and append it to the tables of the lower orders."""
    first = _open_section(lines, n)
    ids, probs, backoffs = [np.empty((n, 0), np.int32)], [], []
    for block in _blocks(lines, n, order, count):
        ids.append(_encode(lines, block, vocabulary))
        probs.append(block.probs)
        backoffs.append(block.backoffs)
    words = np.concatenate(ids, axis=1)  # (n, n-grams)
    keys = _keys(lines, first, words, tables)
    places = np.argsort(keys, kind="stable")
    keys = keys[places]
    same = np.flatnonzero(keys[1:] == keys[:-1])
    if len(same):
        place = same[places[same + 1].argmin()]
        again = first + int(places[place + 1])
        raise lines.error(f"the {n}-gram stands in line {first + int(places[place])} too; keep one of them", again)
    log10_probs = np.concatenate([*probs, _EMPTY])
    log10_probs[words[-1] == vocabulary[BEGIN.encode()]] = -np.inf
    tables.keys.append(keys)
    tables.log10_probs.append(log10_probs[places])
    if n < order:
        tables.log10_backoffs.append(np.concatenate([*backoffs, _EMPTY])[places])


def _keys(lines: _ArpaLines, first: int, words: np.ndarray, tables: NGramTables) -> np.ndarray:
    """Key of each n-gram, (n-grams,) int64: the index of its prefix × vocabulary + its last word.

    The prefix is looked up word by word, from (n, n-grams) ids; n-gram i stands in line `first + i`.
    """
    prefix = words[0].astype(np.int64)
    for table, following in zip(tables.keys, words[1:-1], strict=True):
        sought = prefix * tables.vocab_size + following
        ascending = np.argsort(sought)  # a sorted search walks the table instead of jumping in it
        found = np.searchsorted(table, sought[ascending])
        prefix[ascending] = found
        missing = ascending[table.take(found, mode="clip") != sought[ascending]] if len(table) else ascending
        if len(missing):
            n = len(words)
            rule = f"its first {n - 1} words are no {n - 1}-gram of the file, but each {n}-gram extends one"
            raise lines.error(f"{rule}; add the {n - 1}-gram or remove this {n}-gram", first + int(missing.min()))
    return prefix * tables.vocab_size + words[-1]


@dataclass
class _Block:
    """Consecutive entries of a section; the first stands in line `line`."""

    line: int
    words: list[list[bytes]]  # the first words, the second words, ...
    probs: np.ndarray
    backoffs: np.ndarray


def _open_section(lines: _ArpaLines, n: int) -> int:
    """Take the heading of section n; return the line number of the first entry."""
    _take_heading(lines, f"\\{n}-grams:")
    lines.skip_blank()
    return lines.number + 1


def _blocks(lines: _ArpaLines, n: int, order: int, count: int) -> Iterator[_Block]:
    """The entries of section n, which must be `count`, up to the blank line or heading behind it."""
    first = lines.number + 1
    while (columns := lines.take_columns(n))[0]:
        if lines.number - first >= count:
            rule = f"\\data\\ counts {count} {n}-grams, but here is one more"
            raise lines.error(f"{rule}; correct the count, or remove the line", first + count)
        yield _parse(lines, lines.number - len(columns[0]) + 1, columns, n == order)
    following, read = lines.peek(), lines.number - first + 1
    if following is None:
        raise lines.error(f"the file ends behind {read} of {count} {n}-grams; {_CUT_OFF}")
    if following and not following.startswith(b"\\"):
        expected = f"{n + 1} or {n + 2}" if n < order else n + 1
        rule = f"{_quote(following)} has {len(following.split())} columns, where a {n}-gram has {expected}"
        raise lines.error(f"{rule}; write log10 p, {n} words, and the back-off weight if any", lines.number + 1)
    if read < count:
        rule = f"\\data\\ counts {count} {n}-grams, but the section ends behind {read}"
        raise lines.error(f"{rule}; correct the count, or restore the missing lines")


def _parse(lines: _ArpaLines, line: int, columns: list[list[bytes]], highest: bool) -> _Block:
    """Make numbers of the first and last columns."""
    probs = _numbers(lines, line, columns[0], "log-probability")
    bad = np.flatnonzero(~(probs <= 0))
    if len(bad):
        rule = f"the log-probability is {_quote(columns[0][bad[0]])}; it must be 0 or negative"
        raise lines.error(f"{rule}, so estimate the model again, or write 0 for p = 1", line + int(bad[0]))
    backoffs = _numbers(lines, line, columns[-1], "back-off weight")
    bad = np.flatnonzero(backoffs != 0 if highest else ~(backoffs < np.inf))
    if len(bad):
        rule = f"the back-off weight is {_quote(columns[-1][bad[0]])}"
        mend = (
            "n-grams of the highest order have none; remove it"
            if highest
            else "write a finite number, or -99 for a weight of 0"
        )
        raise lines.error(f"{rule}; {mend}", line + int(bad[0]))
    return _Block(line, columns[1:-1], probs, backoffs)


def _numbers(lines: _ArpaLines, line: int, texts: Sequence[bytes], what: str) -> np.ndarray:
    """(texts,) float32, correctly rounded; -99 and less become -inf."""
    try:
        exact = np.array(list(map(float, texts)))
        if b"_" in b"".join(texts):  # Python's own extension of numbers
            raise ValueError
    except ValueError:
        place = next(i for i, text in enumerate(texts) if not _is_number(text))
        raise lines.error(f"the {what} {_quote(texts[place])} is not a number; correct it", line + place) from None
    # Rounded to float64 first, a decimal next to the middle of two float32 may fall on it: then its side decides.
    for place in np.flatnonzero(exact.view(np.int64) & 0x1FFFFFFF == 0x10000000).tolist():
        decimal, middle = Decimal(texts[place].decode()), Decimal(exact[place])
        if decimal != middle:
            exact[place] = np.nextafter(exact[place], np.inf if decimal > middle else -np.inf)
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    values[values <= ZERO] = -np.inf
    return values


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text


def _encode(lines: _ArpaLines, block: _Block, vocabulary: dict[bytes, int]) -> np.ndarray:
    """(n, entries) int32: the ids of the words of a block."""
    try:
        ids = [np.fromiter(map(vocabulary.__getitem__, column), np.int32) for column in block.words]
        return np.stack(ids)
    except KeyError:
        known = [[word in vocabulary for word in column] for column in block.words]
        place = int(np.argmin(np.all(known, axis=0)))
        word = next(column[place] for column in block.words if column[place] not in vocabulary)
    _decode(lines, block.line + place, word)
    rule = f"the word {_quote(word)} is not among the 1-grams, which are the whole vocabulary"
    raise lines.error(f"{rule}; add it there, or remove the n-gram", block.line + place)


def _decode(lines: _ArpaLines, line: int, word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        rule = f"the word {_quote(word)} is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8"
        raise lines.error(rule, line) from None


def _quote(text: bytes) -> str:
    shown = text[:60].decode(errors="backslashreplace")
    return repr(shown + "..." if len(text) > 60 else shown)


def write_arpa(tables: NGramTables, words: Sequence[str], path: _Path) -> None:
    """Write an ARPA file, beside `path` first and then renamed; gzip if the name ends in ``.gz``.

    Args:
        tables: the model.
        words: by id; ``<s>`` and ``</s>`` among them, the unknown word spelled ``<unk>``; ``<pad>`` is not written.
        path: the file.

    Raises:
        OSError: the file cannot be written; what stood there is untouched.
        ValueError: the words are not one per id, or the format cannot hold one of them.
    """
    names = _check_names(tables.check(), words)
    with staged_file(path) as stage, open(stage, "wb") as raw:
        if os.fspath(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                _write(tables, names, packed)  # type: ignore[arg-type]
        else:
            _write(tables, names, raw)


def _check_names(tables: NGramTables, words: Sequence[str]) -> list[bytes]:
    """The words as bytes, or a ValueError that names the one that an ARPA file cannot hold."""
    _check_size(words, tables.vocab_size)
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
    for word in words:
        if not word or _SEPARATORS.search(word):
            raise ValueError(f"the token {word!r} is empty or holds white space, which an ARPA file cannot hold")
    if PADDING in words and _occurs(tables, words.index(PADDING)):
        raise ValueError(f"{PADDING} occurs in n-grams, but padding is not written to an ARPA file; rename the token")
    return [word.encode() for word in words]


def _check_size(words: Sequence[str], vocab_size: int) -> None:
    if len(words) != vocab_size:
        rule = f"the tokenizer has {len(words)} tokens but the model's vocab_size is {vocab_size}"
        raise ValueError(f"{rule}; take the tokenizer that was saved with the model")


def _occurs(tables: NGramTables, word: int) -> bool:
    """Whether a word has a probability or stands in an n-gram."""
    last = any((keys % tables.vocab_size == word).any() for keys in tables.keys)
    first = any((keys // tables.vocab_size == word).any() for keys in tables.keys[:1])
    return last or first or bool(tables.log10_probs[0][word] > -np.inf)


def _write(tables: NGramTables, names: list[bytes], file: BinaryIO) -> None:
    padding = names.index(PADDING.encode()) if PADDING.encode() in names else None
    counts = [len(names) - (padding is not None), *tables.sizes[1:]]
    file.write(b"\\data\\\n" + b"".join(b"ngram %d=%d\n" % (n, count) for n, count in enumerate(counts, 1)))
    front = [names.index(word.encode()) for word in (UNKNOWN, BEGIN, END) if word.encode() in names]
    unigrams = np.array([*front, *(i for i in range(len(names)) if i not in front and i != padding)])
    spellings = np.array(names, object)
    for n in range(1, tables.order + 1):
        file.write(b"\n\\%d-grams:\n" % n)
        rows = unigrams if n == 1 else np.arange(tables.sizes[n - 1])
        probs = _digits(tables.log10_probs[n - 1])
        backoffs = _digits(tables.log10_backoffs[n - 1]) if n < tables.order else None
        for start in range(0, len(rows), ROWS_PER_WRITE):
            some = rows[start : start + ROWS_PER_WRITE]
            texts = map(b" ".join, zip(*(spellings[ids] for ids in _words_of(tables, n, some)), strict=True))
            columns = [probs[some], texts] if backoffs is None else [probs[some], texts, backoffs[some]]
            file.write(b"\n".join(map(b"\t".join, zip(*columns, strict=True))) + b"\n")
    file.write(b"\n\\end\\\n")


def _words_of(tables: NGramTables, n: int, rows: np.ndarray) -> list[np.ndarray]:
    """The words of some n-grams of order n: n arrays (rows,) of ids, from the first word to the last."""
    backwards = []
    for keys in reversed(tables.keys[: n - 1]):
        rows, last = np.divmod(keys[rows], tables.vocab_size)
        backwards.append(last)
    return [rows, *reversed(backwards)]


def _digits(values: np.ndarray) -> np.ndarray:
    """Shortest decimals that give back each float32, as lmplz lays them out: (values,) bytes objects.

    >>> _digits(np.array([-0.5, -3, 0, 1e-5, -2.5e-7, -np.inf], np.float32)).tolist()
    [b'-0.5', b'-3', b'0', b'0.00001', b'-2.5e-7', b'-99']
    """
    # By their bits, for 0 and -0 are equal; and each number once, for most stand often.
    distinct, inverse = np.unique(values.view(np.int32), return_inverse=True)
    return np.array([_layout(str(value)) for value in distinct.view(np.float32)], object)[inverse]


def _layout(number: str) -> bytes:
    """From numpy's layout of a float32 to lmplz's: no ".0", exponents only below 1e-6, without leading zeros."""
    if number == "-inf":
        return b"%d" % ZERO
    if "e" in number:
        digits, exponent = number.split("e")
        number = f"{digits.removesuffix('.0')}e{int(exponent)}" if int(exponent) < -6 else f"{Decimal(number):f}"
    return number.removesuffix(".0").encode()


def from_arpa(cls: type[NGramForCausalLM], path: _Path) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Read an ARPA file, plain or gzip: `NGramForCausalLM.from_arpa(path)`.

    Args:
        cls: NGramForCausalLM.
        path: the file.

    Returns:
        The model, and a tokenizer of its words with the ids of `read_arpa`; one that refuses unknown words where the
        file has no ``<unk>``.

    Raises:
        OSError, ValueError: as `read_arpa`.
    """
    words, tables = read_arpa(path)
    unknown = UNKNOWN if words[0] == UNKNOWN else None
    ordinary = words[1:-3] if unknown else words[:-3]
    lost = [word for word in ordinary if word.split() != [word]]
    if lost:
        warnings.warn(
            f"{path}: {len(lost)} words hold white space such as {lost[0]!r}, where the tokenizer splits texts, "
            "so that it never finds them",
            stacklevel=2,
        )
    tokenizer = WordTokenizer.from_words(ordinary, unk_token=unknown)
    config = NGramConfig(
        order=tables.order,
        smoothing=None,  # the file does not say
        vocab_size=tables.vocab_size,
        table_sizes=tables.sizes,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        unk_token_id=tokenizer.unk_token_id,
    )
    return cls.from_tables(tables, config), tokenizer


def save_arpa(self: NGramForCausalLM, path: _Path, tokenizer: Any) -> None:
    """Write the model as an ARPA file: `model.save_arpa(path, tokenizer)`; gzip if the name ends in ``.gz``.

    The tokenizer's beginning, end, unknown and padding tokens are written as ARPA names them, all others as they are
    spelled in its vocabulary.

    Raises:
        OSError: the file cannot be written; what stood there is untouched.
        ValueError: the tokenizer is not the model's, or one of its tokens is empty or holds white space.
    """
    check_tokenizer(self, tokenizer)
    words = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    _check_size(words, self.config.vocab_size)
    ids = {PADDING: self.config.pad_token_id, END: self.config.eos_token_id, BEGIN: self.config.bos_token_id}
    if ids[END] == ids[BEGIN] is not None:
        raise ValueError(
            f"one token (id {ids[END]}) both begins and ends texts, but an ARPA file needs two; "
            "train the model with a tokenizer that has both <s> and </s>"
        )
    ids |= {UNKNOWN: tokenizer.unk_token_id} if tokenizer.unk_token_id not in ids.values() else {}
    for name, index in ids.items():
        if index is not None:
            words[index] = name
    write_arpa(self.tables(), words, path)


def convert_from_arpa(path: _Path, folder: _Path) -> list[int]:
    """Write a model folder with its tokenizer from an ARPA file; return the number of n-grams of each order."""
    model, tokenizer = NGramForCausalLM.from_arpa(path)
    with staged_folder(folder) as stage:
        model.save_pretrained(stage)
        tokenizer.save_pretrained(stage)
    return model.config.sizes


def convert_to_arpa(folder: _Path, path: _Path) -> list[int]:
    """Write an ARPA file from a model folder with a tokenizer; return the number of n-grams of each order."""
    model = NGramForCausalLM.from_pretrained(folder)
    model.save_arpa(path, AutoTokenizer.from_pretrained(folder))
    return model.config.sizes
