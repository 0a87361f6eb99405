# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Model cards, rendered from the facts that `hub.facts` gathers; nobody types a number into one."""

import ast
import math
import os
import textwrap
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from hf_lecture_models.io.files import staged_file

PACKAGE = "hf_lecture_models"
LEARNING_CURVE = "learning_curve.png"
# An assumption that every card names: what one busy core of a server draws, memory and power supply included.
WATTS_PER_CORE = 10
# In the order of the table: what `evaluate_language_model` calls it, and what a reader does.
_METRICS = {
    "perplexity": "perplexity per token",
    "perplexity_without_unk": "perplexity per token, unknown ones left out",
    "word_perplexity": "perplexity per word",
    "word_perplexity_without_unk": "perplexity per word, unknown ones left out",
    "bits_per_byte": "bits per byte",
    "bits_per_byte_excluding_oov": "bits per byte, unknown words not charged (no real code length)",
}
# A measure that says nothing beside another one, where the two are equal.
_VARIANTS = {
    "perplexity_without_unk": "perplexity",
    "word_perplexity": "perplexity",
    "word_perplexity_without_unk": "perplexity_without_unk",
    "bits_per_byte_excluding_oov": "bits_per_byte",
}
_COUNTS = ("texts", "tokens", "words", "bytes", "unknown")
# What `training_record` calls it, and what a reader does.
_TRAINING = {
    "steps": "optimizer steps",
    "tokens": "tokens read",
    "run_seconds": "seconds of the clock in all, evaluation and saving included",
    "seconds": "seconds of the clock",
    "cpu_seconds": "CPU seconds of learning alone",
    "tokens_per_second": "tokens per second of learning",
    "processes": "processes",
    "device": "device",
}


def write_card(folder: str | os.PathLike[str], facts: Mapping[str, Any]) -> Path:
    """Write `README.md` into a model's folder, with the learning curve and the code that the folder holds.

    Raises:
        ValueError: a needed fact is missing.
        OSError: the folder cannot be written.
    """
    folder = Path(folder)
    curve = LEARNING_CURVE if (folder / LEARNING_CURVE).is_file() else None
    card = render_card(facts, curve, self_contained=any(folder.glob("modeling_*.py")))
    with staged_file(folder / "README.md") as path:
        path.write_text(f"{card}\n", encoding="utf-8")
    return folder / "README.md"


def render_card(facts: Mapping[str, Any], learning_curve: str | None = None, self_contained: bool = False) -> ModelCard:
    """The card, with its results as metadata (`model-index`) and as a table.

    Args:
        learning_curve: name of the picture beside the card.
        self_contained: the folder holds the model's code, as `export` writes it.

    Raises:
        ValueError: a needed fact is missing, or no result is a measure that the card knows.
    """
    results = facts.get("results") or {}
    for needed in ("name", "model_type", *(("data",) if results else ())):
        if not facts.get(needed):
            raise ValueError(f"the facts of a model card lack {needed!r}; gather them with hub.facts.collect_facts")
    measured = _measured(results)
    if results and not measured:
        raise ValueError(f"the facts of a model card hold no result; evaluate_language_model gives {list(_METRICS)}")
    template = files(PACKAGE).joinpath("hub", "model_card.md.jinja").read_text(encoding="utf-8")
    return ModelCard.from_template(
        _metadata(facts, measured),
        template_str=template,
        facts=facts,
        about=_lecture_page(facts["model_type"]),
        rows=[(_METRICS[key], _shown(value)) for key, value in measured.items()],
        counts={key: results[key] for key in _COUNTS if key in results},
        protocol=_protocol(results),
        recipe=_as_yaml(facts.get("recipe") or {}),
        training=[
            (_TRAINING.get(key, key.replace("_", " ")), value) for key, value in facts.get("training", {}).items()
        ],
        energy=_energy(facts.get("training") or {}),
        learning_curve=learning_curve,
        self_contained=self_contained,
    )


