# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture prune`: an n-gram model without the n-grams that change it least."""

from pathlib import Path

from hf_lecture_models.cli.ngram_tools import load_ngrams, save_and_report
from hf_lecture_models.models.ngram.saving_ngram import check_target
from hf_lecture_models.models.ngram.tools.pruning import Pruning


def run(
    name: str,
    output: Path,
    threshold: float | None,
    ngrams: int | None,
    bytes: str | None,
    criterion: str,
    history: str | None,
    counts: str | None,
    at_most: str | None,
    json: bool,
) -> None:
    """Write a smaller model; print the threshold, the bytes of its tables and its numbers of n-grams.

    Raises:
        FileExistsError: the target is there already.
        OSError: a file cannot be read or written.
        ValueError: the model or an option cannot be used.
    """
    check_target(output)
    model, tokenizer = load_ngrams(name)
    other = None
    if history is not None:
        other, its_tokenizer = load_ngrams(history)
        other.own_tokenizer = its_tokenizer
    limits = None if at_most is None else _numbers(at_most)
    pruning = Pruning(threshold, ngrams, bytes, criterion, other, counts, limits, tokenizer)
    smaller, used = pruning.of(model)
    sizes = [sum(buffer.nbytes for buffer in one.buffers()) for one in (model, smaller)]
    save_and_report(smaller, tokenizer, output, json, threshold=used, bytes_before=sizes[0], bytes=sizes[1])


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"`at_most` is {text!r}; give numbers with commas between them, such as 0,1,2") from None
