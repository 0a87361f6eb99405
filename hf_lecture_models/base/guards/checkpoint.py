# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Checks of a checkpoint's weights against its configuration, before they are read."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.base.travelling_guards import absent_modules
from hf_lecture_models.io.compat_files import (
    WeightConverter,
    WeightRenaming,
    get_device,
    load_state_dict,
    rename_source_key,
)


def compare_with_files(model: Any, files: list[str], load_config: Any) -> dict[str, Any]:
    """Find out from the headers of files what transformers reports after it has loaded them.

    Args:
        model: as built from the configuration, on the meta device.
        files: safetensors files, or pickles of torch's.
        load_config: transformers' own description of the load.

    Returns:
        `missing_keys`: names of the model that no file holds; `mismatched_keys`: triples of a name, the shape in the
        file and the model's shape; `mismatched_types`: the same of types, where one is of integers and the other of
        floating numbers. The shapes of tensors that are converted while they are loaded are not compared.
    """
    expected = model.state_dict()
    mapping = copy.deepcopy(load_config.weight_mapping or [])
    renamings = [entry for entry in mapping if isinstance(entry, WeightRenaming)]
    converters = {pattern: e for e in mapping if isinstance(e, WeightConverter) for pattern in e.source_patterns}
    found, mismatched, other_types = set(), set(), set()
    parts: dict[str, set[str]] = {}
    for stored_name, stored in _headers(files, load_config.weights_only):
        rules = (renamings, list(converters.values()))
        name, pattern = rename_source_key(stored_name, *rules, model.base_model_prefix, expected)
        if name not in expected and stored_name in expected:
            name, pattern = stored_name, None
        if name in expected and _kind(stored) != _kind(expected[name]):
            other_types.add((name, stored.dtype, expected[name].dtype))
        if pattern is not None:
            parts.setdefault(name, set()).add(pattern)
            # A matrix is complete as soon as its last part is found.
            if parts[name] == set(converters[pattern].source_patterns):
                targets = converters[pattern].target_patterns
                found |= {name.replace(targets[0], target) for target in targets}
        elif name in expected:
            found.add(name)
            if stored.shape != expected[name].shape:
                mismatched.add((name, stored.shape, expected[name].shape))
    for name, other in model.all_tied_weights_keys.items():
        if found & {name, other}:
            found |= {name, other}
    missing = expected.keys() - found
    return {"missing_keys": missing, "mismatched_keys": mismatched, "mismatched_types": other_types}


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    return "floating" if tensor.is_floating_point() else "complex" if tensor.is_complex() else "integer"


def _headers(files: list[str], weights_only: bool) -> Iterator[tuple[str, Tensor]]:
    for file in files:
        is_pickle = not file.endswith(".safetensors")
        try:
            contents = load_state_dict(file, map_location="meta", weights_only=weights_only)
            if is_pickle and not (isinstance(contents, dict) and all(isinstance(name, str) for name in contents)):
                raise TypeError(f"it holds a {type(contents).__name__}, no named tensors")
        except FileNotFoundError:
            raise
        except Exception as error:  # what a damaged pickle raises is anything
            if not is_pickle:
                raise
            raise ValueError(
                f"{file} cannot be read: it is damaged, or holds more than tensors ({type(error).__name__}: "
                f"{str(error)[:80]}); restore the file, or get the model as safetensors"
            ) from error
        yield from contents.items()


def check_tied_weights(model: Any, device_map: dict[str, Any] | None) -> None:
    """Raise a ValueError where a device map keeps one of two tied weights on the disk, but not the other.

    accelerate then looks for the second one in vain.
    """
    for name, other in model.all_tied_weights_keys.items() if device_map else ():
        places = [get_device(device_map, tied) for tied in (name, other)]
        if places[0] != places[1] and "disk" in places:
            raise ValueError(
                f"the device_map puts {name} on {places[0]} and {other} on {places[1]}, but they are one matrix "
                "(tie_word_embeddings=True); name one place for both, or let device_map='auto' choose"
            )


