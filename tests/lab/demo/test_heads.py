# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tabs by what models can do, and answers of models with a head: those of `predict`."""

import base64
import io
import re

import pytest

from hf_lecture_models import predict
from hf_lecture_models.lab.demo.examples import GAP, is_known, known_text, known_words, text_with_gap
from hf_lecture_models.lab.demo.heads import see_answer, see_classes, see_fillings, see_image_classes, see_tags
from hf_lecture_models.lab.demo.page import tabs_for
from hf_lecture_models.lab.demo.style import TAG_COLOURS
from tests.lab.demo.small_models import MODELS, answerer, classifier, image_classifier, masked, tagger, trigram

READERS = ["Neighbours", "Inside"]
TABS = {
    "classifier": ["Classify", *READERS],
    "tagger": ["Tag", *READERS],
    "masked": ["Fill in", *READERS],
    "answerer": ["Answer", *READERS],
    "vit": ["Images"],
    "trigram": ["Continue", "Rank", "Compare", "Inside"],
    "translator": ["Translate", *READERS],
    "captioner": ["Caption"],
    "writer": ["Draw"],
}
EVIL = "<b>"


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_tabs_that_it_can_fill(name):
    assert list(tabs_for([MODELS[name]()])) == TABS[name]


def test_each_tab_has_its_models_alone():
    loaded = [image_classifier(), trigram(), masked()]
    names = {tab: [one.name for one in own] for tab, own in tabs_for(loaded).items()}
    assert names["Images"] == ["vit"]
    assert names["Continue"] == names["Rank"] == ["trigram"]
    assert names["Neighbours"] == ["masked"]
    assert names["Inside"] == ["trigram", "masked"]


def percents(document):
    return [float(value) for value in re.findall(r"([\d.]+)%</td>", document)]


def test_classes_are_those_of_predict():
    loaded = classifier()
    for text, pair in (("a fine film", ""), ("a film", "funny")):
        row = {"text": text, **({"text_pair": pair} if pair else {})}
        (expected,) = predict(loaded.model, loaded.tokenizer, [row], top_k=2)
        shown = see_classes(loaded, text, pair)
        assert re.findall(r'token">(\w+)<', shown) == [one["label"] for one in expected]
        assert percents(shown) == [round(100 * one["score"], 2) for one in expected]
    number = classifier(num_labels=1, problem_type="regression")
    ((expected,),) = predict(number.model, number.tokenizer, ["a fine film"])
    assert f"{expected['score']:.4g}" in see_classes(number, "a fine film", "")
    with pytest.raises(ValueError, match="nothing to classify"):
        see_classes(loaded, " \n", "")


def test_tags_are_those_of_predict_in_a_colour_of_their_kind():
    loaded, text = tagger(), f"Ada saw New York {EVIL}"
    (expected,) = predict(loaded.model, loaded.tokenizer, [text])
    shown = see_tags(loaded, text)
    assert re.findall(r"<small>([\w-]+)<", shown) == [one["label"] for one in expected]
    colours = {label[2:]: colour for colour, label in re.findall(r"tag(\d)\".*?<small>([\w-]+)", shown)}
    assert len(set(colours.values())) == len(colours) <= len(TAG_COLOURS)
    assert EVIL not in shown
    with pytest.raises(ValueError, match="nothing to tag"):
        see_tags(loaded, "")


def test_gaps_are_filled_as_by_predict():
    loaded = masked()
    (expected,) = predict(loaded.model, loaded.tokenizer, ["the [MASK] reads a [MASK]"])
    shown = see_fillings(loaded, f"the {GAP} reads a [MASK]")
    assert percents(shown) == [round(100 * one["score"], 2) for one in expected]
    assert re.findall("Gap (.)", shown) == ["1", "2"]
    with pytest.raises(ValueError, match="no gap: write ___"):
        see_fillings(loaded, "the keeper reads")
    loaded.tokenizer.mask_token = None
    with pytest.raises(ValueError, match="has no mask"):
        see_fillings(loaded, "the ___")


def test_an_answer_is_marked_where_predict_finds_it():
    loaded = answerer()
    context = "Ada Lovelace met Charles Babbage in London. They saw New York."
    seen = set()
    for question in ("Who met Charles Babbage?", "Who sleeps?", "What did they see?"):
        row = {"question": question, "context": context}
        (expected,) = predict(loaded.model, loaded.tokenizer, [row])
        marked = re.findall(r'<mark class="new">(.*?)</mark>', see_answer(loaded, question, context))
        assert marked == ([expected[0]["label"]] if expected[0]["label"] else [])
        seen.add(bool(marked))
    assert True in seen
    assert EVIL not in see_answer(loaded, "Who met?", f"{EVIL} Ada met Babbage")
    with pytest.raises(ValueError, match="question is empty"):
        see_answer(loaded, " ", context)


def as_url(size=(40, 30), form="PNG"):
    image = pytest.importorskip("PIL.Image").radial_gradient("L").resize(size).convert("RGB")
    file = io.BytesIO()
    image.save(file, form)
    return image, "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def test_images_are_classified_as_by_predict():
    loaded = image_classifier()
    image, url = as_url()
    (expected,) = predict(loaded.model, loaded.tokenizer, [{"image": image}], top_k=3)
    shown = see_image_classes(loaded, url)
    assert re.findall(r'token">(\w+)<', shown) == [one["label"] for one in expected]
    assert percents(shown) == [round(100 * one["score"], 2) for one in expected]
    assert shown.count('src="data:image/png;base64,') == 1


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("vit", "captioner", "writer")])
def test_examples_are_known_to_the_models(name):
    loaded = MODELS[name]()
    examples = [known_text([loaded]), " ".join(known_words([loaded], 3))]
    assert all(is_known(loaded.tokenizer, text) for text in examples), examples
    assert text_with_gap([loaded]).count(GAP) == 1
