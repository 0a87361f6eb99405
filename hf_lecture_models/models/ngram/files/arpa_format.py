# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ARPA files, the common form of back-off n-gram models (SRILM, KenLM, MITLM, ...): the format, and lines of a file.

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

Reading. A file is known by its line ``\\data\\``, whatever its name, and may be a pipe, or packed with gzip, bzip2, xz
or zstd. Any text may come before that line, as CMU's toolkit, pocketsphinx and arpabo write it. Columns are separated
by tabs or spaces, lines end in LF or CRLF; the n-grams of a section may have any order. The vocabulary is the unigrams;
``<s>`` and ``</s>`` must be among them, as no text has a probability without them. ``<UNK>``, SRILM's other spelling,
is ``<unk>``; a model read from a file without it gives it p = 0. A logarithm of -99 or less, ``-inf`` too, means
probability 0. ``<s>`` is never predicted: its probability is read as 0 (lmplz writes 0, SRILM -99), and its weight is
kept. Words are UTF-8, of any characters but the separators of
the format and NUL. The prefix of every n-gram must be an (n-1)-gram. Any other file is refused with an error that names
file, line and rule, and says what to do.

Writing. Each number has the fewest digits that give back the same float32, formatted as lmplz does, so a file from
lmplz keeps its numbers digit for digit; only p of ``<s>`` becomes -99, like every p = 0. The unigrams begin with
``<unk>``, ``<s>``, ``</s>`` like lmplz's; longer n-grams are sorted by their prefixes, not by their last words. Reading
back gives the same arrays, bit for bit (but a finite logarithm below -99 becomes -inf).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from hf_lecture_models.io.packing import is_damage, packing_of, unpacked

UNKNOWN, BEGIN, END, PADDING = "<unk>", "<s>", "</s>", "<pad>"
KENLM_MAGIC = b"mmap lm http://kheafield.com/code"  # KenLM's binary files begin with it
POCKETSPHINX_MAGIC = b"Trie Language Model"  # pocketsphinx's binary files begin with it
ZERO = -99.0  # the logarithm that stands for p = 0
BLOCK_BYTES = 1 << 19
MAX_LINE_BYTES = 1 << 20

_FIRST_BYTES = 1 << 18  # of a file that are searched for \\data\\
_LINES_AT_ONCE = 1 << 13
_SEPARATORS = re.compile(r"[\t\n\v\f\r \0]")
_DATA = re.compile(rb"^(\xef\xbb\xbf)?[ \t]*\\data\\[ \t\r]*$", re.MULTILINE)
# Text of n-grams shrinks to a third or a tenth. A file beyond these bounds is made to fill the memory.
_CREDIBLE_RATIO, _CREDIBLE_BYTES = 200, 1 << 25


