# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Random numbers that are drawn once, when a layer is built, and saved with its weights."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init


class DrawnBuffers(nn.Module):
    """A layer whose buffers are drawn from a seed; it stands before the layer's other base class.

    A subclass has `drawn_shapes` and `draw`, and calls `register_drawn` at the end of its `__init__`. The seed is saved
    too: loaded with another one, a checkpoint would otherwise silently keep the numbers of its own.
    """

    drawn_type: ClassVar[torch.dtype] = torch.float32
    drawn_from: Tensor

    def drawn_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the buffers by name."""
        raise NotImplementedError(f"{type(self).__name__} must define drawn_shapes")

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the buffers by name."""
        raise NotImplementedError(f"{type(self).__name__} must define draw")

    def register_drawn(self, seed: int) -> None:
        """Register the buffers that `draw` returns for this seed."""
        self.seed = seed
        for name, shape in self.drawn_shapes().items():
            self.register_buffer(name, torch.empty(shape, dtype=self.drawn_type))
        self.register_buffer("drawn_from", torch.empty((), dtype=torch.long))
        self.draw_weights()

    def draw_weights(self) -> None:
        """Draw the buffers; loaded ones stay as they are."""
        if self.drawn_from.is_meta:
            return  # sizes from a file are looked at before anything is made of them
        with torch.device("cpu"):
            drawn = self.draw(torch.Generator().manual_seed(self.seed))
            for name, tensor in {**drawn, "drawn_from": torch.tensor(self.seed)}.items():
                init.copy_(getattr(self, name), tensor)

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
            "that they were saved with"
        )
