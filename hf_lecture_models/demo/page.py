# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page itself, in gradio: three tabs over the functions of `answers` and `rendering`.

It keeps no state: an answer follows from what stands in the fields, so that users do not notice each other.
"""

import ipaddress
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

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
from hf_lecture_models.demo.guard import Guard
from hf_lecture_models.demo.style import CSS
from hf_lecture_models.loading import load_model

_MAX_WAITING = 32
_DECODING = ("greedy search", "sampling")
_ORDERS = ("the whole sentence", "a token, on average")


def load_models(names: Sequence[str]) -> list[LoadedModel]:
    """Load models, named by the last part of their path: the page shows nothing else of this machine's folders."""
    models = []
    for letter, name in zip("AB", names, strict=False):
        model, tokenizer = load_model(name, AutoModelForCausalLM)
        model.eval()
        path = Path(name)
        shown = path.resolve().name if path.exists() else name
        models.append(LoadedModel(f"{letter}: {shown}" if len(names) > 1 else shown, model, tokenizer))
    return models


def serve(names: Sequence[str], host: str = "127.0.0.1", port: int | None = None, browser: bool = False) -> None:
    """Serve the page until Ctrl-C.

    Args:
        names: of one model or two.
        port: None: the first free one from 7860 on.
        browser: open it in a browser of this machine.

    Raises:
        ImportError: gradio is not installed.
        OSError: a model is not there, or the port is taken.
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
    """Raise ImportError, naming the extra to install, where gradio is missing."""
    if find_spec("gradio") is None:
        raise ImportError("demo needs gradio: pip install 'hf-lecture-models[demo]'")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def launch(page: Any, host: str = "127.0.0.1", port: int | None = None) -> str:
    """Start the server in a thread of its own; return its address."""
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


def answered(answer: Callable[..., tuple[str, ...]], outputs: int) -> Callable[..., list[str] | str]:
    """`answer` as a function for gradio, which shows an error as one line in the first of its outputs."""

    def run(*inputs: Any) -> list[str] | str:
        shown = attempt(*inputs)
        return shown[0] if outputs == 1 else shown

    def attempt(*inputs: Any) -> list[str]:
        try:
            return list(answer(*inputs))
        except (TypeError, ValueError) as error:
            message = textwrap.shorten(str(error), 300, placeholder=" ...")
        except Exception as error:
            print(f"hf-lecture demo: {type(error).__name__}: {error}", file=sys.stderr)
            message = "the model could not answer this; the terminal of the page says why"
        return [rendering.render_error(message), *[""] * (outputs - 1)]

    return run


def build_page(models: Sequence[LoadedModel]) -> Any:
    """The page as a `gradio.Blocks`, not yet served."""
    # Read when gradio is imported.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio

    with gradio.Blocks(analytics_enabled=False, title="Language models") as page:
        names = rendering.escaped(", ".join(loaded.name for loaded in models))
        _html(gradio, f'<div class="hfl"><h1>Language models</h1><p class="note">{names}</p></div>')
        with gradio.Tab("Continue"):
            _continue_tab(gradio, models)
        with gradio.Tab("Rank"):
            _rank_tab(gradio, models)
        with gradio.Tab("Compare"):
            _compare_tab(gradio, models)
    return page


def _continue_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, text: str, *choices: Any) -> tuple[str, ...]:
        new, decoding, temperature, top_k, top_p, seed = choices
        seed = None if seed is None else int(seed)
        sampling = Sampling(int(new), decoding == _DECODING[1], float(temperature), int(top_k), float(top_p), seed)
        result = continue_text(models[which], text, sampling)
        return rendering.render_continuation(result), rendering.render_next_tokens(next_tokens(models[which], text))

    which = _choice_of_model(gradio, models)
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
    _button(gradio, "Continue", answer, inputs, ["continuation", "next-tokens"])


def _rank_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(which: int, text: str, order: str) -> tuple[str, ...]:
        ranking = rank(models[which], checked_sentences(text), per_token=order == _ORDERS[1])
        return (rendering.render_ranking(ranking),)

    which = _choice_of_model(gradio, models)
    hint = f"At most {MAX_SENTENCES} sentences, one per line"
    text = gradio.Textbox(label="Sentences", lines=5, placeholder=hint, elem_id="sentences")
    order = gradio.Radio(_ORDERS, value=_ORDERS[0], label="Best first by the probability of")
    _button(gradio, "Rank", answer, [which, text, order], ["ranking"])


def _compare_tab(gradio: Any, models: Sequence[LoadedModel]) -> None:
    def answer(text: str) -> tuple[str, ...]:
        return (rendering.render_comparison([loaded.name for loaded in models], compare(models, text)),)

    if len(models) < 2:
        _html(gradio, '<div class="hfl"><p>Start the page with two models: hf-lecture demo MODEL MODEL2</p></div>')
        return
    hint = f"At most {MAX_CHARACTERS:,} characters"
    text = gradio.Textbox(label="Text", lines=3, placeholder=hint, elem_id="compared")
    _button(gradio, "Compare", answer, [text], ["comparison"])


def _choice_of_model(gradio: Any, models: Sequence[LoadedModel]) -> Any:
    names = [loaded.name for loaded in models]
    return gradio.Radio(names, value=names[0], type="index", label="Model", visible=len(names) > 1)


def _button(
    gradio: Any, label: str, answer: Callable[..., tuple[str, ...]], inputs: list[Any], outputs: list[str]
) -> None:
    """A button whose answer goes into one field of HTML per name in `outputs`; one answer at a time, others wait."""
    button = gradio.Button(label, variant="primary", elem_id=f"button-{label.lower()}")
    fields = [_html(gradio, elem_id=name) for name in outputs]
    run = answered(answer, len(fields))
    button.click(run, inputs, fields, concurrency_limit=1, concurrency_id="model", api_visibility="private")


def _html(gradio: Any, value: str = "", **options: Any) -> Any:
    return gradio.HTML(value, apply_default_css=False, **options)
