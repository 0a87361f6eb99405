# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How much a model loses where the learning rate is not the best one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.claims.methods.training import train_and_measure


def loss_at_other_rates(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return by how much the mean over several learning rates is below the best of them: one value, at most 0.

    Args:
        settings: those of `train_and_measure`, and `learning_rates`.
    """
    shared = {name: value for name, value in settings.items() if name != "learning_rates"}
    rates = settings["learning_rates"]
    values = [np.mean(train_and_measure(shared | {"learning_rate": rate}, seed, folder, part)) for rate in rates]
    return [float(np.mean(values) - max(values))]
