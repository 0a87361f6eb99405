# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How much a model loses where the learning rate, or another setting of training, is not the best one."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.lab.claims.methods.training import all_but, train_and_measure
from hf_lecture_models.lab.claims.values import Values


def loss_at_other_settings(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return by how much the mean over several settings is below the best of them; the mean over items is at most 0.

    The items are those of `train_and_measure`.

    Args:
        settings: those of `train_and_measure`; `tried`, values of settings, whose combinations are all trained; and
            `learned`, which the best of them must exceed.

    Raises:
        ValueError: the best one does not exceed it. A model that learns nothing loses nothing either, so the value
            would say that it is stable.
    """
    shared, tried = all_but(settings, "tried", "learned"), settings["tried"]
    combinations = [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]
    found = [train_and_measure(shared | one, seed, folder, part) for one in combinations]
    best = max(found, key=lambda one: one.mean)
    if best.mean <= settings["learned"]:
        raise ValueError(f"the best of {len(found)} runs reaches {best.mean:.4g}, not more than {settings['learned']}")
    lost = np.mean([one.values for one in found], axis=0) - np.array(best.values)
    return replace(best, values=lost.tolist())
