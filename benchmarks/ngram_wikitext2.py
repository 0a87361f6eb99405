# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every smoothing but Pitman-Yor on WikiText-2, orders 2 to 5: test perplexity per word, bits per byte, seconds.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_wikitext2 [--orders 2 3 4 5] [--smoothings ...]

One text per line, blank lines counted; the text's literal <unk> is an ordinary word, so none is unknown. Jelinek-Mercer
sets its weights by the validation text; add_alpha has two rows, Laplace's and one with the best alpha of a few there.
"""

import math

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig

ALPHAS = (0.1, 0.01, 0.001, 0.0001)
# Pitman-Yor is measured on a tenth of the text, by benchmarks.class_ngrams.
DISTRIBUTIONS = [
    smoothing
    for smoothing in SMOOTHINGS
    if smoothing != "pitman_yor" and NGramConfig(smoothing=smoothing).is_distribution
]


def variants(smoothing: str) -> list[dict]:
    """The options to measure a smoothing with; of several, the best on the validation text is one more row."""
    return [{"alpha": 1.0}, *({"alpha": alpha} for alpha in ALPHAS)] if smoothing == "add_alpha" else [{}]


def measure(tokenizer, texts: dict[str, list[str]], order: int, smoothing: str, options: dict) -> dict:
    model, fit_cpu, _ = timed(
        lambda: NGramForCausalLM.fit(
            texts["train"], tokenizer, order, smoothing, held_out=texts["valid"], progress=False, **options
        )
    )
    valid = evaluate_language_model(model, tokenizer, texts["valid"])["perplexity"]
    test, evaluate_cpu, _ = timed(lambda: evaluate_language_model(model, tokenizer, texts["test"]))
    return {
        "order": order,
        "smoothing": smoothing,
        **options,
        "valid_perplexity": number(valid),
        "test_word_perplexity": number(test["word_perplexity"]),
        "test_bits_per_byte": number(test["bits_per_byte"]),
        "fit_cpu_s": round(fit_cpu, 2),
        "evaluate_cpu_s": round(evaluate_cpu, 2),
        "ngrams": sum(model.config.table_sizes),
        "discounts": model.config.discounts,
        "discount_ratios": model.config.discount_ratios,
        "interpolation_weights": model.config.interpolation_weights,
        "unknown_words": test["unknown"],
    }


def number(value: float) -> float | str:
    """Return a number that JSON can hold, which has no infinity."""
    return value if math.isfinite(value) else "infinite"


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--orders", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--smoothings", nargs="+", default=DISTRIBUTIONS, choices=DISTRIBUTIONS)
    arguments = read_options(parser)
    texts = {split: wikitext(split) for split in ("train", "valid", "test")}
    tokenizer = WordTokenizer.train(texts["train"], progress=False)
    print(f"vocabulary: {len(tokenizer)} tokens")
    print(f"{'smoothing':<32}{'order':>6}{'test perplexity':>17}{'bits/byte':>11}{'fit s':>8}{'evaluate s':>12}")
    rows = []
    for smoothing in arguments.smoothings:
        for order in arguments.orders:
            measured = [measure(tokenizer, texts, order, smoothing, options) for options in variants(smoothing)]
            best = min(measured, key=lambda row: (isinstance(row["valid_perplexity"], str), row["valid_perplexity"]))
            for row in [measured[0], *([best] if best is not measured[0] else [])]:
                rows.append(row)
                name = smoothing + (f", alpha {row['alpha']:g}" if "alpha" in row else "")
                print(f"{name:<32}{order:>6}{shown(row['test_word_perplexity']):>17}{shown(row['test_bits_per_byte']):>11}"
                      f"{row['fit_cpu_s']:>8.2f}{row['evaluate_cpu_s']:>12.2f}", flush=True)  # fmt: skip
    write_results("ngram_wikitext2", {"vocab_size": len(tokenizer), "rows": rows})


def shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


if __name__ == "__main__":
    main()
