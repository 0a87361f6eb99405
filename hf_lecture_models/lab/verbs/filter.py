# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture filter`: the texts of a corpus that a language model finds probable."""

import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hf_lecture_models.cli.io import as_they_come, load_language_model, stdin_lines
from hf_lecture_models.io.files import check_writable, staged_file
from hf_lecture_models.io.packing import file_suffix, packing_of_name
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.lab.studies.filtering import (
    BUCKETS,
    PerplexityBuckets,
    PerplexityLimits,
    fraction_threshold,
    percentile_threshold,
    text_differences,
    text_perplexities,
)
from hf_lecture_models.lab.studies.row_writer import row_writer
from hf_lecture_models.lab.studies.text_rows import CHUNK_ROWS, RowChunk, TextRows, bounded_chunks, row_form
from hf_lecture_models.tokenization.corpus import raw_lines, read_lines

Chosen = PerplexityLimits | PerplexityBuckets
Figures = Callable[[list[str | None]], np.ndarray]
RowsFile = tuple[Callable[[RowChunk, list[list[bool]]], None], bool]


def run(
    name: str,
    files: list[str],
    minus: str | None,
    keep: float | None,
    max_perplexity: float | None,
    min_perplexity: float | None,
    max_difference: float | None,
    sample: Path | None,
    percentile: float | None,
    buckets: tuple[float, float] | None,
    cutoffs: tuple[float, float] | None,
    measure: str,
    text_column: str,
    jsonl: bool,
    split: str,
    sentencepiece: Path | None,
    output: Path | None,
    scores: Path | None,
    json: bool,
    batch_size: int | None,
) -> None:
    """Write the rows whose texts the model finds probable, or all in three files; and a summary to standard error.

    Raises:
        ValueError, OSError, ImportError: as `load_language_model`, `TextRows`, `row_writer` and `text_differences`.
    """
    outputs = _bucket_files(output) if output and (buckets or cutoffs) else [output]
    for file in (*outputs, scores):
        check_writable(None, file)
    of_input = sample is None and (keep, buckets) != (None, None)
    most = max_difference if max_perplexity is None else max_perplexity
    choose = partial(
        _choose, keep=keep, percentile=percentile, buckets=buckets, cutoffs=cutoffs, limits=(min_perplexity, most)
    )
    load = partial(_figures, name, minus, sentencepiece, measure, batch_size)
    with closing(_LineReader(twice=of_input)) as read:
        source = TextRows(files, read, text_column, jsonl, split)
        first = source if of_input else _sample_rows(sample, read, text_column, jsonl, split)
        chosen = _filter(source, first, _rows_file(source, outputs, jsonl), scores, load, choose)
    print((_json_summary if json else _summary)(chosen, measure, minus), file=sys.stderr)


def _filter(
    source: TextRows,
    first: Iterable[RowChunk],
    rows_file: AbstractContextManager[RowsFile],
    scores: Path | None,
    load: Callable[[], Figures],
    choose: Callable[[np.ndarray], Chosen],
) -> Chosen:
    """Score the `first` rows, choose by their figures, and write the rows of `source`, which may be the same."""
    with rows_file as (write, is_hidden), _figures_file(scores) as write_scores:
        figures = load()
        values = np.concatenate([np.zeros(0), *(found for _, found in _scored(first, figures))])
        chosen = choose(values)
        scored = _read_again(source, values) if first is source else _scored(source, figures, hidden=is_hidden)
        for chunk, found in scored:
            write(chunk, _parts(chosen, found))
            write_scores(found)
    return chosen


def _choose(
    values: np.ndarray,
    keep: float | None,
    percentile: float | None,
    buckets: tuple[float, float] | None,
    cutoffs: tuple[float, float] | None,
    limits: tuple[float | None, float | None],
) -> Chosen:
    """Return what decides, by figures of the input or of a sample, or by the limits, the least and the most."""
    if keep is not None:
        return PerplexityLimits(fraction_threshold(values, keep))
    if percentile is not None:
        return PerplexityLimits(percentile_threshold(values, percentile))
    if buckets is not None:
        head, middle = (percentile_threshold(values, one) for one in buckets)
        return PerplexityBuckets(head, middle)
    if cutoffs is not None:
        return PerplexityBuckets(*cutoffs)
    least, most = limits
    return PerplexityLimits(math.inf if most is None else most, -math.inf if least is None else least)