def refuse_unloadable(model: Any, tensors: Mapping[str, Tensor] | None = None) -> None:
    """Raise a ValueError that names a weight which could not be saved, or not be loaded again.

    Args:
        model: as it is to be saved.
        tensors: the weights to save; None: the model's own, which must not be offloaded.
    """
    if tensors is None:
        tensors = dict(model.named_parameters()) | dict(model.named_buffers())
        for name, tensor in tensors.items():
            if tensor.is_meta:
                raise ValueError(
                    f"{name} is on the meta device, without values, and cannot be saved; if accelerate has offloaded "
                    "the model, take it back first: accelerate.hooks.remove_hook_from_submodules(model)"
                )
    with torch.device("meta"):
        asked = type(model)(model.config)
    expected = asked.state_dict()
    # What is tied counts once.
    lacking = dict(asked.named_parameters()).keys() - dict(model.named_parameters()).keys()
    unknown = model.state_dict().keys() - expected.keys()
    if lacking or unknown:
        _refuse_other_names(model, expected.keys(), lacking, unknown)
    for name in sorted(expected.keys() & tensors.keys()):
        if tensors[name].shape != expected[name].shape:
            raise ValueError(
                f"{name} has shape {tuple(tensors[name].shape)}, but the configuration, which was changed after the "
                f"model was built, asks for {tuple(expected[name].shape)}: saved so, the model could not be loaded "
                "again; set the configuration back, or build a new model from it"
            )
    refuse_different(model, tensors)


def _refuse_other_names(model: Any, names: Iterable[str], lacking: set[str], unknown: set[str]) -> None:
    """Raise a ValueError that names one of `lacking` or `unknown`, unless loading passes over all of them."""
    lacking = lacking - absent_modules(model, names, lacking)
    ignored = getattr(model, "_keys_to_ignore_on_load_unexpected", None) or ()
    unknown = {name for name in unknown if not any(re.search(pattern, name) for pattern in ignored)}
    for name in sorted(lacking) or sorted(unknown):
        raise ValueError(
            f"the configuration asks for {'a' if lacking else 'no'} weight {name}, which the model "
            f"{'lacks' if lacking else 'has'}: one of them was changed after the model was built, and saved so, it "
            "could not be loaded again; set the configuration back, or build a new model from it"
        )


class OtherShapesError(ValueError, RuntimeError):
    """A weight of another shape than the configuration's: a RuntimeError, as transformers raises, and a ValueError."""


def refuse_other_shapes(info: dict[str, Any], source: str) -> None:
    """Raise an `OtherShapesError` that names the first tensor in `mismatched_keys`, if there is one."""
    for name, found, expected in sorted(info["mismatched_keys"]):
        raise OtherShapesError(
            f"{source}: {name} has shape {tuple(found)} in the weights file, but the configuration asks "
            f"for {tuple(expected)}; restore the file that was saved with it, or, if a new head is meant, load with "
            "ignore_mismatched_sizes=True"
        )


def refuse_other_types(info: dict[str, Any], source: str) -> None:
    """Raise a ValueError that names the first tensor in `mismatched_types`, if there is one."""
    for name, found, expected in sorted(info["mismatched_types"], key=str):
        kinds = [str(dtype).removeprefix("torch.") for dtype in (found, expected)]
        raise ValueError(
            f"{source}: {name} is of type {kinds[0]} in the weights file, but the model's is {kinds[1]}: the file is "
            "damaged, or of another model; restore the file that was saved with the configuration"
        )


def refuse_different(model: Any, tensors: Mapping[str, Tensor]) -> None:
    """Raise a ValueError that names two of the `tensors` to save which are tied in `model`, but differ."""
    for name, other in model.get_expanded_tied_weights_keys(all_submodels=True).items():
        one, two = tensors.get(name), tensors.get(other)
        if one is None or two is None or one is two:
            continue
        if one.shape != two.shape or not bool((one == two.to(one.device)).all()):
            raise ValueError(
                f"{name} and {other} differ, but the configuration makes them one matrix (tie_word_embeddings=True): "
                "saved so, the model could not be loaded again; set model.config.tie_word_embeddings = False, or tie "
                "them with model.tie_weights()"
            )
