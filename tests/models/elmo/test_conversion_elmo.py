# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""AllenNLP's files: the official fixture, a file written here against numpy, and what must be refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from hf_lecture_models import ElmoConfig, ElmoModel, ElmoTokenizer
from hf_lecture_models.models.elmo import conversion_elmo

h5py = pytest.importorskip("h5py")

OPTIONS: dict[str, Any] = {
    "lstm": {"cell_clip": 0.4, "proj_clip": 0.2, "use_skip_connections": True, "n_layers": 2, "dim": 6},
    "char_cnn": {"embedding": {"dim": 3}, "filters": [[1, 2], [3, 4]], "n_highway": 1, "n_characters": 262},
}
OPTIONS["lstm"]["projection_dim"] = 5
OPTIONS["char_cnn"] |= {"max_characters_per_token": 50, "activation": "relu"}


def cell(direction: int, layer: int) -> str:
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def random_arrays() -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, 3), "CNN_proj/W_proj": (6, 5), "CNN_proj/b_proj": (5,)}
    for index, (width, number) in enumerate(OPTIONS["char_cnn"]["filters"]):
        shapes |= {f"CNN/W_cnn_{index}": (1, width, 3, number), f"CNN/b_cnn_{index}": (number,)}
    for name in ("carry", "transform"):
        shapes |= {f"CNN_high_0/W_{name}": (6, 6), f"CNN_high_0/b_{name}": (6,)}
    for direction in (0, 1):
        for layer in (0, 1):
            own = cell(direction, layer)
            shapes |= {f"{own}/W_0": (10, 24), f"{own}/B": (24,), f"{own}/W_P_0": (6, 5)}
    generator = np.random.default_rng(0)
    return {name: generator.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def write(folder: Path, arrays: dict[str, np.ndarray], options: Any = OPTIONS) -> tuple[Path, Path]:
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    return folder / "options.json", folder / "weights.hdf5"


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def numpy_elmo(arrays: dict[str, np.ndarray], ids: np.ndarray) -> list[np.ndarray]:
    """As TensorFlow computes it from the file's own arrays, of one text (words, 50): (words, 10) of each layer."""
    characters = np.concatenate((np.zeros((1, 3)), arrays["char_embed"]))[ids]
    found = []
    for index, (width, _) in enumerate(OPTIONS["char_cnn"]["filters"]):
        kernel, bias = arrays[f"CNN/W_cnn_{index}"][0], arrays[f"CNN/b_cnn_{index}"]
        places = [np.einsum("nwe,wef->nf", characters[:, t : t + width], kernel) + bias for t in range(51 - width)]
        found.append(np.maximum(np.max(places, axis=0), 0))
    x, own = np.concatenate(found, 1), {name[11:]: array for name, array in arrays.items() if "high" in name}
    carry = sigmoid(x @ own["W_carry"] + own["b_carry"])
    x = carry * np.maximum(x @ own["W_transform"] + own["b_transform"], 0) + (1 - carry) * x
    x = x @ arrays["CNN_proj/W_proj"] + arrays["CNN_proj/b_proj"]
    layers = [[x], [x]]
    for direction in (0, 1):
        for layer in (0, 1):
            inputs = layers[direction][-1]
            outputs = lstm(arrays, cell(direction, layer), inputs[::-1] if direction else inputs)
            outputs = outputs[::-1] if direction else outputs
            layers[direction].append(outputs + inputs if layer else outputs)
    return [np.concatenate(pair, 1) for pair in zip(*layers, strict=True)]


def lstm(arrays: dict[str, np.ndarray], name: str, inputs: np.ndarray) -> np.ndarray:
    m, c, outputs = np.zeros(5), np.zeros(6), []
    for u in inputs:
        i, j, f, o = np.split(np.concatenate((u, m)) @ arrays[f"{name}/W_0"] + arrays[f"{name}/B"], 4)
        c = np.clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), -0.4, 0.4)
        m = np.clip(sigmoid(o) * np.tanh(c) @ arrays[f"{name}/W_P_0"], -0.2, 0.2)
        outputs.append(m)
    return np.stack(outputs)


