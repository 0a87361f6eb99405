# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Render model cards from the facts that `hub.facts` gathers, so that nobody types a number into a card."""

import ast
import math
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard

from hf_lecture_models.hub.energy import describe_energy
from hf_lecture_models.hub.metadata import DRAWN, PACKAGE, card_metadata, data_name, source_example
from hf_lecture_models.io.compat import OLDEST_TRANSFORMERS, TRIED_TRANSFORMERS
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import write_yaml
from hf_lecture_models.version import REPOSITORY_URL

LEARNING_CURVE = "learning_curve.png"
DRAWINGS = "drawings.svg"
TRIED = {
    "transformers": TRIED_TRANSFORMERS,
    "torch": ("2.7.1", "2.9.1", "2.12.1", "2.13.0", "2.15.0"),
    "Python": ("3.11", "3.12", "3.13"),
}
"""The versions with which the models, and published folders, were tried; CONTRIBUTING.md says how far."""
# The names of `training_record`, and those on the card.
_TRAINING = {
    "steps": "optimizer steps",
    "run_seconds": "seconds of the clock in all, evaluation and saving included",
    "seconds": "seconds of the clock",
    "cpu_seconds": "CPU seconds of learning alone",
    "targets": "masked tokens predicted",
    "targets_per_second": "masked tokens predicted per second of learning",
    "processes": "processes",
    "device": "device",
}


def write_card(folder: str | os.PathLike[str], facts: Mapping[str, Any]) -> Path:
    """Write `README.md` into a model's folder, with the learning curve, the drawings and the code that it holds.

    Raises:
        ValueError: a needed fact is missing.
        OSError: the folder cannot be written.
    """
    folder = Path(folder)
    curve = LEARNING_CURVE if (folder / LEARNING_CURVE).is_file() else None
    drawings = DRAWINGS if (folder / DRAWINGS).is_file() else None
    card = render_card(facts, curve, any(folder.glob("modeling_*.py")), drawings)
    return write_file(folder / "README.md", f"{card}\n")


def render_card(
    facts: Mapping[str, Any],
    learning_curve: str | None = None,
    self_contained: bool = False,
    drawings: str | None = None,
) -> ModelCard:
    """Return the card, with its results as metadata (`model-index`) and as a table.

    Args:
        learning_curve: name of the picture beside the card.
        self_contained: the folder holds the model's code, as `export` writes it.
        drawings: name of the picture of what a model of pen strokes draws.

    Raises:
        ValueError: a needed fact is missing, or the results hold none of the task's measures.
    """
    results = facts.get("results") or {}
    for needed in ("name", "model_type", "task", *(("data",) if results else ())):
        if not facts.get(needed):
            raise ValueError(f"the facts of a model card lack {needed!r}; gather them with hub.facts.collect_facts")
    measured = _measured(results, facts["task"].get("measures", ()))
    if results and not measured:
        keys = ", ".join(measure["key"] for measure in facts["task"].get("measures", ())) or "nothing"
        raise ValueError(f"the facts of a model card hold no result that their task measures; it measures {keys}")
    recipe = {name: value for name, value in (facts.get("recipe") or {}).items() if value not in (None, "", [], {})}
    content = _template(facts["task"]).render(
        card_data=card_metadata(facts, measured).to_yaml(),
        **_usage_context(facts),
        results=results,
        measured_name=data_name(facts["data"]) if results else None,
        about=_lecture_page(facts["model_type"]) if _is_ours(facts) else {},
        rows=[(label, _shown(value)) for label, value in measured.values()],
        beside=_beside(measured, facts.get("baseline")),
        recipe=write_yaml(recipe).strip() if recipe else "",
        training=_training_rows(facts),
        energy=describe_energy(facts),
        learning_curve=learning_curve,
        drawings=drawings,
        remote_usage=usage_code(facts, remote=True) if self_contained else None,
        oldest_transformers=OLDEST_TRANSFORMERS,
    )
    return ModelCard(content)


def usage_code(facts: Mapping[str, Any], remote: bool = False) -> str:
    """Return the code on a card that uses the model.

    Args:
        remote: use the code beside the weights, without the package.
    """
    template = _template(facts["task"])
    context = template.new_context({**_usage_context(facts), "remote": remote})
    return "".join(template.blocks["usage"](context)).strip()


def _usage_context(facts: Mapping[str, Any]) -> dict[str, Any]:
    examples = {"source_example": source_example(facts), "drawn": DRAWN}
    tried = ", ".join(f"{name} {' / '.join(versions)}" for name, versions in TRIED.items())
    shown = {"task": facts["task"], "ours": _is_ours(facts), "repository_url": REPOSITORY_URL}
    return {"facts": facts, "tried": tried, **shown, **examples}


