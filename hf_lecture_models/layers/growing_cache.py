# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Keys and values seen so far, in memory with spare places at its end: a new token is written there without a copy.

transformers' `DynamicLayer` joins the old and the new into new memory at every token, so a step costs as much as the
text so far is long. Here a copy is made only when all places are used, and then a quarter more is taken: n tokens cost
O(n) in all. Reordering beams, before each token, is a copy anyway: it leaves one spare place, for that token.
"""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, EncoderDecoderCache

from hf_lecture_models.io.compat import DynamicLayer
from hf_lecture_models.layers.execution import is_traced


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
        self._key_memory, self._value_memory = _SpareMemory(), _SpareMemory()

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append keys and values, each (batch, heads, seq, head_dim).

        Returns:
            All seen so far, (batch, heads, seen + seq, head_dim).
        """
        if torch.is_grad_enabled() or is_traced() or not self._continued_by(key_states):
            return super().update(key_states, value_states, *args, **kwargs)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        seen = self.get_seq_length()
        self.keys = self._key_memory.append(self.keys, key_states, seen)
        self.values = self._value_memory.append(self.values, value_states, seen)
        return self.keys, self.values

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Replace the rows by these, with one spare place for the token that a beam search adds next."""
        keys, values = self.keys, self.values
        if keys is None or values is None or torch.is_grad_enabled() or is_traced():
            super().reorder_cache(beam_idx)
        elif self.get_seq_length():
            self.keys = self._key_memory.reorder(keys, beam_idx.to(keys.device))
            self.values = self._value_memory.reorder(values, beam_idx.to(values.device))

    def _continued_by(self, new: Tensor) -> bool:
        # Written in place, a single row would be repeated for all rows and numbers rounded to the old type.
        old = self.keys
        if old is None or not self.get_seq_length():
            return True
        return old.shape[:2] == new.shape[:2] and old.dtype == new.dtype


class SourceLayer(DynamicLayer):
    """Keys and values of a source, equal for all beams of a row, so that reordering beams within a row costs nothing.

    >>> layer = SourceLayer(beams=2)
    >>> keys, _ = layer.update(torch.ones(4, 1, 3, 2), torch.ones(4, 1, 3, 2))
    >>> layer.reorder_cache(torch.tensor([1, 1, 2, 3]))
    >>> layer.keys is keys
    True

    Args:
        beams: the number of beams of each row; row r has the places r * beams to r * beams + beams - 1.
    """

    def __init__(self, *args: Any, beams: int, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.beams = beams

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Replace the rows by these."""
        if self.keys is None or len(self.keys) != len(beam_idx) or not self._stay_in_their_rows(beam_idx):
            super().reorder_cache(beam_idx)

    def _stay_in_their_rows(self, beam_idx: Tensor) -> bool:
        if len(beam_idx) == self.beams:
            return True  # there is one row
        # On a GPU, reading the indices would wait for it.
        rows = torch.arange(len(beam_idx)) // self.beams
        return beam_idx.device.type == "cpu" and torch.equal(beam_idx // self.beams, rows)


def use_growing_cache(cache: Cache, beams: int = 1) -> None:
    """Replace transformers' `DynamicLayer`s in a new cache by `GrowingLayer`s.

    In an encoder-decoder's cache these are the target's layers; the source's, which do not grow, become `SourceLayer`s.
    A cache that offloads its layers stays as it is: spare memory on the GPU would undo the offloading.
    """
    if isinstance(cache, EncoderDecoderCache):
        source, cache = cache.cross_attention_cache, cache.self_attention_cache
        if not source.offloading:
            source.layers = [SourceLayer(beams=beams) if type(one) is DynamicLayer else one for one in source.layers]
    if not cache.offloading:
        cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]


class _SpareMemory:
    """Memory (batch, heads, seen + free, head_dim); its part in use is `filled`."""

    def __init__(self) -> None:
        self.memory: Tensor | None = None
        self.filled: Tensor | None = None

    def append(self, before: Tensor | None, new: Tensor, seen: int) -> Tensor:
        """Return `before`, which has `seen` positions, followed by `new`."""
        length = seen + new.shape[2]
        if self.memory is None or before is not self.filled or length > self.memory.shape[2] or _is_frozen(self.memory):
            # A layer that was cropped, reordered or copied holds other tensors, and the memory after them is not free.
            free = max(64, length // 4)
            self.memory = new.new_empty(*new.shape[:2], length + free, new.shape[3])
            if before is not None and seen:
                self.memory[:, :, :seen] = before
        self.memory[:, :, seen:length] = new
        self.filled = self.memory[:, :, :length]
        return self.filled

    def reorder(self, before: Tensor, rows: Tensor) -> Tensor:
        """Return these rows of `before` in new memory; `before` itself does not change."""
        _, heads, seen, width = before.shape
        self.memory = before.new_empty(len(rows), heads, seen + 1, width)
        self.filled = self.memory[:, :, :seen]
        return torch.index_select(before, 0, rows, out=self.filled)


def _is_frozen(memory: Tensor) -> bool:
    # torch refuses to write into tensors made under `inference_mode` once that is left.
    return memory.is_inference() and not torch.is_inference_mode_enabled()
