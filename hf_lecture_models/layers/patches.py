# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images as sequences of patches (Dosovitskiy et al., "An image is worth 16x16 words", 2020, section 3.1)."""

import torch
from torch import Tensor
from torch.nn import functional as F

COLOR_LEVELS = 8
"""Levels of each channel of a mean color: three bits."""


def check_images(pixel_values: Tensor, num_channels: int, patch_size: int, image_size: int | None = None) -> None:
    """Check that a batch of images can be cut into patches that have positions.

    Args:
        image_size: height and width that the images must have; None for any.

    Raises:
        ValueError: `pixel_values` is not a float tensor (batch, num_channels, height, width), its height or width is
            not a multiple of `patch_size`, or they are not `image_size`.
    """
    if not isinstance(pixel_values, Tensor) or pixel_values.dim() != 4:
        shape = tuple(pixel_values.shape) if isinstance(pixel_values, Tensor) else type(pixel_values).__name__
        raise ValueError(
            f"pixel_values: (batch, {num_channels}, height, width) is needed, not {shape}; give images through the "
            "image processor that was saved with the model"
        )
    if not pixel_values.is_floating_point():
        raise ValueError(
            f"pixel_values are of type {pixel_values.dtype}, as in a file; the image processor that was saved with the "
            "model scales them as in training"
        )
    _, channels, height, width = pixel_values.shape
    if channels != num_channels:
        raise ValueError(
            f"pixel_values have {channels} channels, but the model reads images with num_channels={num_channels}; "
            'convert them (Pillow: image.convert("RGB") or "L"), or give them through the model\'s image processor'
        )
    if height % patch_size or width % patch_size or not height * width:
        raise ValueError(
            f"images of {height} x {width} pixels cannot be cut into patches of {patch_size} x {patch_size}; resize "
            "them to multiples of that"
        )
    if image_size is not None and not height == width == image_size:
        raise ValueError(
            f"images of {height} x {width} pixels: the model has positions for {image_size} x {image_size}; resize "
            "them (its image processor does), or give interpolate_pos_encoding=True, which without fine-tuning costs "
            "accuracy"
        )


def masked_patches(patches: Tensor, masked: Tensor, mask_token: Tensor | None) -> Tensor:
    """Return `patches` (batch, patches, hidden), `mask_token` (1, 1, hidden) in the place of those that are `masked`.

    Args:
        masked: (batch, patches), True where a patch is masked.

    Raises:
        ValueError: the mask token is missing, or `masked` has another shape.
    """
    if mask_token is None:
        raise ValueError("bool_masked_pos: this model was built without a mask; use_mask_token=True gives it one")
    if masked.shape != patches.shape[:2]:
        raise ValueError(
            f"bool_masked_pos has shape {tuple(masked.shape)}; {tuple(patches.shape[:2])} is needed, one for each patch"
        )
    return torch.where(masked.to(patches.device).bool()[..., None], mask_token.to(patches.dtype), patches)


def number_of_colors(num_channels: int) -> int:
    """Return the number of mean colors of patches with so many channels.

    >>> number_of_colors(1), number_of_colors(3)
    (8, 512)

    Raises:
        ValueError: there are more than 3 channels.
    """
    if num_channels > 3:
        raise ValueError(
            f"num_channels is {num_channels}; mean colors are predicted of images of up to 3 channels, for "
            f"{COLOR_LEVELS} levels of each make {COLOR_LEVELS}^channels classes"
        )
    return COLOR_LEVELS**num_channels


def interpolate_positions(positions: Tensor, rows: int, columns: int) -> Tensor:
    """Resize the vectors of a square grid of positions to another grid: bicubic, in two dimensions.

    >>> positions = torch.tensor([0.0, 1.0, 10.0, 11.0]).view(1, 4, 1)  # a grid of 2 x 2
    >>> interpolate_positions(positions, 2, 2).flatten().tolist()
    [0.0, 1.0, 10.0, 11.0]
    >>> interpolate_positions(positions, 2, 3).shape
    torch.Size([1, 6, 1])

    Args:
        positions: (1, side * side, hidden), row by row.

    Returns:
        (1, rows * columns, hidden).
    """
    side = round(positions.shape[1] ** 0.5)
    grid = positions.unflatten(1, (side, side)).permute(0, 3, 1, 2)
    return F.interpolate(grid, size=(rows, columns), mode="bicubic", align_corners=False).flatten(2).transpose(1, 2)


def patch_sums(values: Tensor, patch_size: int) -> Tensor:
    """Return the sum over each patch: (batch, channels, height, width) -> (batch, patches).

    >>> patch_sums(torch.arange(8.0).view(1, 1, 2, 4), 2).tolist()
    [[10.0, 18.0]]
    """
    batch, channels, height, width = values.shape
    cut = values.view(batch, channels, height // patch_size, patch_size, width // patch_size, patch_size)
    return cut.sum((1, 3, 5)).flatten(1)


def mean_colors(pixels: Tensor, patch_size: int) -> Tensor:
    """The mean color of each patch in three bits a channel, as one number (Dosovitskiy et al. 2020, B.1.2).

    The levels of the channels are the digits of the number, the first channel's the highest.

    >>> mean_colors(torch.tensor([[[[255]], [[32]], [[31]]]], dtype=torch.uint8), 1)  # one pixel: 7 * 64 + 1 * 8 + 0
    tensor([[456]])

    Args:
        pixels: (batch, channels, height, width), bytes, before normalization.

    Returns:
        (batch, patches) int64, from 0 to 8 ** channels - 1.
    """
    batch, channels, height, width = pixels.shape
    cut = pixels.long().view(batch, channels, height // patch_size, patch_size, width // patch_size, patch_size)
    levels = cut.sum((3, 5)).flatten(2) * COLOR_LEVELS // (256 * patch_size**2)  # (batch, channels, patches)
    weights = COLOR_LEVELS ** torch.arange(channels - 1, -1, -1)
    return (levels * weights[:, None]).sum(1)
