# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The head of models that predict the next point of a sequence by a density: loss, code lengths, drawing."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.modeling_outputs import CausalLMOutputWithPast

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.losses import NOT_COUNTED, mean_over_items
from hf_lecture_models.io.compat import cache_of
from hf_lecture_models.layers.clipped_gradients import clip_output_gradients
from hf_lecture_models.layers.execution import at_least_float32, is_traced
from hf_lecture_models.layers.gaussian_mixture import GaussianMixture


@dataclass
class SequencePredictionOutput(CausalLMOutputWithPast):
    """The outputs of a model that predicts points.

    Attributes:
        loss: the mean of -ln p(point) over the points that count, in nats; None without `labels`.
        logits: (batch, seq, outputs), what the distribution of each point is made of, from the points before it.
        past_key_values: the state after the points.
        hidden_states: on request, the first layer's input and each layer's output.
    """


class SequencePredictionHead:
    """Loss, densities, code lengths and drawing of a model of points; it comes before the pre-trained base class.

    A model defines `forward`, whose `logits` at position t make the distribution of the point at t, and `distribution`.
    Points are (batch, seq, numbers) in the data's own units, the pen (0 or 1) last. Densities are those of
    (point - `config.shift`) / `config.scale`; the pen is as it is.
    """

    main_input_name = "points"
    precision: ClassVar[torch.dtype] = torch.float32
    """The least exact type in which points are scaled."""
    config: Any
    device: Any
    __call__: Any

    def distribution(self, logits: Tensor) -> tuple[GaussianMixture, Tensor | None]:
        """Return the mixture of the coordinates, and the logit of a lifted pen, (batch, seq); None without a pen."""
        raise NotImplementedError(f"{type(self).__name__} must define distribution")

    def scaled_points(self, points: Any, mask: Tensor | None) -> Tensor:
        """Return the points as the model reads them, with zeros at padding.

        Raises:
            ValueError: they are not a floating tensor (batch, seq, numbers), or a real one is NaN or infinite.
        """
        width = self.config.point_width
        if not isinstance(points, Tensor) or not points.is_floating_point() or points.dim() != 3:
            what = f"{points.dtype} {tuple(points.shape)}" if isinstance(points, Tensor) else type(points).__name__
            raise ValueError(f"points must be a tensor of floating numbers, (batch, seq, {width}), not {what}")
        if points.shape[-1] != width or points.shape[1] == 0:
            raise ValueError(
                f"points have shape {tuple(points.shape)}; this model needs (batch, seq, {width}), at least one point"
                f"{', the pen (0 or 1) last' if self.config.has_pen else ''}"
            )
        if mask is not None:
            points = points.masked_fill(~mask.unsqueeze(-1), 0.0)
        # Tracing cannot ask for values, and a GPU would have to be waited for.
        if not is_traced() and points.device.type == "cpu" and not points.isfinite().all():
            raise ValueError("points hold NaN or infinite numbers: correct them, or mask them as padding")
        points, size = points.to(torch.promote_types(points.dtype, self.precision)), self.config.point_size
        scaled = torch.cat(((points[..., :size] - self.config.shift) / self.config.scale, points[..., size:]), -1)
        return scaled if mask is None else scaled.masked_fill(~mask.unsqueeze(-1), 0.0)

    def point_losses(self, logits: Tensor, scaled: Tensor, with_pen: bool = True) -> Tensor:
        """Return -ln p of each point (batch, seq), float32 or wider: of its coordinates, and of its pen."""
        mixture, pen = self.distribution(at_least_float32(logits))
        losses = -mixture.log_density(at_least_float32(scaled[..., : self.config.point_size]))
        return losses if pen is None or not with_pen else losses + _pen_losses(pen, scaled)

    def loss(
        self, logits: Tensor, scaled: Tensor, mask: Tensor | None, labels: Tensor, num_items: Tensor | int | None
    ) -> Tensor:
        """Return the mean of `point_losses` over the real points whose label is not -100.

        Raises:
            ValueError: `labels` are not integers (batch, seq).
        """
        if not isinstance(labels, Tensor) or labels.is_floating_point() or labels.shape != logits.shape[:2]:
            shape = tuple(labels.shape) if isinstance(labels, Tensor) else type(labels).__name__
            raise ValueError(
                f"labels must be integers, {tuple(logits.shape[:2])}, -100 for points that do not count, not {shape}"
            )
        counted = labels != NOT_COUNTED
        counted = counted if mask is None else counted & mask
        limit = getattr(self.config, "output_gradient_clip", math.inf)
        losses = clip_output_gradients(lambda own: self.point_losses(own, scaled), logits, limit)
        return mean_over_items(losses.where(counted, 0.0).sum(), counted.sum(), num_items)

    @torch.no_grad()
    def log_density(self, points: Tensor, attention_mask: Tensor | None = None, with_pen: bool = True) -> Tensor:
        """Return ln p of each point given those before it, (batch, seq), in nats; 0 at padding.

        Args:
            with_pen: of the whole point; False: of its coordinates alone.
        """
        logits, scaled, mask = self._read(points, attention_mask)
        found = -self.point_losses(logits, scaled, with_pen)
        return found if mask is None else found.masked_fill(~mask, 0.0)

    @torch.no_grad()
    def code_lengths(self, points: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return the length of the code of each point on the grid, (batch, seq), in bits; 0 at padding.

        Raises:
            ValueError: the configuration has no `quantization_step`.
        """
        if not self.config.quantization_step:
            raise ValueError("these data have no grid: set quantization_step, the distance of neighbouring values")
        logits, scaled, mask = self._read(points, attention_mask)
        mixture, pen = self.distribution(at_least_float32(logits))
        step = self.config.quantization_step / self.config.scale
        nats = -mixture.log_probability(scaled[..., : self.config.point_size], step)
        nats = nats if pen is None else nats + _pen_losses(pen, scaled)
        return (nats if mask is None else nats.masked_fill(~mask, 0.0)) / math.log(2)

    @torch.no_grad()
    def generate_points(
        self,
        n: int,
        temperature: float = 1.0,
        seed: int | None = None,
        points: Tensor | None = None,
        num_sequences: int = 1,
    ) -> Tensor:
        """Draw n points after each sequence, (batch, n, numbers), in the data's units.

        Args:
            temperature: T, larger than 0: weights become π^(1/T) and deviations σ √T; the pen's logit is divided by T.
            seed: the same seed draws the same points; None: torch's own generator.
            points: (batch, seq, numbers), without padding, to go on from; None: new sequences.
            num_sequences: how many to draw if `points` is None.

        Raises:
            ValueError: n is not positive, or the temperature is not a finite number above 0.
        """
        if n < 1 or num_sequences < 1 or not 0 < temperature < math.inf:
            raise ValueError(f"n={n} and num_sequences must be at least 1, and temperature={temperature} above 0")
        generator = None if seed is None else torch.Generator(self.device).manual_seed(seed)
        rows = num_sequences if points is None else len(points)
        cache, found = None, []
        anything = torch.zeros(rows, 1, self.config.point_width, device=self.device)
        with evaluation_mode(self):
            if points is not None:
                cache = cache_of(self(points=points, use_cache=True))
            for _ in range(n):
                # The distribution of a point does not depend on the point itself.
                mixture, pen = self.distribution(at_least_float32(self(points=anything, past_key_values=cache).logits))
                drawn = mixture.draw(generator, temperature) * self.config.scale + self.config.shift
                if pen is not None:
                    lifted = torch.bernoulli((pen / temperature).sigmoid(), generator=generator)
                    drawn = torch.cat((drawn, lifted.unsqueeze(-1)), -1)
                found.append(drawn)
                cache = cache_of(self(points=drawn, past_key_values=cache, use_cache=True))
        return torch.cat(found, 1)

    def _read(self, points: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        mask = None if attention_mask is None else attention_mask.bool()
        with evaluation_mode(self):
            logits = self(points=points, attention_mask=attention_mask, use_cache=False).logits
        return logits, self.scaled_points(points, mask), mask


def _pen_losses(pen: Tensor, scaled: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(pen, scaled[..., -1].to(pen.dtype), reduction="none")
