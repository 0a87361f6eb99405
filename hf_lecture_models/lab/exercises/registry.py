# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The twelve exercises in the order of the lectures, and the file with their blank functions."""

import inspect

from hf_lecture_models.io.recipe import unknown_name
from hf_lecture_models.lab.exercises.attention import (
    ATTENTION,
    LAYER_NORM_GRADIENT,
    LINEAR_ATTENTION_STEP,
    RELATIVE_SHIFT,
)
from hf_lecture_models.lab.exercises.exercise import Exercise
from hf_lecture_models.lab.exercises.pretraining import MASK_TOKENS, SKIP_GRAM_UPDATE
from hf_lecture_models.lab.exercises.recurrent import BACKPROPAGATION_THROUGH_TIME, LSTM_CELL
from hf_lecture_models.lab.exercises.search import BEAM_SEARCH
from hf_lecture_models.lab.exercises.text import BPE_MERGE, KNESER_NEY_DISCOUNTS, UNIGRAM_VITERBI

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for exercise in (
        BPE_MERGE,
        UNIGRAM_VITERBI,
        KNESER_NEY_DISCOUNTS,
        LSTM_CELL,
        BACKPROPAGATION_THROUGH_TIME,
        SKIP_GRAM_UPDATE,
        ATTENTION,
        LAYER_NORM_GRADIENT,
        MASK_TOKENS,
        BEAM_SEARCH,
        RELATIVE_SHIFT,
        LINEAR_ATTENTION_STEP,
    )
}

_HEAD = '''"""Write the body of each function in place of its last line, and check it:

    hf-lecture exercise {name} MY.py
"""

from __future__ import annotations

import torch
from torch import Tensor
'''


def find_exercises(name: str) -> list[Exercise]:
    """Return the exercise of this name in a list, or all exercises for the name "all".

    >>> [exercise.name for exercise in find_exercises("lstm_cell")]
    ['lstm_cell']

    Raises:
        ValueError: there is none; the message has the most similar name, or all names.
    """
    if name == "all":
        return list(EXERCISES.values())
    if name not in EXERCISES:
        raise ValueError(unknown_name(name, [*EXERCISES, "all"], "exercise"))
    return [EXERCISES[name]]


def blank_file(names: list[str]) -> str:
    """Return a Python file with the blank functions of these exercises.

    >>> print(blank_file(["lstm_cell"]).splitlines()[11])
    def lstm_cell(u: Tensor, h: Tensor, c: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """
    head = _HEAD.format(name=names[0] if len(names) == 1 else "all")
    return "\n\n".join([head, *(inspect.getsource(EXERCISES[name].blank) for name in names)])
