# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pictures of a training run."""

import math

import pytest

from hf_lecture_models.analysis.figures import save_learning_curve, save_table
from hf_lecture_models.lab.studies.comparison_chart import save_comparison

pytest.importorskip("matplotlib")
HISTORY = [
    {"step": 10, "epoch": 0.5, "loss": 3.0, "learning_rate": 0.1},
    {"step": 20, "epoch": 1.0, "validation_perplexity": math.exp(2.5), "validation_unknown": 3},
    {"step": 20, "epoch": 1.0, "loss": 2.0},
    {"step": 30, "epoch": 1.5, "validation_perplexity": math.inf},
]


@pytest.mark.parametrize(
    ("history", "names", "absent"),
    [
        (HISTORY, ["optimiser steps", "loss (nats per token)", "training", "validation"], "accuracy"),
        (
            [{"step": 10, "loss": 0.7}, {"step": 10, "validation_accuracy": 0.5, "validation_examples": 8}],
            ["loss", "training", "validation", "validation accuracy"],
            "nats",
        ),
        ([{"step": 10, "loss": 0.7}, {"step": 20, "loss": 0.4}], ["loss"], "validation"),
        ([{"step": 10, "validation_accuracy": 0.5}], ["validation accuracy"], "training"),
    ],
)
def test_axes_have_names_and_units(tmp_path, history, names, absent):
    """A perplexity is drawn on the scale of the loss, another measure on an axis of its own."""
    save_learning_curve(history, tmp_path / "curve.svg")
    picture = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in picture for name in names)
    assert absent not in picture


def test_pictures_are_png_and_replaced_whole(tmp_path):
    path = tmp_path / "curve.png"
    path.write_text("old", encoding="utf-8")
    save_learning_curve(HISTORY[:1], path)
    assert path.read_bytes().startswith(b"\x89PNG")
    save_table(["model", "perplexity"], [["unigram", "10.0"], ["trigram", "5.0"]], path, title="two models")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["curve.png"]


def test_a_comparison_names_every_model_with_its_figure(tmp_path):
    models = [
        {"title": "tri$gram", "seconds": 0.02, "bits_per_byte": 2.0791, "curve": []},
        {"title": "LSTM", "seconds": 21.0, "bits_per_byte": 2.08, "curve": [(10.0, 2.3), (21.0, 2.1)]},
    ]
    save_comparison(models, tmp_path / "comparison.svg", title="a $ corpus")
    picture = (tmp_path / "comparison.svg").read_text(encoding="utf-8")
    for text in (
        "bits per byte (lower is better)",
        "seconds of training",
        "LSTM: 2.080",
        "tri$gram: 2.079",
        "a $ corpus",
    ):
        assert f"<!-- {text} -->" in picture


@pytest.mark.parametrize("history", [[], [{"step": 1, "learning_rate": 0.1}]])
def test_nothing_to_draw(tmp_path, history):
    with pytest.raises(ValueError, match="nothing to draw"):
        save_learning_curve(history, tmp_path / "curve.png")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"hf-lecture-models\[train\]"):
        save_learning_curve(HISTORY, tmp_path / "curve.png")
