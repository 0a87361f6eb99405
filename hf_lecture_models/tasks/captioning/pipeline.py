# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`pipeline("image-captioning")`: write captions of images.

transformers 4 had it as `image-to-text`; in transformers 5, `image-text-to-text` asks for a prompt. This file travels
with exported models.
"""

import os
from collections.abc import Mapping
from typing import Any

import torch
from transformers.pipelines import Pipeline

from hf_lecture_models.base.pillow_images import open_input
from hf_lecture_models.io.streams import Answers, each_input
from hf_lecture_models.tasks.captioning.describe import Caption, caption_pixels

TASK = "image-captioning"
_BATCH_SIZE = 64
_ONE_IMAGE = (str, os.PathLike, bytes, bytearray, Mapping)


class ImageCaptioningPipeline(Pipeline):
    """Write captions with a model that `AutoModelForImageTextToText` loads and that needs no prompt.

        captioner = pipeline("image-captioning", model=folder)
        captioner("shirt.png")                                # {"generated_text": "a dark shirt ..."}
        captioner([image, "shoe.png"], batch_size=8)          # a list
        captioner(KeyDataset(dataset, "image"))               # an iterator, which reads as many images as it describes
        captioner(image, num_beams=3, num_return_sequences=3)     # a list, best first, each with a score

    An image is a path, an address, bytes, a Pillow image or an array, as for `open_image`. Options, at construction or
    per call, are `batch_size` (64 images), `max_new_tokens` and others of `model.generate`, such as `num_beams`; the
    defaults are those of generation_config.json. A caption does not depend on the other images in its batch.

    >>> from PIL import Image
    >>> from transformers import pipeline
    >>> from hf_lecture_models import ImageCaptioningConfig, ImageCaptioningForConditionalGeneration, WordTokenizer
    >>> from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
    >>> tokenizer = WordTokenizer.train(["a dark shirt"], add_bos_token=False, add_eos_token=True, progress=False)
    >>> ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("eos", "pad")}
    >>> ids |= {"vocab_size": len(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    >>> shape = {"image_size": 8, "patch_size": 4, "num_channels": 1, "hidden_size": 12, "num_hidden_layers": 1}
    >>> model = ImageCaptioningForConditionalGeneration(ImageCaptioningConfig(**shape, **ids))
    >>> processor = GrayscaleImageProcessor(size={"height": 8, "width": 8})
    >>> captioner = pipeline("image-captioning", model=model, tokenizer=tokenizer, image_processor=processor)
    >>> list(captioner(Image.new("L", (8, 8)), max_new_tokens=3))
    ['generated_text']

    Raises:
        TypeError: an input is not an image.
        ValueError: an image cannot be read, or an option has a wrong value.
    """

    _load_tokenizer: Any = True
    _load_image_processor: Any = True
    _load_processor: Any = False
    _load_feature_extractor: Any = False

    def __call__(  # type: ignore[override]
        self, inputs: Any, batch_size: int | None = None, **kwargs: Any
    ) -> Any:
        """Write a caption of an image, or of each of several; a generator or a data set of images gives an iterator."""
        size = self._batch_size or _BATCH_SIZE if batch_size is None else batch_size
        if size < 1:
            raise ValueError(f"batch_size is {size}; it must be an integer of at least 1")
        options = {**self._forward_params, **kwargs, "batch_size": size}

        def run(images: list[Any]) -> list[Any]:
            return self.postprocess(self.forward(self.preprocess(images), **options)) if images else []

        # Tables of rows have a shape, too.
        if isinstance(inputs, _ONE_IMAGE) or hasattr(inputs, "convert") or hasattr(inputs, "dtype"):
            return run([inputs])[0]
        if isinstance(inputs, list | tuple):
            return run(list(inputs))
        if (each := each_input(inputs)) is None:
            raise TypeError(f"{TASK} takes an image or several, not {type(inputs).__name__}")
        return Answers(inputs, each, size, run)

    def _sanitize_parameters(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return {}, options, {}

    def preprocess(self, images: list[Any]) -> dict[str, Any]:  # type: ignore[override]
        """Return `pixel_values` of all images."""
        image_processor: Any = self.image_processor
        pixels = [image_processor(open_input(image), return_tensors="pt").pixel_values for image in images]
        return {"pixel_values": torch.cat(pixels)}

    def _forward(self, input_tensors: dict[str, Any], **options: Any) -> Any:
        return {"found": caption_pixels(self.model, self.tokenizer, input_tensors["pixel_values"], **options)}

    def postprocess(self, model_outputs: Any) -> list[Any]:  # type: ignore[override]
        """Return a result for each image, or a list of results if there are several captions of it."""
        entries = [[_entry(one) for one in captions] for captions in model_outputs["found"]]
        return [own[0] if len(own) == 1 else own for own in entries]


def _entry(one: Caption) -> dict[str, Any]:
    return {"generated_text": one.text} | ({} if one.score is None else {"score": one.score})
