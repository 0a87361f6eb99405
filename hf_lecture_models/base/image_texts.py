# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The processor of models that write texts about images: an image processor and a tokenizer in one."""

import os
from typing import Any

from transformers.processing_utils import ProcessorMixin

from hf_lecture_models.base.pillow_images import images_of, open_input


class ImageTextProcessor(ProcessorMixin):
    """An image processor and a tokenizer, saved together and loaded together by `AutoProcessor`.

        processor = AutoProcessor.from_pretrained(folder)
        inputs = processor(images=images, return_tensors="pt")                  # {"pixel_values"}
        inputs = processor(images=images, text_target=captions, return_tensors="pt", padding=True)   # also {"labels"}
        processor.batch_decode(model.generate(**inputs), skip_special_tokens=True)

    `image_processor` and `tokenizer` are also loaded from the folder by `AutoImageProcessor` and `AutoTokenizer`.

    Args:
        image_processor: makes `pixel_values` of images.
        tokenizer: the tokenizer of the texts, padded on the right.
    """

    def __init__(self, image_processor: Any, tokenizer: Any, chat_template: Any = None) -> None:
        super().__init__(image_processor, tokenizer, chat_template=chat_template)

    def __call__(
        self, images: Any = None, text: Any = None, text_target: Any = None, return_tensors: Any = None, **kwargs: Any
    ) -> Any:
        """Return `pixel_values` of images, and `labels` of texts, in which -100 is padding.

        Raises:
            ValueError: there are neither images nor texts, or not one text for each image.
        """
        texts = text if text_target is None else text_target
        if images is None and texts is None:
            raise ValueError(f"{type(self).__name__} needs images, texts, or both")
        found: Any = {} if images is None else self._pixels(images, return_tensors)
        if texts is not None:
            one = isinstance(texts, str)
            encoded = self.tokenizer([texts] if one else list(texts), return_tensors=return_tensors, **kwargs)
            ids = encoded["input_ids"]
            if return_tensors == "pt":
                ids = ids.masked_fill(encoded["attention_mask"] == 0, -100)
            if images is not None and len(ids) != len(found["pixel_values"]):
                raise ValueError(f"{len(found['pixel_values'])} image(s) and {len(ids)} text(s): give each one text")
            found["labels"] = ids
        return found

    def _pixels(self, images: Any, return_tensors: Any) -> Any:
        return self.image_processor([open_input(one) for one in images_of(images)], return_tensors=return_tensors)

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
        """Save both parts, each also in the file in which its own Auto class looks for it."""
        files = super().save_pretrained(os.fspath(save_directory), *args, **kwargs)
        self.image_processor.save_pretrained(save_directory)
        return files
