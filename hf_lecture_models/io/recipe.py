# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recipes: every choice of a training run as one flat dataclass, read from YAML, each field overridable by name."""

import dataclasses
import difflib
import math
import os
import re
import textwrap
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

RecipeType = TypeVar("RecipeType", bound="Recipe")


class _Loader(yaml.SafeLoader):
    """Reads 1e-06 as a number, as YAML 1.2 and Python do; in YAML 1.1 numbers with an exponent need a point."""


class _Dumper(yaml.SafeDumper):
    """Puts quotes around a text that `_Loader` would read as a number."""


for _kind in (_Loader, _Dumper):
    _kind.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
    )


def read_yaml(text: str) -> Any:
    """Return the value of a text in YAML.

    >>> read_yaml("{ridge: 1e-06, name: '1e5'}")
    {'ridge': 1e-06, 'name': '1e5'}

    Raises:
        yaml.YAMLError: it is not YAML.
        RecursionError: its brackets are nested too deeply.
    """
    return yaml.load(text, _Loader)


def write_yaml(value: Any) -> str:
    """Return YAML, which `read_yaml` reads as `value`.

    >>> print(write_yaml({"ridge": 1e-06, "name": "1e5"}), end="")
    ridge: 1.0e-06
    name: '1e5'
    """
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def setting(
    default: Any, help: str, choices: tuple[str, ...] = (), free: bool = False, least: float | None = None
) -> Any:
    """Declare a field of a recipe.

    Args:
        default: its value where the recipe says nothing; None also for a field whose type has no None, where the
            class's `__post_init__` puts the value that suits the others.
        help: one line for `--help`.
        choices: the allowed values, if they are few.
        free: True where a resumed run may change it, because the weights do not depend on it.
        least: the smallest allowed number.
    """
    metadata = {"help": help, "choices": choices, "free": free, "least": least}
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(kw_only=True)
class Recipe:
    """Named choices, each declared by `setting`; their types and values are checked when a recipe is made."""

    def __post_init__(self) -> None:
        kinds = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is None and field.default is None:
                continue
            value = coerced(getattr(self, field.name), kinds[field.name], field.name)
            setattr(self, field.name, value)
            choices, least = field.metadata["choices"], field.metadata["least"]
            if choices and value is not None and value not in choices:
                allowed = ", ".join(name or repr(name) for name in choices)
                raise ValueError(f"recipe: {field.name} must be one of {allowed}, not {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"recipe: {field.name} must be a finite number, not {value!r}")
            if least is not None and value is not None and value < least:
                raise ValueError(f"recipe: {field.name} must be at least {least}, not {value!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, as YAML and JSON hold them."""
        return dataclasses.asdict(self)


def load_recipe(
    path: str | os.PathLike[str] | None,
    overrides: Mapping[str, Any] | None = None,
    *,
    recipe_class: type[RecipeType],
    base: Mapping[str, Any] | None = None,
) -> RecipeType:
    """Read a YAML recipe and lay `overrides` over it; a dotted name reaches into a mapping (`model.hidden_size`).

    Args:
        path: the file; None: a recipe of `overrides` alone.
        base: values of fields that the file does not have.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a mapping, or a field is unknown or has an impossible value.
    """
    values = dict(base or {}) | ({} if path is None else read_values(path))
    known = [field.name for field in dataclasses.fields(recipe_class)]
    for name, value in (overrides or {}).items():
        if "." in name:
            _override_within(values, name, value, {**values, **(overrides or {})}, recipe_class)
        else:
            values[name] = value
    for name in values:
        if name not in known:
            raise ValueError(f"{path or 'recipe'}: {unknown_name(str(name), known)}")
    return recipe_class(**values)


def _override_within(
    values: dict[str, Any], name: str, value: Any, given: Mapping[str, Any], recipe_class: type[Recipe]
) -> None:
    """Set the item of a mapping that a dotted name names."""
    mapping = name.partition(".")[0]
    if (field := recipe_class.__dataclass_fields__.get(mapping)) is not None:
        values.setdefault(mapping, _beneath_overrides(field, given))
    # A mapping of texts or numbers holds no mapping: `label_names.U.S.` is the label "U.S.".
    kind = typing.get_type_hints(recipe_class).get(mapping)
    is_flat = any(typing.get_args(one) in ((str, str), (str, float)) for one in (kind, *typing.get_args(kind)))
    *parents, last = path = name.split(".", 1 if is_flat else -1)
    for parent in parents:
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise ValueError(f"recipe: {'.'.join(path)} reaches into {parent}, which is {values!r} and no mapping")
    values[last] = value


def _beneath_overrides(field: dataclasses.Field[Any], given: Mapping[str, Any]) -> Any:
    """Return the mapping that dotted names are laid over where the recipe has none.

    It is the field's default, but {} where they choose another type, whose fields are others, or change a checkpoint.
    """
    default = default_of(field)
    for key in ("model_type", "type") if isinstance(default, dict) else ():
        is_other = given.get(f"{field.name}.{key}", default.get(key)) != default.get(key)
        if is_other or (key in default and given.get("from_pretrained")):
            return {}
    return default


def read_values(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the values in a recipe's file, as they are.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not YAML, or not a mapping.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no recipe {path}")
    try:
        values = read_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a YAML file: {error}") from error
    except RecursionError:
        raise ValueError(f"{path} is no recipe: its brackets are nested too deeply; restore the file") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold `name: value` lines, not {type(values).__name__}")
    return values


def parse_overrides(
    arguments: Sequence[str], recipe_class: type[Recipe] | None = None, switches: Collection[str] = ()
) -> dict[str, Any]:
    """Return values given as `--name value` or `--name=value`, read as YAML reads them.

    >>> parse_overrides(["--epochs", "3", "--model.hidden_size=200", "--clip_norm", "null"])
    {'epochs': 3, 'model.hidden_size': 200, 'clip_norm': None}
    >>> parse_overrides(["--streaming", "--epochs", "3"], switches=["streaming"])
    {'streaming': True, 'epochs': 3}

    Args:
        recipe_class: its fields that are true or false may stand without a value, which is true then.
        switches: more names of this kind.
    """
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        name, equals, text = rest.pop(0).partition("=")
        if not name.startswith("--") or len(name) == 2:
            raise ValueError(f"expected --name value, got {name!r}; the recipe's file goes first")
        if not equals:
            is_alone = not rest or rest[0].startswith("--")
            if is_alone and (name[2:] in switches or _is_switch(name[2:], recipe_class)):
                values[name[2:]] = True
                continue
            if not rest:
                raise ValueError(f"{name} needs a value: {name} VALUE")
            text = rest.pop(0)
        try:
            values[name[2:]] = read_yaml(text) if text else ""
        except yaml.YAMLError:
            raise ValueError(
                f"{name}: {text!r} is no YAML value; put quotes around a text that has its signs"
            ) from None
        except RecursionError:
            raise ValueError(f"{name}: the brackets of its value are nested too deeply") from None
    return values


def _is_switch(name: str, recipe_class: type[Recipe] | None) -> bool:
    kind = typing.get_type_hints(recipe_class).get(name) if recipe_class else None
    return bool in (kind, *typing.get_args(kind))


def describe_fields(recipe_class: type[Recipe]) -> str:
    """Return the fields with their defaults, for `--help`."""
    lines = ["fields of a recipe, each also an option --name value [default]:"]
    for field in dataclasses.fields(recipe_class):
        default = default_of(field)
        shown = "none" if default in (None, "", [], {}) else yaml.safe_dump(default, default_flow_style=True, width=999)
        shown = shown.removesuffix("...\n").strip()  # which ends a document that is one number or word
        choices = f" ({', '.join(field.metadata['choices'])})" if field.metadata["choices"] else ""
        text = f"{field.metadata['help']}{choices} [{shown}]"
        lines.append(textwrap.fill(text, 118, initial_indent=f"  {field.name:<24} ", subsequent_indent=" " * 27))
    return "\n".join(lines)


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field."""
    factory: Any = field.default_factory
    return field.default if factory is dataclasses.MISSING else factory()


def unknown_name(name: str, names: Sequence[str], kind: str = "field") -> str:
    """Return the message for a name that is not among `names`, with the one that may be meant."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"no {kind} {name}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}")


def coerced(value: Any, kind: Any, name: str) -> Any:
    """Return `value` as the annotated type; for a float, an integer and a text of a number are numbers, too.

    Raises:
        ValueError: it is of another type; the message names the field `name`.
    """
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in options:
        return None
    target = options[0]
    if str in options and isinstance(value, str):
        return value
    origin = typing.get_origin(target) or target
    if origin is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except ValueError:
            pass
    if origin is list and isinstance(value, str | int) and not isinstance(value, bool):
        value = _listed(value, typing.get_args(target)[0])
    if isinstance(value, origin) and not (origin is int and isinstance(value, bool)):
        for item in value if origin is list else ():
            coerced(item, typing.get_args(target)[0], f"each of {name}")
        return value
    raise ValueError(f"recipe: {name} must be {getattr(origin, '__name__', origin)}, not {value!r}")


def _listed(value: str | int, kind: Any) -> list[Any]:
    """Return a list given as one value: a text, a number, or a text of numbers with commas between them."""
    if kind is str or isinstance(value, int):
        return [value]
    return [int(part) if part.strip().isdecimal() else part for part in value.split(",")]
