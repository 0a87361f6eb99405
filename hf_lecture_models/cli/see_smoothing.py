# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see smoothing`: what n-gram models give to words seen after a context, after a part of it, or never."""

from pathlib import Path

from transformers import AutoModelForCausalLM

from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.analysis.smoothing import WordGroup, group_words, probabilities_of, save_smoothing
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.loading import load_model, short_names


def run(name: str, words: list[str], beside: list[str], number: int, output: Path | None, json: bool) -> None:
    """Print each group's share of the probability under each model, and its most probable words; draw the shares."""
    names = [name, *beside]
    models = {
        title: load_model(one, AutoModelForCausalLM) for title, one in zip(short_names(names), names, strict=True)
    }
    first = group_words(*next(iter(models.values())), words)
    groups = {title: probabilities_of(*loaded, words, first) for title, loaded in models.items()}
    if json:
        for title, parts in groups.items():
            rows = [{"context": list(g.context), "words": len(g.words), "share": g.share} for g in parts]
            print_json({"model": title, "groups": rows})
    else:
        _print_table(groups, number)
    if output is not None:
        save_smoothing(groups, output, f"after “{' '.join(words)}”" if words else "without context")


def _print_table(groups: dict[str, list[WordGroup]], number: int) -> None:
    rows = []
    for index, group in enumerate(next(iter(groups.values()))):
        parts = [parts[index] for parts in groups.values()]
        rows.append((f"{group.name} ({len(group.words):,})", [f"{part.share:.4f}" for part in parts]))
        rows += [
            (f"  {shown(word)}", [f"{part.probs[i]:.4f}" for part in parts])
            for i, word in enumerate(group.words[:number])
        ]
    width = max(len(label) for label, _ in rows)
    columns = [max(8, len(title)) for title in groups]
    print("  ".join([" " * width, *(f"{title:>{size}}" for title, size in zip(groups, columns, strict=True))]))
    for label, cells in rows:
        print("  ".join([f"{label:{width}}", *(f"{c:>{size}}" for c, size in zip(cells, columns, strict=True))]))
