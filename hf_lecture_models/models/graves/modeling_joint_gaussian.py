# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The joint Gaussian: a point given the points before it, by one mean and one covariance of maximum likelihood.

Slide N s15 (Härdle and Simar, "Applied multivariate statistical analysis", as the slide cites it). With the points x of
a sequence and y_t = (x_{t-1}, ..., x_{t-m}), the pairs z = (x_t, y_t) are taken to be Gaussian,

    z ~ N(μ, Σ),  μ = mean(z),  Σ = mean((z - μ)(z - μ)ᵀ) + ridge I         over all t that have m points before them

and what is predicted is x given y, whose mean is the most probable x, too:

    x | y ~ N(μ_1 + Σ_12 Σ_22^-1 (y - μ_2), Σ_11 - Σ_12 Σ_22^-1 Σ_21)

m = 0 gives independent points. A pen has, beside that, one probability of being lifted, the same at every point: its
share of all points.

Deviations:
- The slide pairs a point with the network's output before it, y_t; here y_t are the m points themselves.
- Points with fewer than m before them are conditioned on those, by the same μ and Σ without the rows of the others.
- The ridge is not maximum likelihood. Without it, numbers that never change, such as a pixel at a corner, have no
  density.
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
from hf_lecture_models.layers.previous_points import History, empty_history, previous_points
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, carried_states
from hf_lecture_models.models.graves.configuration_joint_gaussian import JointGaussianConfig


class JointGaussian(nn.Module):
    """μ and Σ of z = (x_t, y_t), and what follows from them for x_t given y_t."""

    def __init__(self, config: JointGaussianConfig):
        super().__init__()
        self.size, self.order = config.point_size, config.order
        size = config.joint_size
        self.mean = nn.Parameter(torch.zeros(size), requires_grad=False)
        self.covariance = nn.Parameter(torch.eye(size), requires_grad=False)
        self.pen_rate = nn.Parameter(torch.tensor(0.5), requires_grad=False)

    def draw_weights(self) -> None:
        """Start from standard normal numbers, and from a pen that is lifted every second time."""
        init.zeros_(self.mean)
        init.copy_(self.covariance, torch.eye(len(self.mean), device=self.mean.device))
        init.constant_(self.pen_rate, 0.5)

    def conditionals(self) -> tuple[Tensor, Tensor]:
        """Return, for a = 0, ..., m known points, Σ_12 Σ_22^-1 and the Cholesky factor of x's covariance, float64.

        Their shapes are (m + 1, n, m n), with zeros for unknown points, and (m + 1, n, n).
        """
        n, covariance = self.size, self.covariance.double()
        gains = covariance.new_zeros(self.order + 1, n, self.order * n)
        factors = []
        for known in range(self.order + 1):
            end = n + known * n
            both, given = covariance[:n, n:end], covariance[n:end, n:end]
            gain = torch.linalg.solve(given, both.T).T if known else both
            gains[known, :, : known * n] = gain
            factors.append(torch.linalg.cholesky(covariance[:n, :n] - gain @ both.T))
        return gains, torch.stack(factors)

    def forward(self, y: Tensor, known: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return mean and factor of x given y (batch, seq, m, n), and the logit of the pen.

        Their shapes are (batch, seq, n), (batch, seq, n, n) and (batch, seq, 1).
        """
        gains, factors = self.conditionals()
        first, rest = self.mean.double().split((self.size, self.order * self.size))
        away = (y.flatten(2).double() - rest).unsqueeze(-1)
        pen = self.pen_rate.double().logit().expand(*known.shape, 1)
        return first + (gains[known] @ away).squeeze(-1), factors[known], pen


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
        mask = None if attention_mask is None else padding_mask(attention_mask, points)
        scaled, (n, order) = self.scaled_points(points, mask), (self.config.point_size, self.config.order)
        batch, seq, _ = scaled.shape
        (last,) = carried_states(past_key_values, [[(batch, order, n), (batch, 1)]])
        x = scaled[..., :n]
        y, known, last = previous_points(x, mask, empty_history(x, order) if last is None else History(*last))
        mean, factor, pen = self.joint(y, known)
        logits = torch.cat((mean, factor.flatten(2), pen[..., : self.config.has_pen]), -1).float()
        return SequencePredictionOutput(
            loss=None if labels is None else self.loss(logits, scaled, mask, labels, num_items_in_batch),
            logits=logits,
            past_key_values=RecurrentCache.after(past_key_values, [tuple(last)], seq) if use_cache else None,
        )

    def distribution(self, logits: Tensor) -> tuple[CorrelatedGaussian, Tensor | None]:
        """Return the Gaussian of a mean and a factor (batch, seq, n + n²), and the logit of the pen's rate."""
        n = self.config.point_size
        mean, factor, pen = logits.split((n, n * n, int(self.config.has_pen)), -1)
        return CorrelatedGaussian(mean, factor.unflatten(-1, (n, n))), pen[..., 0] if self.config.has_pen else None
