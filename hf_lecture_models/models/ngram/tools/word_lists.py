# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Lists of words that `hf-lecture cut` and `hf-lecture extend` read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import shorten, split_words

_FILE_NAME = re.compile(r"\.{0,2}/.*|[^,:]+\.(txt|tsv|csv|dict|dic|lst|list|vocab|words)(\.(gz|bz2|xz|zst))?", re.I)


def read_vocabulary(path: str | os.PathLike[str]) -> list[str]:
    """Return the first word of each line of a file: a list of words, a dictionary of pronunciations, `words.txt`.

    Raises:
        ValueError, OSError: the file has no words, is not UTF-8 or cannot be read.
    """
    if Path(path).is_dir() or not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}; name one with a word in each line")
    rows = map(split_words, read_texts(path))
    words = list(dict.fromkeys(row[0] for row in rows if row))
    if not words:
        raise ValueError(f"{path} has no words; write one in each line")
    return words


def read_new_words(source: str) -> dict[str, float | str | None]:
    """Return the words for `extend`: from a file of lines `WORD`, `WORD PROBABILITY` or `WORD WORD2`; or named here.

    A single word with the name of a file, such as names.txt, is refused where there is no such file.

    >>> read_new_words("quokka:0.001,Sunday:Monday,vosk")
    {'quokka': 0.001, 'Sunday': 'Monday', 'vosk': None}

    Args:
        source: the path of a file, or entries `WORD`, `WORD:PROBABILITY` and `WORD:WORD2` with commas between.

    Raises:
        ValueError: an entry has other parts, or a word two entries.
        OSError: the file is missing, or cannot be read.
    """
    is_file = os.path.isfile(source)  # False for a list that is too long for a name
    if _FILE_NAME.fullmatch(source) and not is_file:
        raise FileNotFoundError(
            f"there is no file {source}; name one with a new word in each line, or the words themselves. A word of "
            "this name goes in a file"
        )
    if is_file:
        entries = [(f"{source}, line {n}", split_words(text)) for n, text in enumerate(read_texts(source), 1)]
    else:
        entries = [(repr(entry), entry.rsplit(":", 1)) for entry in source.split(",") if entry]
    found: dict[str, float | str | None] = {}
    for where, parts in entries:
        if not parts:
            continue
        if len(parts) > 2 or not all(parts):
            raise ValueError(f"{where}: write a word, and at most its probability or the word that it is like")
        if parts[0] in found:
            raise ValueError(f"{where}: the word {shorten(parts[0])} is there twice; leave one out")
        found[parts[0]] = _value(parts[1]) if len(parts) == 2 else None
    if not found:
        raise ValueError(f"{source!r} has no words")
    return found


def _value(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if 0 < number < 1 else text  # a word such as 1984
