# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Random numbers that are drawn once, when a layer is built, and saved with its weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init


class DrawnBuffers(nn.Module):
    """A layer whose buffers are drawn from a seed; it stands before the layer's other base class.

    A subclass has `draw`, and calls `register_drawn` at the end of its `__init__`. The seed is saved too: loaded with
    another one, a checkpoint would otherwise silently keep the numbers of its own.
    """

    drawn_from: Tensor

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the buffers by name."""
        raise NotImplementedError(f"{type(self).__name__} must define draw")

    def register_drawn(self, seed: int) -> None:
        """Register the buffers that `draw` returns for this seed."""
        self.seed = seed
        for name, tensor in self._drawn().items():
            place = torch.empty(tensor.shape, dtype=tensor.dtype)
            self.register_buffer(name, place.copy_(tensor), persistent=True)

    def draw_weights(self) -> None:
        """Draw the buffers again; loaded ones stay as they are."""
        for name, tensor in self._drawn().items():
            init.copy_(getattr(self, name), tensor)

    def _drawn(self) -> dict[str, Tensor]:
        with torch.device("cpu"):  # also where a model is built without memory
            drawn = self.draw(torch.Generator().manual_seed(self.seed))
            return {**drawn, "drawn_from": torch.tensor(self.seed)}

    def check_drawn(self) -> None:
        """Check that what is loaded is what this layer would have drawn.

        Raises:
            ValueError: it was drawn from another seed.
        """
        if self.drawn_from.is_meta or int(self.drawn_from) == self.seed:
            return
        raise ValueError(
            f"the weights of {type(self).__name__} were saved with random numbers drawn from the seed "
            f"{int(self.drawn_from)}, and this configuration draws from {self.seed}: load them with the pattern_seed "
            "and share_layers that they were saved with"
        )
