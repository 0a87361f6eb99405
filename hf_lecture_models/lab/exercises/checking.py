# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Check an answer to an exercise: values, gradients, inputs left as they were; and find the slip that it made."""

import copy
import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.lab.exercises.comparing import difference, differences
from hf_lecture_models.lab.exercises.exercise import Case, Exercise
from hf_lecture_models.lab.exercises.student import describe, pass_on_signals

NOTHING_YET = "nothing is returned yet"
_MOST_NUMBERS = 12
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Verdict:
    """The result of a check.

    Attributes:
        is_right: whether all results are as expected.
        problem: what is wrong at the first input that is not right; empty if all are.
        hint: names the slip, if the answer equals one on all inputs; else empty.
        case: the number of that input, from 1, and the input itself; None if all are right.
        cases: the number of inputs.
    """

    is_right: bool
    cases: int
    problem: str = ""
    hint: str = ""
    case: tuple[int, Case] | None = None


class _WrongAnswer(Exception):
    """An answer that is wrong; the message says why."""


def check(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Verdict:
    """Check a function on the exercise's inputs, in their order, up to the first that it gets wrong.

    >>> from hf_lecture_models.lab.exercises.registry import EXERCISES
    >>> exercise = EXERCISES["relative_shift"]
    >>> check(exercise, exercise.answer).is_right, check(exercise, lambda by_distance: by_distance).is_right
    (True, False)
    >>> check(exercise, exercise.blank).problem
    'nothing is returned yet'
    """
    cases = exercise.inputs(seed)
    for number, case in enumerate(cases, 1):
        try:
            _check_case(exercise, function, case)
        except _WrongAnswer as error:
            hint = _find_slip(exercise, function, cases, number - 1)
            return Verdict(False, len(cases), str(error), hint, (number, case))
    return Verdict(True, len(cases))


def show(case: Case) -> str:
    """Return the inputs of a case, one a line; large ones by their shape.

    >>> print(show({"u": torch.zeros(1, 2), "text": "ab"}))
      u = [[0.0, 0.0]]
      text = 'ab'
    """
    return "\n".join(f"  {name} = {_show(value)}" for name, value in case.items())


def _show(value: Any) -> str:
    if isinstance(value, Tensor):
        if value.numel() > _MOST_NUMBERS:
            return f"tensor of shape {tuple(value.shape)}"
        rounded = value.round(decimals=4) + 0.0 if value.is_floating_point() else value  # -0.0 becomes 0.0
        return str(rounded.tolist())
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."


def _check_case(exercise: Exercise, function: Callable[..., Any], case: Case) -> None:
    given = copy.deepcopy(case)
    with torch.no_grad():
        found = _call(exercise, function, given)
        expected = exercise.answer(**copy.deepcopy(case))
    if found is None:
        raise _WrongAnswer(NOTHING_YET)
    for name, value in case.items():
        if not _is_same(given[name], value):
            raise _WrongAnswer(
                f"the input {name} is changed in place; leave the inputs as they are, and work on a copy"
                + (f", {name}.clone()" if isinstance(value, Tensor) else "")
            )
    if problem := differences(found, expected, exercise.results):
        raise _WrongAnswer(problem)
    if exercise.has_gradients:
        _check_gradients(exercise, function, case)


def _call(exercise: Exercise, function: Callable[..., Any], case: Case) -> Any:
    try:
        return function(*case.values())
    except NotImplementedError as error:
        if not error.args:  # the blank's own line
            raise _WrongAnswer(NOTHING_YET) from None
        raise _WrongAnswer(_described(error, function)) from None
    except TypeError as error:
        try:
            inspect.signature(function).bind(*case.values())
        except TypeError:
            raise _WrongAnswer(f"it has to be called as {exercise.call}: {error}") from None
        except ValueError:
            pass  # a function without a signature
        raise _WrongAnswer(_described(error, function)) from None
    except (Exception, SystemExit) as error:
        pass_on_signals(error)
        text = _described(error, function)
        if "does not require grad" in text:
            text += "; gradients are switched off here, since the exercise asks for the formulas"
        raise _WrongAnswer(text) from None


def _described(error: BaseException, function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return describe(error, code.co_filename if code else "")


def _is_same(found: Any, before: Any) -> bool:
    if not isinstance(before, Tensor):
        return bool(found == before)
    return found.shape == before.shape and found.dtype == before.dtype and torch.equal(found, before)


def _check_gradients(exercise: Exercise, function: Callable[..., Any], case: Case) -> None:
    """Compare the gradients of a random sum of all results by all inputs that are not whole numbers."""
    names = [name for name, value in case.items() if isinstance(value, Tensor) and value.is_floating_point()]
    found, expected = (_gradients(exercise, one, case, names) for one in (function, exercise.answer))
    if found is None:
        raise _WrongAnswer(
            "the values are right, but no gradient comes from them: compute with torch's functions alone, without "
            ".detach(), .data, .item(), .tolist(), torch.tensor(...) or numpy"
        )
    for name, ours, theirs in zip(names, found, expected or (), strict=True):
        if problem := difference(ours, theirs, f"the gradient of {name}"):
            raise _WrongAnswer(f"the values are right, but their gradients are not: {problem}")


def _gradients(exercise: Exercise, function: Callable[..., Any], case: Case, names: list[str]) -> list[Tensor] | None:
    given = copy.deepcopy(case)
    inputs = [given[name].requires_grad_() for name in names]
    generator = torch.Generator().manual_seed(0)
    with torch.enable_grad():
        found = _call(exercise, function, given)
        results = [found] if isinstance(found, Tensor) else list(found)
        weights = [torch.randn(one.shape, generator=generator, dtype=one.dtype) for one in results]
        total = torch.stack([(one * weight).sum() for one, weight in zip(results, weights, strict=True)]).sum()
    if not total.requires_grad:
        return None
    gradients = torch.autograd.grad(total, inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients, strict=True)]


def _find_slip(exercise: Exercise, function: Callable[..., Any], cases: list[Case], first: int) -> str:
    """Return the hint of the slip whose results the function returns on every input; empty without one.

    Args:
        first: the place of the first input that is not right.
    """
    with torch.no_grad():
        found = [_results(exercise, function, case) for case in cases]
        if found[first] is None:
            return ""
        for slip in exercise.slips:
            same = (
                one is None or differences(one, slip.function(**copy.deepcopy(case)), exercise.results) is None
                for one, case in zip(found, cases, strict=True)
            )
            if all(same):
                return slip.hint
        return _hint_of_order(exercise, cases, found)


def _hint_of_order(exercise: Exercise, cases: list[Case], found: list[Any]) -> str:
    """Return a hint if all results are right but in another order; else an empty text."""
    names = exercise.results
    if len(names) == 1 or not all(isinstance(one, tuple | list) and len(one) == len(names) for one in found):
        return ""
    right = [exercise.answer(**copy.deepcopy(case)) for case in cases]
    as_asked, *others = itertools.permutations(range(len(names)))

    def is_right(order: tuple[int, ...]) -> bool:
        pairs = zip(found, right, strict=True)
        return all(differences([one[place] for place in order], expected, names) is None for one, expected in pairs)

    if is_right(as_asked) or not any(map(is_right, others)):
        return ""
    return f"the results are right, but in another order; return {', '.join(names)}"


def _results(exercise: Exercise, function: Callable[..., Any], case: Case) -> Any:
    try:
        return _call(exercise, function, copy.deepcopy(case))
    except _WrongAnswer:
        return None
