# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pictures of the architectures show the models' modules, all of them, with their sizes and equations."""

import math
import re
from pathlib import Path

import pytest

from docs._site.pictures.all import FOLDER, PICTURES, draw_recorded, record
from docs._site.pictures.drawing import Column
from docs._site.pictures.lettering import with_scripts, wrapped
from docs._site.pictures.recording import Recording

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "hf_lecture_models" / "models"
LAYERS = "\n".join(path.read_text(encoding="utf-8") for path in sorted(MODELS.with_name("layers").glob("*.py")))


@pytest.fixture(scope="module")
def recordings() -> dict[str, Recording]:
    return {name: record(name) for name in PICTURES}


def test_the_files_are_what_the_script_writes_today(recordings):
    """`python -m docs._site.pictures` writes them."""
    assert {path.stem for path in FOLDER.glob("*")} == set(PICTURES)
    for name, recording in recordings.items():
        committed = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert committed == draw_recorded(name, recording), name
        assert len(committed.encode()) < 30_000, name


def test_each_model_has_a_picture_and_its_page_shows_it():
    assert {path.parent.name for path in MODELS.glob("*/README.md")} == set(PICTURES)
    for name in PICTURES:
        page = (MODELS / name / "README.md").read_text(encoding="utf-8")
        (words,) = re.findall(rf"!\[([^\]]*)\]\(\.\./\.\./\.\./docs/architectures/{name}\.svg\)", page)
        assert len(words) >= 10, name


@pytest.mark.parametrize("name", PICTURES)
def test_every_number_of_the_model_is_in_one_box(name, recordings):
    """A box names what exists; layers after the first of a list are alike, or have boxes of their own."""
    model = recordings[name].model
    held = {key: tuple(one.shape) for key, one in model.state_dict(keep_vars=True).items()}
    boxes = [path for box in Column(PICTURES[name].items).boxes() for path in (box.path, *box.also)]
    modules = dict(model.named_modules())
    assert set(boxes) <= modules.keys() | held.keys()
    shown = {key: [path for path in boxes if key == path or key.startswith(f"{path}.")] for key in held}
    for key, shape in held.items():
        first = re.sub(r"\.[1-9]\d*\.", ".0.", key)
        assert len(shown[key] or shown.get(first, [])) == 1, f"{key} of {name} is in no box, or in several"
        assert shown[key] or held[first] == shape, f"{key} is not like {first}"


def _numbers(size: str, axes: dict[str, int]) -> int:
    """Return 3·hidden × (e+2·hidden) as a number."""
    factors = size.removesuffix(" (shared)").split("\u00a0×\u00a0")
    return math.prod(axes[factor.removeprefix("(").removesuffix(")")] for factor in factors)


@pytest.mark.parametrize("name", PICTURES)
def test_the_sizes_in_a_box_add_up_to_its_numbers(name, recordings):
    axes, model = {**PICTURES[name].axes, "1": 1}, recordings[name].model
    held = model.state_dict(keep_vars=True)
    for box in Column(PICTURES[name].items).boxes():
        written = [_numbers(size, axes) for sizes in box.sizes(recordings[name]).values() for size in sizes]
        paths = (box.path, *box.also)
        counted = [one.numel() for key, one in held.items() if any(f"{key}.".startswith(f"{path}.") for path in paths)]
        assert sum(written) == sum(counted), box.path


def test_shapes_are_those_of_a_forward_pass(recordings):
    """By heart: what the Transformer's parts read and return."""
    one, block = recordings["transformer"], "model.decoder.layers.0"
    assert one.shape(one.read["model.encoder.embed_tokens"]) == "(batch, source)"
    assert one.shape(one.returned["model.encoder.layers.1"]) == "(batch, source, hidden)"
    assert one.shape(one.read[f"{block}.cross_attn"]) == "(batch, target, hidden)"
    assert one.shape(one.returned[f"{block}.cross_attn.kv_proj"]) == "(batch, source, 2·hidden)"
    assert one.shape(one.texts["logits"]) == "(batch, target, vocab)"
    assert one.owner("model.decoder.embed_tokens.weight") == "model.encoder.embed_tokens"
    picture = (FOLDER / "transformer.svg").read_text(encoding="utf-8")
    assert "kv_proj: 2·hidden\u00a0×\u00a0hidden +\u00a02·hidden" in picture
    assert "logits (batch, target, vocab)" in picture


@pytest.mark.parametrize("name", PICTURES)
def test_equations_are_those_of_the_code(name):
    files = [path.read_text(encoding="utf-8") for path in sorted((MODELS / name).rglob("modeling_*.py"))]
    text = " ".join("\n".join([*files, LAYERS]).split())
    for formula in Column(PICTURES[name].items).formulas():
        for line in formula.split("\n"):
            assert line in text, line


def test_subscripts_are_set_lower_and_names_stay():
    assert with_scripts("W_o h^{n-1} / √head_dim") == (
        'W<tspan dy="4" font-size="75%">o</tspan><tspan dy="-4"> h</tspan>'
        '<tspan dy="-5" font-size="75%">n-1</tspan><tspan dy="5"> / √head_dim</tspan>'
    )
    assert wrapped("u_{w_t} is a vector", "formula", 90) == ["u_{w_t} is a", "vector"]
    with pytest.raises(ValueError, match="needs more than the 2 letters"):
        wrapped("hidden", "code", 20)


def test_axes_of_one_size_are_refused():
    with pytest.raises(ValueError, match="same size"):
        Recording(PICTURES["vit"], {}, {"batch": 2, "seq": 2})  # type: ignore[arg-type]
