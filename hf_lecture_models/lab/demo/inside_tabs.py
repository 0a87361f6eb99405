# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tabs of the demo page that look inside models: attention, gradients, segmentation, smoothing, surprisal."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from hf_lecture_models.analysis.segmentation import segmentation_steps
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.surprisal import kind_of
from hf_lecture_models.lab.demo import rendering
from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.lab.demo.examples import SENTENCES, TRANSLATED, is_known, known_text, known_words
from hf_lecture_models.lab.demo.fields import add_button, add_choice_of_model
from hf_lecture_models.lab.demo.inside import (
    PAIRS,
    see_attention,
    see_gradients,
    see_segmentation,
    see_smoothing,
    see_surprisal,
)
from hf_lecture_models.models.ngram import NGramForCausalLM


def attention_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add a map of attention, by layer and head, of the models that have heads, if there are any."""
    models = [one for one in models if trait(one.model, "num_attention_heads")] or models

    def answer(which: int, text: str, layer: float, head: float, word: str, every_head: bool) -> str:
        return see_attention(models[which], text, int(layer), int(head), word or "", bool(every_head))

    which = add_choice_of_model(gradio, models)
    text = gradio.Textbox(label="Text", value=known_text(models), elem_id="attended")
    layers, heads = (_most(models, f"num_{what}") for what in ("hidden_layers", "attention_heads"))
    with gradio.Row():
        layer = gradio.Slider(0, layers, 0, step=1, label="Layer", info="counted from 1; 0: the mean over all")
        head = gradio.Slider(0, heads, 0, step=1, label="Head", info="counted from 1; 0: the mean over the layer's")
        word = gradio.Textbox(label="Word", info="only what this token attends to; empty: all")
        every_head = gradio.Checkbox(label="All heads, small", info="of all layers, or of the one above")
    inputs = [which, text, layer, head, word, every_head]
    add_button(gradio, "See attention", answer, inputs, ["attention"])


def _most(models: Sequence[LoadedModel], field: str) -> int:
    """Return the largest number of layers or heads among the models, at least 1."""
    return max(int(trait(loaded.model, field) or 1) for loaded in models)


def gradients_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the gradients of all models by distance."""
    text = gradio.Textbox(label="Text", lines=2, value=known_text(models), elem_id="followed")
    fresh = gradio.Checkbox(label="Untrained too", info="each model as it was before training: new random weights")
    add_button(gradio, "See gradients", partial(see_gradients, models), [text, fresh], ["gradients"])


def _has_steps(loaded: LoadedModel, text: str = "a") -> bool:
    try:
        return bool(segmentation_steps(loaded.tokenizer, text))
    except (TypeError, ValueError):
        return False


def segmentation_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the steps of a tokenizer, of the models whose tokenizers have steps, if there are any."""
    models = list(filter(_has_steps, models)) or models

    def answer(which: int, text: str) -> str:
        return see_segmentation(models[which], text)

    which = add_choice_of_model(gradio, models)
    candidates = dict.fromkeys((*SENTENCES, *TRANSLATED))
    text = gradio.Textbox(
        label="Words",
        value=known_text(models, [text for text in candidates if all(_has_steps(one, text) for one in models)]),
        placeholder="A few words: each step has a row",
        elem_id="segmented",
    )
    add_button(gradio, "See segmentation", answer, [which, text], ["segmentation"])


def _context(models: Sequence[LoadedModel]) -> str:
    """Return two words that the n-grams among the models know."""
    ngrams = [loaded for loaded in models if isinstance(loaded.model, NGramForCausalLM)]
    known = ngrams and all(is_known(loaded.tokenizer, "of the") for loaded in ngrams)
    return "of the" if known else " ".join(known_words(ngrams, 2))


def smoothing_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the shares of probability that the n-grams among the models give after a few words."""
    models = [loaded for loaded in models if isinstance(loaded.model, NGramForCausalLM)] or models
    text = gradio.Textbox(
        label="Context", value=_context(models), info="words of an n-gram's vocabulary", elem_id="smoothed"
    )
    add_button(gradio, "See smoothing", partial(see_smoothing, models), [text], ["smoothing"])


def surprisal_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add the surprisal of sentences under all models, with the lectures' pairs to choose from."""

    def answer(text: str) -> str:
        return rendering.render_surprisal(*see_surprisal(models, text))

    readers = [loaded for loaded in models if kind_of(loaded.model)] or models
    known = [pair for pair, text in PAIRS.items() if all(is_known(loaded.tokenizer, text) for loaded in readers)]
    first = known[0] if known else None
    value = PAIRS[first] if first else known_text(readers)
    pair = gradio.Dropdown(list(PAIRS), value=first, label="The lectures' pairs", elem_id="pair")
    text = gradio.Textbox(label="Sentences, one per line", lines=2, value=value, elem_id="weighed")
    pair.change(lambda pair: PAIRS.get(pair, ""), [pair], [text], api_visibility="private", show_progress="hidden")
    add_button(gradio, "See surprisal", answer, [text], ["surprisal"])


def inside_tabs(gradio: Any, models: Sequence[LoadedModel]) -> None:
    """Add all of these tabs."""
    tabs = {
        "Surprisal": surprisal_tab,
        "Attention": attention_tab,
        "Gradients": gradients_tab,
        "Segmentation": segmentation_tab,
        "Smoothing": smoothing_tab,
    }
    for name, tab in tabs.items():
        with gradio.Tab(name):
            tab(gradio, models)
