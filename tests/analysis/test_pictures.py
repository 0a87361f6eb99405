# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every picture of the package and of its benchmarks, with odd input: no text covers another, or is cut, or small."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from PIL import Image

from benchmarks import attention_cost_picture, canaries, fine_tuning, translation
from hf_lecture_models import WordTokenizer
from hf_lecture_models.analysis import figures
from hf_lecture_models.analysis.attention_maps import (
    AttentionMaps,
    save_all_heads,
    save_attention_map,
    save_attention_of_word,
)
from hf_lecture_models.analysis.confusion_matrix import save_confusion_matrix
from hf_lecture_models.analysis.figures import DOTS, WIDTH, save_learning_curve, save_table, shorten, text_width, wrap
from hf_lecture_models.analysis.gradient_flow import GradientFlow, save_gradient_flow
from hf_lecture_models.analysis.neighbours import nearest_neighbours
from hf_lecture_models.analysis.segmentation import SegmentationStep, WordSegmentation, save_segmentation
from hf_lecture_models.analysis.smoothing import WordGroup, save_smoothing
from hf_lecture_models.analysis.surprisal_pictures import save_surprisal
from hf_lecture_models.analysis.text_inputs import TextInput
from hf_lecture_models.lab.studies.blimp_pictures import save_blimp_comparison, save_blimp_picture
from hf_lecture_models.lab.studies.comparison_chart import save_comparison
from hf_lecture_models.lab.studies.neighbour_pictures import save_neighbour_map, save_neighbours
from hf_lecture_models.lab.studies.reading_time_pictures import save_reading_times
from hf_lecture_models.models.graves import GravesConfig, GravesForSequencePrediction
from hf_lecture_models.tasks.strokes.pictures import save_density
from hf_lecture_models.tasks.translation.pictures import save_alignment, save_patch_alignment
from tests.analysis.overlaps import faults

ROOT = Path(__file__).parents[2]
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
# Long words, other scripts, a word of wide letters, a formula's sign, one of one letter.
ODD = [LONG, "слово", "λόγος", "WWWWWWWW", "a$b$c", "I", "<unk>", "don't"]
NAME = "a model whose folder has a very long name that somebody wrote into one line, LSTM of 2 x 200"


def words(number):
    return [f"{ODD[i % len(ODD)]}{i if i >= len(ODD) else ''}" for i in range(number)]


def maps(number):
    text = TextInput({}, tuple(words(number)), (False,) * number)
    return AttentionMaps(text, (torch.rand(3, number, number).softmax(-1),) * 2)


def flows(number, steps=True):
    tokens = TextInput({}, tuple(words(number)), (False,) * number)
    values = torch.rand(number, 5).double() + 0.01
    names = [NAME, f"{NAME}, untrained", *(f"model {i}" for i in range(5))]
    return {name: GradientFlow(tokens, torch.rand(number, 3).double(), values if steps else None) for name in names}


def neighbours(path, asked, k):
    vocabulary = [word for word in words(asked * (k + 2)) if word != "<unk>"]
    tokenizer = WordTokenizer.from_words(vocabulary)
    vectors = torch.randn(len(tokenizer), 6)
    results = nearest_neighbours(vectors, tokenizer, vocabulary[:asked], k=k)
    save_neighbour_map(vectors, results, path, title=NAME)


def neighbour_table(path):
    tokenizer = WordTokenizer.from_words(words(6))
    results = nearest_neighbours(torch.randn(len(tokenizer), 6), tokenizer, ["слово", "I"], k=4)
    save_neighbours({"free": results, NAME: results}, path, title=NAME, similarities=True)


def paradigms(number):
    rows = {
        f"{LONG[:20]}_{i}": {"phenomenon": f"{LONG[:12]} {i // 4}", "field": "abcd"[i % 4] * 12, "accuracy": i / number}
        for i in range(number)
    }
    return {"paradigms": rows, "summary": {"accuracy": 0.5}}


def phenomena(number):
    return {f"{NAME} {i}": {"accuracy": 0.5, "phenomena": dict.fromkeys(words(12), 0.5)} for i in range(number)}


def compared(number, points):
    curve = [(10.0 * 2**i, 2.0 + 1 / (i + 1)) for i in range(points)]
    return [{"title": f"{NAME} {i}", "seconds": 10.0**i, "bits_per_byte": 2.0, "curve": curve} for i in range(number)]


def confused(number, count):
    names = words(number)
    return {name: {"predicted": dict.fromkeys(names, count)} for name in names}


def patches(path, number):
    save_patch_alignment(Image.new("L", (8, 8)), words(number), torch.rand(number, 4), path, NAME, NAME)