def _template(task: Mapping[str, Any]) -> Any:
    """Return the task's own template, else its pipeline's, else the one that they all extend."""
    from jinja2 import Environment, FileSystemLoader

    # A card is Markdown, not HTML: nothing is escaped.
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=False)
    names = [str(task.get("name")), _kind(task).replace("-", "_"), "model_card"]
    return templates.select_template([f"{name}.md.jinja" for name in names])


def _kind(task: Mapping[str, Any]) -> str:
    """Return the Hub's name of a task, or the package's own where the Hub has none."""
    return task["pipeline_tag"] or task["name"]


def _measured(results: Mapping[str, Any], measures: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, float]]:
    """Return label and value of each measure by its key, without measures that repeat another one.

    >>> measures = [{"key": "a", "label": "A"}, {"key": "b", "label": "B", "variant_of": "a"}]
    >>> _measured({"a": 4.5, "b": 4.5, "tokens": 36}, measures)
    {'a': ('A', 4.5)}
    """
    values: dict[str, Any] = {measure["key"]: results.get(measure["key"]) for measure in measures}
    values = {key: value for key, value in values.items() if value is not None and not math.isnan(value)}
    labels = {measure["key"]: measure["label"] for measure in measures}
    others = {measure["key"]: values.get(measure.get("variant_of", "")) for measure in measures}
    return {key: (labels[key], value) for key, value in values.items() if value != others[key]}


def _beside(measured: Mapping[str, Any], baseline: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the name of the baseline, and its value and the difference for each measure; {} without a baseline.

    >>> interval = {"difference": 0.1, "low": 0.05, "high": 0.15}
    >>> _beside({"accuracy": ("accuracy", 0.6)}, {"name": "mean", "measures": {"accuracy": 0.5},
    ...     "differences": {"accuracy": interval}})
    {'name': 'mean', 'cells': [('0.5000', '+0.1000 [0.0500, 0.1500]')]}
    """
    if not baseline:
        return {}
    values, differences, cells = baseline["measures"], baseline["differences"], []
    for key in measured:
        found = differences.get(key)
        shown = f"{found['difference']:+.4f} [{found['low']:.4f}, {found['high']:.4f}]" if found else ""
        cells.append((_shown(values[key]) if values.get(key) is not None else "", shown))
    return {"name": baseline["name"], "cells": cells}


def _is_ours(facts: Mapping[str, Any]) -> bool:
    return facts.get("library", PACKAGE) == PACKAGE


def _training_rows(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return time and amount of the training, with a label for each."""
    items = facts["task"].get("items", "items")
    labels = {items: f"{items} read", f"{items}_per_second": f"{items} per second of learning", **_TRAINING}
    return [(labels.get(key, key.replace("_", " ")), value) for key, value in (facts.get("training") or {}).items()]


def _shown(value: float) -> str:
    """Return a measure with the digits that readers compare.

    >>> _shown(141.2345), _shown(1.98765), _shown(math.inf)
    ('141.2', '1.988', 'infinite')
    """
    if math.isinf(value):
        return "infinite"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:#.4g}"


def without_lines(text: str) -> str:
    """Return a page's first paragraph without the lines of the slides, which a reader of a card cannot look up.

    >>> without_lines('Markov (1913). Slides: "A Markov model" (lecture Y, lines 88-225), "Smoothing" (Y:88).')
    'Markov (1913). The lectures present it on the slides "A Markov model", "Smoothing".'
    """
    text = re.sub(r"\s*\((?:lecture\s[RYN]|lines?\s\d|[RYN]:\d)[^()]*\)", "", text)
    text = re.sub(r",\slecture\s[RYN],\slines?\s[\d-]+", "", text)
    text = re.sub(r"\bslide\s[RYN]\ss?\d+", "the slide", text)
    return re.sub(r"\bSlides:\s", "The lectures present it on the slides ", text)


def _lecture_page(model_type: str) -> dict[str, str]:
    """Return the heading and the first paragraph of the model's page, and the deviations that its code lists."""
    name = model_type.removeprefix("lecture_").replace("-", "_")
    # A folder may hold several models, with one page.
    folders = files(PACKAGE).joinpath("models").iterdir()
    pages = ((place.joinpath("README.md"), place.joinpath(f"modeling_{name}.py")) for place in folders)
    page, code = next((both for both in pages if all(path.is_file() for path in both)), (None, None))
    if page is None or code is None:
        return {"title": model_type}
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heading, _, rest = text.partition("\n")
    docstring = ast.get_docstring(ast.parse(code.read_text(encoding="utf-8"))) or ""
    return {
        "title": heading.lstrip("# "),
        "text": without_lines(rest.strip().partition("\n\n")[0]),
        "code": code.name,
        "deviations": textwrap.dedent(docstring.partition("\nDeviations:\n")[2]).strip(),
    }
