# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the heads share that read whole texts: a state is neither kept nor returned."""

from inspect import signature
from typing import Any, ClassVar

from torch import Tensor

from hf_lecture_models.base.modeling import ModelHead


class WholeTextHead(ModelHead):
    """A head on top of `model`, an instance of `base_model_class`. Put it before the pre-trained base class."""

    config: Any
    model: Any
    _without_state: ClassVar[dict[str, bool]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "base_model_class" in vars(cls) and "use_cache" in signature(cls.base_model_class.forward).parameters:
            cls._without_state = {"use_cache": False}

    def inner_outputs(self, **inputs: Any) -> Any:
        """What `model` returns for these arguments; it keeps no state for a next call, which costs memory, unless told.

        Raises:
            TypeError: an argument that `model` does not read.
        """
        return self.model(**{**self._without_state, **inputs, "return_dict": True})


class TextVectorHead(WholeTextHead):
    """A head that reads one vector per text. How a text becomes a vector is part of each architecture."""

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """The vector of each text; there is no default, because none is right for all models.

        Args:
            outputs: what `model` returned.
            attention_mask: (batch, seq), 1 = real token, as `model` got it; None where it got none.

        Returns:
            (batch, width), what `classifier` reads.
        """
        raise NotImplementedError(f"{type(self).__name__} must define pool: how its outputs become one vector per text")
