# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Heads of models of images: classes or numbers; and of masked patches, their pixels or their mean color."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import ImageClassifierOutput, MaskedImageModelingOutput, TokenClassifierOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.heads.classification import sequence_classification_loss
from hf_lecture_models.base.heads.losses import cross_entropy, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.layers.execution import at_least_float32
from hf_lecture_models.layers.patches import patch_sums


class ImageClassificationHead(ModelHead):
    """logits = classifier(pool(outputs of the base model)).

    A model with this head defines `pool`: how an image becomes a vector.
    """

    classifier: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `classifier`."""
        self.classifier = nn.Linear(config.output_size, config.num_labels)

    def pool(self, outputs: Any) -> Tensor:
        """Return the vector of each image, (batch, width), from what the base model returned."""
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
            labels: see `sequence_classification_loss`, also for the errors.

        Returns:
            `loss` and `logits` (batch, num_labels).

        Raises:
            ValueError: images that the base model refuses.
        """
        outputs = self.base_model_outputs(pixel_values=pixel_values, **kwargs)
        logits, loss = self.classifier(self.pool(outputs)), None
        if labels is not None:
            loss = sequence_classification_loss(logits, labels, self.config.problem_type, num_items_in_batch)
        return ImageClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))


class MaskedImageModelingHead(ModelHead):
    """reconstruction = decoder(states of the patches), and |reconstruction - pixel_values| of the masked ones.

    A model with this head has as `decoder` what makes an image (batch, channels, height, width) of a grid of states
    (batch, hidden_size, rows, columns), and `[CLS]` as its first state.
    """

    decoder: nn.Module

    @can_return_tuple
    def forward(
        self,
        pixel_values: Tensor,
        bool_masked_pos: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> MaskedImageModelingOutput:
        """Predict the pixels of each patch.

        Args:
            pixel_values: (batch, channels, height, width), the whole images.
            bool_masked_pos: (batch, patches), True where the model sees the mask and predicts the pixels; without it,
                nothing is masked and `loss` is None.
            num_items_in_batch: the number of masked patches.

        Returns:
            `loss` (the mean distance of a number in a masked patch), and `reconstruction`, shaped like `pixel_values`.

        Raises:
            ValueError: images or masks that the base model refuses.
        """
        outputs = self.base_model_outputs(pixel_values=pixel_values, bool_masked_pos=bool_masked_pos, **kwargs)
        size, loss = self.config.patch_size, None
        rows = pixel_values.shape[2] // size
        states = outputs.last_hidden_state[:, 1:].transpose(1, 2)
        reconstruction = self.decoder(states.unflatten(2, (rows, -1)))
        if bool_masked_pos is not None:
            masked = bool_masked_pos.to(states.device).bool()
            predicted = at_least_float32(reconstruction)
            distances = F.l1_loss(predicted, pixel_values.to(predicted.dtype), reduction="none")
            total = (patch_sums(distances, size) * masked).sum() / (pixel_values.shape[1] * size**2)
            loss = mean_over_items(total, masked.sum(), num_items_in_batch)
        hidden_states, attentions = outputs.get("hidden_states"), outputs.get("attentions")
        return MaskedImageModelingOutput(loss, reconstruction, hidden_states, attentions)


class MaskedPatchPredictionHead(ModelHead):
    """logits = color_head(states of the patches): the mean color of each, one of so many.

    A model with this head has `[CLS]` as its first state.
    """

    color_head: nn.Module

    @can_return_tuple
    def forward(
        self,
        pixel_values: Tensor,
        bool_masked_pos: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Predict the mean color of each patch.

        Args:
            pixel_values: (batch, channels, height, width), in which some patches may be replaced by others.
            bool_masked_pos: (batch, patches), True where the model sees the mask; None: nowhere.
            labels: (batch, patches), the colors that were there; -100 where none is to be predicted.

        Returns:
            `loss` and `logits` (batch, patches, colors).

        Raises:
            ValueError: images or masks that the base model refuses; labels of another shape, or outside the colors.
        """
        outputs = self.base_model_outputs(pixel_values=pixel_values, bool_masked_pos=bool_masked_pos, **kwargs)
        logits = self.color_head(outputs.last_hidden_state[:, 1:])
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(loss, logits, outputs.get("hidden_states"), outputs.get("attentions"))
