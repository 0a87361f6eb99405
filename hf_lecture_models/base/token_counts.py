# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Counts of the training text's tokens, on which some output layers are built."""

from typing import Any, ClassVar

import torch
from torch import Tensor


class CountedOutputLayer:
    """Token counts for an output layer that has `token_counts`; it stands before the pre-trained base class."""

    config: Any
    output_layer_name: ClassVar[str] = "lm_head"

    @property
    def needs_token_counts(self) -> bool:
        """True if the output layer has no counts yet but needs them: call `set_token_counts` before training."""
        counts = getattr(getattr(self, self.output_layer_name), "token_counts", None)
        return counts is not None and not bool(counts.any())

    def set_token_counts(self, counts: Tensor) -> None:
        """Set how often each token is a target in the training text; once, before training.

        Args:
            counts: (tokens,), integers of at least 0, not all 0. Those of `config.special_ids`, and of `<pad>` in a
                language model, count as 0.

        Raises:
            ValueError: wrong counts, an output layer that takes none, or one that has some: its weights depend on them.
        """
        layer = getattr(self, self.output_layer_name)
        if getattr(layer, "token_counts", None) is None:
            raise ValueError(
                f"an output layer of type {type(layer).__name__} wants no token counts; only one that ranks or samples "
                "words does"
            )
        if not self.needs_token_counts:
            raise ValueError("the model has token counts, on which its weights depend; set others on a new model")
        counts, needed = torch.as_tensor(counts), len(layer.token_counts)
        if counts.shape != (needed,) or counts.is_floating_point() or bool((counts < 0).any()):
            raise ValueError(
                f"token counts of shape {tuple(counts.shape)} and type {counts.dtype}; needed are {needed} integers of "
                "at least 0, one for each word of the output layer"
            )
        counts = counts.clone()
        counts[self._never_targets()] = 0
        if not bool(counts.any()):
            raise ValueError("all token counts are 0; count the targets of the training text")
        layer.set_token_counts(counts)

    def _never_targets(self) -> list[int]:
        return getattr(self.config, "special_ids", [])
