# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the captioning model: a Vision Transformer and a decoder that attends to its states."""

import copy
from typing import Any

from hf_lecture_models.base.configuration import TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class ImageCaptioningConfig(LectureConfig):
    """Shape of a captioning model; the defaults are an encoder like ViT-B/16 and a decoder of as many blocks.

    Args:
        vocab_size: number of tokens of captions.
        image_size: height and width of the images in pixels; `patch_size` must divide it.
        patch_size: height and width of a patch, which is one position of the encoder.
        num_channels: numbers per pixel, 3 for color and 1 for shades of grey.
        hidden_size: width of each position's state in encoder and decoder; the numbers of heads must divide it.
        intermediate_size: width within the feed-forward networks of the encoder.
        num_hidden_layers: number of the encoder's blocks.
        num_attention_heads: heads per block of the encoder.
        decoder_layers: number of the decoder's blocks; None: as the encoder.
        decoder_attention_heads: heads of each attention in the decoder; None: as the encoder.
        decoder_ffn_dim: width within the feed-forward networks of the decoder; None: as the encoder.
        hidden_act: "gelu" (exact), "gelu_new" (its tanh form), "relu" or "silu".
        max_position_embeddings: the most tokens of a caption, with its start.
        hidden_dropout_prob: dropout probability in the embeddings and in what each sublayer adds.
        attention_probs_dropout_prob: dropout probability in the attention weights.
        layer_norm_eps: added to the variance in the layer norms.
        initializer_range: standard deviation of the normal distribution of initial weights, before it is cut off.
        tie_word_embeddings: the word vectors are also the output matrix.
        use_cache: return keys and values, to go on from.
        decoder_start_token_id: the token in front of a caption.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> ImageCaptioningConfig(vocab_size=30, image_size=28, patch_size=7, num_channels=1).num_patches
    16
    """

    model_type = "lecture_image_captioning"
    allowed_values = {"hidden_act": ("gelu", "gelu_new", "relu", "silu"), "is_encoder_decoder": (True,)}
    positive_fields = (
        *TRANSFORMER_SIZES,
        "vocab_size",
        "image_size",
        "patch_size",
        "num_channels",
        "decoder_layers",
        "decoder_attention_heads",
        "decoder_ffn_dim",
        "max_position_embeddings",
    )
    largest_values = {"image_size": 2**14, "patch_size": 2**10, "num_channels": 2**6}

    vocab_size: int = 30_000
    image_size: int = 224
    patch_size: int = 16
    num_channels: int = 3
    hidden_size: int = 768
    intermediate_size: int = 3_072
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    decoder_layers: int | None = None
    decoder_attention_heads: int | None = None
    decoder_ffn_dim: int | None = None
    hidden_act: str = "gelu"
    max_position_embeddings: int = 128
    hidden_dropout_prob: float | int = 0.1
    attention_probs_dropout_prob: float | int = 0.0
    layer_norm_eps: float | int = 1e-12
    initializer_range: float | int = 0.02
    tie_word_embeddings: bool = True
    use_cache: bool = True
    is_encoder_decoder: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @property
    def num_patches(self) -> int:
        """Patches of an image of `image_size`; with [CLS], one position more."""
        return (self.image_size // self.patch_size) ** 2

    @property
    def caching_attentions(self) -> int:
        """Attentions that keep the caption's keys and values, one of each block of the decoder."""
        return self.decoder_layers or self.num_hidden_layers

    def get_text_config(self, decoder: bool | None = None, encoder: bool | None = None) -> Any:
        """Return the configuration; with `decoder=True`, that of the decoder's layers under the common names."""
        if not decoder or encoder:
            return self
        config = copy.deepcopy(self)
        config.num_hidden_layers = self.caching_attentions
        config.num_attention_heads = self.decoder_attention_heads or self.num_attention_heads
        return config