def reading(number):
    return [
        {"title": f"{NAME} {i}", "family": f"f{i % 3}", "perplexity": 10.0 * 3**i, "gain": 0.01 * i, "error": 0.01}
        for i in range(number)
    ]


def segmented(path):
    steps = tuple(SegmentationStep(tuple(ODD[: i + 1]), NAME, frozenset({0})) for i in range(6))
    save_segmentation([WordSegmentation(LONG, steps)], path, NAME, " ".join(words(30)))


def smoothed(path, names, contexts):
    def parts():
        return [WordGroup(tuple(words(i)), ("a",), np.array([1 / contexts])) for i in reversed(range(contexts))]

    save_smoothing({name: parts() for name in names}, path, " ".join(words(20)))


def history(*points):
    return [
        row for step, loss in points for row in ({"step": step, "loss": loss}, {"step": step, "validation_f1": 0.5})
    ]


def density(path):
    model = GravesForSequencePrediction(GravesConfig(hidden_size=4, num_mixtures=2)).eval()
    save_density(model, torch.tensor([[0.0, 0.0, 0.0], [3.0, 1.0, 1.0]]), path, NAME)


def tasks(path):
    cell = {"mean": 0.9, "standard_error": 0.1, "step_cpu_seconds": 1e3}
    cells = {name: {title: dict(cell) for title in fine_tuning.COLUMNS} for name in fine_tuning.ROWS}
    cells[fine_tuning.MAJORITY] = {"RTE": {"mean": 0.5}}
    fine_tuning.save_picture(cells, path)


def lengths(path):
    models = {f"{NAME} {i}": {"bleu": 30.0, "half_interval": 1.0} for i in range(6)}
    bins = {f"{i}-{i + 9}": {"sentences": 1000, "models": models} for i in range(6)}
    translation.save_picture(bins, path, NAME)


def secrets(path):
    rows = {str(times): {"bits": 3.0, "standard_error": 0.5} for times in canaries.REPETITIONS}
    canaries.save_picture({f"{NAME} {i}": {"exposure": rows} for i in range(4)}, path)


def costs(path):
    row = {str(2**i): {"seconds": 2.0**i, "MiB": 3.0**i} for i in range(7, 15)}
    attention_cost_picture.save_picture(dict.fromkeys(attention_cost_picture.STYLES, row), path)


PICTURES = {
    "learning curve": lambda path: save_learning_curve(history(*((i, 1 / i) for i in range(1, 300))), path),
    "learning curve of 2": lambda path: save_learning_curve(history((1, 3.0), (2, 2.0)), path, 4.2, 2.7),
    "learning curve of 1": lambda path: save_learning_curve(history((123456789, 3e-7)), path, title=NAME),
    "learning curve in nats": lambda path: save_learning_curve([{"step": 1, "validation_perplexity": 9e9}], path),
    "table": lambda path: save_table(ODD, [words(len(ODD))] * 3, path, title=NAME, caption=" ".join(words(40))),
    "empty table": lambda path: save_table(["model"], [], path, title=NAME),
    "comparison": lambda path: save_comparison(compared(9, 20), path, NAME),
    "comparison of 1": lambda path: save_comparison(compared(1, 1), path, LONG),
    "comparison without curves": lambda path: save_comparison(compared(2, 0), path, NAME),
    "confusion": lambda path: save_confusion_matrix(confused(8, 1_234_567), path, NAME, NAME),
    "confusion of 40": lambda path: save_confusion_matrix(confused(40, 1), path, NAME, NAME),
    "confusion of 1": lambda path: save_confusion_matrix(confused(1, 0), path, NAME, NAME),
    "neighbours": lambda path: neighbours(path, 4, 8),
    "neighbours of 1": lambda path: neighbours(path, 1, 1),
    "neighbours' table": neighbour_table,
    "smoothing": lambda path: smoothed(path, [NAME, "Katz", LONG], 6),
    "smoothing of 1": lambda path: smoothed(path, ["x"], 1),
    "blimp": lambda path: save_blimp_picture(paradigms(67), path, NAME),
    "blimp of 1": lambda path: save_blimp_picture(paradigms(1), path, "x"),
    "blimp's phenomena": lambda path: save_blimp_comparison(phenomena(7), path),
    "attention": lambda path: save_attention_map(maps(30), path, NAME),
    "attention of 2": lambda path: save_attention_map(maps(2), path, "x", layer=1, head=1),
    "attention of a word": lambda path: save_attention_of_word(maps(30), 0, path, NAME),
    "attention of all heads": lambda path: save_all_heads(maps(40), path, NAME),
    "alignment": lambda path: save_alignment(words(30), words(9), torch.rand(9, 30), path, NAME, NAME),
    "alignment of 1": lambda path: save_alignment(["a"], [LONG], torch.ones(1, 1), path, "x", "y"),
    "patches": lambda path: patches(path, 8),
    "patches of 1": lambda path: patches(path, 1),
    "gradients": lambda path: save_gradient_flow(flows(30), path, " ".join(words(60))),
    "gradients of 1": lambda path: save_gradient_flow(flows(1, steps=False), path, "x"),
    "reading times": lambda path: save_reading_times(reading(8), path, NAME),
    "density": density,
    "segmentation": segmented,
    "surprisal": lambda path: save_surprisal(words(30), {NAME: [100.04] * 30, "b": [math.inf] * 30}, path, NAME),
    "surprisal of 1": lambda path: save_surprisal([LONG], {"a": [math.nan]}, path, "x"),
    "nine tasks": tasks,
    "lengths": lengths,
    "canaries": secrets,
    "attention's cost": costs,
}


