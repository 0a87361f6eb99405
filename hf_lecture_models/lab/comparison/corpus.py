# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The training, validation and test part of a text: read from files, or split off without overlap."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.lab.comparison.python_reference import Corpus
from hf_lecture_models.tokenization.corpus import read_training_lines

# Fewer lines cannot be split into ten parts.
MIN_LINES, MAX_BYTES = 10, 2**28
# The most lines in a block, and the most words in a held-out part (or characters, in text without white space). A part
# that is not given gets every tenth block of the text, or fewer.
BLOCK_LINES, HELD_OUT_WORDS = 20, 50_000
# Longer lines that occur again are copies; shorter ones ("ROMEO:") recur in language.
COPY_CHARACTERS = 40


def read_corpus(
    files: Sequence[str], validation: Sequence[str] = (), test: Sequence[str] = (), max_lines: int | None = None
) -> tuple[Corpus, list[str]]:
    """Read text files, one text per line; blank lines are left out.

    Args:
        files: UTF-8, `.gz` too.
        validation, test: files of these parts; without any, blocks of lines of `files` are held out.
        max_lines: the most lines to read of each file.

    Returns:
        The three parts, and sentences on how they were made.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is not UTF-8, too short or too long.
    """
    _refuse_unreadable([*files, *validation, *test])
    lines, remarks = _read_lines(files, max_lines)
    held_out = {"validation": validation, "test": test}
    given = {part: _read_lines(names, max_lines)[0] for part, names in held_out.items() if names}
    missing = [part for part in held_out if part not in given]
    if missing:
        lines, copies = _without_copies(lines)
        if copies:
            remarks.append(f"{copies:,} repeated lines of {COPY_CHARACTERS} characters or more left out")
        parts, remark = split_lines(lines, missing, ", ".join(files))
        remarks.append(remark)
    else:
        parts = {"train": lines}
    corpus = Corpus(**parts, **given)
    known = set(corpus.train)
    for part in ("validation", "test"):
        texts = getattr(corpus, part)
        share = sum(text in known for text in texts) / len(texts)
        if share >= 0.005:
            remarks.append(f"{share:.0%} of the {part} lines also occur in the training text")
    return corpus, remarks


def _refuse_unreadable(files: Sequence[str]) -> None:
    """Raise OSError, before any work is done, where a file is missing, is a folder, or may not be read."""
    for file in files:
        if Path(file).is_dir():
            raise IsADirectoryError(f"{file} is a folder: name text files")
        if not Path(file).exists():
            raise FileNotFoundError(f"there is no file {file}")
        if not os.access(file, os.R_OK):
            raise PermissionError(f"the file {file} may not be read; change its permissions")


def _read_lines(files: Sequence[str], max_lines: int | None) -> tuple[list[str], list[str]]:
    """Return the lines of all files that are not blank, and remarks on them."""
    texts: list[str] = []
    blank = size = 0
    cut = False
    for file in files:
        kept = 0
        for text in read_training_lines(file):
            if kept == max_lines:
                cut = True
                break
            size += len(text.encode())
            if size > MAX_BYTES:
                raise ValueError(
                    f"{file} goes beyond {MAX_BYTES / 2**20:,.0f} MiB of text, and the ladder holds it in memory; "
                    "give a part of it"
                )
            blank += not text.strip()
            if text.strip():
                texts.append(text)
                kept += 1
    if not texts:
        raise ValueError(f"there is no text in {', '.join(map(str, files))}: one text per line is needed")
    remarks = [f"only the first {max_lines} lines of each file (--tiny)"] if cut else []
    return texts, remarks + ([f"{blank:,} blank lines left out"] if blank else [])


def _without_copies(lines: list[str]) -> tuple[list[str], int]:
    """Return the lines without later copies of long ones, and the number of these copies."""
    seen: set[str] = set()
    kept = []
    for line in lines:
        if len(line) >= COPY_CHARACTERS:
            if line in seen:
                continue
            seen.add(line)
        kept.append(line)
    return kept, len(lines) - len(kept)


def split_lines(lines: list[str], missing: Sequence[str], name: str = "the text") -> tuple[dict[str, list[str]], str]:
    """Take the missing held-out parts from all over `lines`; the rest is for training.

    >>> parts, _ = split_lines([str(number) for number in range(20)], ["validation", "test"])
    >>> parts["validation"], parts["test"], len(parts["train"])
    (['8', '18'], ['9', '19'], 16)

    Raises:
        ValueError: there are too few lines.
    """
    if len(lines) < MIN_LINES:
        raise ValueError(
            f"{name} has {len(lines)} different lines; at least {MIN_LINES} are needed to hold some out: give one "
            "sentence or paragraph per line, or name files for `validation` and `test`"
        )
    size = max(1, min(BLOCK_LINES, len(lines) // 100))
    blocks = -(-len(lines) // size)
    every = min(blocks, max(10, math.ceil(sum(map(text_length, lines)) / HELD_OUT_WORDS)))
    parts: dict[str, list[str]] = {"train": [], **{part: [] for part in missing}}
    # The last blocks of each group of `every`.
    part_of = dict(zip(range(every - len(missing), every), missing, strict=True))
    for number, line in enumerate(lines):
        parts[part_of.get(number // size % every, "train")].append(line)
    shares = " and ".join(f"one for {part}" for part in missing)
    return parts, f"of every {every:,} blocks of {size} line{'s' if size > 1 else ''}, {shares}"


def has_known_words(tokenizer: Any, texts: Sequence[str]) -> bool:
    """Return True if a tokenizer knows all words of these texts.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["a", "cat"])
    >>> has_known_words(tokenizer, ["a cat"]), has_known_words(tokenizer, ["a cat", "a dog"])
    (True, False)
    """
    return not any(encoded.unknown_words for encoded in encode_texts(tokenizer, texts))


def text_length(text: str) -> int:
    """Return the number of words, or of characters in a text without white space.

    >>> text_length("a cat"), text_length("一只猫")
    (2, 3)
    """
    words = text.split()
    return len(words) if len(words) > 1 else len(text)


def first_texts(texts: list[str], length: int) -> list[str]:
    """Return the first texts whose lengths (see `text_length`) add up to `length` or more.

    >>> first_texts(["a cat sat", "a dog", "an owl"], length=4)
    ['a cat sat', 'a dog']
    """
    found = 0
    for number, text in enumerate(texts, start=1):
        found += text_length(text)
        if found >= length:
            return texts[:number]
    return texts
