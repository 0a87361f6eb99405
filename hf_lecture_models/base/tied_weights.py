# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Layers with one matrix: files in which theirs differ, and adapters that would change it twice, are refused."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


class TiedWeightsMixin:
    """Two layers with one matrix know of each other, and take no adapter; it stands before `PreTrainedModel`.

    An adapter (LoRA) on one of them is a change of that layer alone. Merged into the matrix, it would change both.
    """

    config: Any
    all_tied_weights_keys: dict[str, str]

    def tie_weights(self, *args: Any, **kwargs: Any) -> None:
        """Tie as transformers does; each of the layers gets the name of the other's matrix, `tied_to`."""
        super().tie_weights(*args, **kwargs)  # type: ignore[misc]
        for pair in self.all_tied_weights_keys.items():
            for name, other in (pair, reversed(pair)):
                self.get_submodule(name.rpartition(".")[0]).tied_to = other  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; an adapter of peft in the place of a tied layer is a ValueError.

        One that replaces rows (`trainable_tokens_delta`) may be merged twice, into the same rows.
        """
        if isinstance(value, nn.Module) and hasattr(value, "base_layer"):
            other = getattr(value.base_layer, "tied_to", None)
            merged_twice = other is not None and not hasattr(value, "trainable_tokens_delta")
            if merged_twice and self.config.tie_word_embeddings:
                raise ValueError(
                    f"an adapter ({type(value).__name__}) on {name}, whose matrix is also {other} "
                    "(tie_word_embeddings=True), would be merged into both; adapt other layers, train it as a whole "
                    f"(modules_to_save=[{name!r}]), or untie the model first (docs/clients.md, peft)"
                )
        super().__setattr__(name, value)


def refuse_untied(model: Any, source: str) -> None:
    """Raise a ValueError that names two matrices of a loaded model which are tied, but differ in its files."""
    # transformers takes them out of the list, and warns in its log only.
    for name, other in model.get_expanded_tied_weights_keys(all_submodels=True).items():
        if name not in model.all_tied_weights_keys:
            raise ValueError(
                f"{source}: {name} and {other} differ in the weights file, but the configuration makes them one matrix "
                "(tie_word_embeddings=True); load with tie_word_embeddings=False, or restore the file"
            )


def refuse_different(model: Any, tensors: Mapping[str, Tensor]) -> None:
    """Raise a ValueError that names two of the `tensors` to save which are tied in `model`, but differ."""
    for name, other in model.get_expanded_tied_weights_keys(all_submodels=True).items():
        one, two = tensors.get(name), tensors.get(other)
        if one is None or two is None or one is two:
            continue
        if one.shape != two.shape or not bool((one == two.to(one.device)).all()):
            raise ValueError(
                f"{name} and {other} differ, but the configuration makes them one matrix (tie_word_embeddings=True): "
                "saved so, the model could not be loaded again; set model.config.tie_word_embeddings = False, or tie "
                "them with model.tie_weights()"
            )
