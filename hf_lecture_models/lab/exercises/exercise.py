# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What an exercise consists of: a blank function, inputs, the package's answer, and typical slips with their hints."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Case = dict[str, Any]
"""The arguments of one call, by name, in their order."""


@dataclass(frozen=True)
class Slip:
    """A typical wrong answer. Whoever returns the same results is given the hint.

    Attributes:
        function: takes the exercise's arguments and makes the mistake.
        hint: names the mistake, and what is right.
    """

    function: Callable[..., Any]
    hint: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        blank: the function to write, with signature and docstring but without a body.
        title: what it computes, in a few words.
        slide: where the lectures have it.
        answer: the package's own code, called by `adapter.py`.
        cases: draws the inputs, the smallest first.
        results: the names of what is returned.
        slips: the typical wrong answers.
        has_gradients: whether the gradients with respect to the inputs are compared too.
    """

    blank: Callable[..., Any]
    title: str
    slide: str
    answer: Callable[..., Any]
    cases: Callable[[torch.Generator], list[Case]]
    results: tuple[str, ...]
    slips: tuple[Slip, ...]
    has_gradients: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.blank.__name__

    @property
    def call(self) -> str:
        """How the function is called, such as `lstm_cell(u, h, c, W, b)`."""
        return f"{self.name}({', '.join(inspect.signature(self.blank).parameters)})"

    def inputs(self, seed: int = 0) -> list[Case]:
        """Return the inputs that an answer is checked on; the same seed gives the same ones."""
        return self.cases(torch.Generator().manual_seed(seed))
