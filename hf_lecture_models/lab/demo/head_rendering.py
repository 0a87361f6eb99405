# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classes, tags, masked words and answers as HTML of the demo page."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from hf_lecture_models.lab.demo.rendering import bar, block, escaped, marked, name_html, scrolled, table, unknown_legend
from hf_lecture_models.lab.demo.style import TAG_COLOURS

Found = Sequence[Mapping[str, Any]]
_OUTSIDE = "O"


def render_classes(found: Found, classes: int, is_number: bool = False, image: str = "") -> str:
    """Return a table of classes, each with its probability and a bar; of a regression, its number.

    Args:
        found: the best classes, best first.
        classes: the number of the model's classes.
        image: the data URL of the image that was classified.
    """
    shown = f'<img class="picture small" alt="the image that was classified" src="{image}">' if image else ""
    if is_number:
        numbers = "".join(f"<p><b>{escaped(str(one['label']))}: {one['score']:.4g}</b></p>" for one in found)
        return block(f"{shown}{numbers}")
    rest = f'<p class="note">The {len(found)} most probable of {classes} classes.</p>' if classes > len(found) else ""
    return block(f"{shown}{_table('class', found)}{rest}")


def _table(head: str, found: Found, of: str = "") -> str:
    rows = "".join(
        f'<tr><td class="token">{name_html(str(one["label"]))}</td>'
        f'<td class="number probability">{one["score"]:.2%}</td>{bar(one["score"])}</tr>'
        for one in sorted(found, key=lambda one: -one["score"])
    )
    columns = f'<th>{head}</th><th class="number">probability</th><td></td>'
    return table(columns, rows, f"probability of each {head}{of}")


def tag_step(label: str, labels: Sequence[str]) -> int:
    """Return the colour of a tag: an index of `TAG_COLOURS`, the same one for the beginning and inside of an entity.

    >>> labels = ["O", "B-PER", "I-PER", "B-LOC"]
    >>> [tag_step(label, labels) for label in labels]
    [0, 1, 1, 2]
    """
    kinds = list(dict.fromkeys(_kind(one) for one in labels if one != _OUTSIDE))
    return 0 if label == _OUTSIDE else 1 + kinds.index(_kind(label)) % (len(TAG_COLOURS) - 1)


def _kind(label: str) -> str:
    return label[2:] if label[:2] in ("B-", "I-") else label


def render_tags(found: Found, labels: Sequence[str], unknown: Sequence[bool]) -> str:
    """Return words, each with its tag below it on the tag's colour.

    Args:
        found: dicts of `word` and `label`, None for a word that the model did not read.
        labels: the model's classes.
        unknown: whether each word is not in the vocabulary.
    """
    words = "".join(
        f'<span class="piece tag{0 if one["label"] is None else tag_step(one["label"], labels)}">'
        f'<span class="word">{marked(one["word"], [(0, len(one["word"]))] if new else [])}</span>'
        f"<small>{escaped(one['label'] or 'not read')}</small></span>"
        for one, new in zip(found, unknown, strict=True)
    )
    return block(f'<div class="pieces">{words}</div>{unknown_legend() if any(unknown) else ""}')


def render_fillings(found: Found) -> str:
    """Return a table of words for each gap, and the text with the most probable word of the first."""
    tables = ""
    for mask, words in groupby(found, key=lambda one: one["mask"]):
        tables += f"<p><b>Gap {mask + 1}</b></p>{_table('word', list(words), f' in gap {mask + 1}')}"
    return block(tables)


def render_answer(context: str, found: Found, unknown: Sequence[tuple[int, int]] = ()) -> str:
    """Return a text with the best answer marked, and a table of the best ones; an empty label means none.

    Args:
        unknown: the places of the text's words that are not in the vocabulary.
    """
    best: Mapping[str, Any] = found[0] if found else {"label": "", "start": 0, "end": 0}
    start, end = best["start"], best["end"]
    if not best["label"]:
        text, note = marked(context, unknown), "The model finds no answer in this text."
    else:
        answer = f'<mark class="new">{marked(context, unknown, start, end)}</mark>'
        text = marked(context, unknown, 0, start) + answer + marked(context, unknown, end)
        note = "The answer is marked."
    named = [{**one, "label": one["label"] or "no answer"} for one in found]
    shown = scrolled("text with its answer", text)
    legend = unknown_legend() if unknown else ""
    return block(f'{shown}<p class="note">{note}</p>{legend}{_table("answer", named)}')
