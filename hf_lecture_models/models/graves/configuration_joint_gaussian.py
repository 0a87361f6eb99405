# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the joint Gaussian of a point and the points before it."""

from hf_lecture_models.io.compat import strict
from hf_lecture_models.models.graves.configuration_graves import PointSequenceConfig


@strict
class JointGaussianConfig(PointSequenceConfig):
    """Shape of a joint Gaussian; `PointSequenceConfig` has the fields of its data.

    Args:
        order: m, the number of points before a point that it is predicted from; 0 makes points independent.
        ridge: added to the diagonal of the estimated covariance, in the model's units.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> JointGaussianConfig(point_size=1, has_pen=False, order=20).joint_size
    21
    """

    model_type = "lecture_joint_gaussian"
    non_negative_fields = (*PointSequenceConfig.non_negative_fields, "order", "ridge")
    largest_values = PointSequenceConfig.largest_values | {"order": 2**10}

    order: int = 1
    ridge: float | int = 1e-6

    @property
    def joint_size(self) -> int:
        """Numbers of a point's coordinates and the points before it."""
        return self.point_size + self.order * self.point_width

    def check_fields(self) -> None:
        """Refuse a covariance that is too large."""
        super().check_fields()
        if self.joint_size > 2**13:
            raise ValueError(
                f"JointGaussianConfig.order is {self.order} with point_size={self.point_size}: a covariance of "
                f"{self.joint_size} numbers; lower order, for at most {2**13}"
            )
