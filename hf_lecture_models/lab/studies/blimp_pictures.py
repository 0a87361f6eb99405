# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pictures of BLiMP accuracies: one model by paradigm, or several by phenomenon. Needs matplotlib (extra `train`)."""

import os
from collections.abc import Mapping
from typing import Any

from hf_lecture_models.analysis.figures import (
    COLOURS,
    HATCHES,
    LONGEST,
    MARKERS,
    SMALL,
    WIDTH,
    label_room,
    shorten,
    slide,
    text_width,
)

_ROW = 0.23  # inches of a row of small letters
_BARS = 3.8  # inches of the axes
_CHANCE = 50.0
_HEAD: Any = {"textcoords": "offset points", "weight": "bold", "parse_math": False, "annotation_clip": False}
_TITLE, _CAPTION = "Accuracy by phenomenon", "BLiMP; dashed line: chance"


def save_blimp_picture(results: Mapping[str, Any], path: str | os.PathLike[str], title: str) -> None:
    """Draw the accuracy of one model on each paradigm, grouped by phenomenon, coloured by field.

        save_blimp_picture(evaluate_blimp(model, tokenizer, paradigms, "blimp.json"), "blimp.png", title="LSTM")

    Args:
        results: from `evaluate_blimp`.
        title: written above, with the mean.
    """
    rows = sorted(results["paradigms"].items(), key=lambda item: (item[1]["phenomenon"], item[0]))
    places, heads = _places([row["phenomenon"] for _, row in rows])
    colours = dict(zip(sorted({row["field"] for _, row in rows}), COLOURS, strict=False))
    names = [shorten(name, 1.5 * LONGEST, SMALL) for name, _ in rows]
    title = f"{title}: {100 * results['summary']['accuracy']:.1f} % on average"
    heads = {shorten(phenomenon, 1.5 * LONGEST, SMALL): place for phenomenon, place in heads.items()}
    width = _BARS + max(text_width(name, SMALL, weight="bold") for name in (*names, *heads))
    with slide(path, title, _CAPTION, max(WIDTH, width), 1.0 + _ROW * (places[-1] + 1), legend=True) as axes:
        for (field, colour), hatch in zip(colours.items(), HATCHES, strict=False):
            mine = [(place, row) for place, (_, row) in zip(places, rows, strict=True) if row["field"] == field]
            look = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "label": field}
            axes.barh([place for place, _ in mine], [100 * row["accuracy"] for _, row in mine], **look)
        for phenomenon, place in heads.items():
            # In the column of the names, which end at the axes.
            axes.annotate(phenomenon, (0, place), (-8, 0), ha="right", va="center", fontsize=SMALL, **_HEAD)
        _finish(axes, places, names)


def save_blimp_comparison(summaries: Mapping[str, Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the mean accuracy of several models on each phenomenon and over all paradigms.

    Args:
        summaries: what `summarise` returns, by the model's name; at most seven.
    """
    names = ["all paradigms", *sorted({name for summary in summaries.values() for name in summary["phenomena"]})]
    row = max(0.45, 0.1 * len(summaries))
    with slide(
        path, _TITLE, _CAPTION, max(WIDTH, _BARS + label_room(names)), 0.9 + row * len(names), legend=True
    ) as axes:
        for number, (model, summary) in enumerate(summaries.items()):
            values = {"all paradigms": summary["accuracy"]} | summary["phenomena"]
            # Within a row the models are one below the other, so that equal values stay visible.
            shift = (number - (len(summaries) - 1) / 2) * 0.8 / max(7, len(summaries))
            points = [(100 * values[name], place + shift) for place, name in enumerate(names) if name in values]
            axes.plot(
                *zip(*points, strict=True),
                MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                markersize=7,
                label=model,
            )
        for place in range(1, len(names)):
            axes.axhline(place - 0.5, color="0.85", linewidth=0.8)
        _finish(axes, list(range(len(names))), names)


def _places(groups: list[str]) -> tuple[list[float], dict[str, float]]:
    """Return the row of each bar, and that of the name above each group."""
    places: list[float] = []
    heads: dict[str, float] = {}
    row = 0.0
    for group in groups:
        if group not in heads:
            heads[group] = row = row + 0.5 * bool(heads)
            row += 1.0
        places.append(row)
        row += 1.0
    return places, heads


def _finish(axes: Any, places: list[Any], names: list[str]) -> None:
    axes.set_yticks(places, names, fontsize=SMALL, parse_math=False)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.axvline(_CHANCE, color="0.3", linestyle="--", linewidth=1)
    axes.set_xlim(0, 100)
    axes.set_xlabel("accuracy (%)")
    axes.grid(axis="x")
