# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The HTML of the demo page: nothing that a user, a token or a model's name says is ever markup."""

import math
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from hf_lecture_models.evaluation.surprisal import ScoredText, TokenSpan
from hf_lecture_models.lab.demo.answers import NextToken
from hf_lecture_models.lab.demo.rendering import (
    render_comparison,
    render_continuation,
    render_error,
    render_next_tokens,
    render_ranking,
)
from hf_lecture_models.lab.demo.style import CSS, STEPS, step


def luminance(colour):
    """Relative luminance of WCAG 2: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


EVIL = "</span><script>alert(1)</script> <img src=x onerror='alert(2)'> \" ${alert(3)} {{value}} `x`"


class Reader(HTMLParser):
    """The elements of a document with their attributes, and its text."""

    def __init__(self, document):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.feed(document)
        self.close()
        assert not self.open, "an element is not closed"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


MEASURES = {
    "log_prob": -3 * math.log(2),
    "tokens": 3,
    "bits_per_byte": 0.5,
    "word_perplexity": 2.0,
    "perplexity": 2.0,
    "unknown": 1,
}


def scored(text):
    return ScoredText(text, [TokenSpan(text, 1.5, len(text), unknown=True), TokenSpan("", 1.5)], MEASURES)


IMPOSSIBLE = ScoredText(EVIL, [], {**MEASURES, "log_prob": -math.inf, "bits_per_byte": math.inf})

DOCUMENTS = {
    "error": render_error(EVIL),
    "continuation": render_continuation(
        {"prompt": EVIL, "completion": EVIL, "tokens": 3, "finished": True, "stopped_at_limit": False}
    ),
    "next tokens": render_next_tokens([NextToken(EVIL, 0.5, ""), NextToken(EVIL, 0.25, "end"), NextToken(EVIL, 0, "")]),
    "ranking": render_ranking([scored(EVIL), IMPOSSIBLE]),
    "comparison": render_comparison([EVIL, "B"], [scored(EVIL), scored("x")]),
    "comparison with an impossible text": render_comparison([EVIL, "B"], [scored(EVIL), IMPOSSIBLE]),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_whatever_is_shown_is_text(name):
    document = DOCUMENTS[name]
    reader = Reader(document)
    assert {tag for tag, _ in reader.elements} <= {
        *("div", "span", "p", "b", "small", "table", "thead", "tbody", "tr", "th", "td")
    }
    allowed = {"class", "style", "title", "role", "aria-hidden", "aria-label", "tabindex"}
    assert {key for _, attributes in reader.elements for key in attributes} <= allowed
    shown = "".join(reader.text)
    for sign in ("<script>alert(1)</script>", "<img", "${alert(3)}", "{{value}}"):
        assert sign in shown.replace("␣", " ")
    assert not set("${}`") & set(document)


def test_probabilities_and_bars():
    reader = Reader(DOCUMENTS["next tokens"])
    assert [text for text in reader.text if text.endswith("%")] == ["50.00%", "25.00%", "0.00%"]
    widths = [attributes["style"] for tag, attributes in reader.elements if "style" in attributes]
    assert widths == ["width: 100.0%", "width: 50.0%", "width: 0.0%"]
    assert "all others share 25.00%" in "".join(reader.text)
    assert "end of the text" in "".join(reader.text)
    assert "∞" in reader.text


def test_surprisal_decides_the_colour_and_unknown_words_are_marked():
    spans = [TokenSpan("a", 0.5, 1), TokenSpan(" b", 5.0, 3, unknown=True), TokenSpan(" ", 1.0), TokenSpan("", 40.0)]
    reader = Reader(render_ranking([ScoredText("a b ", spans, MEASURES)]))
    classes = [attributes["class"] for _, attributes in reader.elements if attributes.get("class", "")[:6] == "piece "]
    assert classes == ["piece step0", "piece step3", "piece step1", "piece step5"]
    tail = reader.text[reader.text.index("a") :]
    assert tail == ["a", "0.50", "b", "5.00", "␣", "1.00", "end", "40.00"]
    unknown = [attributes for _, attributes in reader.elements if attributes.get("class") == "unknown"]
    assert len(unknown) == 2  # the legend's, and b


def test_colours_can_be_read_and_keep_their_order_in_grey():
    light = [luminance(background) for background, _ in STEPS]
    assert all(brighter > 1.25 * darker for brighter, darker in pairwise(light))
    for background, ink in STEPS:
        low, high = sorted([luminance(background), luminance(ink)])
        assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG AA
        assert f"background: {background}; color: {ink};" in CSS
    assert step(math.inf) == len(STEPS) - 1
    assert "http" not in CSS