def test_a_file_of_random_weights_equals_numpy(tmp_path: Path) -> None:
    arrays = random_arrays()
    model = ElmoModel.from_allennlp(*write(tmp_path, arrays))
    inputs = ElmoTokenizer()("the cat sat , Zoë said", return_tensors="pt")
    with torch.no_grad():
        found = model(**inputs, output_hidden_states=True).hidden_states
    for ours, theirs in zip(found, numpy_elmo(arrays, inputs["input_ids"][0].numpy()), strict=True):
        assert_close(ours[0].double(), torch.from_numpy(theirs), rtol=0, atol=1e-5)
    assert all(parameter.requires_grad for parameter in model.parameters())
    model.save_pretrained(tmp_path / "saved")
    loaded = ElmoModel.from_pretrained(tmp_path / "saved")
    with torch.no_grad():
        assert torch.equal(loaded(**inputs).last_hidden_state, found[-1])


@pytest.fixture
def fixture(shared_data: Path) -> Path:
    folder = shared_data.parent / "reference" / "elmo"
    if not folder.is_dir():
        pytest.skip(f"no reference at {folder}")
    return folder


def test_official_token_layer(fixture: Path) -> None:
    model = ElmoModel.from_allennlp(fixture / "options.json", fixture / "lm_weights.hdf5")
    given = (fixture / "vocab_test.txt").read_text(encoding="utf-8").split()
    with h5py.File(fixture / "elmo_token_embeddings.hdf5") as file:
        expected = torch.from_numpy(file["embedding"][...])
    ids = torch.tensor([ElmoTokenizer().convert_tokens_to_ids(given)])
    with torch.no_grad():
        found = model.word_vectors(ids)[0]
    assert len(given) == 458
    assert_close(found, expected, rtol=0, atol=1e-6)


def test_official_states_of_all_thirty_sentences(fixture: Path) -> None:
    """In three lanes of ten, whose state is carried from sentence to sentence, in both directions."""
    model = ElmoModel.from_allennlp(fixture / "options.json", fixture / "lm_weights.hdf5")
    lanes = json.loads((fixture / "sentences.json").read_text(encoding="utf-8"))
    expected = []
    for lane in range(3):
        with h5py.File(fixture / f"lm_embeddings_{lane}.hdf5") as file:
            expected.append([file[str(index)][...] for index in range(10)])
    tokenizer, state, compared = ElmoTokenizer(), None, 0
    for index in range(10):
        inputs = tokenizer([lane[index] for lane in lanes], padding=True, return_tensors="pt")
        with torch.no_grad():
            outputs = model(**inputs, past_key_values=state, use_cache=True)
        state = outputs.past_key_values
        for lane in range(3):
            real = outputs.last_hidden_state[lane][inputs["attention_mask"][lane].bool()][1:-1]
            theirs = torch.from_numpy(np.concatenate(expected[lane][index], -1))
            # Both are rounded to float32: of the largest values, 1.9, one differs by 1.07e-6.
            assert_close(real, theirs, rtol=1e-6, atol=1e-6)
            compared += 1
    assert compared == 30


def _put(name: str, make: Callable[[Any, str], Any] | None) -> Callable[[Path], None]:
    """A change of the weights' file: the array is gone, or something else stands in its place."""

    def change(folder: Path) -> None:
        (folder / "other.hdf5").write_bytes((folder / "weights.hdf5").read_bytes())
        with h5py.File(folder / "weights.hdf5", "a") as file:
            del file[name]
            if make is not None:
                make(file, name)

    return change


def _array(name: str, array: np.ndarray) -> Callable[[Path], None]:
    return _put(name, lambda file, name: file.create_dataset(name, data=array))


def _link(name: str, link: Any) -> Callable[[Path], None]:
    return _put(name, lambda file, name: file.__setitem__(name, link))


def _truncated(folder: Path) -> None:
    path = folder / "weights.hdf5"
    path.write_bytes(path.read_bytes()[:700])


