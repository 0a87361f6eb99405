# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ELMo's official files, `options.json` and `weights.hdf5`: `ElmoModel.from_allennlp`, bound by `__init__.py`.

`find_allennlp` finds the two, and `convert_from_allennlp` writes a model's folder of them.

The files are bilm-tf's. Their LSTM orders its gates i, j, f, o (torch: i, f, g, o), multiplies by rows [u; h], and adds
1 to the forget gate's bias when it runs. Their highway layers call the gate of the changed share "carry". Their first
character is our id 1, since 0 is padding.

Before an array is read, it is checked: it must be in the file itself, hold numbers, and have the shape that the options
give. Arrays of the network that the options do not name, such as those of another layer, are an error.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.models.elmo.configuration_elmo import ElmoConfig
from hf_lecture_models.models.elmo.modeling_elmo import ElmoModel
from hf_lecture_models.tokenization.elmo import ElmoTokenizer

_Path = str | os.PathLike[str]
_LARGEST_OPTIONS = 2**20
# The path of each option, and the configuration field that it sets.
_OPTIONS = {
    ("lstm", "dim"): "hidden_size",
    ("lstm", "projection_dim"): "projection_size",
    ("lstm", "n_layers"): "num_hidden_layers",
    ("lstm", "cell_clip"): "cell_clip",
    ("lstm", "proj_clip"): "projection_clip",
    ("lstm", "use_skip_connections"): "use_skip_connections",
    ("char_cnn", "embedding", "dim"): "char_embedding_size",
    ("char_cnn", "filters"): "char_filters",
    ("char_cnn", "max_characters_per_token"): "max_characters_per_token",
    ("char_cnn", "n_highway"): "num_highway_layers",
    ("char_cnn", "activation"): "char_activation",
}
_MISSING = object()
_SUFFIXES = (".hdf5", ".h5")
_MAY_LACK = {"cell_clip": None, "projection_clip": None, "use_skip_connections": False, "char_activation": "relu"}


def from_allennlp(cls: type[ElmoModel], options_json: _Path, weights_hdf5: _Path) -> ElmoModel:
    """Read an official model: `ElmoModel.from_allennlp(options_json, weights_hdf5)`, which needs h5py.

    `ElmoTokenizer()` encodes its words. The files have neither the softmax nor the words that it predicts.

    Args:
        cls: ElmoModel.
        options_json: the shape of the model.
        weights_hdf5: its weights.

    Returns:
        The model in evaluation mode, in float32.

    Raises:
        ImportError: h5py is not installed.
        OSError: a file cannot be read.
        ValueError: the options are not ELMo's, or name another shape than the weights have; an array is missing, links
            to another file, holds something else than numbers, or a value that is NaN or infinite.
    """
    config = ElmoConfig(**_fields(options_json))
    arrays = _read_arrays(weights_hdf5, _shapes(config))
    with torch.device("meta"):
        model = cls(config)
    state = _state(config, arrays)
    model.load_state_dict(
        {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in state.items()}, assign=True
    )
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.eval()


def find_allennlp(source: _Path) -> tuple[Path, Path] | None:
    """Return the options and the weights that a path means: a `weights.hdf5`, or a folder that has one and no model.

    The options are beside the weights, `options.json`, or `X_options.json` beside `X_weights.hdf5`.

    >>> find_allennlp("lm.arpa") is None
    True

    Returns:
        None for any other path.

    Raises:
        FileNotFoundError: there are weights without options.
        ValueError: a folder has several files of weights.
    """
    weights = Path(source)
    if weights.is_dir() and not (weights / "config.json").exists():
        found = sorted(path for path in weights.iterdir() if path.suffix.lower() in _SUFFIXES)
        found = [path for path in found if "weights" in path.name] or found
        if len(found) > 1:
            raise ValueError(f"{source} has {len(found)} files of weights; name one of them, such as {found[0]}")
        weights = found[0] if found else weights
    if weights.suffix.lower() not in _SUFFIXES or not weights.is_file():
        return None
    names = dict.fromkeys((weights.stem.replace("weights", "options") + ".json", "options.json"))
    for name in names:
        if (options := weights.with_name(name)).is_file():
            return options, weights
    raise FileNotFoundError(f"{weights} has no {' or '.join(names)} beside it, which says its shape; put it there")


