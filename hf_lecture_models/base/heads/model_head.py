# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a head is: a `forward` that all models with that head share, above the model that each has below it."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ClassVar

from torch import Tensor
from transformers.modeling_utils import PreTrainedModel


class ModelHead:
    """What all heads share. A head stands before the pre-trained base class and has its base model as `model`.

    A head's `forward` passes keyword arguments that it does not know on to the base model, which refuses those that it
    does not know either. The signature of `forward` lists them all (`position_ids`, `token_type_ids`, ...), because
    `generate()`, `Trainer` and pipelines read it.
    """

    base_model_class: ClassVar[type[PreTrainedModel]]
    """The model that the head reads; a class with a head sets it."""
    config: Any
    model: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "base_model_class" in vars(cls):
            cls.forward = _with_arguments_of(cls.base_model_class.forward, cls.forward)  # type: ignore[attr-defined]
            cls._keeps_cache = "use_cache" in signature(cls.base_model_class.forward).parameters

    _keeps_cache: ClassVar[bool] = False

    def base_model_outputs(self, **inputs: Any) -> Any:
        """The outputs of the base model, without a cache of what it read: most heads go on from none.

        Args:
            inputs: arguments of its `forward`; None counts as left out.

        Raises:
            TypeError: it does not name an argument that was given.
        """
        if self._keeps_cache and inputs.get("use_cache") is None:
            inputs["use_cache"] = False
        return self.model(**inputs, return_dict=True)


class TextVectorHead(ModelHead):
    """A head that reads one vector per text. How a text becomes a vector is part of each architecture."""

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """The vector of each text; there is no default, because none is right for all models.

        Args:
            outputs: what the base model returned.
            attention_mask: (batch, seq), 1 = real token, as the base model got it; None where it got none.

        Returns:
            (batch, width), what `classifier` reads.
        """
        raise NotImplementedError(f"{type(self).__name__} must define pool: how its outputs become one vector per text")


def _with_arguments_of(inner: Callable[..., Any], forward: Callable[..., Any]) -> Callable[..., Any]:
    *own, keywords = signature(forward).parameters.values()
    names = {parameter.name for parameter in own}
    handed_on = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in signature(inner).parameters.values()
        if parameter.name not in names and parameter.kind is not Parameter.VAR_KEYWORD
    ]

    @wraps(forward)
    def named_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return forward(self, *args, **kwargs)

    named_forward.__signature__ = signature(forward).replace(parameters=[*own, *handed_on, keywords])  # type: ignore
    return named_forward
