# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture mix`: several n-gram models as one, with given weights or those that a held-out text asks for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.cli.io import print_json
from hf_lecture_models.cli.ngram_tools import load_ngrams
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.checks_ngram import ngram_counts
from hf_lecture_models.models.ngram.interpolation_ngram import HeldOut, UnitedModels
from hf_lecture_models.models.ngram.saving_ngram import ARPA_SUFFIXES, KENLM_SUFFIXES, check_target, save_ngrams
from hf_lecture_models.models.ngram.tools.mixture_weights import (
    at_bound,
    checked_weights,
    fit_weights,
    standard_errors,
)


def run(names: list[str], output: Path, weights: str | None, held_out: Path | None, static: bool, json: bool) -> None:
    """Write the mixture, and print the weights and what each model says of the held-out text.

    Raises:
        ValueError: neither weights nor a text are given, they are wrong, or the models cannot be mixed so.
        FileExistsError: the target is there already.
        OSError: a file cannot be read or written.
    """
    if len(names) < 2:
        raise ValueError(f"{names[0]} alone cannot be mixed; name two models or more, and OUT last (now {output})")
    given = _given_weights(weights, len(names))
    _check_files(output, held_out, static)
    models, tokenizers = zip(*map(load_ngrams, names), strict=True)
    together = UnitedModels(models, tokenizers, static)
    text = None if held_out is None else together.measure(held_out)
    chosen = given or fit_weights(text.probs if text else np.zeros((len(names), 0)))
    mixed = together.mix(chosen)
    report = _report(names, chosen, text, mixed, given is None)
    save_ngrams(mixed, together.tokenizer, output)
    (print_json if json else _print)({"output": str(output), "ngrams": _counts(mixed), **report})


def _given_weights(text: str | None, models: int) -> list[float] | None:
    if text is None:
        return None
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"`weights` is {text!r}; give a number for each model, such as 0.3,0.7") from None
    return checked_weights(numbers, models)


def _check_files(target: Path, held_out: Path | None, static: bool) -> None:
    check_target(target)
    if not static and file_suffix(str(target)) in (*ARPA_SUFFIXES, *KENLM_SUFFIXES):
        raise ValueError(
            f"{target} would be a file of one back-off model, which cannot hold several that are mixed at each word; "
            "use --static for one model, or name a folder"
        )
    if held_out is not None and not held_out.is_file():
        raise FileNotFoundError(f"there is no file {held_out}; name a text in `held_out`, one sentence per line")


def _counts(model: NGramForCausalLM) -> list[Any]:
    """Return the number of n-grams of each order; of a dynamic mixture, for each of its models."""
    if model.config.components is None:
        return ngram_counts(model.config)
    return [ngram_counts(config) for config in model.config.component_configs]


def _report(
    names: list[str], weights: list[float], text: HeldOut | None, mixed: NGramForCausalLM, is_fitted: bool
) -> dict[str, Any]:
    """Return what is printed: each model with its weight, and what they and their mixtures say of the text."""
    models: list[dict[str, Any]] = [
        {"model": name, "weight": weight} for name, weight in zip(names, weights, strict=True)
    ]
    if text is None:
        return {"models": models}
    errors = standard_errors(text.probs, weights) if is_fitted else [None] * len(names)
    for entry, error, bound, probs, own in zip(
        models, errors, at_bound(weights), text.probs, text.is_known, strict=True
    ):
        entry |= {"standard_error": error, "at_bound": bool(bound and is_fitted), **_perplexities(probs, own)}
    known: np.ndarray = np.any(text.is_known, axis=0)
    report = {
        "models": models,
        "mixture": _perplexities(np.asarray(weights) @ text.probs, known),
        "events": len(known),
        "impossible_events": int((~text.probs.any(0)).sum()),
    }
    if mixed.config.components is None:
        report["static_mixture"] = _perplexities(text.probs_of(mixed.trie), known)
    return report


def _perplexities(probs: np.ndarray, known: np.ndarray) -> dict[str, Any]:
    """Return the perplexity of events, (events,) each, with and without those of unknown words, and their number."""
    with np.errstate(divide="ignore"):
        nats = -np.log(probs)
    return {
        "perplexity": math.exp(nats.mean()),
        "perplexity_without_unk": math.exp(nats[known].mean()) if known.any() else None,
        "unknown": int((~known).sum()),
    }


def _print(report: dict[str, Any]) -> None:
    for entry in report["models"]:
        error, weight = entry.get("standard_error"), f"{entry['model']}: weight {entry['weight']:.4f}"
        if error is not None:
            weight += f" (standard error {error:.4f})"
        elif entry.get("at_bound"):
            weight += " (at its bound: no standard error)"
        print(weight + _shown(entry))
    for name in ("mixture", "static_mixture"):
        if name in report:
            print(name.replace("_", " ") + _shown(report[name]).replace(",", ":", 1))
    if "events" in report:
        print(f"events: {report['events']:,}; {report['impossible_events']:,} have the probability 0 in all models")
    counts = report["ngrams"]
    rows = counts if isinstance(counts[0], list) else [counts]
    for row in rows:
        print(
            f"{report['output']}: {', '.join(f'{count:,} {order}-grams' for order, count in enumerate(row, start=1))}"
        )


def _shown(entry: dict[str, Any]) -> str:
    if "perplexity" not in entry:
        return ""
    without = entry["perplexity_without_unk"]
    text = f", perplexity {entry['perplexity']:.2f}"
    return text if without is None else f"{text}, {without:.2f} without {entry['unknown']:,} unknown words"
