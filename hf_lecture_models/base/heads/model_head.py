# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a head is: a `forward` that all models with that head share, above the model that each has below it."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature, unwrap
from typing import Any, ClassVar

from torch import Tensor
from transformers.modeling_utils import PreTrainedModel

from hf_lecture_models.base.heads.losses import mean_over_items
from hf_lecture_models.io.compat import with_past_key_values


class ModelHead:
    """The base of all heads: a base model, `model`, and layers that read its outputs.

    `class XForTokenClassification(TokenClassificationHead, XPreTrainedModel)` with `base_model_class = XModel` is a
    model: the head builds the base model, and its own layers in `add_layers`, which an architecture overrides where it
    has others. A class that defines `__init__` builds all of it there, and calls `post_init()` at the end.

    `forward` passes keyword arguments that the head does not know on to the base model, which refuses those that it
    does not know either. Its signature lists them all, because `generate()`, `Trainer` and pipelines read it. In heads,

    - `input_ids` are (batch, seq), and `attention_mask` (batch, seq) is 1 at real tokens;
    - `num_items_in_batch` is the number of labels of the whole training step that are not -100; the loss is then the
      sum over this batch's divided by this, and else the mean over this batch's;
    - `output_hidden_states` and `output_attentions` add the `hidden_states` and `attentions` of the base model;
    - `loss` is a scalar in nats, float32 or wider, and None without labels.
    """

    base_model_class: ClassVar[type[PreTrainedModel]]
    """The model that the head reads; a class with a head, or a base class of it, sets it."""
    base_model_options: ClassVar[dict[str, Any]] = {}
    """Arguments of `base_model_class` beside the configuration."""
    extra_arguments: ClassVar[tuple[str, ...]] = ()
    """Arguments of `forward` that the class reads itself, beside the head's and the base model's."""
    config: Any
    model: Any
    _keeps_cache: ClassVar[bool] = False
    _pools: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if issubclass(cls, PreTrainedModel) and hasattr(cls, "base_model_class"):
            inner: Any = cls.base_model_class.forward
            if getattr(cls.forward, "passes_on_to", None) is not inner:
                cls.forward = _with_arguments_of(inner, cls.forward, cls.extra_arguments)
            cls._keeps_cache = "use_cache" in signature(inner).parameters
            cls._pools = "add_pooling_layer" in signature(cls.base_model_class.__init__).parameters

    def __init__(self, config: Any) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        if isinstance(self, PreTrainedModel) and unwrap(type(self).__init__) is ModelHead.__init__:
            options = dict(self.base_model_options)
            if self._pools:
                options["add_pooling_layer"] = isinstance(self, TextVectorHead)
            self.model = self.base_model_class(config, **options)
            self.add_layers(config)
            self.post_init()

    def add_layers(self, config: Any) -> None:
        """Build the layers of the head, after the base model."""
        raise NotImplementedError(f"{type(self).__name__} must define add_layers: what it has beside its base model")

    def base_model_outputs(self, **inputs: Any) -> Any:
        """Return the outputs of the base model, without a cache of what it read: most heads go on from none."""
        if self._keeps_cache and inputs.get("use_cache") is None:
            inputs["use_cache"] = False
        return self.model(**inputs, return_dict=True)


class TextVectorHead(ModelHead):
    """A head that reads one vector per text. How a text becomes a vector is part of each architecture."""

    text_template: ClassVar[str | None] = None
    """The template of special tokens that its texts need, a key of `tokenization.templates.TEMPLATES`."""
    auxiliary_loss: Any = None
    """A method `auxiliary_loss(outputs, inputs, counts)` of architectures with a loss beside the head's, or None.

    It is given what `read_texts` returned for `inputs`, and how many labels of each text count, (batch,). It returns a
    scalar, the sum of each text's mean loss times its count, or None; so the loss is still a mean over labels.
    """

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """Return the vector of each text, (batch, width): the `pooler_output` of a base model that has one.

        Raises:
            NotImplementedError: the base model has no such output: no other rule is right for all architectures.
        """
        if outputs.get("pooler_output") is None:
            raise NotImplementedError(
                f"{type(self).__name__} must define pool: how its outputs become one vector per text"
            )
        return outputs.pooler_output

    def read_texts(self, inputs: dict[str, Any]) -> tuple[Any, Tensor]:
        """Return the outputs of the base model for `inputs`, and the vector of each text, (batch, width)."""
        outputs = self.base_model_outputs(**inputs)
        return outputs, self.pool(outputs, inputs["attention_mask"])

    def with_auxiliary_loss(
        self, loss: Tensor, outputs: Any, inputs: dict[str, Any], counts: Tensor, items: Tensor | int | None
    ) -> Tensor:
        """Return `loss`, a mean over `items` labels or over this batch's, plus the auxiliary loss over as many."""
        auxiliary = self.auxiliary_loss(outputs, inputs, counts)
        return loss if auxiliary is None else loss + mean_over_items(auxiliary, counts.sum(), items)


def _with_arguments_of(
    inner: Callable[..., Any], forward: Callable[..., Any], extra: tuple[str, ...]
) -> Callable[..., Any]:
    *own, keywords = signature(forward).parameters.values()
    own += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in extra]
    names = {parameter.name for parameter in own}
    handed_on = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in signature(inner).parameters.values()
        if parameter.name not in names and parameter.kind is not Parameter.VAR_KEYWORD
    ]

    keeps_state = "past_key_values" in {parameter.name for parameter in (*own, *handed_on)}

    @wraps(forward)
    def named_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return forward(self, *args, **(with_past_key_values(kwargs) if keeps_state else kwargs))

    named_forward.passes_on_to = inner  # type: ignore[attr-defined]
    named_forward.__signature__ = signature(forward).replace(parameters=[*own, *handed_on, keywords])  # type: ignore
    return named_forward
