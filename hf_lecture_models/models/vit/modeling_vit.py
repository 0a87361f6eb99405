# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Vision Transformer: an image is a sequence of patches, and a Transformer reads it.

Dosovitskiy et al., "An image is worth 16x16 words: Transformers for image recognition at scale", 2020, section 3.1
(model), 3.2 (other resolutions) and B.1.2 (masked patches); pixels of masked patches: Xie et al., "SimMIM: a simple
framework for masked image modeling", 2021. Slides R:906-916, R:995-1005.

With the pixels x_1, ..., x_N of the patches of an image, row by row, each P x P x C numbers in a row, in K blocks:

    h = [x_class; E x_1; ...; E x_N] + E_pos                         (1), b_E in E x as in all published checkpoints
    h' = h + Attention(LN_1(h)),  h ← h' + FFN(LN_2(h'))             (2), (3), K times; the norm comes before
    y = LN(h)                                                        (4); y_0, the state of [CLS], is the image

    Attention: o_t = W_o [Σ_s a_t[s] v_s of each head] + b_o,  a_t = softmax_s(q_t · k_s / √head_dim),  all s
    FFN(n) = W_2 GELU(W_1 n + b_1) + b_2,  GELU(x) = x Φ(x)
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

    P(class) = softmax(W y_0 + b)                                    W and b start at 0, as in 3.2
    c = tanh(W_c y_0 + b_c)                                          the hidden layer of the head in pre-training

E_pos is one trained vector per position. An image of another size has more or fewer patches of the same size; those
vectors, seen as the grid that they stand for, are then interpolated in two dimensions (3.2).

Masked, a patch's E x_t becomes one trained vector m, in the same place. From the states of the masked patches

    x̂_t = W_d y_t + b_d,  loss: the mean of |x̂_t - x_t| over their numbers                       (SimMIM)
    P(color of patch t) = softmax(W_k y_t + b_k),  the mean color of x_t, three bits a channel     (B.1.2)

The second is what B.1.2 corrupts half of the patches for: of these, 80 % are masked, 10 % are another patch, and 10 %
stay. E sees each patch by itself, so another patch's vector is the vector of its pixels: whoever makes the batch
(`tasks/images/batches.py`) copies the pixels, and gives the colors as labels.

Dropout acts on h before the first block, on the weights a_t, and on what Attention and FFN add; it is 0 by default.

Deviations:
- From the slides: none. R:1005 says that masked patches help less than labels; the paper compares ImageNet's.
- From the paper: c is not used by the classifier, which is the one of fine-tuning, a single linear layer (3.1).
- Not in the paper: the initial weights, normal with a standard deviation of 0.02, drawn again beyond 0.04; m starts
  at 0. Interpolation is bicubic, as in transformers, where the authors' code is bilinear.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from hf_lecture_models.base.heads.images import (
    ImageClassificationHead,
    MaskedImageModelingHead,
    MaskedPatchPredictionHead,
)
from hf_lecture_models.base.image_encoder import ImageBlock, ImageEmbeddings, ImageEncoderPreTrainedModel
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.patches import number_of_colors
from hf_lecture_models.models.vit.configuration_vit import LectureViTConfig


class LectureViTPreTrainedModel(ImageEncoderPreTrainedModel):
    """The base class of all Vision Transformers."""

    config: LectureViTConfig
    _input_embed_layer = "embed_patches"
    _may_start_anew = ("pooler", "embeddings.mask_token")
    # Of a checkpoint of masked images, which only such heads read.
    _keys_to_ignore_on_load_unexpected = [r"(^|\.)embeddings\.mask_token$"]


class LectureViTModel(LectureViTPreTrainedModel):
    """Vectors of patches and positions, a stack of blocks, the last norm, and the vector of the whole.

    `forward` reads images (batch, num_channels, height, width) of `image_size`; of another size, in multiples of
    `patch_size`, with `interpolate_pos_encoding=True`. In `bool_masked_pos` (batch, patches) True is a patch in whose
    place the model sees m, if it was built with `use_mask_token=True`. With `num_states` the last block computes so
    many first states alone: 1 for [CLS], which is all that a classifier reads.

    It returns `last_hidden_state` (batch, 1 + patches, hidden_size), which is y; `pooler_output` (batch, hidden_size),
    which is c, without a pooling layer None; and on request `hidden_states` and `attentions` of each block.

    >>> config = LectureViTConfig(image_size=8, patch_size=4, hidden_size=12, num_hidden_layers=2)
    >>> LectureViTModel(config)(torch.zeros(1, 3, 8, 8)).last_hidden_state.shape
    torch.Size([1, 5, 12])
    """

    def __init__(self, config: LectureViTConfig, add_pooling_layer: bool = True, use_mask_token: bool = False):
        super().__init__(config)
        self.embeddings = ImageEmbeddings(config, use_mask_token)
        self.layers = nn.ModuleList(ImageBlock(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if add_pooling_layer else None
        self.post_init()

    @model_forward(tie_last_hidden_states=False)
    def forward(
        self,
        pixel_values: Tensor,
        bool_masked_pos: Tensor | None = None,
        interpolate_pos_encoding: bool | None = None,
        num_states: int | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Read images."""
        hidden, attention = self.read_images(pixel_values, bool_masked_pos, interpolate_pos_encoding, kwargs)
        for index, layer in enumerate(self.layers, start=1):
            hidden = layer(hidden, attention, num_states if index == len(self.layers) else None)
        y = self.norm(hidden)
        pooled = None if self.pooler is None else torch.tanh(self.pooler(y[:, 0]))
        return BaseModelOutputWithPooling(last_hidden_state=y, pooler_output=pooled)


class LectureViTForImageClassification(ImageClassificationHead, LectureViTPreTrainedModel):
    """Classes of images, or numbers, from y_0.

    >>> config = LectureViTConfig(image_size=8, patch_size=4, hidden_size=12, num_hidden_layers=2, num_labels=3)
    >>> LectureViTForImageClassification(config)(torch.zeros(1, 3, 8, 8)).logits.shape
    torch.Size([1, 3])
    """

    base_model_class = LectureViTModel

    def pool(self, outputs: Any) -> Tensor:
        """y_0, (batch, hidden_size)."""
        return outputs.last_hidden_state[:, 0]

    def base_model_outputs(self, **inputs: Any) -> Any:
        """Have the last block compute y_0 alone, unless its states or weights are asked for."""
        names = ("output_hidden_states", "output_attentions")
        shown = any(getattr(self.config, name) if inputs.get(name) is None else inputs[name] for name in names)
        if inputs.get("num_states") is None and not shown:
            inputs["num_states"] = 1
        return super().base_model_outputs(**inputs)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Linear) and module is self.classifier:
            init.zeros_(module.weight)


class LectureViTForMaskedImageModeling(MaskedImageModelingHead, LectureViTPreTrainedModel):
    """The pixels of masked patches, as SimMIM predicts them.

    >>> config = LectureViTConfig(image_size=8, patch_size=4, hidden_size=12, num_hidden_layers=2)
    >>> LectureViTForMaskedImageModeling(config)(torch.zeros(1, 3, 8, 8)).reconstruction.shape
    torch.Size([1, 3, 8, 8])
    """

    base_model_class = LectureViTModel
    base_model_options: ClassVar[dict[str, Any]] = {"use_mask_token": True}

    def add_layers(self, config: LectureViTConfig) -> None:
        """Build W_d and b_d, which give all numbers of a patch, and what puts these in their places."""
        numbers = config.num_channels * config.patch_size**2
        to_pixels = nn.Conv2d(config.hidden_size, numbers, kernel_size=1)
        self.decoder = nn.Sequential(to_pixels, nn.PixelShuffle(config.patch_size))


class LectureViTForMaskedPatchPrediction(MaskedPatchPredictionHead, LectureViTPreTrainedModel):
    """The mean color of corrupted patches, as the paper predicts it: 8 levels a channel, 512 colors, or 8 greys.

    Raises:
        ValueError: images of more than 3 channels.

    >>> config = LectureViTConfig(image_size=8, patch_size=4, hidden_size=12, num_hidden_layers=2)
    >>> LectureViTForMaskedPatchPrediction(config)(torch.zeros(1, 3, 8, 8)).logits.shape
    torch.Size([1, 4, 512])
    """

    base_model_class = LectureViTModel
    base_model_options: ClassVar[dict[str, Any]] = {"use_mask_token": True}

    def add_layers(self, config: LectureViTConfig) -> None:
        """Build W_k and b_k."""
        self.color_head = nn.Linear(config.hidden_size, number_of_colors(config.num_channels))
