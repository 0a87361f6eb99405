# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What models cost, counted and not timed: operations, steps that wait for each other, and numbers to remember.

The counts follow from the shapes alone. They are the same on every machine, so nothing here is random.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from hf_lecture_models.io.compat import cache_of


def output_layer_share(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each length the percentage of a language model's operations that its output layer does.

    The operations are those of matrix products, forwards; backwards all layers do twice as many.

    Args:
        settings: `model`, the fields of a configuration; `lengths` of texts in tokens.
    """
    model = _language_model(settings)
    shares = []
    for length in settings["lengths"]:
        shares.append(100 * (1 - _operations(model.base_model, length) / _operations(model, length)))
    return shares


def growth_with_length(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each length the power with which a count grows from there to twice the length.

    A count that is proportional to the length has 1, one that is proportional to its square 2, and a constant 0.

    Args:
        settings: `model`, the fields of a configuration; `lengths` in tokens; `count`, a name in `COUNTS`.
    """
    model, count = _language_model(settings), COUNTS[settings["count"]]
    return [math.log2(count(model, 2 * length) / count(model, length)) for length in settings["lengths"]]


def _language_model(settings: Mapping[str, Any]) -> Any:
    """Return a model in float64, in which the library computes an LSTM from parts that can be counted."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(**settings["model"])
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager").double().eval()


def _operations(model: Any, length: int, **inputs: Any) -> int:
    """Count the multiplications and additions of the matrix products with which a model reads a text."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(input_ids=_text(length), **inputs)
    return counter.get_total_flops()


def _text(length: int) -> Tensor:
    """Return the ids of a text, (1, length): the words make no difference to any count."""
    return torch.zeros(1, length, dtype=torch.long)


def _text_operations(model: Any, length: int) -> int:
    """Count the operations of the states of a text, without the output layer."""
    return _operations(model.base_model, length)


def _word_operations(model: Any, length: int) -> int:
    """Count the operations of the next word's state after a text that was read already."""
    return _operations(model.base_model, 1, past_key_values=_cache(model, length), use_cache=True)


def _remembered(model: Any, length: int) -> int:
    """Count the numbers that are kept of a text, so that it can be continued."""
    found: dict[int, Tensor] = {}
    for layer in _cache(model, length).layers:
        for value in vars(layer).values():
            parts = value if isinstance(value, tuple) else (value,)
            found |= {id(one): one for one in parts if isinstance(one, Tensor)}
    return sum(one.numel() for one in found.values())


def _cache(model: Any, length: int) -> Any:
    with torch.no_grad():
        return cache_of(model.base_model(input_ids=_text(length), use_cache=True))


def _dependent_steps(model: Any, length: int) -> int:
    """Count the operations of the longest chain in which each needs the result of the one before.

    It is the longest path through the graph of the last state: no number of processors computes a text in fewer steps.
    """
    with torch.enable_grad():
        state = model.base_model(input_ids=_text(length)).last_hidden_state
    depths: dict[Any, int] = {}
    stack = [state.grad_fn]
    while stack:
        node = stack[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        if waiting := [one for one in before if one not in depths]:
            stack += waiting
        else:
            depths[stack.pop()] = 1 + max((depths[one] for one in before), default=0)
    return depths[state.grad_fn]


COUNTS: dict[str, Callable[[Any, int], int]] = {
    "operations": _text_operations,
    "operations of the next word": _word_operations,
    "remembered numbers": _remembered,
    "dependent steps": _dependent_steps,
}
