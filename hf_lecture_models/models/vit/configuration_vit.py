# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the Vision Transformer."""

from typing import Any

from hf_lecture_models.base.configuration import TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class LectureViTConfig(LectureConfig):
    """Shape of a Vision Transformer; the defaults are ViT-B/16 at 224 x 224 pixels (86 million weights).

    It also reads the config.json of `vit` checkpoints, whose fields have these names too. Other fields there are
    dropped; the head for masked images is as large as a patch, whatever `encoder_stride` says.

    Args:
        image_size: height and width of the images in pixels; `patch_size` must divide it.
        patch_size: height and width of a patch, which is one token.
        num_channels: numbers per pixel, 3 for color and 1 for shades of grey.
        hidden_size: width of each position's state; `num_attention_heads` must divide it.
        num_hidden_layers: number of blocks.
        num_attention_heads: heads per block.
        intermediate_size: width within the feed-forward networks; 4 * `hidden_size` in the paper.
        hidden_act: "gelu" (exact), "gelu_new" (its tanh form), "relu" or "silu".
        hidden_dropout_prob: dropout probability in the embeddings and in what attention and feed-forward network add.
        attention_probs_dropout_prob: dropout probability in the attention weights.
        layer_norm_eps: added to the variance in the layer norms.
        initializer_range: standard deviation of the normal distribution of initial weights, before it is cut off.

    Raises:
        ValueError: an unknown value, or fields that contradict each other; attention without biases (`qkv_bias`) or
            another activation of the pooler, which this model does not compute.

    >>> LectureViTConfig(image_size=28, patch_size=4, num_channels=1).num_patches
    49
    """

    model_type = "lecture_vit"
    foreign_model_types = ("vit",)
    allowed_values = {"hidden_act": ("gelu", "gelu_new", "relu", "silu")}
    positive_fields = ("image_size", "patch_size", "num_channels", *TRANSFORMER_SIZES)
    largest_values = {"image_size": 2**14, "patch_size": 2**10, "num_channels": 2**6}
    fixed_fields = dict.fromkeys(("qkv_bias", "pooler_act"), "transformers' ViTModel")

    # Without an annotation these are not fields, but programs find them, and an assignment is checked.
    qkv_bias = True
    pooler_act = "tanh"

    image_size: int = 224
    patch_size: int = 16
    num_channels: int = 3
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3_072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float | int = 0.0
    attention_probs_dropout_prob: float | int = 0.0
    layer_norm_eps: float | int = 1e-12
    initializer_range: float | int = 0.02

    def __post_init__(self, **kwargs: Any) -> None:
        if (size := kwargs.pop("pooler_output_size", None)) not in (None, self.hidden_size):
            raise ValueError(
                f"LectureViTConfig has no pooler_output_size of {size}; its pooler is as wide as hidden_size, "
                f"{self.hidden_size}: load the checkpoint with transformers' ViTModel"
            )
        super().__post_init__(**kwargs)

    @property
    def num_patches(self) -> int:
        """Patches of an image of `image_size`; with [CLS], one token more."""
        return (self.image_size // self.patch_size) ** 2
