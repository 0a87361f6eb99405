# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimating the joint Gaussian by maximum likelihood."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.layers.previous_points import previous_points
from hf_lecture_models.models.graves.configuration_joint_gaussian import JointGaussianConfig
from hf_lecture_models.models.graves.modeling_joint_gaussian import JointGaussianForSequencePrediction

# The rows that are decomposed together, if points are narrow.
_TOGETHER = 2**12


def fit(
    cls: type[JointGaussianForSequencePrediction], sequences: Sequence[Any], has_pen: bool = False, **fields: Any
) -> JointGaussianForSequencePrediction:
    """Estimate a joint Gaussian; see `JointGaussianForSequencePrediction.fit`.

    >>> model = JointGaussianForSequencePrediction.fit([[[1.0], [3.0]]], has_pen=False, order=0, ridge=0)
    >>> round(model.joint.mean.item(), 9), round(model.joint.covariance.item(), 9)
    (2.0, 1.0)

    Raises:
        ValueError: there are no points, or they are NaN, infinite or of unequal widths, or their covariance is
            singular.
    """
    points = [torch.as_tensor(sequence, dtype=torch.float64) for sequence in sequences]
    if not points or any(own.dim() != 2 or own.shape[1] != points[0].shape[-1] or not len(own) for own in points):
        raise ValueError("sequences must be lists of points of the same width, at least one point each")
    config = JointGaussianConfig(point_size=points[0].shape[1] - has_pen, has_pen=has_pen, **fields)
    model = cls(config).eval()
    estimate(model, points)
    return model


@torch.no_grad()
def estimate(model: JointGaussianForSequencePrediction, sequences: Sequence[Tensor]) -> None:
    """Set the model's μ, L and pen from sequences (points, numbers) in the data's units.

    L is a triangular factor of the rows (1, z) themselves, in float64: the squares in Σ would lose half of the digits.

    Raises:
        ValueError: points are NaN, infinite or of another width, or Σ is singular.
    """
    config, joint = model.config, model.joint
    size, lifted, number = config.joint_size, 0.0, 0
    triangle, waiting = torch.zeros(0, 1 + size, dtype=torch.float64), list[Tensor]()
    for index, sequence in enumerate(sequences, 1):
        scaled = model.scaled_points(sequence.unsqueeze(0), None)
        y, _ = previous_points(scaled, None, scaled.new_zeros(1, config.order, config.point_width))
        ones = scaled.new_ones(len(sequence), 1)
        waiting.append(torch.cat((ones, y[0].flatten(1), scaled[0, :, : config.point_size]), 1))
        number += len(sequence)
        lifted += scaled[..., -1].sum().item()
        if index == len(sequences) or sum(map(len, waiting)) > max(size, _TOGETHER):
            triangle, waiting = torch.linalg.qr(torch.cat((triangle, *waiting)), mode="r").R, []
    mean = triangle[0, 1:] / triangle[0, 0]
    ridge = config.ridge**0.5 * torch.eye(size, dtype=torch.float64)
    factor = torch.linalg.qr(torch.cat((triangle[1:, 1:] / number**0.5, ridge)), mode="r").R.T
    factor = factor * factor.diagonal().sign()
    if not (factor.diagonal() > _rounding(mean, factor)).all():
        raise ValueError(
            f"the covariance of the points is singular, with model.ridge {config.ridge} and model.scale {config.scale}:"
            " a number never changes, or follows from others. Give a larger model.ridge, or a model.scale and "
            "model.shift that bring the numbers near 1"
        )
    joint.mean.copy_(mean)
    joint.factor.copy_(factor)
    if config.has_pen:  # as if one more point had each value: a pen that never moves keeps a density
        joint.pen_rate.fill_((lifted + 1) / (number + 2))


def _rounding(mean: Tensor, factor: Tensor) -> Tensor:
    """Return a deviation below which that of a number is only rounding: (numbers,)."""
    size = (mean.square() + factor.square().sum(1)).sqrt()
    return 100 * len(mean) * torch.finfo(torch.float64).eps * size
