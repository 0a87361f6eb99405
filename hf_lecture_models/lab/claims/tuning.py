# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The settings of both arms are chosen from one grid, which is widened until the best ones are inside of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

_MOST_WIDENINGS = 6

Tried = dict[tuple[Any, ...], float]
"""What each combination of the grid's settings reaches on validation data."""


def tune(
    grid: Mapping[str, Sequence[Any]], arms: Mapping[str, Callable[[Mapping[str, Any]], float]]
) -> dict[str, list[dict[str, Any]]]:
    """Return for each arm all settings that were tried, with what they reach; all arms have the same ones.

    Numbers above 0 are widened to both sides in the steps 1, 3, 10, 30. The best is inside if other values on
    both sides are not better; of several that are equally good one has to be inside.

    Args:
        grid: values of settings by their names, numbers from the smallest to the largest.
        arms: functions that return what settings reach on validation data; more is better.

    Raises:
        ValueError: a best value is still at the end of a grid that was widened six times.
    """
    axes = {name: list(values) for name, values in grid.items()}
    tried: dict[str, Tried] = {arm: {} for arm in arms}
    for _ in range(_MOST_WIDENINGS + 1):
        for arm, reached in arms.items():
            for place in product(*axes.values()):
                if place not in tried[arm]:
                    tried[arm][place] = reached(dict(zip(axes, place, strict=True)))
        if not _widened(axes, tried):
            return {
                arm: [
                    {"settings": dict(zip(axes, place, strict=True)), "validation": value}
                    for place, value in found.items()
                ]
                for arm, found in tried.items()
            }
    ends = ", ".join(f"{name} from {values[0]:g} to {values[-1]:g}" for name, values in axes.items() if _widens(values))
    raise ValueError(f"the best settings of an arm are still at the end of the grid ({ends}); begin with other values")


def best_of(tried: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings that reach most; of several that are equally good the one in the middle.

    >>> best_of([{"settings": {"rate": rate}, "validation": value} for rate, value in ((1, 5.0), (3, 7.0), (10, 6.0))])
    {'rate': 3}
    """
    if not tried:
        return {}
    most = max(one["validation"] for one in tried)
    equal = sorted((one["settings"] for one in tried if one["validation"] == most), key=lambda one: [*one.values()])
    return dict(equal[(len(equal) - 1) // 2])


def _widened(axes: dict[str, list[Any]], tried: Mapping[str, Tried]) -> bool:
    """Widen each axis at whose end the best settings of an arm are; return whether there was one."""
    places = list(axes)
    ends: set[tuple[str, int]] = set()
    for found in tried.values():
        best = best_of([{"settings": dict(zip(places, one, strict=True)), "validation": found[one]} for one in found])
        for name, values in axes.items():
            if _widens(values):
                ends |= {(name, end) for end in (0, -1) if best[name] == values[end]}
    for name, end in ends:
        values = axes[name]
        values.insert(0 if end == 0 else len(values), next_step(values[end], up=end == -1))
    return bool(ends)


def _widens(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) and value > 0 for value in values)


def next_step(value: float, up: bool) -> float:
    """Return the next larger or smaller of the numbers 1, 3, 10, 30 and so on, and 0.3, 0.1, 0.03 and so on.

    >>> next_step(0.003, up=True), next_step(0.003, up=False), next_step(0.02, up=True), next_step(1, up=False)
    (0.01, 0.001, 0.03, 0.3)
    """
    power = math.floor(math.log10(value))
    steps = [float(f"{digit}e{power + shift}") for shift in (-1, 0, 1) for digit in (1, 3)]
    larger = [step for step in steps if step > value * (1 + 1e-9)]
    smaller = [step for step in steps if step < value * (1 - 1e-9)]
    return larger[0] if up else smaller[-1]
