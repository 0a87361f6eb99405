# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tables of `own_data`, for its page."""

from collections.abc import Iterable
from statistics import mean
from typing import Any

from benchmarks.common import markdown_table
from benchmarks.own_data_peers import PROGRAMS
from benchmarks.own_data_sets import CLASSES
from benchmarks.records import record

OURS, COUNTS = "hf-lecture", "counts"
TITLES = {OURS: OURS, "tagger": "spaCy tagger", "ner": "spaCy ner"} | {name: one[0] for name, one in PROGRAMS.items()}


def cases(script: str = "finetune_text_classification", kept_back: bool | None = None) -> dict[str, Any]:
    """Return the sets of a task in the record; with `kept_back`, only those that were or were not kept back."""
    found = record("own_data", "cases")
    names = [*(name for name in CLASSES if name in found), *(name for name in found if name not in CLASSES)]
    chosen = {name: found[name] for name in names if found[name]["script"] == script}
    return {name: one for name, one in chosen.items() if kept_back in (None, one["kept_back"])}


def programs(found: Iterable[dict[str, Any]]) -> list[str]:
    """Return the names of the programs that were measured on every one of these sets."""
    found = list(found)
    return [name for name in found[0]["programs"] if all(name in one["programs"] for one in found)]


def scores(kept_back: bool, measure: str = "accuracy", script: str = "finetune_text_classification") -> str:
    """Return the table of a measure in percent: a row for each set, a column for each program."""
    found = {name: one for name, one in cases(script, kept_back).items() if measure in one["trivial"]}
    names = programs(found.values())
    lines = []
    for one in found.values():
        ours = one["programs"][OURS]
        error = f" ± {100 * ours['standard_error']:.1f}" if "standard_error" in ours else ""
        values = [f"{100 * ours[measure]:.1f}{error}"]
        values += [f"{100 * one['programs'][name][measure]:.1f}" for name in names if name != OURS]
        rows = f"{one['rows']['train']:,}"
        lines.append([one["title"], rows, str(one["classes"]), f"{100 * one['trivial'][measure]:.1f}", *values])
    return markdown_table(["set", "rows", "classes", "most frequent", *(TITLES[name] for name in names)], lines)


def costs(script: str = "finetune_text_classification") -> str:
    """Return the table of CPU seconds and sizes: the least and the most over its sets."""
    found = list(cases(script).values())
    lines = []
    for name in dict.fromkeys(name for one in found for name in one["programs"]):
        own = [one["programs"][name] for one in found if name in one["programs"]]
        seconds, sizes = [one["cpu_seconds"] for one in own], [one["bytes"] / 1e6 for one in own]
        lines.append(
            [TITLES[name], f"{min(seconds):.0f} to {max(seconds):.0f}", f"{min(sizes):.1f} to {max(sizes):.1f}"]
        )
    return markdown_table(["program", "CPU seconds", "MB"], lines)


def lead(name: str, other: str = COUNTS, measure: str = "accuracy") -> float:
    """Return how many points the defaults are better than another program on a set."""
    own = record("own_data", "cases", name, "programs")
    return 100 * (own[OURS][measure] - own[other][measure])


def leads(other: str = COUNTS, kept_back: bool | None = None) -> dict[str, float]:
    """Return `lead` for each set of classes."""
    return {name: lead(name, other) for name in cases(kept_back=kept_back)}


def mean_lead(other: str = COUNTS, kept_back: bool | None = None) -> float:
    """Return the mean of `lead` over the sets of classes."""
    return mean(leads(other, kept_back).values())


def validation(name: str) -> float:
    """Return the mean of the best accuracy on held-out training rows over the runs of the defaults on a set."""
    return mean(run["validation"] for run in record("own_data", "cases", name, "programs", OURS, "runs"))


def most_seconds() -> float:
    """Return the most CPU seconds of one training by the defaults, over sets and seeds."""
    return max(run["cpu_seconds"] for one in cases().values() for run in one["programs"][OURS]["runs"])


def choices() -> str:
    """Return the table of choices by their mean accuracy on held-out training rows, and on each set."""
    rows = record("own_data_choice", "rows")
    names = list(next(iter(rows.values()))["sets"])
    titles = [CLASSES[name][0] for name in names]
    lines = [
        [title, f"{100 * row['mean']:.1f}", *(f"{100 * row['sets'][name]:.1f}" for name in names)]
        for title, row in rows.items()
    ]
    return markdown_table(["choice", "mean", *titles], lines)
