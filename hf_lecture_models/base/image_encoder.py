# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The parts of the Vision Transformer that several models build: vectors of patches and positions, and its block.

Dosovitskiy et al., "An image is worth 16x16 words", 2020, equations (1) to (3). Both read the fields of a configuration
by the names of `LectureViTConfig`, and their modules have the same names in every model, so that weights can be copied.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.attention_models import BidirectionalPreTrainedModel, truncated_normal
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.bidirectional_attention import BidirectionalSelfAttention, bidirectional_attention
from hf_lecture_models.layers.patches import check_images, interpolate_positions, masked_patches
from hf_lecture_models.layers.position_wise import PositionWise


class ImageEmbeddings(nn.Module):
    """h = [x_class; E x_1; ...; E x_N] + E_pos, with m in place of E x_t where patch t is masked."""

    def __init__(self, config: Any, use_mask_token: bool):
        super().__init__()
        width, size = config.hidden_size, config.patch_size
        self.grid = torch.Size([config.image_size // size] * 2)
        self.embed_patches = nn.Conv2d(config.num_channels, width, kernel_size=size, stride=size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.mask_token = nn.Parameter(torch.zeros(1, 1, width)) if use_mask_token else None
        self.position_embeddings = nn.Parameter(torch.zeros(1, config.num_patches + 1, width))
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.initializer_range = config.initializer_range

    def draw_weights(self) -> None:
        """Draw x_class and E_pos; m starts at 0."""
        for parameter in (self.cls_token, self.position_embeddings):
            truncated_normal(parameter, self.initializer_range)
        if self.mask_token is not None:
            init.zeros_(self.mask_token)

    def forward(self, pixel_values: Tensor, masked: Tensor | None) -> Tensor:
        """(batch, 1 + patches, hidden)."""
        x = self.embed_patches(pixel_values.to(self.embed_patches.weight.dtype))  # (batch, hidden, rows, columns)
        positions = self._positions(x.shape[2:])
        x = x.flatten(2).transpose(1, 2)
        if masked is not None:
            x = masked_patches(x, masked, self.mask_token)
        h = torch.cat((self.cls_token.to(x.dtype).expand(x.shape[0], -1, -1), x), dim=1)
        return self.dropout(h + positions)

    def _positions(self, grid: torch.Size) -> Tensor:
        """E_pos of a grid of patches."""
        if grid == self.grid:
            return self.position_embeddings
        of_class, of_patches = self.position_embeddings.tensor_split((1,), dim=1)
        return torch.cat((of_class, interpolate_positions(of_patches, *grid)), dim=1)


class ImageEncoderPreTrainedModel(BidirectionalPreTrainedModel):
    """The base of the pre-trained base class of a model that reads images with `ImageEmbeddings` and `ImageBlock`s."""

    main_input_name = "pixel_values"
    input_modalities = ["image"]
    _no_split_modules = ["ImageEmbeddings"]
    embeddings: ImageEmbeddings

    def read_images(
        self, pixel_values: Tensor, masked: Tensor | None, interpolate: bool | None, call: dict[str, Any]
    ) -> tuple[Tensor, AttentionKernel]:
        """Return h, (batch, 1 + patches, hidden), and the attention to all patches.

        Args:
            pixel_values: (batch, num_channels, height, width).
            masked: (batch, patches), True where m takes the place of a patch.
            interpolate: read images of another size than `config.image_size`.
            call: the arguments of `forward` that the model does not know.

        Raises:
            ValueError: as `check_images`.
        """
        size = None if interpolate else self.config.image_size
        check_images(pixel_values, self.config.num_channels, self.config.patch_size, size)
        h = self.embeddings(pixel_values, masked)
        # All patches are real, and flex attention's own mask has a fixed size.
        name, options = self.attention_choice(call)
        return h, bidirectional_attention(name, h, **options)._replace(mask=None)


class ImageBlock(GradientCheckpointingLayer):
    """h' = h + Attention(LN_1(h)); h = h' + FFN(LN_2(h'))."""

    def __init__(self, config: Any):
        super().__init__()
        width, eps, dropout = config.hidden_size, config.layer_norm_eps, config.attention_probs_dropout_prob
        self.attention_norm = nn.LayerNorm(width, eps)
        self.self_attn = BidirectionalSelfAttention(width, config.num_attention_heads, dropout)
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size, ACTIVATIONS[config.hidden_act]())
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden: Tensor, attention: AttentionKernel, num_states: int | None = None) -> Tensor:
        """The next state, (batch, 1 + patches, hidden), or its first `num_states` positions alone."""
        attended, _ = self.self_attn(self.attention_norm(hidden), attention, num_states)
        h = hidden[:, :num_states] + self.dropout(attended)
        return h + self.dropout(self.ffn(self.ffn_norm(h)))
