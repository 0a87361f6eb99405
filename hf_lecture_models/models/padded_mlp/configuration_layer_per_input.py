# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of one input per layer."""

from hf_lecture_models.io.compat import strict
from hf_lecture_models.models.padded_mlp.configuration_padded_mlp import WordSequenceConfig


@strict
class LayerPerInputConfig(WordSequenceConfig):
    """Shape of a network with a layer for each word of a text; `WordSequenceConfig` has the other fields.

    There are `max_position_embeddings` layers, each with weights of its own.

    Args:
        hidden_size: width m of the state.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = LayerPerInputConfig(vocab_size=30, max_position_embeddings=100, hidden_size=64)
    >>> config.num_hidden_layers
    100
    """

    model_type = "lecture_layer_per_input"
    positive_fields = (*WordSequenceConfig.positive_fields, "hidden_size")
    largest_values = {"max_position_embeddings": 1024}

    hidden_act: str = "tanh"
    hidden_size: int = 64

    @property
    def num_hidden_layers(self) -> int:
        """One layer for each word that a text may have."""
        return self.max_position_embeddings