def _bucket_files(output: Path) -> list[Path | None]:
    """Return the names of three files: `a.jsonl.gz` becomes `a.head.jsonl.gz`, and so on."""
    end = len(file_suffix(output.name)) + (len(output.suffix) if packing_of_name(output.name) else 0)
    begin = output.name[: len(output.name) - end]
    return [output.with_name(f"{begin}.{bucket}{output.name[len(begin) :]}") for bucket in BUCKETS]


def _sample_rows(
    sample: Path | None, read: Callable[[str], Any], column: str, jsonl: bool, split: str
) -> Iterable[RowChunk]:
    if sample is None:
        return ()
    return TextRows([str(sample)], read, column, jsonl and row_form(str(sample)) == "lines", split)


def _figures(name: str, minus: str | None, sentencepiece: Path | None, measure: str, batch_size: int | None) -> Figures:
    model, tokenizer = load_language_model(name, sentencepiece)
    if minus is None:
        return partial(text_perplexities, model, tokenizer, measure=measure, batch_size=batch_size)
    other, other_tokenizer = load_language_model(minus, sentencepiece)
    figures = partial(
        text_differences, model, tokenizer, other, other_tokenizer, measure=measure, batch_size=batch_size
    )
    figures([])  # which refuses models that cannot be compared
    return figures


@contextmanager
def _rows_file(source: TextRows, outputs: list[Path | None], jsonl: bool) -> Iterator[RowsFile]:
    """Yield a function that writes each part of the rows to its output, and whether one is standard output (None)."""
    with ExitStack() as stack:
        writers = [
            stack.enter_context(row_writer(source, str(file) if file else None, sys.stdout, jsonl)) for file in outputs
        ]

        def write(chunk: RowChunk, parts: list[list[bool]]) -> None:
            for writer, part in zip(writers, parts, strict=True):
                writer(chunk, part)

        yield write, None in outputs


def _parts(chosen: Chosen, values: np.ndarray) -> list[list[bool]]:
    """Return for each output which rows go there."""
    if isinstance(chosen, PerplexityLimits):
        return [chosen.keeps(values).tolist()]
    places = chosen.of(values)
    return [(places == bucket).tolist() for bucket in range(len(BUCKETS))]


def _scored(
    source: Iterable[RowChunk], figures: Figures, hidden: bool = False
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


def _unit_of(measure: str, minus: str | None) -> str:
    """Return what the figures are, in words."""
    if minus is None:
        return measure.replace("_", " ")
    units = {"perplexity": "token", "word_perplexity": "word", "bits_per_byte": "byte"}
    return f"difference in bits per {units.get(measure, 'known token')}"


def _summary(chosen: Chosen, measure: str, minus: str | None) -> str:
    """Return what was kept, and up to which figure, in digits that give the same selection as a limit."""
    words, texts = _unit_of(measure, minus), chosen.texts - chosen.blank

    def share(count: int) -> str:
        return f" ({100 * count / texts:.1f} %)" if texts else ""

    if isinstance(chosen, PerplexityBuckets):
        counts = [f"{name} {count:,}{share(count)}" for name, count in zip(BUCKETS, chosen.counts, strict=True)]
        line = f"{', '.join(counts)} of {texts:,} texts, {words} cut off at {chosen.head!r} and {chosen.middle!r}"
    else:
        between = [f"at least {chosen.least!r}"] if chosen.least > -math.inf else []
        between += [f"at most {chosen.most!r}"] if math.isfinite(chosen.most) else []
        limits = f", {words} {' and '.join(between)}" if between else ""
        line = f"kept {chosen.kept:,} of {texts:,} texts{share(chosen.kept)}{limits}"
    for number, kind in ((chosen.blank, "without a word"), (chosen.impossible, "of probability 0")):
        line += f"; {number:,} {kind} left out" if number else ""
    if chosen.impossible and measure != "perplexity_without_unk":
        line += " (--measure perplexity_without_unk counts known words alone)"
    return f"hf-lecture filter: {line}"


def _json_summary(chosen: Chosen, measure: str, minus: str | None) -> str:
    """Return the summary as one line of JSON, with null for limits that are not finite."""
    found: dict[str, Any] = {"measure": measure, "minus": minus, "texts": chosen.texts - chosen.blank}
    if isinstance(chosen, PerplexityBuckets):
        found |= dict(zip(BUCKETS, chosen.counts, strict=True)) | {"cutoffs": [chosen.head, chosen.middle]}
    else:
        found |= {"kept": chosen.kept, "at_least": chosen.least, "at_most": chosen.most}
    return strict_json({"summary": found | {"blank": chosen.blank, "impossible": chosen.impossible}})


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