def _measured(results: Mapping[str, Any]) -> dict[str, float]:
    """The measures that there are, without those that repeat another.

    >>> _measured({"perplexity": 4.5, "word_perplexity": 4.5, "bits_per_byte": 0.5, "tokens": 36})
    {'perplexity': 4.5, 'bits_per_byte': 0.5}
    """
    there = {key: results[key] for key in _METRICS if results.get(key) is not None and not math.isnan(results[key])}
    return {key: value for key, value in there.items() if key not in _VARIANTS or value != there.get(_VARIANTS[key])}


def _as_yaml(recipe: Mapping[str, Any]) -> str:
    """The recipe without the fields that it leaves empty."""
    chosen = {name: value for name, value in recipe.items() if value not in (None, "", [], {})}
    return yaml.safe_dump(chosen, sort_keys=False, allow_unicode=True).strip() if chosen else ""


def _metadata(facts: Mapping[str, Any], measured: Mapping[str, float]) -> ModelCardData:
    data = facts.get("data") or {}
    results = [
        EvalResult(
            task_type="text-generation",
            dataset_type=str(data["name"]).lower().replace(" ", "-"),
            dataset_name=data["name"],
            dataset_split=data.get("split"),
            metric_type=key,
            metric_name=_METRICS[key],
            metric_value=float(f"{value:.6g}"),
        )
        for key, value in measured.items()
        if math.isfinite(value)
    ]
    return ModelCardData(
        language=data.get("language"),
        license=facts.get("licence") or "unknown",
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=[PACKAGE, facts["model_type"]],
        model_name=facts["name"] if results else None,
        eval_results=results or None,
    )


def _protocol(results: Mapping[str, Any]) -> str:
    """What the figures depend on beside the vocabulary."""
    sentence = "One stream: state and context carry from text to text" if results.get("stream") else "Each text alone"
    if results.get("window"):
        sentence += f"; windows of {results['window']} tokens, {results['stride']} apart"
    return sentence + "."


def _shown(value: float) -> str:
    """A measure as readers compare it.

    >>> _shown(141.2345), _shown(1.98765), _shown(math.inf)
    ('141.2', '1.988', 'infinite')
    """
    if math.isinf(value):
        return "infinite"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:#.4g}"


def _energy(training: Mapping[str, Any]) -> str:
    """An estimate from the CPU seconds, where there are any and nothing but a CPU learnt.

    >>> _energy({"cpu_seconds": 720.0, "device": "cpu"})
    'about 2 Wh, estimated: 720 CPU seconds of learning, at an assumed 10 watts for a busy core; not measured'
    >>> _energy({"cpu_seconds": 720.0, "device": "cuda"})
    'not measured'
    """
    seconds = training.get("cpu_seconds")
    if seconds is None or training.get("device") != "cpu":
        return "not measured"
    hours = seconds * WATTS_PER_CORE / 3600
    amount = f"about {hours:.2g}" if hours >= 0.01 else "less than 0.01"
    return (
        f"{amount} Wh, estimated: {seconds:,.4g} CPU seconds of learning, "
        f"at an assumed {WATTS_PER_CORE} watts for a busy core; not measured"
    )


def _lecture_page(model_type: str) -> dict[str, str]:
    """What the model is: from its own page heading and first paragraph, which name lecture and paper, from its code the
    deviations from the equations."""
    folder = model_type.removeprefix("lecture_").replace("-", "_")
    place = files(PACKAGE).joinpath("models", folder)
    page, code = place.joinpath("README.md"), place.joinpath(f"modeling_{folder}.py")
    if not page.is_file():
        return {"title": model_type}
    heading, _, rest = page.read_text(encoding="utf-8").partition("\n")
    docstring = ast.get_docstring(ast.parse(code.read_text(encoding="utf-8"))) or ""
    return {
        "title": heading.lstrip("# "),
        "text": rest.strip().partition("\n\n")[0],
        "code": code.name,
        "deviations": textwrap.dedent(docstring.partition("\nDeviations:\n")[2]).strip(),
    }