# Those of one word, row or curve are drawn by the same functions in the fast tests.
SLOW = {
    *("table", "comparison", "comparison of 1", "comparison without curves", "confusion", "confusion of 40"),
    *("neighbours", "neighbours of 1", "smoothing", "smoothing of 1", "blimp", "blimp's phenomena", "attention"),
    *("attention of a word", "alignment", "patches", "gradients", "reading times", "surprisal"),
    *("nine tasks", "lengths", "canaries", "attention's cost"),
}
# Each word, class, symbol or column takes its room.
WIDER = {
    *("table", "neighbours' table", "confusion", "confusion of 40", "confusion of 1", "blimp's phenomena"),
    *("segmentation", "attention", "attention of 2", "alignment", "smoothing", "surprisal"),
}


@contextmanager
def caught(monkeypatch):
    """Yield the list of the figures that are saved within the block, as faults and width; no file is written."""
    saved = []

    def keep(self, stage, **_):
        saved.append((faults(self), self.get_figwidth()))
        stage.touch()

    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", keep)
        yield saved


@pytest.mark.cases(4, 12)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in PICTURES])
def test_no_text_covers_another_or_is_cut_or_small(tmp_path, monkeypatch, name):
    torch.manual_seed(0)
    with caught(monkeypatch) as saved:
        PICTURES[name](tmp_path / "picture.png")
    [(found, width)] = saved
    assert found == []
    assert (width > WIDTH) == (name in WIDER)


DRAWN = [path for path in sorted((ROOT / "docs").glob("*.*g")) if path.name != "architecture.svg"]


@pytest.mark.parametrize("picture", DRAWN, ids=lambda path: path.name)
def test_letters_of_the_pages_pictures_can_be_read_on_a_telephone(picture):
    """Where a picture is shown 390 pixels wide, its letters have 10 pixels or more; the one of folders is larger."""
    if picture.suffix == ".svg":
        points = float(re.search(r'<svg [^>]*width="([\d.]+)pt"', picture.read_text(encoding="utf-8"))[1])
    else:
        points = 72 * Image.open(picture).width / DOTS
    assert figures.FONT_SIZE * 390 / points >= 10


def test_every_function_that_draws_is_in_the_table():
    """A new picture that nobody adds above fails here."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "hf_lecture_models").rglob("*.py")))
    drawing = set(re.findall(r"^def (save_\w+)\((?:(?!^def ).)*?\bwith (?:slide|figure)\(", code, re.M | re.S))
    used = Path(__file__).read_text(encoding="utf-8")
    assert len(drawing) > 10
    assert sorted(name for name in drawing if f"{name}(" not in used) == []


def test_faults_are_found(tmp_path, monkeypatch):
    """The measure itself: texts on each other, one outside, and a small one."""
    with caught(monkeypatch) as saved, figures.figure(tmp_path / "x.png", 4, 3) as axes:
        axes.text(0.5, 0.5, "one")
        axes.text(0.5, 0.5, "two")
        axes.figure.text(0.99, 0.1, "outside")
        axes.figure.text(-0.02, 0.2, "left")
        axes.figure.text(0.1, 0.98, "small", fontsize=9, va="top")
    assert saved == [(["'small' has 9 points", "'outside' is cut", "'left' is cut", "'one' covers 'two'"], 4)]


def test_long_texts_are_divided_or_cut_with_an_ellipsis():
    lines = wrap(f"{LONG} {LONG} {LONG} {LONG}", 2.0, most=3)
    assert len(lines) == 3
    assert lines[-1].endswith("…")
    assert all(text_width(line) <= 2.0 for line in lines)
    assert wrap(" \n ", 2.0) == []
    assert text_width(shorten(LONG, 1.0)) <= 1.0
    assert shorten("W", 0.01) == "…"
