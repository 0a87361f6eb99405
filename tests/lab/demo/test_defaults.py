# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture demo` without arguments: its models are trained once, whole, and kept in the cache."""

import shutil
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants

from hf_lecture_models import predict
from hf_lecture_models.lab.demo import defaults
from hf_lecture_models.lab.demo.defaults import (
    DEFAULT_MODELS,
    DefaultModel,
    cache_folder,
    cached_folder,
    default_models,
)
from hf_lecture_models.lab.demo.example_images import example_images
from hf_lecture_models.lab.demo.examples import GAP, is_known
from hf_lecture_models.lab.demo.page import TABS, build_page, load_models, tabs_for
from hf_lecture_models.lab.verbs import demo

OPINIONS = {
    "I love this movie": "positive",
    "I hate this movie": "negative",
    "What a great story.": "positive",
    "The film was boring.": "negative",
    "Simply the best!": "positive",
    "The book is awful": "negative",
    "My mother enjoyed it": "positive",
    "such a stupid ending": "negative",
}
TWO = (DEFAULT_MODELS[0], DefaultModel("words", "bag_of_words_tiny", "text_classification"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "hf_lecture_models" / "demo"


@pytest.fixture
def trained(monkeypatch):
    """The names of the models that are trained from now on; nothing is, in truth."""
    names = []

    def train(model, folder):
        names.append(model.name)
        (folder / "config.json").write_text("{}", encoding="utf-8")

    monkeypatch.setattr(defaults, "_train", train)
    return names


def test_models_are_trained_once_and_the_page_takes_them(cache, capsys):
    folders = [Path(folder) for folder in default_models(TWO)]
    assert [(folder.name, folder.parents[1]) for folder in folders] == [("trigram", cache), ("words", cache)]
    assert not (folders[1] / "checkpoints").exists()
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert (out, len(lines)) == ("", 4), "what the trainings print is not for this user"
    assert "2 small ones are trained" in lines[0]
    assert str(cache) in lines[0]
    assert "1/2 trigram (ngram.yaml)" in lines[1]
    models = load_models(list(map(str, folders)))
    assert {"Continue", "Classify"} <= set(tabs_for(models))
    times = [path.stat().st_mtime_ns for path in sorted(cache.rglob("*"))]
    assert default_models(TWO) == list(map(str, folders))
    assert [path.stat().st_mtime_ns for path in sorted(cache.rglob("*"))] == times
    assert "are trained" not in capsys.readouterr().err


def test_another_version_or_recipe_is_trained_again(cache, trained, monkeypatch, tmp_path):
    first = default_models(TWO)
    assert trained == ["trigram", "words"]
    monkeypatch.setattr(defaults, "__version__", "99.0")
    default_models(TWO)
    assert trained == ["trigram", "words"] * 2
    changed = tmp_path / "training"
    shutil.copytree(defaults.training_folder() / "recipes", changed / "recipes")
    with (changed / "recipes" / "ngram.yaml").open("a", encoding="utf-8") as recipe:
        recipe.write("# Another one.\n")
    monkeypatch.undo()
    monkeypatch.setattr(constants, "HF_HOME", str(cache.parents[1]))
    monkeypatch.setattr(defaults, "training_folder", lambda: changed)
    assert cached_folder(TWO[0]) != Path(first[0])
    assert cached_folder(TWO[1]) == Path(first[1])


def test_an_interrupted_run_leaves_whole_models_only_and_the_next_goes_on(cache, trained, monkeypatch):
    whole = defaults._train

    def train(model, folder):
        whole(model, folder)
        if model == TWO[1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(defaults, "_train", train)
    with pytest.raises(KeyboardInterrupt):
        default_models(TWO)
    assert cached_folder(TWO[0]).is_dir()
    assert list(cached_folder(TWO[1]).parent.iterdir()) == []
    monkeypatch.setattr(defaults, "_train", whole)
    default_models(TWO)
    assert trained == ["trigram", "words", "words"]


def test_what_is_missing_is_said_before_training(cache, trained, monkeypatch):
    monkeypatch.setitem(defaults.PACKAGES, "no_such_module", "no-such-package")
    with pytest.raises(ImportError, match=r"needs no-such-package: pip install 'hf-lecture-models\[demo,train\]'"):
        default_models(TWO)
    monkeypatch.delitem(defaults.PACKAGES, "no_such_module")
    cache.parents[1].write_text("a file", encoding="utf-8")
    with pytest.raises(OSError, match=r"cannot write .*; let HF_HOME name a folder"):
        default_models(TWO)
    assert trained == []


def test_the_command_serves_them_and_trains_nothing_without_gradio(cache, trained, monkeypatch):
    served = []
    monkeypatch.setattr(demo, "serve", lambda names, *_, browser: served.append(names))
    monkeypatch.setattr(demo, "refuse_missing_gradio", lambda: None)
    demo.run([], "127.0.0.1", None, browser=False)
    assert trained == [model.name for model in DEFAULT_MODELS]
    assert served == [[str(cached_folder(model)) for model in DEFAULT_MODELS]]
    demo.run(["own"], "127.0.0.1", None, browser=False)
    assert served[1:] == [["own"]]

    def refuse():
        raise ImportError("demo needs gradio")

    monkeypatch.setattr(demo, "refuse_missing_gradio", refuse)
    shutil.rmtree(cache_folder())
    with pytest.raises(ImportError, match="gradio"):
        demo.run([], "127.0.0.1", None, browser=False)
    assert len(trained) == len(DEFAULT_MODELS)


@pytest.mark.slow
def test_all_of_them_fill_all_tabs_but_two_with_texts_that_they_know(cache):
    gradio = pytest.importorskip("gradio")
    models = load_models(default_models())
    filled = tabs_for(models)
    assert {tab.name for tab in TABS} - set(filled) == {"Caption", "Draw"}
    assert next(iter(filled)) == "Continue", "the page opens on its first tab"
    blocks = build_page(models).blocks.values()
    texts = {one.elem_id: one.value for one in blocks if isinstance(one, gradio.Textbox) and one.value}
    for name, field in {
        "Continue": "prompt",
        "Compare": "compared",
        "Classify": "classified",
        "Fill in": "gapped",
    }.items():
        known = texts[field].replace(GAP, "a")
        assert all(is_known(loaded.tokenizer, known) for loaded in filled[name]), (name, known)
    # These two take any characters, and know the sentences of their recipes.
    assert texts["translated"] in [row["source"] for row in _rows("translator")]
    assert texts["tagged"].split() in [row["tokens"] for row in _rows("elmo_tagger")]
    assert texts["classified"] == "I love this movie"
    _check_opinions(*filled["Classify"])
    (reader,) = filled["Images"]
    images = [{"image": image} for image in example_images(reader).values()]
    found = [one[0] for one in predict(reader.model, reader.tokenizer, images)]
    assert [one["label"] for one in found] == ["0", "3", "4"]
    assert min(one["score"] for one in found) > 0.7


def _check_opinions(classifier):
    """Whether sentences that the recipe lacks are judged clearly, and by words that it has."""
    assert not set(OPINIONS) & {row["text"] for row in _rows("bag_of_words")}
    for text, expected in OPINIONS.items():
        ((best, *_),) = predict(classifier.model, classifier.tokenizer, [text], top_k=2)
        assert (best["label"], best["score"] > 0.8) == (expected, True), (text, best)


def _rows(name):
    (model,) = (model for model in DEFAULT_MODELS if model.name == name)
    return yaml.safe_load((cached_folder(model) / "recipe.yaml").read_text(encoding="utf-8"))["train_rows"]
