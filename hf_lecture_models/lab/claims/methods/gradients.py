# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How gradients reach the beginning of a text."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.analysis.gradient_flow import measure_gradient_flow
from hf_lecture_models.lab.claims.methods.texts import read_part, spread_places
from hf_lecture_models.lab.claims.methods.training import all_but, train_once
from hf_lecture_models.lab.claims.values import Values

_TEXTS = 20
_NOTHING = 1e-16
"""A smaller share of a gradient is lost in the rounding of float64, and counts as this one."""


def remaining_gradient(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return log10 of the gradient that is left after `distance` words, for each of 20 texts of different articles.

    It is |dh_L/du_l| at that distance L - l over the one at the distance `beside`, where h_L is the last state of a
    language model and u_l a word's vector. The model is trained once for all distances.

    Args:
        settings: those of `train_model` for a language model whose `texts` are given; `distance`; and `beside`, 0 by
            default.
    """
    distance, beside = settings["distance"], settings.get("beside", 0)
    trained = train_once(all_but(settings, "distance", "beside"), seed, folder)
    paragraphs = read_part(settings, part)
    long = paragraphs.at([place for place, text in enumerate(paragraphs.texts) if len(text.split()) > distance])
    texts, articles = long.at(spread_places(long.articles, _TEXTS))
    found = []
    for text in (" ".join(text.split()[: distance + 1]) for text in texts):
        norms = measure_gradient_flow(trained.model, trained.processor, text).norms
        found.append(math.log10(max(norms[-1 - distance].item() / norms[-1 - beside].item(), _NOTHING)))
    return Values(found, clusters=articles)
