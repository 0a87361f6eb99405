# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page in gradio: tabs over the functions of `answers`, `inside` and `rendering`.

The page keeps no state: an answer follows from the fields alone, so users do not affect each other.
"""

import ipaddress
import os
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from string import ascii_uppercase
from typing import Any

from hf_lecture_models.demo import rendering
from hf_lecture_models.demo.answers import (
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
from hf_lecture_models.demo.fields import add_button, add_choice_of_model, add_html
from hf_lecture_models.demo.guard import Guard
from hf_lecture_models.demo.inside import MAX_POINTS, see_caption, see_strokes, see_translation
from hf_lecture_models.demo.inside_tabs import inside_tabs
from hf_lecture_models.demo.style import CSS
from hf_lecture_models.evaluation.surprisal import CAUSAL, kind_of
from hf_lecture_models.loading import load_model, short_name

_MAX_WAITING = 32
_MOST_BEAMS = 10
_DECODING = ("greedy search", "sampling")
_ORDERS = ("the whole sentence", "a token, on average")


def load_models(names: Sequence[str]) -> list[LoadedModel]:
    """Load models of texts or captions, and name them by the last part of their path: the page shows no folders.

    Raises:
        OSError, ValueError: a model is missing, is damaged, or neither reads nor writes texts.
    """
    models = []
    for letter, name in zip(ascii_uppercase, names, strict=False):
        model, tokenizer = load_model(name)
        if model.main_input_name != "input_ids" and not (_writes_captions(model) or _draws_strokes(model)):
            raise ValueError(
                f"{name} reads {model.main_input_name}; this page takes models of texts, of captions and of pen strokes"
            )
        model.eval()
        shown = short_name(name)
        models.append(LoadedModel(f"{letter}: {shown}" if len(names) > 1 else shown, model, tokenizer))
    return models


def _draws_strokes(model: Any) -> bool:
    return getattr(model.config, "point_width", 0) == 3


def _writes_captions(model: Any) -> bool:
    return model.main_input_name == "pixel_values" and bool(getattr(model.config, "is_encoder_decoder", False))


def serve(names: Sequence[str], host: str = "127.0.0.1", port: int | None = None, browser: bool = False) -> None:
    """Serve the page until Ctrl-C.

    Args:
        names: names of models, at most 26.
        port: None: the first free one from 7860 on.
        browser: open the page in a browser of this machine.

    Raises:
        ImportError: gradio is not installed.
        OSError: a model is missing, or the port is taken.
    """
    refuse_missing_gradio()
    page = build_page(load_models(names))
    address = launch(page, host, port)
    if not is_loopback(host):
        print(f"hf-lecture demo: everybody who can reach {host} can use this page", file=sys.stderr)
    print(f"{address}  (Ctrl-C ends it)", flush=True)
    if browser:
        import webbrowser

        webbrowser.open(address)
    try:
        threading.Event().wait()
    finally:
        page.close(verbose=False)


def refuse_missing_gradio() -> None:
    """Raise an ImportError that names the extra to install, if gradio is missing."""
    if find_spec("gradio") is None:
        raise ImportError("demo needs gradio: pip install 'hf-lecture-models[demo]'")


def is_loopback(host: str) -> bool:
    """Return True for an address that only this machine can reach.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def launch(page: Any, host: str = "127.0.0.1", port: int | None = None) -> str:
    """Start the server in a thread of its own, and return its address."""
    import gradio
    from starlette.middleware import Middleware

    hosts = frozenset({"localhost", "127.0.0.1", "[::1]", host}) if is_loopback(host) else None
    plain = gradio.themes.Base(
        primary_hue="teal", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    )
    _, address, _ = page.queue(max_size=_MAX_WAITING).launch(
        server_name=host,
        server_port=port,
        share=False,
        inbrowser=False,
        inline=False,
        prevent_thread_lock=True,
        quiet=True,
        ssr_mode=False,
        mcp_server=False,
        pwa=False,
        run_history=False,
        enable_monitoring=False,
        num_workers=0,
        footer_links=[],
        theme=plain,
        css=CSS,
        app_kwargs={"middleware": [Middleware(Guard, hosts=hosts)]},
    )
    return str(address)


def build_page(models: Sequence[LoadedModel]) -> Any:
    """Return the page as a `gradio.Blocks` that is not served yet."""
    # gradio reads this when it is imported.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio

    with gradio.Blocks(analytics_enabled=False, title="Language models") as page:
        names = rendering.escaped(", ".join(loaded.name for loaded in models))
        add_html(gradio, f'<div class="hfl"><h1>Language models</h1><p class="note">{names}</p></div>')
        captioners = [loaded for loaded in models if _writes_captions(loaded.model)]
        if captioners:
            with gradio.Tab("Caption"):
                _caption_tab(gradio, captioners)
        drawers = [loaded for loaded in models if _draws_strokes(loaded.model)]
        if drawers:
            with gradio.Tab("Draw"):
                _draw_tab(gradio, drawers)
        # The other tabs are for models that read texts.
        models = [loaded for loaded in models if loaded.model.main_input_name == "input_ids"]
        causal = [loaded for loaded in models if kind_of(loaded.model) == CAUSAL]
        for name, tab in {"Continue": _continue_tab, "Rank": _rank_tab, "Compare": _compare_tab}.items():
            if causal:
                with gradio.Tab(name):
                    tab(gradio, causal)
        translators = [loaded for loaded in models if getattr(loaded.model.config, "is_encoder_decoder", False)]
        if translators:
            with gradio.Tab("Translate"):
                _translate_tab(gradio, translators)
        # These tabs have a row of their own: all tabs in one row are too wide for a telephone.
        if models:
            with gradio.Tab("Inside"):
                inside_tabs(gradio, models)
    return page


