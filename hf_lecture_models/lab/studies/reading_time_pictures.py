# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A picture of how well models predict reading times, against their perplexity. Needs matplotlib (extra `train`)."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from hf_lecture_models.analysis.figures import COLOURS, MARKERS, WIDTH, slide


def save_reading_times(rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], caption: str) -> None:
    """Draw each model's gain in log-likelihood against its perplexity, with error bars of one standard error.

        rows = [{"title": "trigram", "family": "n-gram", "perplexity": 240.0, "gain": 0.004, "error": 0.001}]
        save_reading_times(rows, "reading_times.svg", caption="Natural Stories")

    Args:
        rows: by model: `title`; `family`, whose models have one colour; `perplexity`; `gain` and its `error`, in nats
            per word.
        caption: names the texts.

    Raises:
        ValueError: `rows` is empty, or a number is not finite.
    """
    if not rows:
        raise ValueError("there are no models to draw; give one row at least")
    for row in rows:
        if not all(math.isfinite(row[key]) for key in ("perplexity", "gain", "error")):
            raise ValueError(f"{row['title']} has a perplexity, gain or error that is not finite, so it has no place")
    families = list(dict.fromkeys(row["family"] for row in rows))
    title = "Do better language models predict people better?"
    with slide(path, title, caption, WIDTH, height=4.6, legend=True) as axes:
        for number, row in enumerate(rows):
            axes.errorbar(
                [row["perplexity"]],
                [1000 * row["gain"]],
                [1000 * row["error"]],
                fmt=MARKERS[number % len(MARKERS)],
                color=COLOURS[families.index(row["family"]) % len(COLOURS)],
                label=row["title"],
                capsize=3,
                markersize=9,
            )
        axes.axhline(0, color="0.4", linestyle="--", linewidth=1)
        axes.set_xlabel("perplexity of the compared words (lower is better)")
        axes.set_ylabel("gain per word (1/1000 nat)")
        axes.grid()
