# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Model cards, rendered from the recipe and the measured results; nobody types a number into one.

    python -m hf_lecture_models.hub.card FACTS.json -o hub_cards/NAME.md

renders facts that `collect_facts` gathered and a script saved as JSON.
"""

import argparse
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from hf_lecture_models.base.files import staged_file

PACKAGE = "hf_lecture_models"
LEARNING_CURVE = "learning_curve.png"
# In the order of the table: what `evaluate_language_model` calls it, and what a reader does.
_METRICS = {
    "perplexity": "perplexity per token",
    "perplexity_without_unk": "perplexity per token, unknown ones left out",
    "word_perplexity": "perplexity per word",
    "word_perplexity_without_unk": "perplexity per word, unknown ones left out",
    "bits_per_byte": "bits per byte",
    "bits_per_byte_uncharged": "bits per byte, unknown words not charged (no real code length)",
}
# A measure that says nothing beside another one, where the two are equal.
_VARIANTS = {
    "perplexity_without_unk": "perplexity",
    "word_perplexity": "perplexity",
    "word_perplexity_without_unk": "perplexity_without_unk",
    "bits_per_byte_uncharged": "bits_per_byte",
}
_COUNTS = ("texts", "tokens", "words", "bytes", "unknown")
_NEEDED = ("name", "model_type", "data", "results")


def collect_facts(
    model: Any,
    tokenizer: Any,
    results: Mapping[str, Any],
    *,
    name: str,
    data: Mapping[str, Any],
    recipe: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Everything that a card says, as plain values that JSON can hold.

    Args:
        model: a causal language model of this package.
        tokenizer: its tokenizer.
        results: what `evaluate_language_model` returned; its plain values are taken.
        name: the card's title.
        data: "name" and "split" of the evaluation data, and, as far as known, "licence", "source", "training_split".
        recipe: the training recipe, or the arguments of `fit`.
        training: measured values by name, "seconds" for example.
        command: what reproduces the model.
    """
    return {
        "name": name,
        "model_type": model.config.model_type,
        "class": type(model).__name__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "table_entries": sum(getattr(model.config, "table_sizes", None) or ()),
        "vocabulary": {"size": len(tokenizer), "policy": vocabulary_policy(tokenizer)},
        "prompt": _known_word(tokenizer),
        "data": dict(data),
        "results": {key: value for key, value in results.items() if isinstance(value, int | float | str | None)},
        "recipe": json.loads(json.dumps(dict(recipe or {}), default=str)),
        "training": dict(training or {}),
        "command": command,
        "environment": _environment(),
    }


def vocabulary_policy(tokenizer: Any) -> str:
    """What happens to a word that the tokenizer does not know, in one sentence."""
    unknown, kind = getattr(tokenizer, "unk_token", None), type(tokenizer).__name__.lower()
    unknown_words = getattr(tokenizer, "unknown_words", None)
    if unknown_words == "spelled":
        return "open; a word outside the vocabulary is spelled in letters, and letters outside it in bytes"
    if unknown_words == "classes":
        return (
            f"closed; every other word is read as its class or as `{unknown}`, and bits per byte charge for spelling it"
        )
    if "bpe" in kind and unknown is not None:
        return (
            f"pieces of words; a letter outside the vocabulary makes `{unknown}`, and bits per byte charge for its word"
        )
    if unknown is not None:
        return f"closed; every other word is read as `{unknown}`, and bits per byte charge for spelling it"
    if "bpe" in kind or "byte" in kind or "char" in kind:
        return "open; any text can be spelled, in bytes where need be"
    return "closed, without an unknown word: a text with any other word has probability 0"


def _known_word(tokenizer: Any) -> str:
    """A prompt that the tokenizer can read, whatever its vocabulary."""
    vocabulary = tokenizer.get_vocab()
    closed = "probability 0" in vocabulary_policy(tokenizer)
    return min(vocabulary, key=vocabulary.__getitem__) if closed and "the" not in vocabulary else "the"


