# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Vision Transformer with heads for classes and for masked patches; official `vit` checkpoints load as they are."""

from transformers import (
    AutoImageProcessor,
    AutoModel,
    AutoModelForImageClassification,
    AutoModelForMaskedImageModeling,
    AutoModelForPreTraining,
)
from transformers.utils import is_vision_available

from hf_lecture_models.io.compat_files import AutoVideoProcessor
from hf_lecture_models.io.optional_packages import TRANSFORMER_TARGETS
from hf_lecture_models.io.registration import register
from hf_lecture_models.models.vit.configuration_vit import LectureViTConfig
from hf_lecture_models.models.vit.conversion_vit import official_weights
from hf_lecture_models.models.vit.modeling_vit import (
    LectureViTForImageClassification,
    LectureViTForMaskedImageModeling,
    LectureViTForMaskedPatchPrediction,
    LectureViTModel,
    LectureViTPreTrainedModel,
)

register(
    LectureViTConfig,
    [
        (AutoModel, LectureViTModel),
        (AutoModelForImageClassification, LectureViTForImageClassification),
        (AutoModelForMaskedImageModeling, LectureViTForMaskedImageModeling),
        # The paper's own pre-training; transformers has no Auto class of its own for it.
        (AutoModelForPreTraining, LectureViTForMaskedPatchPrediction),
    ],
    TRANSFORMER_TARGETS,
    official_weights,
)
if is_vision_available():  # Pillow is there
    from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor

    AutoImageProcessor.register(LectureViTConfig, image_processor_classes={"pil": GrayscaleImageProcessor})
    # Pipelines ask for a processor of videos too, and would take the code of an exported image processor for one.
    AutoVideoProcessor.register(LectureViTConfig, None)

__all__ = [
    "LectureViTConfig",
    "LectureViTForImageClassification",
    "LectureViTForMaskedImageModeling",
    "LectureViTForMaskedPatchPrediction",
    "LectureViTModel",
    "LectureViTPreTrainedModel",
]
