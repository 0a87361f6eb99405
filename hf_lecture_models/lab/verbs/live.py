# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture live`: a web page on which language models read along while one types, as one HTML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.files import check_writable, write_file
from hf_lecture_models.lab.live.pages import PAGES, standalone_page
from hf_lecture_models.lab.live.supported import refuse_model
from hf_lecture_models.lab.live.weights import LiveModel, stored_bytes, weights_script
from hf_lecture_models.loading import load_model, short_names
from hf_lecture_models.models.ngram.saving_ngram import refuse_existing

MOST_BYTES = 50_000_000
"""Of the page: browsers parse a file of this size in seconds, and mail and Git servers still take it."""


def run(names: list[str], output: Path, title: str | None, example: list[str], float16: bool) -> None:
    """Write the page, and print what it holds.

    Raises:
        FileExistsError: the file is there already.
        OSError: a model cannot be read, or the file cannot be written.
        ValueError: the page does not compute one of the models, or would be too large; the file's name does not end in
            .html.
    """
    if output.suffix.lower() != ".html":
        raise ValueError(f"{output} must end in .html: it is a page for a browser")
    refuse_existing(output)
    check_writable(None, output)
    models = []
    for name, short in zip(names, short_names(names), strict=True):
        model, tokenizer = load_model(name)
        refuse_model(name, model, tokenizer)
        models.append(LiveModel(short, seen_of(facts_of(name, model, tokenizer)), model.eval(), tokenizer))
    _refuse_large(models, float16)
    examples = {"examples": example} if example else {}
    page = standalone_page(PAGES["next_word"], weights_script(models, float16, **examples), title)
    size = len(write_file(output, page).read_bytes())
    print(f"{output}: {', '.join(one.title for one in models)}; {size:,} bytes; open it in a browser")


def seen_of(facts: Mapping[str, Any]) -> str:
    """Return the name of the texts that a model was trained on, "" where its facts do not have it.

    >>> seen_of({"recipe": {"train_files": ["tales/grimm.txt"]}}), seen_of({"recipe": {}})
    ('grimm.txt', '')
    """
    recipe = facts.get("recipe") or {}
    files = ", ".join(Path(file).name for file in recipe.get("train_files") or ())
    return (recipe.get("data") or {}).get("name") or recipe.get("dataset_name") or files


def _refuse_large(models: list[LiveModel], half: bool) -> None:
    """Raise a ValueError where the numbers alone, four characters for three bytes, make the page too large."""
    sizes = {one.title: stored_bytes(one.model, half) * 4 // 3 for one in models}
    if (total := sum(sizes.values())) <= MOST_BYTES:
        return
    largest = max(sizes, key=sizes.__getitem__)
    advice = "make n-grams smaller with the verb `prune` or `cut`, or name fewer or smaller models"
    if not half:
        advice = f"set `float16`, which halves networks; {advice}"
    raise ValueError(
        f"the page would have {total / 1e6:.0f} MB, and at most {MOST_BYTES / 1e6:.0f} are allowed; most of it is "
        f"{largest} with {sizes[largest] / 1e6:.0f} MB: {advice}"
    )
