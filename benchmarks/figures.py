# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Fill the figures of README, docs and model pages from their records: `python -m benchmarks.figures`.

A document names the source of each figure in a comment after it, which no reader of the rendered page sees:

    perplexity 143.9<!--= record("recurrent_wikitext2", "test", "word_perplexity"):.1f -->

The expression may have a format at its end. A comment around a table names its rows, a function of `benchmarks.tables`;
the table's head stays as it is, unless the function returns the whole table:

    <!--= tables.units() -->
    | unit | right, % |
    |---|---|
    | words | 64.2 |
    <!--/-->

`<!--? EXPRESSION -->` after a sentence must be true: the sentence says the same in words. A comment without either
sign after a figure is the reason why it has no record: `2,210<!-- rows of the file -->`.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import log10
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import (
    architecture,
    babylm,
    blimp,
    canaries,
    crows_pairs,
    fine_tuning,
    loss_by_distance,
    own_data_tables,
    prompting,
    reading_times,
    sentence_classifiers,
    tables,
    wikitext2_table,
)
from benchmarks.records import ROOT, claim, facts, record
from hf_lecture_models.lab.claims.claim import find_claim

PAGES = ["README.md", "benchmarks/README.md", "docs/*.md", "docs/live/*.md", "docs/notes/*.md"]
PAGES += ["hf_lecture_models/models/*/README.md"]
FUNCTIONS = (abs, all, dict, int, len, max, min, range, round, sorted, str, sum, log10, mean, pairwise)
FUNCTIONS += (record, facts, claim, find_claim)
MODULES = (architecture, babylm, blimp, canaries, crows_pairs, fine_tuning, loss_by_distance, prompting, reading_times)
MODULES += (own_data_tables, sentence_classifiers, tables, wikitext2_table)
NAMES = {one.__name__.rpartition(".")[2]: one for one in (*FUNCTIONS, *MODULES)}

TABLE = re.compile(r"^<!--= (?P<source>[^\n]*?) -->\n(?P<body>.*?)^<!--/-->$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"(?<=.)<!--(?P<kind>[=?]) (?P<source>[^\n]*?) -->")
VALUE = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?$")
FORMAT = re.compile(r":([-+]?,?(?:\.\d+)?[a-z]?)$")


@cache
def evaluate(source: str) -> Any:
    """Return the value of an expression over the records.

    >>> evaluate('max(2, 3) / 2')
    1.5
    """
    return eval(source, {"__builtins__": {}, **NAMES})


def figure(source: str) -> str:
    """Return the figure of an expression, in its format.

    >>> figure('2000 / 3:,.1f'), figure('"a" * 2')
    ('666.7', 'aa')
    """
    found = FORMAT.search(source)
    return format(evaluate(source[: found.start()]), found[1]) if found else str(evaluate(source))


def table(source: str, body: str) -> str:
    """Return the lines of a table: a whole one, or the document's with other cells at the end of each row.

    >>> table("[[1.5], [2.5]]", "| | x |\\n|---|---|\\n| a | |\\n| b | 0.0 |").splitlines()
    ['| | x |', '|---|---|', '| a | 1.5 |', '| b | 2.5 |']
    """
    found = evaluate(source)
    if isinstance(found, str):
        return found
    first, second, *lines = body.splitlines()
    rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines]
    rows = [old[: len(old) - len(new)] + list(map(str, new)) for old, new in zip(rows, found, strict=True)]
    return "\n".join([first, second, *(f"| {' | '.join(row)} |" for row in rows)])


def filled(text: str) -> str:
    """Return a document with the figures of its records.

    Raises:
        ValueError: a sentence is no longer true, or no figure stands before a comment that names its source.

    >>> filled("It takes 5.0<!--= 3 / 2:.1f --> seconds, less than two<!--? 3 / 2 < 2 -->.")
    'It takes 1.5<!--= 3 / 2:.1f --> seconds, less than two<!--? 3 / 2 < 2 -->.'
    """
    text = TABLE.sub(lambda found: f"<!--= {found['source']} -->\n{table(*found.groups())}\n<!--/-->", text)
    return "".join(_filled_parts(text))


def _filled_parts(text: str) -> Iterator[str]:
    end = 0
    for found in MARK.finditer(text):
        before, source = text[end : found.start()], found["source"]
        if found["kind"] == "?" and not evaluate(source):
            raise ValueError(f"no longer true: {before[-80:]!r}: {source}")
        if found["kind"] == "=":
            if (value := VALUE.search(before)) is None:
                raise ValueError(f"no figure before the comment: {before[-80:]!r}: {source}")
            before = before[: value.start()] + figure(source)
        yield before + found[0]
        end = found.end()
    yield text[end:]


def without_comments(text: str) -> str:
    """Return a document as its readers see it."""
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def documents() -> list[Path]:
    """Return the documents that are filled."""
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a document would change")
    check, changed = parser.parse_args().check, False
    for path in documents():
        old = path.read_text(encoding="utf-8")
        new = filled(old)
        for before, after in zip(old.split("\n"), new.split("\n"), strict=False):
            if before != after:
                print(f"{path.relative_to(ROOT)}: {without_comments(after)}")
        changed |= new != old
        if new != old and not check:
            path.write_text(new, encoding="utf-8")
    sys.exit(check and changed)


if __name__ == "__main__":
    main()