def convert_from_allennlp(options_json: _Path, weights_hdf5: _Path, folder: _Path) -> ElmoModel:
    """Write a model's folder, with its tokenizer, from AllenNLP's files; errors as of `from_allennlp`.

    Returns:
        The model.
    """
    model = from_allennlp(ElmoModel, options_json, weights_hdf5)
    tokenizer = ElmoTokenizer(max_characters_per_token=model.config.max_characters_per_token)
    with staged_folder(folder) as stage:
        model.save_pretrained(stage)
        tokenizer.save_pretrained(stage)
    return model


def _fields(path: _Path) -> dict[str, Any]:
    """The fields of the configuration that the options name."""
    if (size := Path(path).stat().st_size) > _LARGEST_OPTIONS:
        raise ValueError(f"{path} has {size} bytes; the options of an ELMo model are a few hundred")
    try:
        options = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path} is not whole JSON ({error}); copy it again") from None
    fields: dict[str, Any] = {}
    for keys, name in _OPTIONS.items():
        value: Any = options
        for key in keys:
            value = value.get(key, _MISSING) if isinstance(value, Mapping) else _MISSING
        if value is _MISSING and name not in _MAY_LACK:
            raise ValueError(f"{path} has no {'.'.join(keys)}; name the options.json of an ELMo model with characters")
        fields[name] = _MAY_LACK[name] if value is _MISSING else value
    _check_types(path, fields)
    # A bound of 0 means no bound.
    return fields | {name: fields[name] or None for name in ("cell_clip", "projection_clip")}


def _check_types(path: _Path, fields: Mapping[str, Any]) -> None:
    pairs = fields["char_filters"]
    integers = [fields[name] for name in fields if name not in (*_MAY_LACK, "char_filters")]
    integers += [number for pair in pairs for number in pair] if _are_pairs(pairs) else [None]
    if not all(type(number) is int for number in integers):
        raise ValueError(f"{path}: sizes are integers, and char_cnn.filters pairs of them; copy the file again")


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(pair, list) for pair in value)


def _shapes(config: ElmoConfig) -> dict[str, tuple[int, ...]]:
    """The arrays that the file must hold."""
    embedding, filters, size = config.char_embedding_size, config.num_filters, config.projection_size
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (config.vocab_size - 1, embedding)}
    for index, (width, number) in enumerate(config.char_filters):
        shapes |= {f"CNN/W_cnn_{index}": (1, width, embedding, number), f"CNN/b_cnn_{index}": (number,)}
    for index in range(config.num_highway_layers):
        for gate in ("carry", "transform"):
            shapes |= {f"CNN_high_{index}/W_{gate}": (filters, filters), f"CNN_high_{index}/b_{gate}": (filters,)}
    shapes |= {"CNN_proj/W_proj": (filters, size), "CNN_proj/b_proj": (size,)}
    for direction in range(2):
        for layer in range(config.num_hidden_layers):
            cell, gates = _cell(direction, layer), 4 * config.hidden_size
            shapes |= {f"{cell}/W_0": (2 * size, gates), f"{cell}/B": (gates,)}
            shapes[f"{cell}/W_P_0"] = (config.hidden_size, size)
    return shapes


