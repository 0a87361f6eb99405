# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The live pages: which scripts each needs, as HTML for the site, or as one file that stands alone.

A page is plain JavaScript of `docs/_static/live`: shared parts, one file for each architecture, and the page's own
file, which fills the element `data-live="NAME"`. A page with trained models also needs their weights, a script that
sets `LIVE` (`weights.py`).
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from hf_lecture_models.io.installed_folders import live_folder

_SHARED = ("numbers.js", "elements.js")


@dataclass(frozen=True)
class LivePage:
    """A live page.

    Attributes:
        name: of its own script, of its page in `docs/live`, and of its weights.
        title: its heading.
        lead: what the reader can do there.
        parts: scripts that it needs beside the shared ones and its own, in the order of loading.
        shown: those whose code the page shows, with the equations in their heads.
        has_models: whether it needs trained models.
    """

    name: str
    title: str
    lead: str
    parts: tuple[str, ...]
    shown: tuple[str, ...]
    has_models: bool = False

    @property
    def scripts(self) -> tuple[str, ...]:
        """All scripts but the weights, in the order of loading."""
        return (*_SHARED, *self.parts, f"{self.name}.js")


PAGES = {
    page.name: page
    for page in (
        LivePage(
            "next_word",
            "What comes next?",
            "Models of the lectures read along while you type, and say which word they expect.",
            (
                *("safetensors.js", "tokenizer.js", "ngram.js", "lstm.js", "self_attention.js"),
                *("reading.js", "inside.js"),
            ),
            ("ngram.js", "lstm.js", "self_attention.js"),
            has_models=True,
        ),
        LivePage(
            "smoothing",
            "The art of smoothing",
            "Count the words of your own text, and move probability from what was seen to what was not.",
            ("line_chart.js", "counts.js"),
            ("counts.js",),
        ),
        LivePage(
            "attention",
            "Attention by hand",
            "Every number between the words and the next word: q·k, the softmax, the sum of the values.",
            ("safetensors.js", "tokenizer.js", "self_attention.js", "attention_numbers.js"),
            ("self_attention.js",),
            has_models=True,
        ),
        LivePage(
            "gradients",
            "Vanishing gradients, trained before your eyes",
            "An Elman network and an LSTM learn to remember one word, in this page.",
            ("line_chart.js", "optimiser.js", "training.js", "train_elman.js", "train_lstm.js"),
            ("train_elman.js", "train_lstm.js", "optimiser.js"),
        ),
        LivePage(
            "pieces",
            "Words to pieces",
            "Byte pairs, a unigram model, WordPiece and bytes split your own text.",
            ("tokenizer.js", "merging.js", "unigram.js"),
            ("merging.js", "unigram.js", "tokenizer.js"),
        ),
    )
}


def read_script(name: str) -> str:
    """Return the text of a file of the live pages.

    Raises:
        FileNotFoundError: the package was installed without the live pages.
    """
    return (live_folder() / name).read_text(encoding="utf-8")


def page_body(page: LivePage) -> str:
    """Return the page's place, and the code that it shows, as HTML."""
    place = (
        f'<div class="live" data-live="{page.name}"><noscript>This page computes in the browser: it needs JavaScript.'
        "</noscript></div>"
    )
    sources = (
        f'<details class="live-source"><summary>{name}: the code that computes this page</summary>'
        f'<pre tabindex="0"><code>{html.escape(read_script(name))}</code></pre></details>'
        for name in page.shown
    )
    return "\n".join((place, *sources))


def page_scripts(addresses: Sequence[str]) -> str:
    """Return the elements that load scripts, in their order."""
    return "\n".join(f'<script src="{html.escape(address)}"></script>' for address in addresses)


def standalone_page(page: LivePage, weights: str | None = None, title: str | None = None) -> str:
    """Return the page as one HTML file with all that it needs.

    Args:
        page: which one.
        weights: the script of `weights.weights_script`, for a page with models.
        title: in place of the page's own.
    """
    title = html.escape(title or page.title)
    scripts = [read_script(name) for name in page.scripts]
    if weights is not None:
        scripts.insert(-1, weights)
    inline = "\n".join(f"<script>\n{script}</script>" for script in scripts)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{read_script("live.css")}</style>
<body class="live-alone">
<main>
<h1>{title}</h1>
<p>{html.escape(page.lead)}</p>
{page_body(page)}
</main>
{inline}
</body>
</html>
"""