def _environment() -> dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("hf-lecture-models", "torch", "transformers"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that is not installed
            versions[package] = "not installed"
    return versions


def write_card(folder: str | os.PathLike[str], facts: Mapping[str, Any]) -> Path:
    """Write `README.md` into a model's folder, linking the learning curve where the folder holds one.

    Raises:
        ValueError: a needed fact is missing.
        OSError: the folder cannot be written.
    """
    folder = Path(folder)
    curve = LEARNING_CURVE if (folder / LEARNING_CURVE).is_file() else None
    card = render_card({"learning_curve": curve, **facts})
    with staged_file(folder / "README.md") as path:
        path.write_text(f"{card}\n", encoding="utf-8")
    return folder / "README.md"


def render_card(facts: Mapping[str, Any]) -> ModelCard:
    """The card, with its results as metadata (`model-index`) and as a table.

    Raises:
        ValueError: a needed fact is missing, or no result is a measure that the card knows.
    """
    for needed in _NEEDED:
        if not facts.get(needed):
            raise ValueError(f"the facts of a model card lack {needed!r}; gather them with hub.card.collect_facts")
    results = facts["results"]
    measured = _measured(results)
    if not measured:
        raise ValueError(f"the facts of a model card hold no result; evaluate_language_model gives {list(_METRICS)}")
    template = files(PACKAGE).joinpath("hub", "model_card.md.jinja").read_text(encoding="utf-8")
    return ModelCard.from_template(
        _metadata(facts, measured),
        template_str=template,
        facts=facts,
        about=_lecture_page(facts["model_type"]),
        rows=[(_METRICS[key], _shown(value)) for key, value in measured.items()],
        counts={key: facts["results"][key] for key in _COUNTS if key in results},
        protocol=_protocol(results),
        recipe=_as_yaml(facts.get("recipe") or {}),
    )


def _measured(results: Mapping[str, Any]) -> dict[str, float]:
    """The measures that there are, without those that repeat another.

    >>> _measured({"perplexity": 4.5, "word_perplexity": 4.5, "bits_per_byte": 0.5, "tokens": 36})
    {'perplexity': 4.5, 'bits_per_byte': 0.5}
    """
    there = {key: results[key] for key in _METRICS if not math.isnan(results.get(key, math.nan))}
    return {key: value for key, value in there.items() if key not in _VARIANTS or value != there.get(_VARIANTS[key])}


def _as_yaml(recipe: Mapping[str, Any]) -> str:
    """The recipe without the fields that it leaves empty."""
    chosen = {name: value for name, value in recipe.items() if value not in (None, "", [], {})}
    return yaml.safe_dump(chosen, sort_keys=False).strip() if chosen else ""


def _metadata(facts: Mapping[str, Any], measured: Mapping[str, float]) -> ModelCardData:
    data = facts["data"]
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
        language=data.get("language", "en"),
        license=facts.get("licence", "apache-2.0"),
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


def _lecture_page(model_type: str) -> dict[str, str]:
    """Heading and first paragraph of the model's own page, which names lecture and paper."""
    folder = model_type.removeprefix("lecture_").replace("-", "_")
    page = files(PACKAGE).joinpath("models", folder, "README.md")
    if not page.is_file():
        return {"title": model_type, "text": ""}
    heading, _, rest = page.read_text(encoding="utf-8").partition("\n")
    paragraphs = [part.strip() for part in rest.split("\n\n") if part.strip()]
    return {"title": heading.lstrip("# "), "text": paragraphs[0] if paragraphs else "", "folder": folder}


def main(arguments: Sequence[str] | None = None) -> None:
    """Render saved facts to a file."""
    parser = argparse.ArgumentParser(prog="python -m hf_lecture_models.hub.card", description=main.__doc__)
    parser.add_argument("facts", type=Path, help="JSON written from collect_facts")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the card, e.g. hub_cards/ngram.md")
    options = parser.parse_args(arguments)
    try:
        facts = json.loads(options.facts.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SystemExit(f"{options.facts} is not JSON: {error}") from error
    with staged_file(options.output) as path:
        path.write_text(f"{render_card(facts)}\n", encoding="utf-8")
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
