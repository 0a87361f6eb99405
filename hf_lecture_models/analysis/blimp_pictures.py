# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pictures of BLiMP accuracies: one model by paradigm, or several by phenomenon. Needs matplotlib (extra `train`)."""

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hf_lecture_models.analysis.figures import COLOURS, figure

_MARKERS = "osD^vP*"
_CHANCE = 50.0


def save_blimp_picture(results: Mapping[str, Any], path: str | os.PathLike[str], title: str) -> None:
    """Draw the accuracy of one model on each paradigm, grouped by phenomenon, coloured by field.

        save_blimp_picture(evaluate_blimp(model, tokenizer, paradigms, "blimp.json"), "blimp.png", title="LSTM")

    Args:
        results: from `evaluate_blimp`.
        title: written above, with the mean.
    """
    rows = sorted(results["paradigms"].items(), key=lambda item: (item[1]["phenomenon"], item[0]))
    places = _places([row["phenomenon"] for _, row in rows])
    colours = dict(zip(sorted({row["field"] for _, row in rows}), COLOURS, strict=False))
    with figure(path, width=8.5, height=1.2 + 0.19 * places[-1]) as axes:
        for field, colour in colours.items():
            mine = [(place, row) for place, (_, row) in zip(places, rows, strict=True) if row["field"] == field]
            axes.barh(
                [place for place, _ in mine], [100 * row["accuracy"] for _, row in mine], color=colour, label=field
            )
        names = [f"{row['phenomenon']}: {name}" if _first(rows, i) else name for i, (name, row) in enumerate(rows)]
        _finish(axes, places, names, font=7)
        axes.set_title(f"{title}: {100 * results['summary']['accuracy']:.1f} % on average", parse_math=False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -30 / (70 + 14 * places[-1])), ncols=4, fontsize=8)


def save_blimp_comparison(summaries: Mapping[str, Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the mean accuracy of several models on each phenomenon and over all paradigms.

    Args:
        summaries: what `summarise` returns, by the model's name; at most seven.
    """
    names = ["all paradigms", *sorted({name for summary in summaries.values() for name in summary["phenomena"]})]
    with figure(path, width=8.5, height=1.6 + 0.36 * len(names)) as axes:
        for number, (model, summary) in enumerate(summaries.items()):
            values = {"all paradigms": summary["accuracy"]} | summary["phenomena"]
            # Within a row the models are one below the other, so that equal values stay visible.
            shift = (number - (len(summaries) - 1) / 2) * 0.11
            points = [(100 * values[name], place + shift) for place, name in enumerate(names) if name in values]
            axes.plot(
                *zip(*points, strict=True),
                _MARKERS[number % len(_MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                markersize=5,
                label=model,
            )
        for place in range(1, len(names)):
            axes.axhline(place - 0.5, color="0.85", linewidth=0.8)
        _finish(axes, list(range(len(names))), names, font=9)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)


def _places(groups: list[str]) -> list[float]:
    """Return the row of each bar, with a gap between groups."""
    places = [0.0]
    for before, group in pairwise(groups):
        places.append(places[-1] + (1.0 if group == before else 1.7))
    return places


def _first(rows: list[tuple[str, Any]], index: int) -> bool:
    return index == 0 or rows[index - 1][1]["phenomenon"] != rows[index][1]["phenomenon"]


def _finish(axes: Any, places: list[Any], names: list[str], font: int) -> None:
    axes.set_yticks(places, names, fontsize=font, parse_math=False)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.axvline(_CHANCE, color="0.3", linestyle="--", linewidth=1)
    axes.set_xlim(0, 100)
    axes.set_xlabel("accuracy (%); dashed: chance")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
