# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of Graves' network, and the fields that it shares with the joint Gaussian."""

from typing import ClassVar

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class PointSequenceConfig(LectureConfig):
    """The fields of a model that predicts the points of a sequence by a density.

    Args:
        point_size: numbers of a point, without the pen.
        has_pen: points have one more number, 1 where the pen is lifted after the point and else 0.
        scale: the model reads (number - `shift`) / `scale`; densities are of these numbers. The pen is read as it is.
        shift: see `scale`.
        quantization_step: the distance of neighbouring values of data on a grid, such as 1 for integers, which then
            have a probability and a code; 0 for data that are continuous.
        use_cache: return the state, to continue a sequence.
    """

    positive_fields: ClassVar[tuple[str, ...]] = ("point_size",)
    non_negative_fields: ClassVar[tuple[str, ...]] = ("quantization_step", "scale")
    finite_fields = ("shift",)
    largest_values = {"point_size": 2**12}

    point_size: int = 2
    has_pen: bool = True
    scale: float | int = 1.0
    shift: float | int = 0.0
    quantization_step: float | int = 0.0
    use_cache: bool = True

    @property
    def point_width(self) -> int:
        """Numbers of a point, the pen included."""
        return self.point_size + self.has_pen

    def check_fields(self) -> None:
        """Refuse a scale that is not above 0, and infinite numbers."""
        if not self.scale:
            raise ValueError(f"{type(self).__name__}.scale is 0; it must be above 0")


@strict
class GravesConfig(PointSequenceConfig):
    """Shape of Graves' network; `PointSequenceConfig` has the fields of its data.

    Args:
        mixture: "bivariate", Gaussians with a correlation, of points of two numbers; or "diagonal", of any points.
        num_mixtures: K, the number of Gaussians.
        loss_type: "likelihood", -ln p; or "squared_error", with one Gaussian of variance 1 (`mixture` is "diagonal" and
            `num_mixtures` 1), whose -ln p is half of the squared error and a constant.
        sigma_floor: added to every deviation, in the network's units.
        max_correlation: the largest correlation, below 1.
        output_gradient_clip: bound of the gradient of a point's loss in each output.
        hidden_size: units of each layer.
        num_hidden_layers: N, the number of layers.
        initializer_range: standard deviation of the output layer's initial weights. The LSTMs' start uniform within
            1/sqrt(hidden_size).

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> GravesConfig(num_mixtures=20).point_width
    3
    """

    model_type = "lecture_graves"
    allowed_values = {"mixture": ("bivariate", "diagonal"), "loss_type": ("likelihood", "squared_error")}
    positive_fields = (*PointSequenceConfig.positive_fields, "num_mixtures", "hidden_size", "num_hidden_layers")
    non_negative_fields = (
        *PointSequenceConfig.non_negative_fields,
        "sigma_floor",
        "max_correlation",
        "output_gradient_clip",
    )
    largest_values = PointSequenceConfig.largest_values | {"num_mixtures": 2**10}

    mixture: str = "bivariate"
    num_mixtures: int = 10
    loss_type: str = "likelihood"
    sigma_floor: float | int = 1e-3
    max_correlation: float | int = 0.999
    output_gradient_clip: float | int = 100.0
    hidden_size: int = 128
    num_hidden_layers: int = 2
    initializer_range: float | int = 0.075

    def check_fields(self) -> None:
        """Refuse a mixture that the points or the loss cannot have, and impossible bounds."""
        super().check_fields()
        if self.mixture == "bivariate" and self.point_size != 2:
            raise ValueError(
                f"GravesConfig.mixture is 'bivariate' with point_size={self.point_size}; it is for points of two "
                "numbers: set mixture='diagonal'"
            )
        if self.loss_type == "squared_error" and (self.mixture, self.num_mixtures) != ("diagonal", 1):
            raise ValueError(
                f"GravesConfig.loss_type is 'squared_error' with mixture={self.mixture!r} and num_mixtures="
                f"{self.num_mixtures}; it has one Gaussian: set mixture='diagonal' and num_mixtures=1"
            )
        if self.max_correlation >= 1 or not self.output_gradient_clip:
            raise ValueError(
                f"GravesConfig.max_correlation is {self.max_correlation} and output_gradient_clip "
                f"{self.output_gradient_clip}; the first must be below 1, the second above 0"
            )
