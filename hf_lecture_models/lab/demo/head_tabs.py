# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tabs of the demo page for models with a head, and the tab of neighbours."""

from collections.abc import Sequence
from typing import Any

from hf_lecture_models.lab.demo.answers import MAX_CHARACTERS, LoadedModel
from hf_lecture_models.lab.demo.examples import known_text, known_words, text_with_gap
from hf_lecture_models.lab.demo.fields import add_button, add_choice_of_model
from hf_lecture_models.lab.demo.heads import see_answer, see_classes, see_fillings, see_image_classes, see_tags
from hf_lecture_models.lab.demo.images import add_image
from hf_lecture_models.lab.demo.inside import MAX_NEIGHBOURS, see_neighbours

_HINT = f"At most {MAX_CHARACTERS:,} characters"
_REVIEWS = ("I love this movie", "a warm and funny film", "a good book for young and old")
_QUESTIONS = {
    "Who is asleep?": "Jack is now asleep, because he is tired.",
    "who sees a basket": "the keeper sees a basket on the ship",
}
_NAMES = "Ada Lovelace met Charles Babbage in London."
_PARTS_OF_SPEECH = "she reads a light book"


def classify_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the classes of a text or of a pair of texts."""

    def answer(which: int, text: str, pair: str) -> str:
        return see_classes(models[which], text, pair or "")

    which = add_choice_of_model(gradio, models)
    value = known_text(models, _REVIEWS)
    text = gradio.Textbox(label="Text", lines=3, value=value, placeholder=_HINT, elem_id="classified")
    pair = gradio.Textbox(
        label="Second text", info="for models of pairs of texts only; else leave it empty", elem_id="classified-pair"
    )
    add_button(gradio, "Classify", answer, [which, text, pair], ["classes"])


def tag_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the tags of the words of a sentence."""

    def answer(which: int, text: str) -> str:
        return see_tags(models[which], text)

    which = add_choice_of_model(gradio, models)
    # The tags of names begin with B- and I-; a tagger that has no such tags gives parts of speech.
    names = any(tag.startswith("B-") for tag in models[0].model.config.id2label.values())
    value = known_text(models, (_NAMES, _PARTS_OF_SPEECH) if names else (_PARTS_OF_SPEECH, _NAMES))
    text = gradio.Textbox(label="Sentence", lines=2, value=value, info="blanks between the words", elem_id="tagged")
    add_button(gradio, "Tag", answer, [which, text], ["tags"])


def fill_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the words for the gaps of a text."""

    def answer(which: int, text: str) -> str:
        return see_fillings(models[which], text)

    which = add_choice_of_model(gradio, models)
    value, info = text_with_gap(models), "three underscores stand for a missing word"
    text = gradio.Textbox(label="Text with gaps", lines=2, value=value, info=info, elem_id="gapped")
    add_button(gradio, "Fill in", answer, [which, text], ["fillings"])


def answer_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the answer to a question on a text, marked in the text."""

    def answer(which: int, question: str, context: str) -> str:
        return see_answer(models[which], question, context)

    which = add_choice_of_model(gradio, models)
    asked = known_text(models, tuple(_QUESTIONS))
    question = gradio.Textbox(label="Question", value=asked, elem_id="question")
    value = _QUESTIONS[asked] if asked in _QUESTIONS else known_text(models)
    context = gradio.Textbox(label="Text", lines=4, value=value, placeholder=_HINT, elem_id="context")
    add_button(gradio, "Answer", answer, [which, question, context], ["answer"])


def images_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the classes of an image."""

    def answer(which: int, image: str) -> str:
        return see_image_classes(models[which], image)

    which = add_choice_of_model(gradio, models)
    image, script = add_image(gradio, "classified-image", models)
    add_button(gradio, "Classify image", answer, [which, image], ["image-classes"], script(1))


def neighbours_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the words with the most similar vectors."""

    def answer(which: int, words: str, number: float) -> tuple[str, ...]:
        return see_neighbours(models[which], words, int(number))

    which = add_choice_of_model(gradio, models)
    value = " ".join(known_words(models, 3))
    words = gradio.Textbox(label="Words", value=value, info="blanks between the words", elem_id="neighbouring")
    number = gradio.Slider(1, MAX_NEIGHBOURS, 5, step=1, label="Neighbours of each")
    add_button(gradio, "Find neighbours", answer, [which, words, number], ["neighbours", "neighbour-map"])
