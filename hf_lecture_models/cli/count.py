# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture count`: counts of n-grams, from texts and count files, into a count file or a model."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from hf_lecture_models.cli.io import print_json, stdin_lines
from hf_lecture_models.io.files import check_writable
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.loading import is_ngram_file
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.count_files.counting_texts import count_texts
from hf_lecture_models.models.ngram.count_files.reading_counts import is_counts_name, read_counts
from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts
from hf_lecture_models.models.ngram.count_files.writing_counts import write_counts
from hf_lecture_models.models.ngram.counting_ngram import FileTexts
from hf_lecture_models.models.ngram.saving_ngram import ARPA_SUFFIXES, KENLM_SUFFIXES, check_target, save_ngrams
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import read_texts

TEXT_ORDER, DEFAULT_SMOOTHING = 3, "modified_kneser_ney"
_LOOKED_AT = 100  # lines of a file, to see whether it is what its name says
_COUNT_LINE = re.compile(r".*\S\t[0-9]+")


def run(
    files: list[str],
    output: Path | None,
    order: int | None,
    counts: bool,
    model: Path | None,
    smoothing: str | None,
    held_out: Path | None,
    json: bool,
) -> None:
    """Count the n-grams of the files, write a count file, a model or both, and print how many there are.

    Raises:
        ValueError: a file is damaged, or is not what its name says; the model cannot be estimated.
        OSError: a file cannot be read or written.
    """
    smoothing = smoothing or DEFAULT_SMOOTHING
    _check(output, model, smoothing)
    found, written, fitted = _count(files, order, counts), [0], None
    if model is not None:
        fitted = NGramForCausalLM.fit(counts=found, order=found.order, smoothing=smoothing, held_out=held_out)
    if output is not None:
        write_counts(found, output, progress=True)
    if fitted is not None and model is not None:
        written = save_ngrams(fitted, fitted.own_tokenizer, model)
    texts = found.count("<s>")
    if json:
        facts = {"output": output and str(output), "texts": texts, "ngrams": found.sizes}
        print_json(facts | ({"model": str(model), "model_ngrams": written} if model else {}))
        return
    print(f"texts: {texts:,}")
    for target, sizes in ((output, found.sizes), (model, written)):
        if target is not None:
            print(f"{target}: {', '.join(f'{size:,} {n}-grams' for n, size in enumerate(sizes, 1))}")


def _check(output: Path | None, model: Path | None, smoothing: str) -> None:
    if output is not None:
        if file_suffix(str(output)) in (*ARPA_SUFFIXES, *KENLM_SUFFIXES):
            raise ValueError(f"`output` is {output}, which has the name of a model; for a model give `model`")
        if output.exists():
            raise FileExistsError(f"{output} is there already; remove it or name another")
        check_writable(None, output)
    if model is not None:
        check_target(model)
        if smoothing not in SMOOTHINGS:
            raise ValueError(f"`smoothing` is {smoothing!r}; it must be one of {', '.join(SMOOTHINGS)}")


def _count(files: list[str], order: int | None, are_counts: bool) -> NGramWordCounts:
    """Return the counts of all files together."""
    for file in files:
        if (Path(file).is_file() and is_ngram_file(file)) or Path(file, "config.json").is_file():
            raise ValueError(f"{file} is a model; name texts, or files of counts")
    count_files = [file for file in files if are_counts or is_counts_name(file)]
    texts = [file for file in files if file not in count_files]
    found = read_counts(count_files, order) if count_files else None
    if found is not None and order is not None and found.order < order:
        raise ValueError(f"`order` is {order}, but the longest n-grams of the count files have {found.order} words")
    if found is not None and not texts:
        return found
    lines = chain.from_iterable(map(_lines, texts))
    counted = count_texts(lines, order or (found.order if found else TEXT_ORDER))
    return counted if found is None else found + counted


def _lines(file: str) -> Iterator[str]:
    if file == "-":
        yield from plain_texts(stdin_lines())
        return
    first = list(islice(read_texts(file), _LOOKED_AT))
    if first and all(_COUNT_LINE.fullmatch(line) for line in first):
        warnings.warn(
            f"{file} is read as a text, but its lines end in counts; give --counts if it is a count file", stacklevel=2
        )
    yield from FileTexts(file)
