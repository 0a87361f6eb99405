# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Batches of images and captions."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.tasks.images.pixels import Normalization
from hf_lecture_models.tasks.translation.translate import pad_rows
from hf_lecture_models.trainer.batches import Batch


class CaptionCollator:
    """Collate images with their captions; each token of a caption, its end included, is an item.

    Args:
        pixels: (images, channels, height, width), bytes.
        captions: the ids of each image's caption, the end of text last.
        normalize: makes `pixel_values` of the bytes.
    """

    def __init__(self, pixels: Tensor, captions: Sequence[Sequence[int]], normalize: Normalization) -> None:
        self.pixels, self.captions, self.normalize = pixels, captions, normalize

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return a batch of these rows without empty places (-1); one image that counts nothing stays if all are."""
        real = rows[rows >= 0]
        captions = [self.captions[row] for row in real.tolist()] or [[NOT_COUNTED]]
        labels, _ = pad_rows(captions, NOT_COUNTED)
        pixels = self.pixels[real] if len(real) else self.pixels[:1]
        return Batch({"pixel_values": self.normalize(pixels), "labels": labels}, int((labels != NOT_COUNTED).sum()))
