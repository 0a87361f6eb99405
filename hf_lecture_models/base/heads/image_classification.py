# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Images to classes, to several classes at once, or to numbers."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import ImageClassifierOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.base.heads.sequence_classification import sequence_classification_loss


class ImageClassificationHead(ModelHead):
    """logits = classifier(pool(outputs of the base model)).

    A model with this head defines `pool`: how an image becomes a vector.
    """

    classifier: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `classifier`."""
        self.classifier = nn.Linear(config.output_size, config.num_labels)

    def pool(self, outputs: Any) -> Tensor:
        """The vector of each image, (batch, width), from what the base model returned; each architecture has its own.

        Args:
            outputs: what the base model returned.
        """
        raise NotImplementedError(f"{type(self).__name__} must define pool: how its outputs become a vector per image")

    @can_return_tuple
    def forward(
        self,
        pixel_values: Tensor,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> ImageClassifierOutput:
        """Classify images.

        Args:
            pixel_values: (batch, channels, height, width), from the image processor.
            labels: see `sequence_classification_loss`.
            num_items_in_batch, kwargs: see `ModelHead`.

        Returns:
            `loss` and `logits` (batch, num_labels).

        Raises:
            ValueError: images that the base model refuses; labels of another shape, or outside the classes.
        """
        outputs = self.base_model_outputs(pixel_values=pixel_values, **kwargs)
        logits, loss = self.classifier(self.pool(outputs)), None
        if labels is not None:
            loss = sequence_classification_loss(logits, labels, self.config.problem_type, num_items_in_batch)
        return ImageClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
