# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Google's tables of n-grams: Web 1T 5-gram (LDC2006T13, 2006), and Google Books (2012 and 2020).

Web 1T is a folder, which SRILM's `make-google-ngrams` writes too:

    1gms/vocab.gz         WORD <tab> COUNT
    2gms/2gm-0000.gz      WORD1 WORD2 <tab> COUNT; 2gms/2gm.idx names the files of the order

Its marks are `<S>`, `</S>` and `<UNK>`. Words that occur less than 200 times are `<UNK>`, and n-grams that occur less
than 40 times are left out.

Google Books has files of one order each, in which n-grams that occur less than 40 times are left out:

    2012    NGRAM <tab> YEAR <tab> MATCHES <tab> VOLUMES            one line for each year
    2020    NGRAM <tab> YEAR,MATCHES,VOLUMES <tab> ...              one line for each n-gram

`_START_` and `_END_` are its marks. The same text is counted again with parts of speech in the place of words or
after them (Y. Lin et al., Syntactic Annotations for the Google Books Ngram Corpus, 2012): n-grams with `_NOUN_`,
`run_VERB` or `_ROOT_` are left out here. The files of 2009 have no marks, and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

WEB_MARKS = {b"<S>": b"<s>", b"</S>": b"</s>", b"<UNK>": b"<unk>"}
BOOKS_MARKS = {b"_START_": b"<s>", b"_END_": b"</s>"}
_YEARS_2020 = re.compile(rb"\t[0-9]+,([0-9]+),[0-9]+(?=[\t\r]|$)")
_2012 = re.compile(rb"([^\t]+)\t[0-9]{4}\t([0-9]+)\t[0-9]+\r?")
_2009 = re.compile(rb"[^\t]+\t[0-9]{4}\t[0-9]+\t[0-9]+\t[0-9]+\r?")
_TAG = re.compile(rb"(?:^| )(?:[^ ]*_(?:NOUN|VERB|ADJ|ADV|PRON|DET|ADP|NUM|CONJ|PRT|\.|X)_?|_ROOT_)(?= |$)")


class BadLine(ValueError):
    """Says what is wrong with a line of a block; `line` is its number in the block, from 0."""

    def __init__(self, rule: str, line: int) -> None:
        super().__init__(rule)
        self.line = line


def is_books(line: bytes) -> bool:
    r"""Return whether the first line of a file is of Google Books.

    >>> is_books(b"the cat\t1999\t12\t3"), is_books(b"the cat\t1999,12,3"), is_books(b"the cat\t1999")
    (True, True, False)

    Raises:
        ValueError: it is of the edition of 2009.
    """
    if _2009.fullmatch(line):
        raise ValueError(
            "this is Google Books' edition of 2009, whose n-grams cross sentences and have no sentence marks; take the "
            "edition of 2012 or 2020"
        )
    return bool(_2012.fullmatch(line) or _YEARS_2020.search(line))


def without_years(block: bytes) -> bytes:
    r"""Return lines of Google Books as SRILM's: `NGRAM <tab> COUNT`, empty where the n-gram has parts of speech.

    >>> without_years(b"the cat\t1999,12,3\t2000,5,1\nthe_DET cat\t1999,12,3\n")
    b'the cat\t17\n\n'
    """
    lines = block.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    counted = []
    for number, line in enumerate(lines):
        if found := _2012.fullmatch(line):
            ngram, count = found[1], int(found[2])
        else:
            ngram, _, rest = line.partition(b"\t")
            years = _YEARS_2020.findall(b"\t" + rest)
            if not ngram or len(years) != rest.count(b"\t") + 1:
                raise BadLine("the line is not an n-gram of Google Books with its years, as the first line is", number)
            count = sum(map(int, years))
        counted.append(b"" if _TAG.search(ngram) else b"%s\t%d" % (ngram, count))
    return b"\n".join([*counted, b""])


def folder_files(folder: Path, order: int | None) -> Iterator[Path]:
    """Yield the files of a Web 1T folder, of orders up to `order` (None: all).

    Raises:
        FileNotFoundError: the folder does not have the form of Web 1T, or a file of its index is missing.
    """
    root = folder / "data" if (folder / "data" / "1gms").is_dir() else folder
    words = _packed_or_not(root / "1gms" / "vocab")
    if words is None:
        raise FileNotFoundError(
            f"{folder} has no 1gms/vocab.gz: a folder of counts has the form of Google's Web 1T (1gms, 2gms, ...); "
            "name count files one by one"
        )
    yield words
    n = 2
    while (order is None or n <= order) and (part := root / f"{n}gms").is_dir():
        yield from _order_files(part, n)
        n += 1


def _order_files(part: Path, n: int) -> list[Path]:
    index = part / f"{n}gm.idx"
    if not index.is_file():
        return sorted(path for path in part.glob(f"{n}gm-*") if path.suffix != ".idx")
    names = [line.split("\t")[0] for line in index.read_text("utf-8").split("\n") if line.strip()]
    for name in names:
        if not (part / name).is_file():
            raise FileNotFoundError(f"{part / name} is missing, which {index} names; copy the folder again")
    return [part / name for name in names]


def _packed_or_not(path: Path) -> Path | None:
    return next((found for found in (path.with_name(f"{path.name}.gz"), path) if found.is_file()), None)
