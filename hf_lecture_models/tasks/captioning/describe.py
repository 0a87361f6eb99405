# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write captions of images, and find the patches that each token attended to. This file travels with exported models.

The weights of a token are those of the position that predicts it: the position before it, whose cross-attention the
decoder reads the image with to choose it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.base.attention_weights import eager_attention
from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.base.pillow_images import open_image
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tasks.translation.alignment import Alignment, words_of
from hf_lecture_models.tasks.translation.translate import pad_rows, start_of, write_texts

_LONGEST = 64
"""The most tokens of a caption, unless the model has a lower limit."""


@dataclass(frozen=True)
class Caption:
    """A caption.

    Attributes:
        text: without special tokens.
        ids: the tokens that the decoder has written, with the end of text if it has written one.
        score: the log-probability divided by length ** length_penalty, from beam search; None from greedy search.
    """

    text: str
    ids: list[int]
    score: float | None = None


def longest_caption(model: Any) -> int:
    """Return the most tokens of a caption, its end included: as many as the model has positions for, at most 64.

    >>> from hf_lecture_models import ImageCaptioningConfig, ImageCaptioningForConditionalGeneration
    >>> sizes = {"image_size": 8, "patch_size": 4, "hidden_size": 12, "vocab_size": 9}
    >>> config = ImageCaptioningConfig(**sizes, max_position_embeddings=20)
    >>> longest_caption(ImageCaptioningForConditionalGeneration(config))
    20
    """
    limit = input_limit(model)
    return _LONGEST if limit is None else min(_LONGEST, limit)


@torch.no_grad()
def caption_pixels(
    model: Any,
    tokenizer: Any,
    pixel_values: Tensor,
    batch_size: int = 64,
    max_new_tokens: int | None = None,
    **options: Any,
) -> list[list[Caption]]:
    """Return `num_return_sequences` captions of each image, best first; they do not depend on the batch.

    Args:
        model: any that `AutoModelForImageTextToText` loads and that writes captions from `pixel_values` alone.
        tokenizer: of the captions.
        pixel_values: (images, channels, height, width), from the image processor.
        max_new_tokens: the most tokens of a caption; None: as many as the model can write, at most 64.
        options: of `model.generate`, such as num_beams; by default those that the model was saved with.

    Raises:
        ValueError: `batch_size` or `max_new_tokens` is not a number of at least 1, or the model has not the positions.
    """
    most = longest_caption(model) if max_new_tokens is None else max_new_tokens
    for name, value, largest in (("batch_size", batch_size, 2**31), ("max_new_tokens", most, longest_caption(model))):
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= largest:
            raise ValueError(f"{name} is {value!r}; it must be an integer from 1 to {largest}")
    found: list[list[Caption]] = []
    with evaluation_mode(model):
        for batch in ProgressBar(pixel_values.split(batch_size), desc="writing captions", unit="batch"):
            written = write_texts(model, tokenizer, {"pixel_values": batch.to(model.device)}, most, options)
            found += [[Caption(*one) for one in own] for own in written]
    return found


def patch_attention(
    model: Any, pixel_values: Tensor, captions: Sequence[Sequence[int]], batch_size: int = 64
) -> list[Tensor]:
    """Return the weights with which each token of each caption was predicted, over [CLS] and all patches.

    Args:
        pixel_values: (images, channels, height, width).
        captions: the tokens of each image's caption.

    Returns:
        For each image (layers, heads, tokens, 1 + patches), float32 on the CPU; the last axis adds up to one.

    Raises:
        ValueError: the model gives no such weights.
    """
    found: list[Tensor] = []
    with evaluation_mode(model), eager_attention(model):
        for outputs, rows in _given(model, pixel_values, captions, batch_size, output_attentions=True):
            weights = getattr(outputs, "cross_attentions", None)
            if not weights or any(layer is None for layer in weights):
                raise ValueError(f"{type(model).__name__} gives no attention weights from caption to image")
            layers = torch.stack(list(weights), 1).float().cpu()  # (images, layers, heads, tokens, 1 + patches)
            found += [own[:, :, : len(ids)] for own, ids in zip(layers, rows, strict=True)]
    return found


