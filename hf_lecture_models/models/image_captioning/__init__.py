# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Image captioning: a decoder of text that attends to the patches of an image."""

from transformers import AutoImageProcessor, AutoModel, AutoModelForImageTextToText, AutoProcessor
from transformers.utils import is_vision_available

from hf_lecture_models.base.image_texts import ImageTextProcessor
from hf_lecture_models.io.compat_files import AutoVideoProcessor
from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
from hf_lecture_models.io.registration import expose, register
from hf_lecture_models.models.image_captioning.configuration_image_captioning import ImageCaptioningConfig
from hf_lecture_models.models.image_captioning.modeling_image_captioning import (
    ImageCaptioningForConditionalGeneration,
    ImageCaptioningModel,
    ImageCaptioningPreTrainedModel,
)

register(
    ImageCaptioningConfig,
    [
        (AutoModel, ImageCaptioningModel),
        (AutoModelForImageTextToText, ImageCaptioningForConditionalGeneration),
    ],
    TRANSFORMER_TARGETS,
)
AutoProcessor.register(ImageCaptioningConfig, ImageTextProcessor)
expose(ImageTextProcessor)
if is_vision_available():  # Pillow is there
    from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor

    AutoImageProcessor.register(ImageCaptioningConfig, image_processor_classes={"pil": GrayscaleImageProcessor})
    # Pipelines ask for a processor of videos too, and would take the code of an exported image processor for one.
    AutoVideoProcessor.register(ImageCaptioningConfig, None)

__all__ = [
    "ImageCaptioningConfig",
    "ImageCaptioningForConditionalGeneration",
    "ImageCaptioningModel",
    "ImageCaptioningPreTrainedModel",
]
