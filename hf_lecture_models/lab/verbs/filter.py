# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture filter`: the texts of a corpus that a language model finds probable."""

import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hf_lecture_models.cli.io import as_they_come, load_language_model, stdin_lines
from hf_lecture_models.io.files import check_writable, staged_file
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.lab.studies.filtering import PerplexityLimits, fraction_threshold, text_perplexities
from hf_lecture_models.lab.studies.row_writer import row_writer
from hf_lecture_models.lab.studies.text_rows import CHUNK_ROWS, RowChunk, TextRows, bounded_chunks
from hf_lecture_models.tokenization.corpus import raw_lines, read_lines


def run(
    name: str,
    files: list[str],
    keep: float | None,
    max_perplexity: float | None,
    min_perplexity: float | None,
    measure: str,
    text_column: str,
    jsonl: bool,
    split: str,
    sentencepiece: Path | None,
    output: Path | None,
    scores: Path | None,
    batch_size: int | None,
) -> None:
    """Write the rows whose texts the model finds probable, and a summary to standard error.

    Raises:
        ValueError, OSError, ImportError: the model, the sentencepiece model or a file cannot be read or written; or as
            `TextRows`, `row_writer` and `text_perplexities`.
    """
    for file in (output, scores):
        check_writable(None, file)
    read = _LineReader(twice=keep is not None)
    source = TextRows(files, read, text_column, jsonl, split)
    with ExitStack() as stack:
        stack.callback(read.close)
        write = stack.enter_context(row_writer(source, str(output) if output else None, sys.stdout, jsonl))
        write_scores = stack.enter_context(_figures_file(scores))
        model, tokenizer = load_language_model(name, sentencepiece)
        figures = partial(text_perplexities, model, tokenizer, measure=measure, batch_size=batch_size)
        if keep is None:
            chosen, scored = _limits(max_perplexity, min_perplexity), _scored(source, figures, hidden=output is None)
        else:
            values = np.concatenate([np.zeros(0), *(found for _, found in _scored(source, figures))])
            chosen, scored = PerplexityLimits(fraction_threshold(values, keep)), _read_again(source, values)
        for chunk, found in scored:
            write(chunk, chosen.keeps(found).tolist())
            write_scores(found)
    print(_summary(chosen, measure), file=sys.stderr)


def _limits(most: float | None, least: float | None) -> PerplexityLimits:
    return PerplexityLimits(math.inf if most is None else most, -math.inf if least is None else least)


def _scored(
    source: TextRows, figures: Callable[[list[str | None]], np.ndarray], hidden: bool = False
) -> Iterator[tuple[RowChunk, np.ndarray]]:
    """Yield the chunks and their figures, and report the progress; `hidden` if kept rows are printed beside it."""
    silent = hidden and sys.stdout.isatty()
    with ProgressBar(unit=" texts", unit_scale=True, desc="scoring", shown=not silent) as bar:
        for chunk in source:
            yield chunk, figures(chunk.texts)
            bar.update(len(chunk.texts))


def _read_again(source: TextRows, values: np.ndarray) -> Iterator[tuple[RowChunk, np.ndarray]]:
    """Yield the chunks of the second reading, with the figures of the first.

    Raises:
        ValueError: the input has other rows than before.
    """
    done = 0
    for chunk in source:
        found = values[done : done + len(chunk.texts)]
        done += len(chunk.texts)
        if done > len(values):
            break
        yield chunk, found
    if done != len(values):
        raise ValueError(f"{', '.join(source.names)} changed while it was read; filter a file that does not change")


@contextmanager
def _figures_file(path: Path | None) -> Iterator[Callable[[np.ndarray], None]]:
    """Yield a function that writes figures to the file, one per line."""
    if path is None:
        yield lambda values: None
        return
    with staged_file(path) as stage, open(stage, "w", encoding="utf-8", newline="\n") as file:
        yield lambda values: file.writelines(f"{value!r}\n" for value in values.tolist())


def _summary(chosen: PerplexityLimits, measure: str) -> str:
    """Return what was kept, and up to which figure, in digits that give the same selection as a limit."""
    words, texts = measure.replace("_", " "), chosen.texts - chosen.blank
    share = f" ({100 * chosen.kept / texts:.1f} %)" if texts else ""
    between = [f"at least {chosen.least!r}"] if chosen.least > -math.inf else []
    between += [f"at most {chosen.most!r}"] if math.isfinite(chosen.most) else []
    line = f"kept {chosen.kept:,} of {texts:,} texts{share}" + (f", {words} {' and '.join(between)}" if between else "")
    for number, kind in ((chosen.blank, "without a word"), (chosen.impossible, "of probability 0")):
        line += f"; {number:,} {kind} left out" if number else ""
    if chosen.impossible and measure != "perplexity_without_unk":
        line += " (--measure perplexity_without_unk counts known words alone)"
    return f"hf-lecture filter: {line}"


class _LineReader:
    """Reads the lines of files and of standard input; with `twice`, pipes are copied to temporary files first."""

    def __init__(self, twice: bool) -> None:
        self._twice = twice
        self._copies: dict[str, BinaryIO] = {}

    def __call__(self, name: str) -> Iterator[list[str]]:
        """Yield the lines of a file, as they are written, in lists."""
        source = "standard input" if name == "-" else name
        if name in self._copies:
            self._copies[name].seek(0)
            return bounded_chunks(raw_lines(self._copies[name], source))
        lines = stdin_lines(keep_ends=True) if name == "-" else read_lines(name)
        if self._twice and (name == "-" or not Path(name).is_file()):
            return bounded_chunks(self._copied(name, source, lines))
        return as_they_come(lines, CHUNK_ROWS) if name == "-" else bounded_chunks(lines)

    def _copied(self, name: str, source: str, lines: Iterable[str]) -> Iterator[str]:
        file = self._copies[name] = tempfile.TemporaryFile()  # noqa: SIM115  (it is read again, and closed by `close`)
        for line in lines:
            try:
                file.write(line.encode())
            except OSError as error:
                reason = os.strerror(error.errno or 0)
                raise OSError(
                    f"the copy of {source} in {tempfile.gettempdir()} cannot be written: {reason}; name a file, which "
                    "is not copied, or another folder in TMPDIR"
                ) from error
            yield line

    def close(self) -> None:
        """Remove the copies."""
        for file in self._copies.values():
            file.close()
