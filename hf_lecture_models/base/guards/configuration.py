# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A configuration's checks: values, contradictions, misspelt names, saved files.

A published copy has the small ones of base/travelling_guards.py instead.
"""

import json
import math
import os
import warnings
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hf_lecture_models.base.travelling_guards import LARGEST_DEPTH, LARGEST_SIZE, LARGEST_WIDTH
from hf_lecture_models.base.travelling_guards import ConfigGuards as TravellingGuards
from hf_lecture_models.io.compat import StrictDataclassError
from hf_lecture_models.io.compat_files import GENERATION_PARAMETERS
from hf_lecture_models.io.saved_json import check_fields, check_saved_files

# Names from this similarity on are taken for a typo.
_NEAR_MISS = 0.85
CONFIG_FILE = "config.json"
ALIASES = {
    "hidden_size": ("n_embd", "d_model"),
    "num_hidden_layers": ("num_layers", "n_layers", "n_layer"),
    "num_attention_heads": ("num_heads", "n_heads", "n_head"),
    "intermediate_size": ("n_inner", "d_ff", "ffn_dim"),
    "max_position_embeddings": ("n_positions",),
    "hidden_act": ("activation_function",),
    "layer_norm_eps": ("layer_norm_epsilon",),
    "initializer_range": ("init_std",),
}
"""Field -> its names in configurations of transformers, which are read as the field where a configuration has it."""
# What transformers and other programs read of any configuration, beside the fields that it declares.
_READ_BY_ALL = frozenset(
    {
        "attn_implementation",
        "auto_map",
        "custom_pipelines",
        "experts_implementation",
        "gradient_checkpointing",
        "per_layer_config",
        "quantization_config",
        "target_tokenizer",
        "transformers_weights",
        "use_cache",  # transformers' Trainer writes it into every configuration
    }
)
_PROBLEM_TYPES = (None, "regression", "single_label_classification", "multi_label_classification")


LARGEST_VALUES = {
    "num_hidden_layers": LARGEST_DEPTH,
    "num_attention_heads": 2**12,
    "num_labels": 2**15,
    "decoder_layers": LARGEST_DEPTH,
    "decoder_attention_heads": 2**12,
    **dict.fromkeys(("hidden_size", "embedding_size", "intermediate_size", "decoder_ffn_dim"), LARGEST_WIDTH),
}
"""The largest value of a field, in any configuration that does not have another one."""


class ConfigGuards(TravellingGuards):
    """A configuration that refuses unknown values, contradictions and misspelt names.

    An argument that is not a field is one of four things: another name of a field (`ALIASES`, `attribute_map`), read as
    the field; a parameter of generation, refused; a name close to a field's, refused; any other, kept and saved with a
    warning that the model does not read it.
    """

    foreign_model_types: ClassVar[tuple[str, ...]] = ()
    """Model types of official checkpoints that this configuration reads; their unknown fields are dropped."""
    positive_fields: ClassVar[tuple[str, ...]] = ()
    """Sizes: integers that must be at least 1 (None, where the type admits it, passes)."""
    fixed_fields: ClassVar[dict[str, str]] = {}
    """Field of official checkpoints that changes what is computed -> the program that computes its other values. The
    class attribute of this name has the one value that is read."""
    non_negative_fields: ClassVar[tuple[str, ...]] = ()
    """Numbers that must be finite and at least 0, beside `initializer_range` and `layer_norm_eps`."""
    finite_fields: ClassVar[tuple[str, ...]] = ()
    """Numbers that must be finite, and may be negative."""
    largest_values: ClassVar[dict[str, int]] = {}
    """Field -> its largest value, checked before anything is allocated, beside `LARGEST_VALUES`; another size has
    `LARGEST_SIZE`. The size of a whole model is checked when it is built."""
    divisors: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("num_attention_heads", "decoder_attention_heads"), "hidden_size"),
        "patch_size": "image_size",
    }
    """Field -> the field that it must divide, in configurations that have both."""
    if TYPE_CHECKING:
        num_labels: int = 2  # transformers' property, which here is never None

    @property
    def travels_as(self) -> dict[str, str]:
        """Modules that a published model of this configuration does not need -> what it has in their place."""
        return {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = {field.name for field in fields(cls)}
        others = {alias: field for field, aliases in ALIASES.items() if field in names for alias in aliases}
        if "num_attention_heads" not in names:  # there a hidden size is not the width of the word vectors
            others = {alias: field for alias, field in others.items() if field != "hidden_size"}
        cls.attribute_map = {a: f for a, f in (others | cls.attribute_map).items() if a not in names}

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**(self._read_arguments(kwargs) if kwargs else {}))

    def check_values(self) -> None:
        """Check each field, then those that belong together."""
        self._is_constructed = True
        for name in self.__dataclass_fields__:
            self._check_value(name, getattr(self, name))
        self._match_labels(self.label2id)
        for name, multiple in self.divisors.items():
            part, whole = getattr(self, name, None), getattr(self, multiple, None)
            if part is not None and whole is not None and whole % part:
                raise ValueError(f"{type(self).__name__}.{multiple} is {whole}; it must be a multiple of {name}={part}")
        self.check_fields()

    def _read_arguments(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Check arguments that are not fields, and return those that transformers reads."""
        if type(self).__module__.startswith("hf_lecture_models."):
            # An exported folder names the code of its pipelines, which asks for trust; here the package's own are used.
            kwargs.pop("custom_pipelines", None)
        for name in kwargs.keys() & self.fixed_fields.keys():
            self._check_value(name, kwargs.pop(name))
        if kwargs.get("activation_function") == "swish":
            kwargs["activation_function"] = "silu"  # which transformers means by it
        if kwargs.get("num_labels") is not None:
            self._check_value("num_labels", kwargs["num_labels"])  # before as many names are made
        model_type = kwargs.pop("model_type", self.model_type)
        if model_type != self.model_type:
            return self._read_other_model(model_type, kwargs)
        self.read_aliases(kwargs)
        if str(self.transformers_version).startswith(("3.", "4.")):  # they kept parameters of generation here
            for name in sorted(kwargs.keys() & GENERATION_PARAMETERS - _READ_BY_ALL):
                if not self._is_known(name):
                    value = kwargs.pop(name)
                    warnings.warn(
                        f"{type(self).__name__} leaves out {name}={value!r}, a parameter of generation: set "
                        f"model.generation_config.{name}",
                        stacklevel=2,
                    )
        for name in kwargs:
            if not (name.startswith("_") or name in _READ_BY_ALL or self._is_known(name)):
                self._refuse_or_warn(name)
        return kwargs

    def read_aliases(self, kwargs: dict[str, Any]) -> None:
        """Take the other names of fields out of the arguments, and set the fields."""
        defaults = {field.name: field.default for field in fields(self)}
        for alias in [name for name in kwargs if name in self.attribute_map]:
            name, value = self.attribute_map[alias], kwargs.pop(alias)
            if getattr(self, name) not in (defaults[name], value):
                raise ValueError(
                    f"{type(self).__name__} is given {alias}={value!r} and {name}={getattr(self, name)!r}, which are "
                    "one field; leave one of them out"
                )
            setattr(self, name, value)

    def _read_other_model(self, model_type: str, kwargs: dict[str, Any]) -> dict[str, Any]:
        if model_type not in self.foreign_model_types:
            accepted = ", ".join((self.model_type, *self.foreign_model_types))
            raise ValueError(
                f"{type(self).__name__} cannot read a checkpoint of model_type {model_type!r}; it reads {accepted}. "
                "Load the checkpoint with its own class, or with an Auto class."
            )
        return {name: value for name, value in kwargs.items() if self._is_known(name)}

    def __setattr__(self, name: str, value: Any) -> None:
        derived = getattr(type(self), name, None)
        if isinstance(derived, property) and derived.fset is None:
            raise ValueError(f"{name} of {type(self).__name__} follows from its other fields; leave it out")
        # At construction every field is set first and checked together in __post_init__.
        is_constructed = getattr(self, "_is_constructed", False)
        if is_constructed:
            self._check_value(self.attribute_map.get(name, name), value)
        super().__setattr__(name, value)
        if is_constructed and name == "id2label":
            self._match_labels(None)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load as transformers does, official checkpoints without its warning; an error names the file at fault.

        For another `model_type` than the class's own, transformers warns that loading can yield errors.
        """
        check_saved_files(Path(pretrained_model_name_or_path, kwargs.get("subfolder") or ""), CONFIG_FILE)
        try:
            if cls.foreign_model_types and not args:
                values, rest = cls.get_config_dict(pretrained_model_name_or_path, **kwargs)
                if values.get("model_type") in (cls.model_type, *cls.foreign_model_types):
                    return cls.from_dict(values, **rest)
            return super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        except (TypeError, ValueError, StrictDataclassError):
            values, _ = cls.get_config_dict(pretrained_model_name_or_path, **kwargs)
            _refuse_file(cls, values, os.path.join(pretrained_model_name_or_path, CONFIG_FILE))
            raise  # what the caller gives in place of the file's fields is at fault

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Read as transformers does; an error names the file at fault, if a folder is read."""
        values, folder = dict(config_dict), kwargs.get("name_or_path")
        if not kwargs.get("return_unused_kwargs"):  # transformers drops them
            for name in kwargs.keys() - _READ_BY_ALL:
                if not (name.startswith("_") or cls._is_known(name)):
                    cls._refuse(name)
        try:
            check_fields(values, CONFIG_FILE, cls.__name__)
            return super().from_dict(config_dict, **kwargs)
        except (TypeError, ValueError, StrictDataclassError):
            if folder is not None:
                _refuse_file(cls, values, os.path.join(folder, CONFIG_FILE))
            raise

    def save_pretrained(self, save_directory: Any, push_to_hub: bool = False, **kwargs: Any) -> None:
        """Save as transformers does, but never what could not be loaded.

        Raises:
            ValueError: as `check_loadable`; nothing is written.
        """
        self.check_loadable()
        super().save_pretrained(save_directory, push_to_hub, **kwargs)

    def check_loadable(self) -> None:
        """Read the values back as a config.json would be: assignments may have left what no configuration takes.

        Raises:
            ValueError: fields contradict each other, or an attribute's name is misspelt.
        """
        try:
            type(self).from_dict(json.loads(self.to_json_string()))
        except (TypeError, ValueError, StrictDataclassError) as error:
            name = type(self).__name__
            raise ValueError(f"this {name} could not be loaded again, so it is not saved: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the fields without `auto_map`, which only `hub.export` writes, together with its code."""
        values = super().to_dict()
        values.pop("_is_constructed", None)
        # A flattened copy of this class lives under another module name and must keep pointing at its code.
        if type(self).__module__.startswith("hf_lecture_models."):
            values.pop("auto_map", None)
        return values

    @classmethod
    def _is_known(cls, name: str) -> bool:
        return name in cls.attribute_map or hasattr(cls, name) or name in {f.name for f in fields(cls)}

    @classmethod
    def _names(cls) -> list[str]:
        return sorted({f.name for f in fields(cls)} | set(cls.attribute_map) | {"num_labels"})

    @classmethod
    def _refuse(cls, given: str) -> None:
        """Raise a ValueError for a parameter of generation, and for a name that is like a field's."""
        if given in GENERATION_PARAMETERS:
            raise ValueError(
                f"{cls.__name__} has no field {given!r}: it is a parameter of generation; give it to generate(), or "
                f"set model.generation_config.{given}"
            )
        for nearest in get_close_matches(given, cls._names(), n=1, cutoff=_NEAR_MISS):
            raise ValueError(f"{cls.__name__} has no field {given!r}; did you mean {nearest!r}?")

    def _refuse_or_warn(self, given: str) -> None:
        """Raise a ValueError as `_refuse`, and warn of any other name."""
        own = type(self).__name__
        self._refuse(given)
        if given.endswith("_token_id"):
            return  # transformers' Trainer writes the tokenizer's into every configuration
        like = get_close_matches(given, self._names(), n=1)
        hint = f"; the field most like it is {like[0]!r}" if like else ""
        warnings.warn(f"{own} keeps {given!r}, but the model does not read it{hint}", stacklevel=2)

    def _check_value(self, name: str, value: Any) -> None:
        """Raise a ValueError if a field cannot have this value."""
        field, rule, own = f"{type(self).__name__}.{name}", None, getattr(type(self), name, None)
        if name == "is_encoder_decoder" and value != own:
            raise ValueError(f"{field} is always {own}; leave it out")
        if name == "id2label" and (not value or sorted(map(int, value)) != list(range(len(value)))):
            raise ValueError(
                f"{field} names the classes {list(value or ())}; it must name 0, 1, 2 and so on, at least one "
                "(num_labels is their number)"
            )
        allowed = _PROBLEM_TYPES if name == "problem_type" else self.allowed_values.get(name)
        if allowed is not None and value not in allowed:
            rule = f"it must be one of {', '.join(map(repr, allowed))}"
        elif name in self.fixed_fields and value not in (None, own):
            rule = (
                f"this model computes {name}={own!r} alone: leave the field out, or load the checkpoint with "
                f"{self.fixed_fields[name]}"
            )
        elif isinstance(value, int | float):
            rule = self._broken_rule(name, value)
        if rule is not None:
            raise ValueError(f"{field} is {value!r}; {rule}")
        if value is not None and name.endswith("_token_id"):
            self._check_token_id(name, value)

    def _broken_rule(self, name: str, value: float) -> str | None:
        """Return the rule for this field that a number breaks, if any."""
        if "dropout" in name and not 0 <= value < 1:
            return "it must be at least 0 and below 1"
        if name in ("initializer_range", "layer_norm_eps", *self.non_negative_fields) and not 0 <= value < math.inf:
            return "it must be finite and at least 0"
        if name in self.finite_fields and not math.isfinite(value):
            return "it must be finite"
        if name in self.positive_fields and value < 1:
            return "it must be at least 1"
        most = LARGEST_SIZE if name in self.positive_fields else math.inf
        largest = self.largest_values.get(name, LARGEST_VALUES.get(name, most))
        return f"at most {largest} is allowed" if value > largest else None

    def _check_token_id(self, name: str, given: int | list[int]) -> None:
        vocab_size = self._vocabulary_of(name)
        for value in given if isinstance(given, list) else [given]:
            if vocab_size is not None and not 0 <= value < vocab_size:
                raise ValueError(
                    f"{type(self).__name__}.{name} is {value}, outside the vocabulary of {vocab_size} "
                    f"(ids 0 to {vocab_size - 1}); give the tokenizer's own id and vocab_size=len(tokenizer)"
                )

    def _vocabulary_of(self, name: str) -> int | None:
        """Return the size of the vocabulary that the token with this field's id is in."""
        return getattr(self, "vocab_size", None)

    def _match_labels(self, label2id: dict[str, Any] | None) -> None:
        # transformers leaves label2id out, or as it was, where only id2label is given. Two classes may share a name.
        id2label: dict[Any, str] = self.id2label or {}
        if label2id is None:
            self.label2id = {label: int(id_) for id_, label in id2label.items()}
        for label, id_ in (label2id or {}).items():
            if id2label.get(int(id_)) != label:
                raise ValueError(
                    f"{type(self).__name__}.label2id gives {label!r} the class {id_}, which id2label calls "
                    f"{id2label.get(int(id_))!r}; leave label2id out, it follows from id2label"
                )


def _refuse_file(config_class: type[ConfigGuards], values: dict[str, Any], file: str) -> None:
    """Raise a ValueError that names the file, where its own values make no configuration."""
    try:
        config_class.from_dict(values)
    except (TypeError, ValueError, StrictDataclassError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}") from error
