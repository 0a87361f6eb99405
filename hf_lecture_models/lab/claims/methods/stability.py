# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How much a model loses where the learning rate, or another setting of training, is not the best one."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.lab.claims.methods.training import all_but, train_and_measure


def loss_at_other_settings(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return by how much the mean over several settings is below the best of them: one value, at most 0.

    Args:
        settings: those of `train_and_measure`; `tried`, values of settings, all combinations of which are trained; and
            `learned`, which the best of them must exceed.

    Raises:
        ValueError: the best one does not exceed it. A model that learns nothing loses nothing either, so the value
            would say that it is stable.
    """
    shared, tried = all_but(settings, "tried", "learned"), settings["tried"]
    combinations = [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]
    found = [np.mean(train_and_measure(shared | one, seed, folder, part)) for one in combinations]
    if max(found) <= settings["learned"]:
        raise ValueError(f"the best of {len(found)} runs reaches {max(found):.4g}, not more than {settings['learned']}")
    return [float(np.mean(found) - max(found))]
