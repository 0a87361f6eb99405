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

    A model with this head is these modules, and how an image becomes a vector:

        class XForImageClassification(ImageClassificationHead, XPreTrainedModel):
            base_model_class = XModel

            def __init__(self, config):
                super().__init__(config)
                self.model = XModel(config)
                self.classifier = nn.Linear(config.hidden_size, config.num_labels)
                self.post_init()

            def pool(self, outputs):
                return outputs.pooler_output
    """

    classifier: nn.Module

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
            num_items_in_batch: the labels of the whole training step; the loss is then the sum divided by this.
            kwargs: the other arguments of the base model; `output_hidden_states`, `output_attentions`.

        Returns:
            `loss` (scalar, float32; None without labels), `logits` (batch, num_labels), and on request the
            `hidden_states` and `attentions` of the base model.

        Raises:
            ValueError: images that the base model refuses; labels of another shape, or that are no classes.
        """
        outputs = self.base_model_outputs(pixel_values=pixel_values, **kwargs)
        logits, loss = self.classifier(self.pool(outputs)), None
        if labels is not None:
            loss = sequence_classification_loss(logits, labels, self.config.problem_type, num_items_in_batch)
        return ImageClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
