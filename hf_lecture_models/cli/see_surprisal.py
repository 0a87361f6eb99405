# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see surprisal`: the bits of each word under one model or several, side by side."""

import math
from pathlib import Path
from typing import Any

from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.analysis.surprisal_pictures import save_surprisal
from hf_lecture_models.cli.io import load_side_by_side, print_columns, print_json
from hf_lecture_models.evaluation.surprisal import SENTENCE_PAIRS, ScoredText, align_spans, score_text


def run(name: str, text: str | None, beside: list[str], output: Path | None, json: bool) -> None:
    """Print a table of words and models, or both sentences of each of the lectures' pairs; draw the table."""
    models = dict(load_side_by_side([name, *beside]))
    if text is None:
        _print_pairs(models, json)
        return
    scored = align_spans([score_text(*loaded, text) for loaded in models.values()], text)
    words, bits = _table(dict(zip(models, scored, strict=True)))
    if json:
        for title, one in zip(models, scored, strict=True):
            print_json({"model": title, "words": words, "bits": bits.get(title), "sum": one.bits})
    else:
        _print_table(words, bits, {title: one.bits for title, one in zip(models, scored, strict=True)})
    if output is not None:
        save_surprisal(words, bits, output, f"“{text}”")


def _table(scored: dict[str, ScoredText]) -> tuple[list[str], dict[str, list[float]]]:
    """Return the words, the end last, and their bits by model; a model that cannot spell the text is left out."""
    possible = {title: one for title, one in scored.items() if one.possible}
    spans = next(iter(possible.values())).spans if possible else []
    words = [shown(span.text.strip()) if span.text.strip() else "end" for span in spans]
    return words, {title: [span.bits for span in one.spans] for title, one in possible.items()}


def _print_table(words: list[str], bits: dict[str, list[float]], sums: dict[str, float]) -> None:
    rows = [["word", *sums]]
    for index, word in enumerate(words):
        rows.append([word, *(_cell(bits[title][index]) if title in bits else "impossible" for title in sums)])
    print_columns([*rows, ["sum", *map(_cell, sums.values())]])


def _cell(value: float) -> str:
    return "-" if math.isnan(value) else f"{abs(value):.2f}"


def _print_pairs(models: dict[str, tuple[Any, Any]], json: bool) -> None:
    """Print the bits of both sentences of each of the lectures' pairs, under each model."""
    for language, pairs in SENTENCE_PAIRS.items():
        for pair in pairs:
            rows = {title: [score_text(*loaded, text).bits for text in pair] for title, loaded in models.items()}
            if json:
                print_json({"language": language, "pair": list(pair), "bits": rows})
                continue
            print(*pair, sep="\n")
            for title, (first, second) in rows.items():
                verdict = "the first" if first < second else "the second" if second < first else "neither"
                print(f"  {title}: {_cell(first)}, {_cell(second)} bits; more probable: {verdict}")
