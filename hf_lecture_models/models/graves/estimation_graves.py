# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimating the joint Gaussian by maximum likelihood."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.layers.previous_points import previous_points
from hf_lecture_models.models.graves.configuration_joint_gaussian import JointGaussianConfig
from hf_lecture_models.models.graves.modeling_joint_gaussian import JointGaussianForSequencePrediction


def fit(
    cls: type[JointGaussianForSequencePrediction], sequences: Sequence[Any], has_pen: bool = False, **fields: Any
) -> JointGaussianForSequencePrediction:
    """Estimate a joint Gaussian; see `JointGaussianForSequencePrediction.fit`.

    >>> model = JointGaussianForSequencePrediction.fit([[[1.0], [3.0]]], has_pen=False, order=0, ridge=0)
    >>> model.joint.mean.tolist(), model.joint.covariance.tolist()
    ([2.0], [[1.0]])

    Raises:
        ValueError: there are no points, or they are NaN, infinite or of unequal widths.
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
    """Set the model's μ, Σ and pen from sequences (points, numbers) in the data's units.

    Raises:
        ValueError: points are NaN, infinite or of another width.
    """
    config, joint = model.config, model.joint
    total, lifted, number = torch.zeros(config.joint_size, dtype=torch.float64), 0.0, 0
    products = total.outer(total)
    for sequence in sequences:
        scaled = model.scaled_points(sequence.double().unsqueeze(0), None)
        y, _ = previous_points(scaled, None, scaled.new_zeros(1, config.order, config.point_width))
        z = torch.cat((scaled[0, :, : config.point_size], y[0].flatten(1)), 1)
        total, products, number = total + z.sum(0), products + z.T @ z, number + len(z)
        lifted += scaled[..., -1].sum().item()
    mean = total / number
    covariance = products / number - mean[:, None] * mean + config.ridge * torch.eye(config.joint_size)
    joint.mean.copy_(mean)
    joint.covariance.copy_(covariance)
    if config.has_pen:  # as if one more point had each value: a pen that never moves keeps a density
        joint.pen_rate.fill_((lifted + 1) / (number + 2))
