# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of every configuration: transformers' own, with what every model asks of it."""

from typing import TYPE_CHECKING, ClassVar

from hf_lecture_models.base.guards.configuration import ConfigGuards

TRANSFORMER_SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
"""The sizes that every Transformer has."""
BLOCKS_TP_PLAN = {
    "layers.*.self_attn.qkv_proj": "colwise_rep",
    "layers.*.self_attn.o_proj": "rowwise_rep",
    "layers.*.ffn.up_proj": "colwise",
    "layers.*.ffn.down_proj": "rowwise",
}
"""How transformers divides the matrices of a Transformer's blocks among devices.

Half of the rows of `qkv_proj` are q and a part of k, not half of the heads: each device computes a part of its product,
gathers the rest, and attends with all heads.
"""
OUTPUT_LAYER_TP_PLAN = {"lm_head": "colwise_rep"}
"""The same for the output layer of a language model; transformers divides the vocabulary's vectors by itself."""


class LectureConfig(ConfigGuards):
    """The base of every configuration.

    Subclasses are decorated with huggingface_hub's `@strict`, which checks the types of the fields, and fill in the
    class variables of `ConfigGuards`. They state contradictions between fields in `check_fields`.

    Raises:
        ValueError: naming the field and what it allows; of a single field at construction and at assignment, of fields
            that contradict each other at construction and when the configuration is saved.
    """

    is_of_lectures: ClassVar[bool] = True
    """By this a published copy of this class, too, is known (`base.limits.is_of_lectures`)."""
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["past_key_values", "cache"]
    """Outputs that `Trainer` does not gather: a model's state, under the name of each version of transformers."""
    if TYPE_CHECKING:
        hidden_size: int

    @property
    def output_size(self) -> int:
        """Width of `last_hidden_state` of the model without a head."""
        return self.hidden_size

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read at once: its trained positions; None where it has no bound."""
        return getattr(self, "max_position_embeddings", None)

    @property
    def head_dropout(self) -> float:
        """Dropout probability in what a classifier reads."""
        return getattr(self, "dropout", 0.0)
