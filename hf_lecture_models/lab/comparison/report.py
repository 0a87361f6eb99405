# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The report of a comparison: `results.json`, the table, and the answers of the reloaded models."""

import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.lab.comparison.baselines import Comparison
from hf_lecture_models.tokenization.corpus import encode_corpus

RESULTS, CHART = "results.json", "comparison.png"
# The parts of a corpus, and the adjective of their tokens.
_PARTS = {"train": "training", "validation": "validation", "test": "test"}


def describe(comparison: Comparison) -> dict[str, Any]:
    """Return the entries of `results.json` that are known before training: facts, versions, sizes of the parts."""
    sizes = {}
    for part in _PARTS:
        texts = getattr(comparison.corpus, part)
        tokens = len(encode_corpus(comparison.tokenizer, texts).ids)
        sizes[part] = {"texts": len(texts), "words": sum(map(len, map(str.split, texts))), "tokens": tokens}
    return {
        **comparison.facts,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("hf-lecture-models", "torch", "transformers")},
        "machine": platform.machine(),
        "corpus": sizes,
        "unit": comparison.unit,
        "vocab_size": len(comparison.tokenizer),
        "unk_token": comparison.tokenizer.unk_token,
    }


def headline(results: dict[str, Any]) -> str:
    """Return the text's name and size in one line."""
    sizes = [f"{results['corpus'][part]['tokens']:,} {use} {results['unit']}" for part, use in _PARTS.items()]
    return f"{results['title']}: {', '.join(sizes)}, vocabulary of {results['vocab_size']:,}"


def table(models: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and the cells of each model's row."""
    columns = ["model", "parameters", "seconds", "tokens/s", "validation perplexity", "test perplexity"]
    rows = [
        [
            row["title"],
            f"{row['parameters']:,}" if row["parameters"] else f"{row['table_entries']:,} n-grams",
            f"{row['seconds']:.2f}",
            f"{row['tokens_per_second']:,.0f}",
            f"{row['validation']['perplexity']:.1f}",
            f"{row['test']['perplexity']:.1f}",
            f"{row['test']['bits_per_byte']:.3f}",
        ]
        for row in models
    ]
    return [*columns, "bits per byte (test)"], rows


def as_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table for a font of fixed width.

    >>> print(as_text(["model", "seconds"], [["LSTM", "12.00"]]))
    model  seconds
    -----  -------
    LSTM     12.00
    """
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    lines = [[f"{name:<{widths[0]}}", *map(str.rjust, rest, widths[1:])] for name, *rest in [columns, *rows]]
    return "\n".join("  ".join(line) for line in [lines[0], ["-" * width for width in widths], *lines[1:]])


def describe_reloaded(results: dict[str, Any], pairs: Sequence[Sequence[str]]) -> str:
    """Return the completions of the reloaded models, one per line, and a table of `pairs` with ln P under each model.

    Args:
        results: the content of `results.json`: "reloaded" has the models' answers to the pairs of known words,
            "letters" ln P of every sentence under a character n-gram, if there is one.
    """
    lines = [f"  {name}: {result['completion']}" for name, result in results["reloaded"].items()]
    scores = {
        name: {entry["sequence"]: entry["log_prob"] for ranking in result["rankings"] for entry in ranking}
        for name, result in results["reloaded"].items()
    }
    if letters := results.get("letters"):
        scores["letters"] = letters
    if not pairs:
        return "\n".join(lines)
    rows = [row for pair in pairs for row in [*_pair_rows(pair, list(scores.values())), [""] * (1 + len(scores))]]
    text = as_text(["ln P (*: the more probable of a pair)", *scores], rows[:-1])
    if letters:
        text += "\n\nletters: a 6-gram of characters. -: a word of the pair does not occur in the text."
    return "\n".join([*lines, "", *map(str.rstrip, text.splitlines())])


def _pair_rows(pair: Sequence[str], scores: Sequence[dict[str, float]]) -> list[list[str]]:
    """Return a row for each sentence of a pair, with its ln P under each model.

    >>> _pair_rows(["a cat", "cat a"], [{"a cat": -2.0, "cat a": -5.5}, {"a cat": -3.0, "cat a": -3.0}, {}])
    [['a cat', '-2.0*', '-3.0 ', '- '], ['cat a', '-5.5 ', '-3.0 ', '- ']]
    """
    rows = []
    for sentence, other in (pair, pair[::-1]):
        cells = [
            f"{one[sentence]:.1f}{'*' if one[sentence] > one[other] else ' '}" if sentence in one else "- "
            for one in scores
        ]
        rows.append([sentence, *cells])
    return rows


def closing_line(seconds: float, output: Path) -> str:
    """Return a line that names the files and folders of the results."""
    return f"\n{seconds:.0f} s in all. {RESULTS}, {CHART} and the models are in {output}; for example"


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write strict JSON, beside and renamed."""
    write_file(path, strict_json(value, indent=2) + "\n")


def check_output(folder: Path, command: str) -> None:
    """Raise FileExistsError for a folder that holds anything but the results of an earlier run of `command`."""
    if folder.exists() and not (folder.is_dir() and (_is_result(folder, command) or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder} is there already and not from a {command}; name another `output`")


def _is_result(folder: Path, command: str) -> bool:
    try:
        return f"hf-lecture {command}" in json.loads((folder / RESULTS).read_text(encoding="utf-8"))["command"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
