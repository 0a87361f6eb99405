# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The joint Gaussian: a point given the points before it, by one mean and one covariance of maximum likelihood.

Slide N s15 (Härdle and Simar, "Applied multivariate statistical analysis", as the slide cites it).

With the coordinates x_t of the points p_t = (x_t, pen_t) of a sequence, and y_t = (p_{t-1}, ..., p_{t-m}), where points
before the first are zeros, the pairs z_t = (x_t, y_t) are taken to be Gaussian,

    z ~ N(μ, Σ),  μ = mean(z),  Σ = mean((z - μ)(z - μ)ᵀ) + ridge I                          over all points

and what is predicted is x given y, whose mean is the most probable x, too:

    x | y ~ N(μ_1 + Σ_12 Σ_22^-1 (y - μ_2), Σ_11 - Σ_12 Σ_22^-1 Σ_21)

m = 0 gives independent points. A pen has, beside that, one probability of being lifted, the same at every point: its
share of all points.

Deviations:
- The slide pairs a point with the network's output before it, y_t; here y_t are the m points themselves.
- The ridge is not maximum likelihood. Without it, numbers that never change, such as a pixel at a corner, have no
  density.
- To the pen's share, one point with each value is added, so that neither has probability 0.
"""

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from hf_lecture_models.base.heads.sequence_prediction import SequencePredictionHead, SequencePredictionOutput
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.gaussian_mixture import CorrelatedGaussian
from hf_lecture_models.layers.inputs import padding_mask
from hf_lecture_models.layers.precision import at_least_float32
from hf_lecture_models.layers.previous_points import previous_points
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, carried_states, seen_tokens
from hf_lecture_models.models.graves.configuration_joint_gaussian import JointGaussianConfig


class JointGaussian(nn.Module):
    """μ and Σ of z = (x, y), and what follows from them for x given y."""

    def __init__(self, config: JointGaussianConfig):
        super().__init__()
        self.size, size = config.point_size, config.joint_size
        self.mean = nn.Parameter(torch.zeros(size), requires_grad=False)
        self.covariance = nn.Parameter(torch.eye(size), requires_grad=False)
        self.pen_rate = nn.Parameter(torch.tensor(0.5), requires_grad=False)

    def draw_weights(self) -> None:
        """Start from standard normal numbers, and from a pen that is lifted every second time."""
        init.zeros_(self.mean)
        init.copy_(self.covariance, torch.eye(len(self.mean), device=self.mean.device))
        init.constant_(self.pen_rate, 0.5)

    def forward(self, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean of x given y (batch, seq, numbers of y), its covariance's factor, and the logit of the pen.

        They are computed in float64; their shapes are (batch, seq, n), (n, n) and ().
        """
        n, covariance = self.size, self.covariance.double()
        both, given = covariance[:n, n:], covariance[n:, n:]
        gain = torch.linalg.solve(given, both.T).T  # Σ_12 Σ_22^-1
        first, rest = self.mean.double()[:n], self.mean.double()[n:]
        factor = torch.linalg.cholesky(covariance[:n, :n] - gain @ both.T)
        return first + (y.double() - rest) @ gain.T, factor, self.pen_rate.double().logit()


class JointGaussianPreTrainedModel(LecturePreTrainedModel):
    """The base of the joint Gaussian."""

    config: JointGaussianConfig
    main_input_name = "points"
    _is_stateful = True
    _keep_in_fp32_modules_strict = {"joint"}


class JointGaussianForSequencePrediction(SequencePredictionHead, JointGaussianPreTrainedModel):
    """The joint Gaussian as a model of sequences; `fit` estimates it.

    >>> points = [[[1.0], [2.0], [1.5], [2.5]], [[0.0], [1.0], [0.5], [1.5]]]
    >>> model = JointGaussianForSequencePrediction.fit(points, has_pen=False, order=1)
    >>> model.log_density(torch.tensor(points)).shape
    torch.Size([2, 4])
    """

    def __init__(self, config: JointGaussianConfig):
        super().__init__(config)
        self.joint = JointGaussian(config)
        self.post_init()

    @classmethod
    def fit(cls, sequences: Sequence[Any], has_pen: bool = False, **fields: Any) -> Self:
        """Estimate μ, Σ and the pen's rate from sequences of points; needs the package.

        Args:
            sequences: each (points, numbers), in the data's units.
            has_pen: the last number of a point is a pen, 0 or 1.
            fields: further fields of `JointGaussianConfig`, such as `order`.
        """
        raise NotImplementedError(f"{cls.__name__}.fit needs the package: pip install hf-lecture-models")

    @model_forward
    def forward(
        self,
        points: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> SequencePredictionOutput:
        """Predict each point from the `order` points before it; arguments as `GravesForSequencePrediction`'s."""
        mask = None if attention_mask is None else padding_mask(attention_mask, points, seen_tokens(past_key_values))
        scaled = self.scaled_points(points, mask)
        batch, seq, width = scaled.shape
        before = scaled.new_zeros(batch, self.config.order, width)
        (last,) = carried_states(past_key_values, [[before.shape]])
        y, before = previous_points(scaled, mask, before if last is None else last[0])
        mean, factor, pen = self.joint(y.flatten(2))
        repeated = (factor.flatten(), pen.expand(int(self.config.has_pen)))
        logits = torch.cat((mean, *(tensor.expand(batch, seq, -1) for tensor in repeated)), -1)
        logits = logits.to(at_least_float32(self.joint.mean).dtype)
        loss = None if labels is None else self.loss(logits, scaled, mask, labels, num_items_in_batch)
        cache = RecurrentCache.after(past_key_values, [(before,)], seq) if use_cache else None
        return SequencePredictionOutput(loss, logits, cache)

    def distribution(self, logits: Tensor) -> tuple[CorrelatedGaussian, Tensor | None]:
        """Return the Gaussian of a mean and a factor (batch, seq, n + n²), and the logit of the pen's rate."""
        n = self.config.point_size
        mean, factor, pen = logits.split((n, n * n, int(self.config.has_pen)), -1)
        return CorrelatedGaussian(mean, factor.unflatten(-1, (n, n))), pen[..., 0] if self.config.has_pen else None
