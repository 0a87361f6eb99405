# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A picture of several language models: their results, and their time of training. Needs matplotlib (extra `train`)."""

import os
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from hf_lecture_models.analysis.figures import figure


def save_comparison(models: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], title: str) -> None:
    """Draw test bits per byte against the time of training, and the learning curves beside it.

        models = [
            {"title": "trigram", "seconds": 0.02, "bits_per_byte": 2.079, "curve": []},
            {"title": "LSTM", "seconds": 21.2, "bits_per_byte": 2.080, "curve": [(10.0, 2.31), (21.0, 2.1)]},
        ]
        save_comparison(models, "comparison.png", title="Python's language reference")

    Args:
        models: rows with `title`, `seconds` of training, `bits_per_byte` of the test text, and `curve`: pairs of
            seconds and validation bits per byte; [] for a model that is not trained in steps.
        title: above both panels.
    """
    with figure(path, width=9.0, height=4.2 + 0.2 * ((len(models) + 2) // 3), panels=2) as (reached, curves):
        for number, model in enumerate(models):
            style = {"color": f"C{number}", "label": f"{model['title']}: {model['bits_per_byte']:.3f}"}
            reached.plot([model["seconds"]], [model["bits_per_byte"]], "o", markersize=8, **style)
            if model["curve"]:
                curves.plot(*zip(*model["curve"], strict=True), "o-", color=style["color"], markersize=4)
        reached.set_title("what each model reached on the test text", fontsize=10)
        reached.set_ylabel("bits per byte (lower is better)")
        curves.set_title("the networks on the validation text, as they learn", fontsize=10)
        reached.set_xscale("log")
        for axes in (reached, curves):
            axes.set_xlabel("seconds of training")
            axes.grid(alpha=0.3)
        drawing = reached.figure
        drawing.suptitle(fill(title, 110), fontsize=9, parse_math=False)
        drawing.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