def _cell(direction: int, layer: int) -> str:
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def _read_arrays(path: _Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    try:
        import h5py
    except ImportError:
        raise ImportError("weights.hdf5 needs h5py: pip install -e '.[train]', or pip install h5py") from None
    Path(path).stat()  # its own error, where there is no file
    try:
        with h5py.File(path, "r") as file:
            arrays = {name: _read_array(h5py, file, path, name, shape) for name, shape in shapes.items()}
            _refuse_other_arrays(h5py, file, path, shapes)
            return arrays
    except _Refused:
        raise
    except Exception as error:  # h5py raises OSError, KeyError, RuntimeError and others, depending on the damaged byte
        raise ValueError(f"{path} is no whole HDF5 file ({error}); copy it again") from None


def _refuse_other_arrays(h5py: Any, file: Any, path: _Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise an error if the network has more than the options say: another layer or filter, or peephole connections."""
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    if others := [name for name in names if name.startswith(("CNN", "RNN")) and name not in shapes]:
        raise _Refused(
            f"{path} has {others[0]}, which the options do not name; the options are of another model, or the model is "
            "no ELMo"
        )


class _Refused(ValueError):
    """An error whose message names the file and the array."""


def _read_array(h5py: Any, file: Any, path: _Path, name: str, shape: tuple[int, ...]) -> np.ndarray:
    parts, place = name.split("/"), file
    for index, part in enumerate(parts):
        link = place.get(part, getlink=True) if isinstance(place, h5py.Group) else None
        where = "/".join(parts[: index + 1])
        if link is None:
            raise _Refused(f"{path} has no {where}; the options and the weights are of different models")
        if not isinstance(link, h5py.HardLink):
            raise _Refused(f"{path}: {where} is a link to elsewhere, which is not followed; restore the file")
        place = place[part]
    if not isinstance(place, h5py.Dataset) or place.dtype.kind != "f":
        raise _Refused(f"{path}: {name} is no array of floating-point numbers; restore the file")
    if place.shape != shape:
        raise _Refused(f"{path}: {name} has the shape {place.shape}, but the options ask for {shape}")
    if place.is_virtual or place.external:
        raise _Refused(f"{path}: {name} has its numbers in other files, which are not read; restore the file")
    values = place[...].astype(np.float32)
    if not np.isfinite(values).all():
        raise _Refused(f"{path}: {name} holds a value that is NaN or infinite; restore the file")
    return values


def _state(config: ElmoConfig, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays under our names, in our orders."""
    state = {"characters.embed.weight": np.pad(arrays["char_embed"], ((1, 0), (0, 0)))}
    for index in range(len(config.char_filters)):
        name = f"characters.convolutions.{index}"
        state[f"{name}.weight"] = arrays[f"CNN/W_cnn_{index}"][0].transpose(2, 1, 0)
        state[f"{name}.bias"] = arrays[f"CNN/b_cnn_{index}"]
    linear = {"projection": ("CNN_proj", "proj")}
    for index in range(config.num_highway_layers):
        for ours, theirs in (("gate", "carry"), ("transform", "transform")):
            linear[f"highways.{index}.{ours}"] = (f"CNN_high_{index}", theirs)
    for ours, (group, theirs) in linear.items():
        state |= {f"{ours}.weight": arrays[f"{group}/W_{theirs}"].T, f"{ours}.bias": arrays[f"{group}/b_{theirs}"]}
    for direction, ours in enumerate(("forwards", "backwards")):
        for layer in range(config.num_hidden_layers):
            own = {part: arrays[f"{_cell(direction, layer)}/{part}"] for part in ("W_0", "B", "W_P_0")}
            state |= {f"layers.{layer}.{ours}.rnn.{name}": array for name, array in _lstm(**own).items()}
    return state


def _lstm(W_0: np.ndarray, B: np.ndarray, W_P_0: np.ndarray) -> dict[str, np.ndarray]:
    i, j, f, o = np.split(np.vstack((W_0, B[None])).T, 4)  # (hidden, inputs + outputs + 1) each
    f = f.copy()
    f[:, -1] += 1
    gates, width = np.concatenate((i, f, j, o)), len(W_0) // 2
    return {
        "weight_ih_l0": gates[:, :width],
        "weight_hh_l0": gates[:, width:-1],
        "weight_hr_l0": W_P_0.T,
        "bias_ih_l0": gates[:, -1],
        "bias_hh_l0": np.zeros_like(gates[:, -1]),
    }
