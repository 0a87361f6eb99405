# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Keys and values seen so far, in memory with room behind them: a new token is written there, and nothing is copied.

transformers' `DynamicLayer` joins the old and the new into new memory at every token, so a step costs as much as the
text so far is long. Here a copy is made only when the room is used up, and then a quarter more is taken: n tokens cost
O(n) in all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache


class GrowingLayer(DynamicLayer):
    """A `DynamicLayer` that appends in place wherever no gradient could need what was there.

    >>> layer = GrowingLayer()
    >>> with torch.no_grad():
    ...     for _ in range(3):
    ...         keys, values = layer.update(torch.ones(1, 2, 1, 4), torch.zeros(1, 2, 1, 4))
    >>> keys.shape, layer.get_seq_length()
    (torch.Size([1, 2, 3, 4]), 3)
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._key_room, self._value_room = _Room(), _Room()

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append keys and values, each (batch, heads, seq, head_dim).

        Returns:
            All seen so far, (batch, heads, seen + seq, head_dim).
        """
        if torch.is_grad_enabled() or torch.compiler.is_compiling() or not self._continued_by(key_states):
            return super().update(key_states, value_states, *args, **kwargs)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        seen = self.get_seq_length()
        self.keys = self._key_room.append(self.keys, key_states, seen)
        self.values = self._value_room.append(self.values, value_states, seen)
        return self.keys, self.values

    def _continued_by(self, new: Tensor) -> bool:
        # Writing would repeat a lone row for all rows and round to the old type, where joining refuses and widens.
        old = self.keys
        if old is None or not self.get_seq_length():
            return True
        return old.shape[:2] == new.shape[:2] and old.dtype == new.dtype


def let_grow(cache: Cache) -> None:
    """Make the layers of a new cache `GrowingLayer`s where they are transformers' `DynamicLayer`s.

    Of an encoder-decoder's, those of the target: the source does not grow. A cache that offloads its layers stays as it
    is: room that is kept on the GPU would undo the offloading.
    """
    if isinstance(cache, EncoderDecoderCache):
        cache = cache.self_attention_cache
    if cache.offloading:
        return
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]


class _Room:
    """Memory (batch, heads, seen + free, head_dim), of which `filled` is the part in use."""

    def __init__(self) -> None:
        self.memory: Tensor | None = None
        self.filled: Tensor | None = None

    def append(self, before: Tensor | None, new: Tensor, seen: int) -> Tensor:
        """`before`, of `seen` positions, followed by `new`."""
        length = seen + new.shape[2]
        if self.memory is None or before is not self.filled or length > self.memory.shape[2] or _is_frozen(self.memory):
            # Whoever cropped, reordered or copied the layer holds other tensors: what lies behind them is not free.
            free = max(64, length // 4)
            self.memory = new.new_empty(*new.shape[:2], length + free, new.shape[3])
            if before is not None and seen:
                self.memory[:, :, :seen] = before
        self.memory[:, :, seen:length] = new
        self.filled = self.memory[:, :, :length]
        return self.filled


def _is_frozen(memory: Tensor) -> bool:
    # torch lets nobody write into what was made under `inference_mode` once that is left.
    return memory.is_inference() and not torch.is_inference_mode_enabled()
