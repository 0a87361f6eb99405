# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tabs by what models can do, and answers of models with a head: those of `predict`."""

import base64
import io
import re

import pytest

from hf_lecture_models import WordTokenizer, predict
from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.lab.demo.examples import GAP, is_known, known_text, known_words, text_with_gap
from hf_lecture_models.lab.demo.head_rendering import render_answer
from hf_lecture_models.lab.demo.heads import see_answer, see_classes, see_fillings, see_image_classes, see_tags
from hf_lecture_models.lab.demo.images import MAX_PIXELS, decoded_image
from hf_lecture_models.lab.demo.inside import see_neighbours
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


@pytest.mark.parametrize(
    ("loaded", "answer", "longest"),
    [
        (classifier(), lambda loaded, text: see_classes(loaded, text, ""), 16),
        (tagger(), see_tags, 16),
        (masked(), lambda loaded, text: see_fillings(loaded, f"{text} {GAP}"), 32),
    ],
    ids=["classes", "tags", "gaps"],
)
def test_a_text_that_is_too_long_is_refused_without_options_of_the_terminal(loaded, answer, longest):
    answer(loaded, "cat")
    with pytest.raises(ValueError, match=rf"the text has \d\d tokens, and .* reads {longest} at most: shorten it$"):
        answer(loaded, "cat " * 40)


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


def test_answers_are_in_the_order_of_their_probability_whatever_was_chosen():
    """A threshold may choose no answer although another one is more probable."""
    found = [("", 0.1), ("the cat", 0.7), ("cat", 0.2)]
    shown = render_answer("the cat", [{"label": text, "score": share, "start": 0, "end": 0} for text, share in found])
    assert percents(shown) == [70.0, 20.0, 10.0]
    assert "finds no answer" in shown


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


def test_what_is_not_an_image_is_refused(monkeypatch):
    for text in ("/etc/passwd", "data:image/png;base64,AAAA", "http://localhost/", "data:,x", as_url(form="TIFF")[1]):
        with pytest.raises(ValueError, match="cannot be read as an image"):
            decoded_image(text)
    for nothing in ("", None):
        with pytest.raises(ValueError, match="no image yet"):
            decoded_image(nothing)
    monkeypatch.setattr("hf_lecture_models.lab.demo.images.MAX_PIXELS", 40 * 30 - 1)
    with pytest.raises(ValueError, match="too large"):
        decoded_image(as_url()[1])
    assert MAX_PIXELS > 10**6


def test_neighbours_are_shown_or_refused():
    pytest.importorskip("matplotlib")
    table, drawn = see_neighbours(masked(), "the ship the", 2)
    assert table.count("<tr>") == 3  # the head, and each word once
    assert "<img" in drawn
    for text, number, message in ((" ", 2, "no words"), ("the", 21, "between 1 and 20"), ("zebra", 2, "zebra")):
        with pytest.raises(ValueError, match=message):
            see_neighbours(masked(), text, number)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("vit", "captioner", "writer")])
def test_examples_are_known_to_the_models(name):
    loaded = MODELS[name]()
    examples = [known_text([loaded]), " ".join(known_words([loaded], 3))]
    assert all(is_known(loaded.tokenizer, text) for text in examples), examples
    assert text_with_gap([loaded]).count(GAP) == 1


def test_examples_are_known_to_all_models_or_else_to_the_first():
    loaded = [trigram(), tagger()]
    assert known_words(loaded) == ["saw"]
    assert not is_known(loaded[1].tokenizer, known_text([loaded[0]]))
    apart = LoadedModel("apart", None, WordTokenizer.from_words(["zebra"]))
    assert known_words([loaded[0], apart]) == known_words([loaded[0]])
