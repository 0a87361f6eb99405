# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The state that recurrent models carry from call to call, as a cache that transformers' `generate()` can use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from hf_lecture_models.io.compat import CacheLayerMixin

State = tuple[Tensor, ...]

_NO_KEYS = "a RecurrentCache holds no keys and values, and nothing is added to it: models return a new one at each call"


class RecurrentCacheLayer(CacheLayerMixin):
    """One layer's part of a `RecurrentCache`: a tuple of tensors, None before the first step.

    Its methods replace tensors and never change one in place, because another cache may hold the same tensor.
    """

    supports_early_init = False

    def __init__(self, state: State | None = None, seen_tokens: int = 0):
        super().__init__()
        self.state, self.seen_tokens = state, seen_tokens

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Let row i continue from row `beam_idx[i]`, in all tensors."""
        self.state = changed(self.state, lambda tensor: tensor.index_select(0, beam_idx.to(tensor.device)))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows `indices`."""
        self.state = changed(self.state, lambda tensor: tensor[indices.to(tensor.device)])

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row `repeats` times, side by side."""
        self.state = changed(self.state, lambda tensor: tensor.repeat_interleave(repeats, dim=0))

    def reset(self) -> None:
        """Forget everything."""
        self.state, self.seen_tokens = None, 0

    def crop(self, tokens_to_remove: int) -> None:
        """Raise a ValueError unless `tokens_to_remove` is 0: the states before the last one are gone."""
        if tokens_to_remove != 0:
            raise ValueError("a recurrent state cannot be rolled back; keep a cache from before and continue from that")

    def get_seq_length(self) -> int:
        """Number of tokens seen, padding included."""
        return self.seen_tokens

    def get_max_length(self) -> int:
        """Return -1: the length is unlimited."""
        return -1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of a mask over all tokens, seen and new."""
        return self.seen_tokens + query_length, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Raise a TypeError: a state has no keys and values."""
        raise TypeError(_NO_KEYS)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Raise a TypeError: a state has no keys and values."""
        raise TypeError(_NO_KEYS)


class RecurrentCache(Cache):
    """Per layer a tuple of tensors of any shape, batch first, and the number of tokens seen.

    Models never write into a cache that they are given: they return a new one. The methods that `generate()` calls
    (`reorder_cache`, ...) are transformers' and act on every layer.

    >>> cache = RecurrentCache.from_states([(torch.tensor([[1.0], [2.0]]),)], seen_tokens=7)  # one layer, two rows
    >>> cache.reorder_cache(torch.tensor([1, 1]))
    >>> cache.states[0][0].tolist(), cache.get_seq_length()
    ([[2.0], [2.0]], 7)
    """

    layers: list[RecurrentCacheLayer]  # type: ignore[assignment]

    def __init__(self, num_layers: int, states: Iterable[State | None] | None = None, seen_tokens: int = 0):
        states = [None] * num_layers if states is None else states
        super().__init__(layers=[RecurrentCacheLayer(state, seen_tokens) for state in states])

    @classmethod
    def from_states(cls, states: Iterable[State | None], seen_tokens: int) -> RecurrentCache:
        """Return a cache that holds `states`, one per layer."""
        return cls(0, states, seen_tokens)

    @classmethod
    def after(cls, before: RecurrentCache | None, states: Iterable[State | None], new_tokens: int) -> RecurrentCache:
        """Return a cache of `states`, `new_tokens` later than `before`, or than the beginning of the text."""
        return cls(0, states, new_tokens + (0 if before is None else before.get_seq_length()))

    @property
    def states(self) -> list[State | None]:
        """Each layer's tensors, None before the first step."""
        return [layer.state for layer in self.layers]

    @property
    def seen_tokens(self) -> int:
        """Number of tokens seen, padding included."""
        return self.get_seq_length()

    @property
    def batch_size(self) -> int:
        """Number of rows, -1 before the first step."""
        return next((len(tensor) for state in self.states for tensor in state or ()), -1)

    def detach(self) -> RecurrentCache:
        """Return a new cache of the same values, detached from the graph, for truncated back-propagation."""
        return type(self).after(self, [changed(layer.state, Tensor.detach) for layer in self.layers], 0)

    def to_tensors(self) -> dict[str, Tensor]:
        """Return the cache as named tensors: "<layer>.<index in the layer's tuple>", and the counts."""
        tensors = {"num_layers": torch.tensor(len(self.layers)), "seen_tokens": torch.tensor(self.get_seq_length())}
        for number, layer in enumerate(self.layers):
            for index, tensor in enumerate(layer.state or ()):
                tensors[f"{number}.{index}"] = tensor.detach().contiguous()
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> RecurrentCache:
        """Return the cache that `to_tensors` wrote; a ValueError where the tensors are others."""
        missing = {"num_layers", "seen_tokens"} - tensors.keys()
        if missing:
            raise ValueError(f"not the tensors of a RecurrentCache: {', '.join(sorted(missing))} missing")
        states: list[State | None] = []
        for layer in range(int(tensors["num_layers"])):
            names = sorted((n for n in tensors if n.startswith(f"{layer}.")), key=lambda n: int(n.split(".")[1]))
            states.append(tuple(tensors[name] for name in names) or None)
        return cls.from_states(states, int(tensors["seen_tokens"]))

    def __repr__(self) -> str:
        return f"RecurrentCache(num_layers={len(self.states)}, seen_tokens={self.seen_tokens})"


def changed(state: State | None, change: Callable[[Tensor], Tensor]) -> State | None:
    """Return the state with `change` applied to every tensor; None stays None."""
    return None if state is None else tuple(map(change, state))


def seen_tokens(cache: Any) -> int:
    """Return the number of tokens that a cache has seen, padding included: 0 for None."""
    return cache.get_seq_length() if isinstance(cache, Cache) else 0


def carried_states(cache: Any, shapes: Sequence[Sequence[tuple[int, ...]]]) -> list[State | None]:
    """Return the state of each layer before the first step: that of the cache, or None without a cache.

    Raises:
        TypeError: the cache is not a `RecurrentCache`.
        ValueError: its layers do not hold tensors of these `shapes`, where a size of -1 is any length.
    """
    if cache is None:
        return [None] * len(shapes)
    if not isinstance(cache, RecurrentCache):
        raise TypeError(
            f"past_key_values is a {type(cache).__name__}, but this model's state is a RecurrentCache: pass the one "
            "that an earlier call returned, or None"
        )
    if len(cache) != len(shapes):
        raise ValueError(f"past_key_values is of another model: it holds {len(cache)} layers, not {len(shapes)}")
    states = []
    for number, (layer, expected) in enumerate(zip(cache.layers, shapes, strict=True)):
        found = [tuple(tensor.shape) for tensor in layer.state or ()]
        if layer.state is not None and not _fit(found, expected):
            raise ValueError(
                f"past_key_values is of another model or batch, or of an earlier version: its layer {number} holds "
                f"tensors of shapes {found}, but this model and input need {list(expected)}; read the texts again"
            )
        states.append(layer.state)
    return states


def _fit(found: Sequence[tuple[int, ...]], expected: Sequence[tuple[int, ...]]) -> bool:
    if [len(shape) for shape in found] != [len(shape) for shape in expected]:
        return False
    pairs = (pair for shapes in zip(found, expected, strict=True) for pair in zip(*shapes, strict=True))
    return all(wanted in (-1, size) for size, wanted in pairs)
