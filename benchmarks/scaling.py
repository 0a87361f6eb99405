# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How a figure grows with the length of the text: its slope on logarithmic axes, and where two lines cross."""

import math
import statistics
from collections.abc import Mapping


def slope(values: Mapping[int, float], shortest: int = 0) -> float | None:
    """Return the slope of log value by log length, from a shortest length on; None for fewer than two.

    >>> slope({256: 9.0, 2048: 1.0, 4096: 4.0, 8192: 16.0}, shortest=2048), slope({2048: 1.0})
    (2.0, None)
    """
    points = [(math.log(length), math.log(value)) for length, value in values.items() if length >= shortest]
    return None if len(points) < 2 else round(statistics.linear_regression(*zip(*points, strict=True)).slope, 2)


def crossing(ours: Mapping[int, float], other: Mapping[int, float]) -> int | None:
    """Return the length from which on ours takes fewer seconds, interpolated on the logarithms; None if it never does.

    It is after the last length where ours takes as many or more; the shortest one if there is no such length.

    >>> crossing({256: 2.0, 1024: 2.0}, {256: 1.0, 1024: 4.0}), crossing({256: 2.0}, {256: 1.0})
    (512, None)
    """
    both = sorted(ours.keys() & other.keys())
    ratios = [math.log(ours[length] / other[length]) for length in both]
    if ratios[-1] >= 0:
        return None
    first = max((number + 1 for number, ratio in enumerate(ratios) if ratio >= 0), default=0)
    if first == 0:
        return both[0]
    share = ratios[first - 1] / (ratios[first - 1] - ratios[first])
    return round(both[first - 1] * (both[first] / both[first - 1]) ** share)


def extrapolated(seconds: Mapping[int, float], length: int) -> float:
    """Return the seconds to expect at a greater length, by the last two; by the square after one length, 0 after none.

    >>> extrapolated({256: 1.0}, 512), extrapolated({256: 1.0, 512: 2.0}, 2048)
    (4.0, 8.0)
    """
    if not seconds:
        return 0.0
    growth = slope(dict(list(seconds.items())[-2:]))
    last = max(seconds)
    return seconds[last] * (length / last) ** (2.0 if growth is None else growth)
