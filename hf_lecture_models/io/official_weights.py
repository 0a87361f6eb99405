# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Conversions of the weights of official checkpoints to ours, for `register`."""

from collections.abc import Mapping, Sequence

from hf_lecture_models.io.compat_files import Concatenate, WeightConverter, WeightRenaming


def weight_conversions(
    names: Mapping[str, str], joined: Mapping[str, Sequence[str]] | None = None
) -> list[WeightConverter | WeightRenaming]:
    """Return renamings and concatenations; the names of our own weights pass through unchanged.

    Args:
        names: patterns of the names in the checkpoint, each with what replaces it, applied in this order.
        joined: a linear layer of ours, with the layers in the checkpoint whose weights and biases are its rows, from
            the first on.
    """
    found: list[WeightConverter | WeightRenaming] = [WeightRenaming(theirs, ours) for theirs, ours in names.items()]
    for ours, layers in (joined or {}).items():
        for kind in ("weight", "bias"):
            parts = [f"{layer}.{kind}" for layer in layers]
            found.append(WeightConverter(parts, f"{ours}.{kind}", operations=[Concatenate(dim=0)]))
    return found