def caption_log_probs(
    model: Any, pixel_values: Tensor, captions: Sequence[Sequence[int]], batch_size: int = 64
) -> Tensor:
    """Return the natural logarithm of each caption's probability given its image, (images,), float32 on the CPU."""
    found = []
    with evaluation_mode(model):
        for outputs, rows in _given(model, pixel_values, captions, batch_size):
            ids, real = pad_rows(rows, 0)
            log_probs = outputs.logits.float().log_softmax(-1).cpu().gather(2, ids[..., None])[..., 0]
            found.append((log_probs * real).sum(1))
    return torch.cat(found)


def _given(
    model: Any, pixel_values: Tensor, captions: Sequence[Sequence[int]], batch_size: int, **options: Any
) -> Iterator[tuple[Any, Sequence[Sequence[int]]]]:
    """Yield the outputs of the model that reads given captions, and the captions, batch by batch."""
    for first in range(0, len(captions), batch_size):
        rows = captions[first : first + batch_size]
        # No later token changes an earlier one's output, so that the padding needs no mask.
        read, _ = pad_rows([[start_of(model), *ids[:-1]] for ids in rows], 0)
        pixels = pixel_values[first : first + batch_size].to(model.device)
        with torch.no_grad():
            given = {"pixel_values": pixels, "decoder_input_ids": read.to(model.device)}
            yield model(**given, use_cache=False, **options), rows


def align_patches(model: Any, tokenizer: Any, pixel_values: Tensor, ids: Sequence[int]) -> Alignment:
    """Return how much each word of a caption attends to each patch, row by row; the source's words name the patches.

    A word's weights are the mean over its tokens. [CLS] is left out, and the patches' weights add up to one.

    Args:
        pixel_values: (1, channels, height, width).
        ids: the tokens of the caption.

    Raises:
        ValueError: the caption is empty; or as `patch_attention` and `on_patches`.
    """
    if not len(ids):
        raise ValueError("the caption of this image is empty, so no word attends to a patch")
    (weights,) = patch_attention(model, pixel_values, [ids])
    grids = on_patches(weights)  # (layers, heads, tokens, rows, columns)
    rows, columns = grids.shape[-2:]
    names = tuple(f"row {row + 1} column {column + 1}" for row in range(rows) for column in range(columns))
    words, places = words_of(tokenizer, ids)
    of_word = torch.nn.functional.one_hot(torch.tensor(places)).float()
    return Alignment(names, words, tuple((of_word / of_word.sum(0)).T @ layer.flatten(2) for layer in grids))


def describe_image(
    model: Any, processor: Any, image: Any, caption: str | None = None, **options: Any
) -> tuple[str, Alignment]:
    """Return the caption of one image, and how much each of its words attends to each patch.

    Args:
        processor: of images and texts.
        image: a path, bytes, a Pillow image or an array, as for `open_image`.
        caption: a caption of your own, in place of the model's.
        options: of `model.generate`, such as num_beams.

    Raises:
        ValueError: the caption is too long; or as `align_patches`.
    """
    tokenizer = processor.tokenizer
    pixels = processor.image_processor(open_image(image), return_tensors="pt").pixel_values
    if caption is None:
        ids = caption_pixels(model, tokenizer, pixels, **options)[0][0].ids
    elif len(ids := tokenizer(caption)["input_ids"]) > longest_caption(model):
        raise ValueError(f"the caption has {len(ids)} tokens, and the model reads {longest_caption(model)} at most")
    return tokenizer.decode(ids, skip_special_tokens=True).strip(), align_patches(model, tokenizer, pixels, ids)


def on_patches(weights: Tensor) -> Tensor:
    """Return weights over the patches alone, in a square grid: [CLS] is left out, and the rest made to add up to one.

    >>> on_patches(torch.tensor([0.5, 0.25, 0.25, 0.0, 0.0])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]

    Args:
        weights: (..., 1 + patches).

    Returns:
        (..., rows, columns).

    Raises:
        ValueError: the patches make no square.
    """
    patches = weights[..., 1:]
    side = round(patches.shape[-1] ** 0.5)
    if side * side != patches.shape[-1]:
        raise ValueError(f"{patches.shape[-1]} patches make no square; captions of square images are drawn")
    return (patches / patches.sum(-1, keepdim=True)).unflatten(-1, (side, side))