def _caption_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, image: Any, beams: float) -> tuple[str, ...]:
        return see_caption(models[which], image, int(beams))

    which = add_choice_of_model(gradio, models)
    image = gradio.Image(type="pil", sources=["upload", "clipboard"], label="Image", height=240, elem_id="image")
    beams = gradio.Slider(1, _MOST_BEAMS, 1, step=1, label="Beams", info="1: greedy search")
    add_button(gradio, "Caption", answer, [which, image, beams], ["caption", "patches"])


def _continue_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, text: str, *choices: Any) -> tuple[str, ...]:
        new, decoding, temperature, top_k, top_p, seed = choices
        seed = None if seed is None else int(seed)
        sampling = Sampling(int(new), decoding == _DECODING[1], float(temperature), int(top_k), float(top_p), seed)
        result = continue_text(models[which], text, sampling)
        return rendering.render_continuation(result), rendering.render_next_tokens(next_tokens(models[which], text))

    which = add_choice_of_model(gradio, models)
    text = gradio.Textbox(label="Text", lines=3, placeholder=f"At most {MAX_CHARACTERS:,} characters", elem_id="prompt")
    with gradio.Row():
        new = gradio.Slider(1, MAX_NEW_TOKENS, 30, step=1, label="New tokens at most")
        decoding = gradio.Radio(_DECODING, value=_DECODING[1], label="Decoding")
    with gradio.Accordion("Sampling", open=False), gradio.Row():
        temperature = gradio.Slider(
            0.1, 3, 1, step=0.05, label="Temperature", info="below 1 favours likely tokens, above 1 unlikely"
        )
        top_k = gradio.Slider(0, 200, 0, step=1, label="Top-k", info="only from the k most probable tokens; 0: all")
        top_p = gradio.Slider(0.01, 1, 1, step=0.01, label="Top-p", info="only from the most probable that add up to p")
        seed = gradio.Number(None, label="Seed", precision=0, info="the same seed, the same text")
    inputs = [which, text, new, decoding, temperature, top_k, top_p, seed]
    add_button(gradio, "Continue", answer, inputs, ["continuation", "next-tokens"])


def _translate_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, text: str, beams: float) -> tuple[str, ...]:
        return see_translation(models[which], text, int(beams))

    which = add_choice_of_model(gradio, models)
    text = gradio.Textbox(label="Sentence", lines=2, elem_id="translated")
    beams = gradio.Slider(1, _MOST_BEAMS, 4, step=1, label="Beams", info="1: greedy search")
    add_button(gradio, "Translate", answer, [which, text, beams], ["translation", "alignment"])


def _draw_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, points: float, temperature: float, seed: float) -> str:
        return see_strokes(models[which], int(points), float(temperature), int(seed or 0))

    which = add_choice_of_model(gradio, models)
    with gradio.Row():
        points = gradio.Slider(1, MAX_POINTS, 30, step=1, label="Points of each drawing")
        temperature = gradio.Slider(0.1, 2, 1, step=0.05, label="Temperature", info="below 1 favours likely points")
        seed = gradio.Number(0, label="Seed", precision=0, info="the same seed, the same drawings")
    add_button(gradio, "Draw", answer, [which, points, temperature, seed], ["drawings"])


def _rank_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, text: str, order: str) -> str:
        return rendering.render_ranking(rank(models[which], checked_sentences(text), per_token=order == _ORDERS[1]))

    which = add_choice_of_model(gradio, models)
    hint = f"At most {MAX_SENTENCES} sentences, one per line"
    text = gradio.Textbox(label="Sentences", lines=5, placeholder=hint, elem_id="sentences")
    order = gradio.Radio(_ORDERS, value=_ORDERS[0], label="Best first by the probability of")
    add_button(gradio, "Rank", answer, [which, text, order], ["ranking"])


def _compare_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(text: str) -> str:
        return rendering.render_comparison([loaded.name for loaded in models], compare(models, text))

    if len(models) < 2:
        add_html(
            gradio,
            '<div class="hfl"><p>Start the page with two language models: hf-lecture demo MODEL MODEL2</p></div>',
        )
        return
    hint = f"At most {MAX_CHARACTERS:,} characters"
    text = gradio.Textbox(label="Text", lines=3, placeholder=hint, elem_id="compared")
    add_button(gradio, "Compare", answer, [text], ["comparison"])
