# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tabs of the demo page that write or score: continue, rank, compare, translate, caption, draw."""

from collections.abc import Sequence
from typing import Any

from hf_lecture_models.lab.demo import rendering
from hf_lecture_models.lab.demo.answers import (
    MAX_CHARACTERS,
    MAX_NEW_TOKENS,
    MAX_SENTENCES,
    LoadedModel,
    Sampling,
    checked_sentences,
    compare,
    continue_text,
    next_tokens,
    rank,
)
from hf_lecture_models.lab.demo.examples import TRANSLATED, known_text
from hf_lecture_models.lab.demo.fields import add_button, add_choice_of_model, add_html
from hf_lecture_models.lab.demo.images import add_image, decoded_image
from hf_lecture_models.lab.demo.inside import MAX_POINTS, see_caption, see_strokes, see_translation
from hf_lecture_models.lab.demo.unknown import unknown_spans

_MOST_BEAMS = 10
_DECODING = ("greedy search", "sampling")
_ORDERS = ("the whole sentence", "a token, on average")
_PROMPTS = ("Jack is now", "the old man", "it is the first", "the keeper of the lighthouse")


def caption_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the caption of an image, with the patches that its words attend to."""

    def answer(which: int, image: str, beams: float) -> tuple[str, ...]:
        return see_caption(models[which], decoded_image(image), int(beams))

    which = add_choice_of_model(gradio, models)
    image, script = add_image(gradio, "captioned-image", models)
    beams = gradio.Slider(1, _MOST_BEAMS, 1, step=1, label="Beams", info="1: greedy search")
    add_button(gradio, "Caption", answer, [which, image, beams], ["caption", "patches"], script(1))


def continue_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the continuation of a text, with the most probable next tokens."""

    def answer(which: int, text: str, *choices: Any) -> tuple[str, ...]:
        new, decoding, temperature, top_k, top_p, seed = choices
        seed = None if seed is None else int(seed)
        sampling = Sampling(int(new), decoding == _DECODING[1], float(temperature), int(top_k), float(top_p), seed)
        result = continue_text(models[which], text, sampling)
        shown = rendering.render_continuation(result, unknown_spans(models[which].tokenizer, text))
        return shown, rendering.render_next_tokens(next_tokens(models[which], text))

    which = add_choice_of_model(gradio, models)
    hint, value = f"At most {MAX_CHARACTERS:,} characters", known_text(models, _PROMPTS)
    text = gradio.Textbox(label="Text", lines=3, value=value, placeholder=hint, elem_id="prompt")
    with gradio.Row():
        new = gradio.Slider(1, MAX_NEW_TOKENS, 30, step=1, label="New tokens at most")
        decoding = gradio.Radio(_DECODING, value=_DECODING[1], label="Decoding")
        seed = gradio.Number(
            0, label="Seed of sampling", precision=0, info="the same seed, the same text; empty: by chance"
        )
    with gradio.Accordion("Sampling", open=False), gradio.Row():
        temperature = gradio.Slider(
            0.1, 3, 1, step=0.05, label="Temperature", info="below 1 favours likely tokens, above 1 unlikely"
        )
        top_k = gradio.Slider(0, 200, 0, step=1, label="Top-k", info="only from the k most probable tokens; 0: all")
        top_p = gradio.Slider(0.01, 1, 1, step=0.01, label="Top-p", info="only from the most probable that add up to p")
    inputs = [which, text, new, decoding, temperature, top_k, top_p, seed]
    add_button(gradio, "Continue", answer, inputs, ["continuation", "next-tokens"], seed=seed)


def translate_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the translation of a sentence, with its alignment."""

    def answer(which: int, text: str, beams: float) -> tuple[str, ...]:
        return see_translation(models[which], text, int(beams))

    which = add_choice_of_model(gradio, models)
    text = gradio.Textbox(label="Sentence", lines=2, value=known_text(models, TRANSLATED), elem_id="translated")
    beams = gradio.Slider(1, _MOST_BEAMS, 4, step=1, label="Beams", info="1: greedy search")
    add_button(gradio, "Translate", answer, [which, text, beams], ["translation", "alignment"])


def draw_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add drawings of a model of pen strokes."""

    def answer(which: int, points: float, temperature: float, seed: float) -> str:
        return see_strokes(models[which], int(points), float(temperature), int(seed or 0))

    which = add_choice_of_model(gradio, models)
    with gradio.Row():
        points = gradio.Slider(1, MAX_POINTS, 30, step=1, label="Points of each drawing")
        temperature = gradio.Slider(0.1, 2, 1, step=0.05, label="Temperature", info="below 1 favours likely points")
        seed = gradio.Number(0, label="Seed", precision=0, info="the same seed, the same drawings")
    add_button(gradio, "Draw", answer, [which, points, temperature, seed], ["drawings"], seed=seed)


def rank_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add sentences in the order of their probability."""

    def answer(which: int, text: str, order: str) -> str:
        return rendering.render_ranking(rank(models[which], checked_sentences(text), per_token=order == _ORDERS[1]))

    which = add_choice_of_model(gradio, models)
    hint = f"At most {MAX_SENTENCES} sentences, one per line"
    text = gradio.Textbox(label="Sentences", lines=5, value=_sentences(models), placeholder=hint, elem_id="sentences")
    order = gradio.Radio(_ORDERS, value=_ORDERS[0], label="Best first by the probability of")
    add_button(gradio, "Rank", answer, [which, text, order], ["ranking"])


def _sentences(models: Sequence[LoadedModel]) -> str:
    """Return an example, and the same words in the opposite order."""
    text = known_text(models)
    return f"{text}\n{' '.join(reversed(text.split()))}"


def compare_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add a text under all models side by side."""

    def answer(text: str) -> str:
        return rendering.render_comparison([loaded.name for loaded in models], compare(models, text))

    if len(models) < 2:
        add_html(
            gradio,
            '<div class="hfl"><p>Start the page with two language models: hf-lecture demo MODEL MODEL2</p></div>',
        )
        return
    hint = f"At most {MAX_CHARACTERS:,} characters"
    text = gradio.Textbox(label="Text", lines=3, value=known_text(models), placeholder=hint, elem_id="compared")
    add_button(gradio, "Compare", answer, [text], ["comparison"])
