# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How a head calls the model inside it."""

import inspect
from collections.abc import Sequence
from typing import Any

from torch import Tensor

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
"""The first arguments of every head's `forward`: transformers' Trainer keeps only columns of the data that it names."""


class Head:
    """What all heads share. A head stands before the pre-trained base class and has the inner model as `model`."""

    config: Any
    model: Any

    def inner_outputs(self, inputs: Sequence[Tensor | None], options: dict[str, Any]) -> Any:
        """The outputs of the inner model, as transformers' `ModelOutput`.

        Args:
            inputs: what `forward` got for `INPUTS`, in their order; None, which is not handed on, for those left out.
            options: the other keyword arguments of `forward`, such as `output_hidden_states`.

        Raises:
            ValueError: an input was given that the inner model does not read.
        """
        # torch.compile puts a wrapper around a module, whose forward names nothing.
        inner_class = type(getattr(self.model, "_orig_mod", self.model))
        named = _named_arguments(inner_class)
        given = {name: value for name, value in zip(INPUTS, inputs, strict=True) if value is not None}
        for name in given.keys() - set(named):
            raise ValueError(
                f"{inner_class.__name__} reads no {name}: leave it out of the inputs (what a tokenizer returns, its "
                "model_input_names say)"
            )
        # No head goes on from a cache, and keeping one costs memory.
        cache = {"use_cache": False} if "use_cache" in named else {}
        return self.model(**{**cache, **given, **options, "return_dict": True})


class TextVectorHead(Head):
    """A head that reads one vector per text. How a text becomes a vector is part of each architecture."""

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """The vector of each text; there is no default, because none is right for all models.

        Args:
            outputs: what the inner model returned.
            attention_mask: (batch, seq), 1 = real token, as the inner model got it; None where it got none.

        Returns:
            (batch, width), what `classifier` reads.
        """
        raise NotImplementedError(f"{type(self).__name__} must define pool: how its outputs become one vector per text")


def _named_arguments(model_class: type) -> tuple[str, ...]:
    # As inspect.signature, in a twentieth of the time: this is asked in every call.
    code = inspect.unwrap(model_class.forward).__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