class ArpaLines:
    """The lines of a file, packed or not, in blocks of bounded size; every line has its number."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.number = 0  # of the line taken last
        self._block = b""
        self._next = 0  # where the next line begins in it
        self._file = open(path, "rb")  # noqa: SIM115 (closed by __exit__)
        self.packing = packing_of(self._file.peek(64))
        try:
            self._text = unpacked(self._file, self.packing)
        except ValueError as error:
            self._file.close()
            raise ValueError(f"{path}: {error}") from None
        self.unpacked = 0  # bytes of text read so far
        status = os.fstat(self._file.fileno())
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None  # None: a pipe

    def __enter__(self) -> ArpaLines:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._text.close()
        self._file.close()

    def error(self, rule: str, line: int | None = None) -> ValueError:
        """Return a ValueError about a line, by default the one taken last."""
        return ValueError(f"{self.path}, line {self.number if line is None else line}: {rule}")

    def can_hold(self, size: int) -> bool:
        """Return whether the file is large enough for `size` bytes of text."""
        return self.size is None or size <= (self.size if self.packing is None else self._largest_text())

    def _largest_text(self) -> int:
        return max(_CREDIBLE_BYTES, _CREDIBLE_RATIO * (self.size or 0))

    def head(self) -> bytes:
        """Return the first bytes, without going on."""
        try:
            return self._text.peek(64)  # type: ignore[attr-defined]
        except Exception as error:
            raise self._damage(error) from None

    def _damage(self, error: Exception) -> Exception:
        """Return the error that says what an error of reading means."""
        if not is_damage(error):
            return error
        rule = f"the {self.packing} data that follow are cut off or damaged ({error})"
        return self.error(f"{rule}; copy or download the file again")

    def has_data(self) -> bool:
        """Take the first block; return whether it has the line ``\\data\\``, or a mark that reading refuses by name."""
        try:
            block = self._text.read(_FIRST_BYTES)
            return block.startswith((KENLM_MAGIC, POCKETSPHINX_MAGIC)) or _DATA.search(block) is not None
        except Exception as error:
            if not is_damage(error):
                raise
            return False

    def peek(self) -> bytes | None:
        """Return the next line without white space around it; None at the end of the file."""
        block, place = self.rest()
        return block[place : self._after_line()].strip() if block else None

    def rest(self) -> tuple[bytes, int]:
        """Return a block of text, and the place in it where the next line begins; no text at the end of the file."""
        if self._next == len(self._block):
            self._fill()
        return self._block, self._next

    def skip(self, lines: int, size: int) -> None:
        """Go on by some lines of the block, which have so many bytes."""
        self.number += lines
        self._next += size

    def _after_line(self) -> int:
        return self._block.find(b"\n", self._next) + 1 or len(self._block)

    def take(self) -> bytes | None:
        """Return the next line, and go on to the one after it."""
        line = self.peek()
        if line is not None:
            self.skip(1, self._after_line() - self._next)
        return line

    def skip_blank(self) -> None:
        """Skip blank lines."""
        while self.peek() == b"":
            self.take()
            rest = self._block[self._next :]
            blank = rest.rfind(b"\n", 0, len(rest) - len(rest.lstrip())) + 1
            self.skip(rest.count(b"\n", 0, blank), blank)

    def take_columns(self, n: int) -> list[list[bytes]]:
        """Take the next entries of order n in this block as n + 2 columns, the last one b"0" where it is left out.

        The columns are empty if the next line is not an entry.
        """
        block, place = self.rest()
        cells: list[bytes] = []
        lines = block[place:].split(b"\n", _LINES_AT_ONCE)[:_LINES_AT_ONCE]
        for line in lines:
            row = line.split()
            if len(row) == n + 1:
                row.append(b"0")
            elif len(row) != n + 2:
                break
            cells += row  # one flat list: millions of small ones would keep the garbage collector busy
        rows = len(cells) // (n + 2)
        size = sum(map(len, lines[:rows])) + rows
        self.skip(rows, min(size, len(block) - place))  # the last line of a file may lack its end
        return [cells[column :: n + 2] for column in range(n + 2)]

    def _fill(self) -> None:
        try:
            block = self._text.read(BLOCK_BYTES)
            block += self._text.readline(MAX_LINE_BYTES)
        except Exception as error:
            raise self._damage(error) from None
        if not block.endswith(b"\n") and len(block) - block.rfind(b"\n") > MAX_LINE_BYTES:
            rule = f"the line is longer than {MAX_LINE_BYTES} bytes; this is not an ARPA file, or it is damaged"
            raise self.error(rule, self.number + block.count(b"\n") + 1)
        self.unpacked += len(block)
        self._check_block(block)
        self._block, self._next = block.replace(b"\r\n", b"\n") if b"\r" in block else block, 0

    def _check_block(self, block: bytes) -> None:
        if self.packing and self.size and self.unpacked > self._largest_text():
            raise self.error(
                f"the {self.packing} data unpack to more than {_CREDIBLE_RATIO} times their size, as no language model "
                "does; if you trust the file, unpack it and read the .arpa"
            )
        returns = b"\r" in block and block.count(b"\r") - block.count(b"\r\n")
        if returns or any(byte in block for byte in (b"\0", b"\v", b"\f")):
            for number, line in enumerate(block.split(b"\n"), self.number + 1):
                if re.search(rb"[\0\v\f]|\r(?!$)", line):
                    rule = "a NUL, vertical tab, form feed or bare carriage return stands in the line"
                    raise self.error(f"{rule}; is this an ARPA file, in UTF-8, with LF or CRLF line ends?", number)


def is_arpa_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a regular file has the line ``\\data\\`` in its first 256 kB, whatever its name; packed ones too.

    >>> is_arpa_file(__file__)
    False

    Raises:
        OSError: the file cannot be opened.
        ValueError: it is packed with zstd, and no package that unpacks this is installed.
    """
    if not Path(path).is_file():
        return False
    with ArpaLines(path) as lines:
        return lines.has_data()


def quote(text: bytes) -> str:
    """Return at most 60 bytes of a line or word for an error message."""
    shown = text[:60].decode(errors="backslashreplace")
    return repr(shown + "..." if len(text) > 60 else shown)


def check_spellings(words: Iterable[str], holder: str) -> None:
    """Raise a ValueError that names a word that is empty or has white space, which separates the columns of files."""
    for word in words:
        if not word or _SEPARATORS.search(word):
            raise ValueError(f"the token {word!r} is empty or holds white space, which {holder} cannot hold")
