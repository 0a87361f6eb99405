# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page's answers as HTML. Every text, token and name goes through `escaped`."""

import html
import math
import re
from collections.abc import Sequence
from typing import Any

from hf_lecture_models.analysis.neighbours import WordNeighbours, shown
from hf_lecture_models.evaluation.surprisal import ScoredText, TokenSpan
from hf_lecture_models.lab.demo.answers import NextToken
from hf_lecture_models.lab.demo.style import STEPS, step, step_name

_KINDS = {"end": "end of the text", "unknown": "an unknown word"}
_UNKNOWN = ' class="unknown" title="unknown to this model"'
_NOT_KNOWN = "not in the vocabulary: the model reads <unk>"
# The page puts values into a template of its own, in which these characters have a meaning.
_TEMPLATE_SIGNS = str.maketrans({sign: f"&#{ord(sign)};" for sign in "${}`"})


def escaped(text: str) -> str:
    """Return text that HTML and the page's templates show as it is.

    >>> escaped("<b onclick='x'> ${1}")
    '&lt;b onclick=&#x27;x&#x27;&gt; &#36;&#123;1&#125;'
    """
    return html.escape(text).translate(_TEMPLATE_SIGNS)


def name_html(name: str) -> str:
    """Return a name that may be divided after an underscore or hyphen, and nowhere else but at blanks.

    >>> name_html("very_negative")
    'very_<wbr>negative'
    """
    return re.sub("([_-])", r"\1<wbr>", escaped(name))


def marked(text: str, unknown: Sequence[tuple[int, int]], begin: int = 0, end: int | None = None) -> str:
    """Return a text, or a part of it, in which the words at these places are marked.

    >>> marked("the zebra sleeps", [(4, 9)], begin=2)
    'e <span class="unknown" title="unknown to this model">zebra</span> sleeps'
    """
    shown, place = "", begin
    last = len(text) if end is None else end
    for first, after in unknown:
        first, after = max(first, begin), min(after, last)
        if first < after:
            shown += escaped(text[place:first]) + f"<span{_UNKNOWN}>{escaped(text[first:after])}</span>"
            place = after
    return shown + escaped(text[place:last])


def unknown_legend() -> str:
    """Return the line that explains marked words."""
    return f'<p class="legend"><span class="unknown">dots</span> {escaped(_NOT_KNOWN)}</p>'


def render_error(message: str) -> str:
    """Return one line with an error's message."""
    return block(f'<p class="error" role="alert">{escaped(message)}</p>')


def render_continuation(result: dict[str, Any], unknown: Sequence[tuple[int, int]] = ()) -> str:
    """Return the text with its continuation marked; `result` comes from `complete`.

    Args:
        unknown: the places of the prompt's words that are not in the vocabulary.
    """
    end = "; then the model ended the text" if result["finished"] else ""
    if result["stopped_at_limit"]:
        end = "; the model can read no more than that and your text"
    legend = unknown_legend() if unknown else ""
    text = (
        f'<span class="word">{marked(result["prompt"], unknown)}</span>'
        f'<span class="word new">{escaped(result["completion"])}</span>'
    )
    note = f'<p class="note">{result["tokens"] - result["finished"]} new tokens{end}.</p>'
    return block(scrolled("the text", text) + note + legend)


def render_translation(text: str) -> str:
    """Return a translation, line by line."""
    return block(scrolled("the text", f'<span class="word">{escaped(text)}</span>'))


def render_next_tokens(tokens: Sequence[NextToken]) -> str:
    """Return a table of tokens, each with its probability, its surprisal and a bar."""
    largest = max(token.probability for token in tokens) or 1.0
    rows = "".join(
        f"<tr>{_token_cell(token)}"
        f'<td class="number probability">{token.probability:.2%}</td>'
        f'<td class="number">{_bits(-math.log2(token.probability)) if token.probability else "∞"}</td>'
        f"{bar(token.probability / largest)}</tr>"
        for token in tokens
    )
    rest = max(0.0, 1 - sum(token.probability for token in tokens))
    head = '<th>token</th><th class="number">probability</th><th class="number">bits</th><td></td>'
    return block(
        f"{table(head, rows, 'the next tokens')}"
        f'<p class="note">Probabilities of the token right after your text; all others share {rest:.2%}.</p>'
    )


