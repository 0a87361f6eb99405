# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Compare what a function returned with what is right, and say where they first differ and by how much."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

# Some of the package's code computes a part in float32.
RELATIVE, ABSOLUTE = 1e-5, 1e-6
_MOST_CHARACTERS = 60


def differences(found: Any, expected: Any, names: Sequence[str]) -> str | None:
    """Return a sentence about the first result that is not as expected; None if all are.

    >>> differences((1.0, torch.zeros(2)), (1.0, torch.tensor([0.0, 0.5])), ("loss", "h"))
    'h[1] is 0, but 0.5 is right; the largest difference is 0.5, at [1]'

    Args:
        names: of the results; with one name, `expected` is that result itself.
    """
    if len(names) == 1:
        return difference(found, expected, names[0])
    if not isinstance(found, tuple | list):
        return f"{_kind(found)} is returned; {len(names)} results are needed: {', '.join(names)}"
    if len(found) != len(names):
        return f"{len(found)} results are returned; {len(names)} are needed: {', '.join(names)}"
    pairs = (difference(*three) for three in zip(found, expected, names, strict=True))
    return next(filter(None, pairs), None)


def difference(found: Any, expected: Any, name: str) -> str | None:
    """Return a sentence about one result that is not as expected; None if it is."""
    if isinstance(expected, Tensor):
        return _tensor_difference(found, expected, name)
    if isinstance(expected, float):
        return _number_difference(found, expected, name)
    if isinstance(expected, list) and expected and isinstance(expected[0], float):
        return _list_difference(found, expected, name)
    return _plain_difference(found, expected, name)


def _tensor_difference(found: Any, expected: Tensor, name: str) -> str | None:
    if not isinstance(found, Tensor):
        return f"{name} is {_kind(found)}; a torch tensor of shape {tuple(expected.shape)} is needed"
    if found.shape != expected.shape:
        return f"{name} has the shape {tuple(found.shape)}; {tuple(expected.shape)} is needed"
    if found.dtype != expected.dtype:
        return (
            f"{name} is {_short(found.dtype)}; {_short(expected.dtype)} is needed, as the inputs have it: make new "
            "tensors by x.new_zeros(...) or with dtype=x.dtype"
        )
    if found.device != expected.device:
        return f"{name} is on {found.device}; the inputs are on {expected.device}"
    found = found.detach()
    if not expected.is_floating_point():
        return _first_of(found != expected, found, expected, name)
    if bool(found.isnan().any()):
        return f"{name}{_place(found.isnan())} is NaN"
    far = (found - expected).abs()
    wrong = ~(far <= ABSOLUTE + RELATIVE * expected.abs())
    text = _first_of(wrong, found, expected, name)
    if text is None or far.numel() == 1:
        return text
    return f"{text}; the largest difference is {far.max():.4g}, at {_place(far == far.max())}"


def _first_of(wrong: Tensor, found: Tensor, expected: Tensor, name: str) -> str | None:
    if not bool(wrong.any()):
        return None
    here = tuple(wrong.nonzero()[0].tolist())
    return f"{name}{_place(wrong)} is {_shown(found[here].item())}, but {_shown(expected[here].item())} is right"


def _place(marked: Tensor) -> str:
    first = marked.nonzero()[0].tolist()
    return f"[{', '.join(map(str, first))}]" if first else ""


def _number_difference(found: Any, expected: float, name: str) -> str | None:
    if isinstance(found, Tensor) and found.numel() == 1:
        found = found.item()
    if isinstance(found, bool) or not isinstance(found, Real):
        return f"{name} is {_kind(found)}; a number is needed"
    found = float(found)
    if math.isnan(found):
        return f"{name} is NaN"
    if math.isclose(found, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
        return None
    return f"{name} is {_shown(found)}, but {_shown(expected)} is right: off by {abs(found - expected):.4g}"


def _list_difference(found: Any, expected: list[float], name: str) -> str | None:
    if isinstance(found, Tensor):
        found = found.tolist()
    if not isinstance(found, list | tuple):
        return f"{name}: {_kind(found)} is returned; a list of {len(expected)} numbers is needed"
    if len(found) != len(expected):
        return f"{name} has {len(found)} numbers; {len(expected)} are needed"
    pairs = enumerate(zip(found, expected, strict=True))
    return next(filter(None, (_number_difference(*pair, f"{name}[{place}]") for place, pair in pairs)), None)


def _plain_difference(found: Any, expected: Any, name: str) -> str | None:
    if isinstance(found, Tensor):
        found = found.tolist()
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        found = type(expected)(found)  # lists and tuples are both welcome
    elif isinstance(expected, dict) and isinstance(found, dict):
        found = dict(found)  # so is a Counter
    if type(found) is not type(expected):
        return f"{name}: {_kind(found)} is returned; a {type(expected).__name__} is needed, such as {_shown(expected)}"
    if _are_equal(found, expected):
        return None
    if isinstance(expected, dict):
        key = next(key for key in [*expected, *found] if not _are_equal(found.get(key), expected.get(key)))
        for side, other in ((found, "lack"), (expected, "have")):
            if key not in side:
                return f"{name} {other} {key!r}" + ("" if other == "lack" else ", which does not belong there")
        return f"{name} have {found[key]!r} for {key!r}, but {expected[key]!r} is right"
    if len(found) > _MOST_CHARACTERS or len(expected) > _MOST_CHARACTERS:
        shorter = min(len(found), len(expected))
        place = next((i for i in range(shorter) if not _are_equal(found[i], expected[i])), shorter)
        return f"{name} differ from place {place} on: {_shown(found[place:])} in place of {_shown(expected[place:])}"
    return f"{name}: {_shown(found)} is returned, but {_shown(expected)} is right"


def _are_equal(found: Any, expected: Any) -> bool:
    try:
        return bool(found == expected)
    except (RuntimeError, ValueError):  # tensors and arrays have no truth value
        return False


def _shown(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 4 * _MOST_CHARACTERS else f"{text[: 4 * _MOST_CHARACTERS]} ..."


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