def _option(keys: str, value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        options = json.loads(json.dumps(OPTIONS))
        *path, last = keys.split(".")
        place = options
        for key in path:
            place = place[key]
        place[last] = value
        (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")

    return change


BAD = {
    "missing": (_put("CNN_proj/b_proj", None), "has no CNN_proj/b_proj"),
    "missing group": (_put("RNN_1", None), "has no RNN_1; the options and the weights are of different models"),
    "shape": (_array("CNN_proj/b_proj", np.zeros(6, np.float32)), r"b_proj has the shape \(6,\), but .* \(5,\)"),
    # Of a size that no memory holds: nothing of it is stored.
    "oversized": (
        _put("char_embed", lambda file, name: file.create_dataset(name, (2**40, 3), "f4", chunks=(1024, 3))),
        r"char_embed has the shape \(1099511627776, 3\)",
    ),
    "text": (_array("char_embed", np.full((261, 3), b"x")), "char_embed is no array of floating-point numbers"),
    "nan": (_array("CNN_proj/b_proj", np.full(5, np.nan, np.float32)), "NaN or infinite"),
    "external link": (
        _link("CNN_proj", h5py.ExternalLink("other.hdf5", "/CNN_proj")),
        "CNN_proj is a link to elsewhere",
    ),
    "soft link": (_link("char_embed", h5py.SoftLink("/CNN/W_cnn_0")), "char_embed is a link to elsewhere"),
    "external numbers": (
        _put("char_embed", lambda file, name: file.create_dataset(name, (261, 3), "f4", external=[("other", 0, 3132)])),
        "has its numbers in other files",
    ),
    "truncated": (_truncated, "no whole HDF5 file"),
    "no number": (_option("lstm.dim", "6"), "sizes are integers"),
    "absurd": (_option("lstm.dim", 2**40), "hidden_size"),
    "filters": (_option("char_cnn.filters", [3]), "pairs of them"),
    "list": (lambda folder: (folder / "options.json").write_text("[]"), r"has no lstm\.dim"),
    "json": (lambda folder: (folder / "options.json").write_text("{"), "not whole JSON"),
    "activation": (_option("char_cnn.activation", "gelu"), "char_activation"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused(kind: str, tmp_path: Path) -> None:
    change, message = BAD[kind]
    options, weights = write(tmp_path, random_arrays())
    change(tmp_path)
    with pytest.raises(ValueError, match=message):
        ElmoModel.from_allennlp(options, weights)


def test_damage_anywhere_is_one_error_that_names_the_file(tmp_path: Path) -> None:
    """Cut off, or with another byte: read, or a ValueError; h5py itself raises errors of five classes."""
    _, weights = write(tmp_path, random_arrays())
    shapes = conversion_elmo._shapes(ElmoConfig(**conversion_elmo._fields(tmp_path / "options.json")))
    whole, errors = weights.read_bytes(), []
    damaged = [whole[:size] for size in range(0, len(whole), len(whole) // 10)]
    damaged += [whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :] for at in range(0, 4000, 67)]
    for data in damaged:
        weights.write_bytes(data)
        try:
            conversion_elmo._read_arrays(weights, shapes)
        except ValueError as error:
            errors.append(str(error))
    assert len(errors) > 20
    assert all(str(weights) in error for error in errors)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    options, weights = write(tmp_path, random_arrays())
    weights.unlink()
    with pytest.raises(FileNotFoundError, match="weights"):
        ElmoModel.from_allennlp(options, weights)


@pytest.mark.parametrize("name", [f"{cell(0, 2)}/W_0", "CNN/W_cnn_2", "CNN_high_1/W_carry", f"{cell(1, 0)}/W_F_diag"])
def test_arrays_that_the_options_do_not_name(name: str, tmp_path: Path) -> None:
    """Another layer, filter or highway layer, a peephole: without them the model would compute something else."""
    paths = write(tmp_path, random_arrays() | {name: np.zeros(6, np.float32)})
    with pytest.raises(ValueError, match=f"has {re.escape(name)}, which the options do not name"):
        ElmoModel.from_allennlp(*paths)
