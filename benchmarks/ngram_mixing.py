# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two 3-grams of different words as one: dynamic and static mixtures on held-out text, and the time that they take.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_mixing

One model is of Shakespeare's plays, the other of a part of WikiText-2. A text of both sets the weights; further texts
of each measure the mixtures. It takes half a minute.
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import data_folder, new_parser, read_options, timed, wikitext, write_results
from benchmarks.ngram_loading import UNKNOWN
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.interpolation_ngram import UnitedModels
from hf_lecture_models.models.ngram.tools.mixture_weights import fit_weights, standard_errors
from hf_lecture_models.tokenization.corpus import read_texts

ORDER = 3


def plays(first: int, last: int) -> list[str]:
    """Return lines of tinyshakespeare, blank ones not counted."""
    lines = read_texts(data_folder() / "tinyshakespeare" / "input.txt")
    return [line for line in lines if line.strip()][first:last]


def articles(part: str, first: int, last: int) -> list[str]:
    """Return lines of WikiText-2, blank ones not counted."""
    return [line for line in wikitext(part, UNKNOWN) if line.strip()][first:last]


def fit(texts: list[str]) -> NGramForCausalLM:
    tokenizer = WordTokenizer.train(texts, progress=False)
    return NGramForCausalLM.fit(texts, tokenizer, order=ORDER, progress=False)


def measure(together: UnitedModels, kinds: dict[str, NGramForCausalLM], texts: list[str]) -> dict[str, Any]:
    """Return what the mixtures say of texts: log10 P, and the perplexity with unknown words as `<unk>`."""
    text = together.measure(texts, progress=False)
    found: dict[str, Any] = {"events": text.probs.shape[1], "unknown": int((~text.is_known.any(0)).sum())}
    found["lacking"] = (~text.is_known).sum(1).tolist()
    for name, model in kinds.items():
        log10_prob = float(np.log10(text.probs_of(model.trie)).sum())
        found[name] = {"log10": log10_prob, "perplexity": 10 ** (-log10_prob / found["events"])}
    return found


def sums(model: NGramForCausalLM, texts: list[str]) -> float:
    """Return the largest distance from one of the distributions after the words of some texts."""
    tokenizer = model.own_tokenizer
    rows = [model(**tokenizer(text, return_tensors="pt")).logits.double().exp().sum(-1) for text in texts]
    return max(float((row - 1).abs().max()) for row in rows)


def main() -> None:
    read_options(new_parser(__doc__))
    models = [fit(plays(0, 28_000)), fit(articles("train", 0, 4_500))]
    dynamic, static = UnitedModels(models), UnitedModels(models, static=True)
    held_out = dynamic.measure(plays(28_000, 28_500) + articles("valid", 0, 60), progress=False)
    weights = fit_weights(held_out.probs)
    mixed, seconds, _ = timed(lambda: UnitedModels(models, static=True).mix(weights, progress=False), repeats=3)
    kinds = {"dynamic": dynamic.mix(weights), "static": mixed}
    with tempfile.TemporaryDirectory() as folder:
        arpa = Path(folder, "lm.arpa")
        _, write_seconds, _ = timed(lambda: mixed.save_arpa(arpa, static.tokenizer))
        _, read_seconds, _ = timed(lambda: NGramForCausalLM.from_arpa(arpa))
    texts = {"plays": plays(28_500, 29_500), "articles": articles("test", 0, 120)}
    results = {
        "order": ORDER,
        "ngrams": [sum(model.config.ngram_counts) for model in models],
        "ngrams_of_static": sum(mixed.config.ngram_counts),
        "weights": weights,
        "standard_errors": standard_errors(held_out.probs, weights),
        "texts": {name: measure(static, kinds, lines) for name, lines in texts.items()},
        "largest_deviation_of_sums": {name: sums(model, texts["plays"][:20]) for name, model in kinds.items()},
        "cpu_s": {"mix": seconds, "write": write_seconds, "read": read_seconds},
    }
    print(f"weights {weights}, n-grams {results['ngrams']} -> {results['ngrams_of_static']}, CPU {results['cpu_s']}")
    for name, row in results["texts"].items():
        shown = "  ".join(f"{kind} {row[kind]['log10']:.1f} ({row[kind]['perplexity']:.1f})" for kind in kinds)
        print(f"{name}: {row['events']} events, {row['unknown']} unknown, log10 P (perplexity): {shown}")
    print(f"sums within {results['largest_deviation_of_sums']} of one")
    if not all(math.isfinite(row[kind]["log10"]) for row in results["texts"].values() for kind in kinds):
        raise ValueError("a word of the texts has the probability 0")
    write_results("ngram_mixing", results)


if __name__ == "__main__":
    main()
