# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The words of a text that are not in a model's vocabulary, and what the loaded models know."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from tokenizers.models import WordLevel

from hf_lecture_models.analysis.neighbours import special_ids
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.encoding import unknown_tokens
from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.lab.demo.rendering import block, escaped, marked, name_html, scrolled, unknown_legend
from hf_lecture_models.tokenization.splitting import WORD

Spans = list[tuple[int, int]]
_MOST_SHOWN = 2_000  # words of a vocabulary
# Where a recipe holds its own texts, and the field of a row that a model reads.
_TEXTS, _FIELDS = ("train_texts", "train_rows"), ("source", "text", "tokens")


def unknown_spans(tokenizer: Any, text: str) -> Spans:
    """Return the places of the words that the model reads as the unknown word; none for a tokenizer of pieces.

    >>> from hf_lecture_models import ByteTokenizer, WordTokenizer
    >>> unknown_spans(WordTokenizer.from_words(["the", "cat"]), "the zebra")
    [(4, 9)]
    >>> unknown_spans(ByteTokenizer(), "the zebra")
    []

    The marks of a tokenizer that splits punctuation are words of their own:

    >>> split = WordTokenizer.from_words(["the", "."], split_punctuation=True)
    >>> unknown_spans(split, "the zebra.")
    [(4, 9)]
    """
    names = unknown_tokens(tokenizer) if hasattr(tokenizer, "unk_token_id") else {}
    try:
        read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        pairs = list(zip(read["input_ids"], read["offset_mapping"], strict=True)) if names else []
    except (NotImplementedError, TypeError, ValueError):  # no offsets, or a closed vocabulary that refuses the text
        return _refused_spans(tokenizer, text)
    return [(begin, end) for id_, (begin, end) in pairs if id_ in names and text[begin:end] != names[id_]]


def _refused_spans(tokenizer: Any, text: str) -> Spans:
    spans = [(word.start(), word.end()) for word in WORD.finditer(text)]
    return [(begin, end) for begin, end in spans if not _is_read(tokenizer, text[begin:end])]


def _is_read(tokenizer: Any, word: str) -> bool:
    try:
        ids = tokenizer(word, add_special_tokens=False)["input_ids"]
    except (TypeError, ValueError):
        return False
    return all(isinstance(one, list) or one not in unknown_tokens(tokenizer) for one in ids)


def as_read(models: Sequence[LoadedModel], *texts: str) -> str:
    """Return the texts with their unknown words marked, once for each tokenizer that has some; else ""."""
    shown = dict[str, list[str]]()
    for loaded in models:
        spans = [unknown_spans(loaded.tokenizer, text) for text in texts]
        if any(spans):
            lines = (f'<div class="word">{marked(*one)}</div>' for one in zip(texts, spans, strict=True))
            shown.setdefault("".join(lines), []).append(loaded.name)
    if not shown:
        return ""
    boxes = "".join(
        (f'<p class="note">{escaped(", ".join(names))}</p>' if len(models) > 1 else "")
        + scrolled(f"text as {names[0]} reads it", lines)
        for lines, names in shown.items()
    )
    return block(boxes + unknown_legend())


def known_vocabulary(loaded: LoadedModel) -> tuple[str, list[str]]:
    """Return what a model reads, in a few words, and its words if it knows at most 2,000.

    >>> from hf_lecture_models import ByteTokenizer, WordTokenizer
    >>> known_vocabulary(LoadedModel("m", None, WordTokenizer.from_words(["the", "cat"])))
    ('2 words', ['cat', 'the'])
    >>> known_vocabulary(LoadedModel("m", None, ByteTokenizer()))
    ('any text, in 256 pieces', [])

    Of a model of pieces or letters whose recipe holds its own texts, these are the words of the recipe.
    """
    size = trait(loaded.model, "image_size") if loaded.model is not None else None
    tokenizer = getattr(loaded.tokenizer, "tokenizer", loaded.tokenizer)
    images = f"images, made {size} × {size} pixels" if size else ""
    if not hasattr(tokenizer, "get_vocab"):
        return images or "no texts", []
    said, words = _what_it_reads(tokenizer)
    if not words and (words := _words_of_recipe(loaded.model)):
        said += f"; trained on {len(words):,} words"
    return (f"{images}; it writes {said}" if images else said), words if len(words) <= _MOST_SHOWN else []


def _what_it_reads(tokenizer: Any) -> tuple[str, list[str]]:
    """Return what a tokenizer reads, in a few words, and its words; no words for one of pieces or letters."""
    if hasattr(tokenizer, "max_characters_per_token"):
        return "any word, in letters", []
    special = tokenizer.convert_ids_to_tokens(sorted(special_ids(tokenizer)))
    known = sorted(set(tokenizer.get_vocab()) - set(special))
    if isinstance(getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None), WordLevel):
        return f"{len(known):,} words", known
    said = f"{len(known):,} pieces of words" if unknown_tokens(tokenizer) else f"any text, in {len(known):,} pieces"
    return said, []


def _words_of_recipe(model: Any) -> list[str]:
    """Return the words of the texts that the recipe in the model's folder holds."""
    if model is None or not model.name_or_path:
        return []
    try:
        recipe = yaml.safe_load(Path(model.name_or_path, "recipe.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return []
    words = set[str]()
    for row in [row for name in _TEXTS if isinstance(recipe, dict) for row in recipe.get(name) or []]:
        own = next((row[key] for key in _FIELDS if row.get(key)), []) if isinstance(row, dict) else row
        words.update(own.split() if isinstance(own, str) else map(str, own))
    return sorted(words)


def render_known(models: Sequence[LoadedModel]) -> str:
    """Return the models' names with what each of them reads; the words of small vocabularies unfold."""
    known = [known_vocabulary(loaded) for loaded in models]
    counts = [len(words) for _, words in known if words]
    head = "What these models know"
    if counts:
        span = f"{min(counts):,}" + (f" to {max(counts):,}" if max(counts) > min(counts) else "")
        head = f"These models know few words ({span} each): see which"
    items = ""
    for loaded, (said, words) in zip(models, known, strict=True):
        listed = scrolled(f"words of {loaded.name}", escaped(" ".join(words)), "text words") if words else ""
        items += f"<li>{name_html(loaded.name)}: {escaped(said)}{listed}</li>"
    note = (
        '<p class="note">They were trained on little text, or on small images: enough to show how each architecture '
        "works. In the answers a word that is not in the vocabulary has dots below it.</p>"
        if counts
        else ""
    )
    return f"<details><summary>{head}</summary>{note}<ul>{items}</ul></details>"
