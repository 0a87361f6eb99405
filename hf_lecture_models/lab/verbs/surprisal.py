# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture surprisal`: the bits of each word of each line under one model or several, as CSV."""

import csv
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, repeat
from typing import Any

import numpy as np

from hf_lecture_models.cli.io import line_chunks, load_side_by_side, print_json
from hf_lecture_models.evaluation.scoring import ContextLimit
from hf_lecture_models.evaluation.surprisal import MASKED, ScoredText, kind_of, score_spans
from hf_lecture_models.lab.studies.word_surprisal import word_columns

_OF_WORDS = ["text", "number", "kind", "word", "start", "end"]
_OF_MODELS = ["bits", "tokens", "unknown"]
_CHUNK = 4096
"""So many rows are made of the arrays at once."""


def run(name: str, files: list[str], beside: list[str], stream: bool, json: bool, batch_size: int) -> None:
    """Print a row for each word and for each end as soon as a line is scored, then each model's sums."""
    names = [name, *beside]
    models = dict(load_side_by_side(names))
    if len(models) < len(names):
        raise ValueError(f"a model is named twice: {', '.join(names)}; its columns would have the same names")
    sums = {title: _Sums(loaded[0], stream) for title, loaded in models.items()}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if not json:
        writer.writerow(_OF_WORDS + [f"{title}.{column}" for title in models for column in _OF_MODELS])
    chunks: Iterable[list[str]] = line_chunks(files, batch_size)
    texts = 0
    for lines in [list(chain.from_iterable(chunks))] if stream else chunks:
        scored = [score_spans(*loaded, lines, stream, batch_size) for loaded in models.values()]
        for one in zip(*scored, strict=True):
            texts += 1
            rows = _rows(texts, one, list(sums.values()), missing=math.nan if json else "")
            if json:
                for row in rows:
                    print_json(_named(row, list(models)))
            else:
                writer.writerows(rows)
        sys.stdout.flush()
    if not texts:
        raise ValueError("there are no lines to read; give one text per line")
    _print_sums(sums, json)


class _Sums:
    """The sums over all texts of one model, and the window in which it reads a text longer than its longest input."""

    def __init__(self, model: Any, stream: bool) -> None:
        self.limit = None if kind_of(model) == MASKED else ContextLimit.of(model)
        self.stream = stream
        self.texts = self.words = self.tokens = self.unknown = self.longest = 0
        self.bits = 0.0

    def add(self, text: ScoredText) -> None:
        self.texts += 1
        self.bits += text.bits
        row = text.measures["tokens"] + 1
        self.tokens += text.measures["tokens"]
        self.longest = self.longest + row if self.stream else max(self.longest, row)

    def measures(self) -> dict[str, Any]:
        counts = {key: getattr(self, key) for key in ("texts", "words", "tokens", "unknown", "bits")}
        if self.limit is None:
            return counts | {"given": "all other tokens of the text"}
        windowed = not self.limit.exact and self.longest > self.limit.longest
        window = {"window": self.limit.longest, "stride": self.limit.longest - self.limit.overlap} if windowed else {}
        return counts | window


def _rows(text: int, scored: Sequence[ScoredText], sums: Sequence[_Sums], missing: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each word of a text, and of its end, under all models; text and words are added to `sums`.

    Args:
        missing: what stands for the bits of a word that has none.
    """
    (starts, ends, *_), *_ = columns = [word_columns(one) for one in scored]
    if any(len(others) != len(starts) for others, *_ in columns):
        raise ValueError(f"the models see different numbers of words in line {text}; name one model at a time")
    last = len(starts) - 1
    for one, counts, (*_, unknown) in zip(scored, sums, columns, strict=True):
        counts.add(one)
        counts.words += last
        counts.unknown += int(unknown.sum())
    for at in range(0, last, _CHUNK):
        some = slice(at, min(at + _CHUNK, last))
        words = map(scored[0].text.__getitem__, map(slice, starts[some].tolist(), ends[some].tolist()))
        yield from zip(
            repeat(text), count(at + 1), repeat("word"), words, *_values(columns, some, missing), strict=False
        )
    yield from zip([text], [last + 1], ["end"], ["</s>"], *_values(columns, slice(last, None), missing), strict=True)


def _values(columns: list[tuple[np.ndarray, ...]], some: slice, missing: Any) -> Iterator[list[Any]]:
    """Yield the columns of `some` words: where they begin and end, and for each model its bits, tokens and unknown."""
    yield from (place[some].tolist() for place in columns[0][:2])
    for _, _, bits, tokens, unknown in columns:
        shown = bits[some].tolist()
        yield [missing if math.isnan(value) else value for value in shown] if np.isnan(bits[some]).any() else shown
        yield from (tokens[some].tolist(), unknown[some].tolist())


def _named(row: tuple[Any, ...], titles: list[str]) -> dict[str, Any]:
    """Return the values of a row by the names of their columns."""
    of_models = (
        dict(zip(_OF_MODELS, row[at:], strict=False)) for at in range(len(_OF_WORDS), len(row), len(_OF_MODELS))
    )
    return dict(zip(_OF_WORDS, row, strict=False)) | {"models": dict(zip(titles, of_models, strict=True))}


def _print_sums(sums: dict[str, _Sums], json: bool) -> None:
    """Print the sums: to standard error, or with `json` as a last line."""
    measures = {title: one.measures() for title, one in sums.items()}
    if json:
        print_json({"summary": measures})
        return
    for title, found in measures.items():
        shown = (f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items())
        print(f"{title}: {', '.join(shown)}", file=sys.stderr)