def table(head: str, rows: str, name: str) -> str:
    """Return a table of these cells and rows, which scrolls sideways where the screen is too narrow for its words."""
    return scrolled(name, f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>", "wide")


def scrolled(name: str, content: str, kind: str = "text") -> str:
    """Return a part of the page that may scroll; the keyboard reaches it, and screen readers say its name.

    Args:
        name: of the part, as plain text.
        content: HTML.
        kind: its classes in `style.py`.
    """
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{escaped(name)}">{content}</div>'


def bar(part: float) -> str:
    """Return a table's cell with a bar as wide as this part of it."""
    return f'<td class="bar" aria-hidden="true"><div style="width: {part:.1%}"></div></td>'


def _token_cell(token: NextToken) -> str:
    if token.kind:
        return f'<td class="token special">{_KINDS[token.kind]} ({escaped(token.token)})</td>'
    return f'<td class="token">{escaped(shown(token.token))}</td>'


def render_neighbours(found: Sequence[WordNeighbours]) -> str:
    """Return a table of words with their neighbours, each with its similarity."""
    rows = "".join(
        f'<tr><th class="word">{escaped(shown(one.word))}</th><td>'
        + ", ".join(f"{escaped(shown(near.word))} {near.similarity:.3f}" for near in one.neighbours)
        + "</td></tr>"
        for one in found
    )
    head = "<th>word</th><th>nearest words, with the cosine of their vectors</th>"
    return block(table(head, rows, "the nearest words"))


def render_weights(rows: Sequence[str], columns: Sequence[str], weights: Sequence[Sequence[float]], name: str) -> str:
    """Return a table of weights in per cent that unfolds below their picture.

    Args:
        rows, columns: the words that attend, and those that are attended to.
        weights: (rows, columns), from 0 to 1.
        name: names the table.
    """
    head = "<td></td>" + "".join(f'<th class="number">{escaped(shown(word))}</th>' for word in columns)
    body = "".join(
        f"<tr><th>{escaped(shown(word))}</th>{''.join(f'<td class=number>{100 * one:.1f}</td>' for one in own)}</tr>"
        for word, own in zip(rows, weights, strict=True)
    )
    return block(f"<details><summary>The weights in numbers (%)</summary>{table(head, body, name)}</details>")


def render_ranking(ranking: Sequence[ScoredText]) -> str:
    """Return the sentences in their order, each token coloured by its surprisal."""
    return block(_legend(ranking) + "".join(_sentence(place, one) for place, one in enumerate(ranking, start=1)))


def _sentence(place: int, one: ScoredText) -> str:
    tokens = one.measures["tokens"]
    if not one.possible:
        return f'<div class="sentence"><b>{place}.</b> {_impossible(one)}</div>'
    spans = "".join(map(_span, one.spans))
    return (
        f'<div class="sentence"><b>{place}.</b> <b class="bits">{_bits(one.bits)} bits</b>, '
        f'{_bits(one.bits / tokens)} per token, {tokens} tokens<div class="pieces">{spans}</div></div>'
    )


def _span(span: TokenSpan) -> str:
    return (
        f'<span class="piece step{step(span.bits)}"><span{_unknown(span)}>{_label(span)}</span>'
        f"<small>{_bits(span.bits)}</small></span>"
    )


def render_comparison(names: Sequence[str], scored: Sequence[ScoredText]) -> str:
    """Return a table of measures, and each span of the text with its surprisal under each model."""
    rows = {
        "bits of the whole text": [_bits(one.bits) for one in scored],
        "bits per byte": [_number(one.measures["bits_per_byte"]) for one in scored],
        "perplexity per word": [_number(one.measures["word_perplexity"]) for one in scored],
        "perplexity per token": [_number(one.measures["perplexity"]) for one in scored],
        "tokens": [str(one.measures["tokens"]) for one in scored],
        "unknown words": [str(one.measures["unknown"]) for one in scored],
    }
    head = "".join(f'<th class="number name">{name_html(name)}</th>' for name in names)
    body = "".join(
        f"<tr><th>{name}</th>{''.join(f'<td class=number>{cell}</td>' for cell in cells)}</tr>"
        for name, cells in rows.items()
    )
    note = (
        '<p class="note">Below each word its bits under each model in turn; fewer is better. '
        "Bits per byte count the spelling of unknown words and compare any two models; perplexities per token only "
        "models of the same vocabulary.</p>"
    )
    return block(f"{table(f'<td></td>{head}', body, 'measures of each model')}{note}{_pairs(scored)}")


def _pairs(scored: Sequence[ScoredText]) -> str:
    refusals = "".join(f"<p>{_impossible(one)}</p>" for one in scored if not one.possible)
    aligned = [one.spans for one in scored if one.possible]
    pairs = "".join(
        f'<span class="pair"><span class="word">{_marked_label(spans)}</span>{"".join(map(_small, spans))}</span>'
        for spans in zip(*aligned, strict=True)
    )
    return f'{_legend(scored)}{refusals}<div class="pieces">{pairs}</div>'


def render_surprisal(names: Sequence[str], sentences: Sequence[Sequence[ScoredText]]) -> str:
    """Return a table for each sentence, with a row for each model, a coloured cell for each word, and the sum."""
    least = [min(scored, key=lambda one: one.bits) for scored in zip(*sentences, strict=True)]
    tables = "".join(
        _surprisal_table(names, scored, least, f"surprisal of each word of sentence {number}")
        for number, scored in enumerate(sentences, 1)
    )
    note = (
        '<p class="note">A language model is surprised by a word after those before it, and by the end of the text; a '
        "model of masked words (BERT) by a word between all the others. Over all sentences its probabilities do not "
        "sum to one, so that its sums compare only with its own. In bold: the model's most probable sentence.</p>"
    )
    return block(f"{_legend([one for scored in sentences for one in scored])}{tables}{note}")


def _surprisal_table(
    names: Sequence[str], scored: Sequence[ScoredText], least: Sequence[ScoredText], title: str
) -> str:
    words = list(zip(*(one.spans for one in scored if one.possible), strict=True))
    head = "".join(f'<th class="word">{_marked_label(spans)}</th>' for spans in words)
    rows = ""
    for name, one, best in zip(names, scored, least, strict=True):
        cells = "".join(map(_bits_cell, one.spans)) or f"<td colspan={max(1, len(words))}>{_impossible(one)}</td>"
        total = f"<b>{_bits(one.bits)}</b>" if one is best else _bits(one.bits)
        rows += f'<tr><th class="name">{name_html(name)}</th>{cells}<td class="number">{total}</td></tr>'
    head = f'<td></td>{head}<th class="number">sum</th>'
    return table(head, rows, title)


def _bits_cell(span: TokenSpan) -> str:
    if math.isnan(span.bits):
        return '<td class="number">–</td>'
    return f'<td class="number step{step(span.bits)}"><span{_unknown(span)}>{_bits(span.bits)}</span></td>'


def render_picture(svg: str, description: str) -> str:
    """Return a picture, given as SVG in base 64, with a link that saves it."""
    source = f"data:image/svg+xml;base64,{svg}"
    link = f'<a download="picture.svg" href="{source}">Save the picture (SVG)</a>'
    return block(f'<img class="picture" alt="{escaped(description)}" src="{source}"><p class="note">{link}</p>')


def _small(span: TokenSpan) -> str:
    return f'<small class="step{step(span.bits)}"><span{_unknown(span)}>{_bits(span.bits)}</span></small>'


def _impossible(one: ScoredText) -> str:
    return (
        f'<span class="word">{escaped(one.text)}</span>: probability 0: a word of it is outside the closed vocabulary'
    )


def _legend(scored: Sequence[ScoredText]) -> str:
    steps = "".join(f'<span class="step{index}">{escaped(step_name(index))}</span>' for index in range(len(STEPS)))
    has_unknown = any(span.unknown for one in scored for span in one.spans)
    scale = f'<p class="legend">Surprisal in bits (−log₂ of the probability): {steps}</p>'
    return scale + (unknown_legend() if has_unknown else "")


def _unknown(span: TokenSpan) -> str:
    return _UNKNOWN if span.unknown else ""


def _marked_label(spans: Sequence[TokenSpan]) -> str:
    """Return a word, marked if one of the models does not know it; the bits of these models are marked too."""
    return f"<span{next(filter(None, map(_unknown, spans)), '')}>{_label(spans[0])}</span>"


def _label(span: TokenSpan) -> str:
    if span.end is None and not span.text.strip():
        blanks = span.text.replace("\n", "⏎").replace(" ", "␣")
        return escaped(blanks) or '<span class="special">end</span>'
    return escaped(span.text.strip())


def _bits(value: float) -> str:
    return "∞" if math.isinf(value) else f"{abs(value):.2f}"  # abs: no -0.00


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:,.4g}" if value < 1e6 else f"{value:.3g}"


def block(content: str) -> str:
    """Return content as a block of the page, to which its style applies."""
    return f'<div class="hfl">{content}</div>'
