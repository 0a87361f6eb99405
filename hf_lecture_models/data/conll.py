# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Annotated sentences with a word on each line: CoNLL-U (universaldependencies.org/format), and the columns of the
older CoNLL shared tasks."""

import os
import re
from bisect import bisect
from collections.abc import Iterator
from itertools import chain, groupby, takewhile

from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.runs import log_once
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import split_words

_CONLL_U = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_WORD_ID = re.compile(r"\d+")
# Matches a multiword token ("vámonos" above "vamos" and "nos"), or an empty node, a word that the sentence leaves out.
_NO_WORD_ID = re.compile(r"\d+[-.]\d+")
# Matches the comment above the first sentence of a document.
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")

_ENTITY_TAG = re.compile(r"O|[BIELMSUW]-.+")

Line = tuple[int, str]
"""The number of a line, and the line."""


class ConllTable:
    """The columns of a file of sentences; a column is a list of sentences, and a sentence a list of its words' values.

    Blank lines end sentences. In CoNLL-U the ten columns have names; comments, multiword tokens (`1-2`) and empty nodes
    (`1.1`) are left out. In other files the columns are numbered from "1" and separated by tabs or blanks; lines that
    begin with -DOCSTART- are left out, and so are comments: lines before a sentence's words that begin with # and have
    another number of columns than words, or # and a blank or tab at their beginning and at their end no tag that other
    words have.
    So `# O` is the word #, and `# newdoc` is a comment. `tokens` is the column of words: `form` in CoNLL-U, else the
    first column. `tags` is the last column; in CoNLL-U, which has several columns of tags, the name of one is needed in
    its place.

    Args:
        path: the file, packed or not.
        name: the name of the file in messages; CoNLL-U ends in `.conllu`, packed in `.conllu.gz`.
        has_tags: whether a file that is not CoNLL-U must have a column of tags.

    Attributes:
        column_names: the names of the columns.
        lines: the line number of each word, a list for each sentence.
        documents: the document of each sentence, its number in the file; None: no comment begins a document.

    Raises:
        ValueError: a line has too few or too many columns or no word, or is not UTF-8.
        OSError: the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], name: str, has_tags: bool = True) -> None:
        self.name, self.least_width = name, 2 if has_tags else 1
        self.is_conll_u = file_suffix(name) == ".conllu"
        self.width = len(_CONLL_U) if self.is_conll_u else 0
        self._document_lines: list[int] = []
        by_sentence = groupby(self._word_lines(path), key=lambda numbered: numbered[1] != "")
        sentences = [list(words) for is_sentence, words in by_sentence if is_sentence]
        if not self.is_conll_u:
            sentences = self._without_comments(sentences)
        for number, line in chain.from_iterable(sentences):
            self._check(number, line)
        self.lines = [[number for number, _ in words] for words in sentences]
        self.documents = (
            [f"{name} {bisect(self._document_lines, lines[0])}" for lines in self.lines]
            if self._document_lines
            else None
        )
        # Whole lines take a tenth of the memory of all their columns, and few columns are read.
        self._words = [[line for _, line in words] for words in sentences]
        names = _CONLL_U if self.is_conll_u else [str(number) for number in range(1, self.width + 1)]
        own = {"tokens": 1} if self.is_conll_u else {"tokens": 0, "tags": self.width - 1}
        self._places = own | {column: place for place, column in enumerate(names)}
        self.column_names = list(self._places)

    def __getitem__(self, column: str) -> list[list[str]]:
        place = self._places[column]
        return [[self._split(line)[place] for line in words] for words in self._words]

    def _word_lines(self, path: str | os.PathLike[str]) -> Iterator[Line]:
        """Yield the numbers and lines of words, and an empty line after each sentence."""
        for number, line in enumerate(read_texts(path), start=1):
            line = line.removeprefix("\ufeff") if number == 1 else line
            first = line.split(maxsplit=1)[:1]
            if first == ["-DOCSTART-"] or (self.is_conll_u and _NEW_DOCUMENT.match(line)):
                self._document_lines.append(number)
            if not first or (not self.is_conll_u and first == ["-DOCSTART-"]):
                yield number, ""
            elif not self.is_conll_u or not (line.startswith("#") or _NO_WORD_ID.fullmatch(first[0])):
                yield number, line

    def _without_comments(self, sentences: list[list[Line]]) -> list[list[Line]]:
        """Return the sentences without the comments before their words; log those that could be words, too."""
        parts = [(list(takewhile(_begins_with_sign, words)), words) for words in sentences]
        if not any(heads for heads, _ in parts):
            return sentences
        sure = [self._split(line) for heads, words in parts for _, line in words[len(heads) :]]
        sure = sure or [
            columns for words in sentences for _, line in words if not _is_sign(columns := self._split(line))
        ]
        width, tags = len(sure[0]) if sure else 0, {columns[-1] for columns in sure}

        def is_word(columns: list[str]) -> bool:
            is_tagged = width == 1 or columns[-1] in tags or bool(_ENTITY_TAG.fullmatch(columns[-1]))
            return len(columns) == width and (not _is_sign(columns) or is_tagged)

        left_out = [(number, self._split(line)) for heads, _ in parts for number, line in heads]
        left_out = [(number, columns) for number, columns in left_out if not is_word(columns)]
        if alike := [number for number, columns in left_out if len(columns) == width or not _is_sign(columns)]:
            log_once(
                f"{self.name}: {len(alike)} line(s) before a sentence that begin with # are left out as comments, the "
                f"first is line {alike[0]}: a word has {width} columns, and a tag that other words have, too"
            )
        numbers = {number for number, _ in left_out}
        kept = [[one for one in words if one[0] not in numbers] for words in sentences]
        return [words for words in kept if words]

    def _check(self, number: int, line: str) -> None:
        columns, place = self._split(line), f"{self.name}, line {number}"
        if self.is_conll_u and len(columns) != self.width:
            raise ValueError(f"{place}: a word of CoNLL-U has 10 columns separated by tabs, not {len(columns)}")
        if self.is_conll_u and not _WORD_ID.fullmatch(columns[0]):
            raise ValueError(f"{place}: {columns[0]!r} is no number of a word; a comment begins with #")
        self.width = self.width or len(columns)
        if len(columns) < self.least_width or len(columns) != self.width:
            there = (
                f"those above have {self.width}" if self.width >= self.least_width else "a word and its tag are needed"
            )
            raise ValueError(f"{place}: {len(columns)} column{'s' if len(columns) > 1 else ''}, but {there}")
        if not columns[1 if self.is_conll_u else 0].strip():
            raise ValueError(f"{place}: there is no word in front of its tag")

    def _split(self, line: str) -> list[str]:
        return line.split("\t") if self.is_conll_u or "\t" in line else split_words(line)


def _begins_with_sign(numbered: Line) -> bool:
    return numbered[1].startswith("#")


def _is_sign(columns: list[str]) -> bool:
    """Return whether the first of the columns is #, or begins with it and a blank, as where others follow a tab."""
    return columns[0].split(maxsplit=1)[:1] == ["#"]
