# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page in gradio: a table of tabs, and for which models each of them is.

The page keeps no state: an answer follows from the fields alone, so users do not affect each other.
"""

import ipaddress
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from string import ascii_uppercase
from typing import Any

from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.surprisal import CAUSAL, kind_of
from hf_lecture_models.lab.demo import rendering
from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.lab.demo.fields import add_html
from hf_lecture_models.lab.demo.guard import Guard
from hf_lecture_models.lab.demo.head_tabs import answer_tab, classify_tab, fill_tab, images_tab, neighbours_tab, tag_tab
from hf_lecture_models.lab.demo.heads import head_of
from hf_lecture_models.lab.demo.inside import has_word_vectors
from hf_lecture_models.lab.demo.inside_tabs import inside_tabs
from hf_lecture_models.lab.demo.script import SCRIPT
from hf_lecture_models.lab.demo.style import CSS, THEME
from hf_lecture_models.lab.demo.text_tabs import (
    caption_tab,
    compare_tab,
    continue_tab,
    draw_tab,
    rank_tab,
    translate_tab,
)
from hf_lecture_models.lab.demo.unknown import render_known
from hf_lecture_models.loading import load_model, short_name

_MAX_WAITING = 32
TITLE = "The lectures' models"


@dataclass(frozen=True)
class Tab:
    """A tab of the page.

    Attributes:
        name: its title.
        is_for: whether it is of use for a model.
        build: adds its fields and button for the models that it is for.
    """

    name: str
    is_for: Callable[[LoadedModel], bool]
    build: Callable[[Any, Sequence[LoadedModel]], None]


def _has_head(task: str) -> Callable[[LoadedModel], bool]:
    return lambda loaded: head_of(loaded) == task


def _draws_strokes(loaded: LoadedModel) -> bool:
    return bool(trait(loaded.model, "point_width") == 3)


def _is_encoder_decoder(loaded: LoadedModel) -> bool:
    return bool(loaded.model.config.is_encoder_decoder)


def _reads_text(loaded: LoadedModel) -> bool:
    return bool(loaded.model.main_input_name == "input_ids")


def _reads_images(loaded: LoadedModel) -> bool:
    return bool(loaded.model.main_input_name == "pixel_values")


TABS = (
    Tab("Continue", lambda loaded: _reads_text(loaded) and kind_of(loaded.model) == CAUSAL, continue_tab),
    Tab("Rank", lambda loaded: _reads_text(loaded) and kind_of(loaded.model) == CAUSAL, rank_tab),
    Tab("Compare", lambda loaded: _reads_text(loaded) and kind_of(loaded.model) == CAUSAL, compare_tab),
    Tab("Fill in", _has_head("masked_lm"), fill_tab),
    Tab("Classify", _has_head("text_classification"), classify_tab),
    Tab("Tag", _has_head("token_classification"), tag_tab),
    Tab("Answer", _has_head("question_answering"), answer_tab),
    Tab("Translate", lambda loaded: _reads_text(loaded) and _is_encoder_decoder(loaded), translate_tab),
    Tab("Images", _has_head("image_classification"), images_tab),
    Tab("Caption", lambda loaded: _reads_images(loaded) and _is_encoder_decoder(loaded), caption_tab),
    Tab("Draw", _draws_strokes, draw_tab),
    Tab("Neighbours", lambda loaded: _reads_text(loaded) and has_word_vectors(loaded), neighbours_tab),
    # These tabs have a row of their own: all tabs in one row are too wide for a telephone.
    Tab("Inside", _reads_text, inside_tabs),
)
"""All tabs in their order, in which what needs the least explanation comes first; the page opens the first that it has,
and shows those that are for one of its models."""


def tabs_for(models: Sequence[LoadedModel]) -> dict[str, list[LoadedModel]]:
    """Return the names of the tabs that the page shows, each with the models that it is for."""
    chosen = {tab.name: [loaded for loaded in models if tab.is_for(loaded)] for tab in TABS}
    return {name: own for name, own in chosen.items() if own}


def load_models(names: Sequence[str]) -> list[LoadedModel]:
    """Load models, and name them by the last part of their path: the page shows no folders.

    Raises:
        OSError, ValueError: a model is missing or damaged, or the page has no tab for it.
    """
    models = []
    for letter, name in zip(ascii_uppercase, names, strict=False):
        model, tokenizer = load_model(name)
        model.eval()
        shown = short_name(name)
        loaded = LoadedModel(f"{letter}: {shown}" if len(names) > 1 else shown, model, tokenizer)
        if not tabs_for([loaded]):
            raise ValueError(
                f"{name} holds {type(model).__name__}, which reads {model.main_input_name}; this page takes models of "
                "texts, of captions, of classes of images and of pen strokes"
            )
        models.append(loaded)
    return models


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
    ).set(**THEME)
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
        js=SCRIPT,
        app_kwargs={"middleware": [Middleware(Guard, hosts=hosts)]},
    )
    return str(address)


def build_page(models: Sequence[LoadedModel]) -> Any:
    """Return the page as a `gradio.Blocks` that is not served yet."""
    # gradio reads this when it is imported.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio

    chosen = tabs_for(models)
    with gradio.Blocks(analytics_enabled=False, title=TITLE) as page:
        add_html(gradio, rendering.block(f"<h1>{rendering.escaped(TITLE)}</h1>{render_known(models)}"))
        for tab in TABS:
            if tab.name in chosen:
                with gradio.Tab(tab.name):
                    tab.build(gradio, chosen[tab.name])
    return page
