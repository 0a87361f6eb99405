# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The gain by caches, dynamic evaluation and distillation on WikiText-2: an LSTM, and modified Kneser-Ney n-grams.

    OMP_NUM_THREADS=1 python -m benchmarks.adaptation FOLDER [--sampled-tokens 1000000] [--tuned 200] [--part 100]

FOLDER holds the trained LSTM (`training/recipes/recurrent_wikitext2.yaml`). Texts are one stream, perplexities per word
of the test text, `</s>` and `<unk>` among them. Options are chosen on the first lines of the validation text
(`--tuned`); the record has all settings that were tried. Two models are mixed by weights that validation text sets.
`--part` takes the first lines of each text, for a trial. About 22 CPU minutes: 8 for dynamic evaluation, 7 for a
million sampled tokens.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import check_trained_on_committed_code, new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import NGramForCausalLM
from hf_lecture_models.evaluation.scoring import score_stream
from hf_lecture_models.lab.studies.adaptation import Adaptation, describe, score_adapted
from hf_lecture_models.lab.studies.cache import ContinuousCache, Predictions, UnigramCache
from hf_lecture_models.lab.studies.dynamic_evaluation import DynamicEvaluation, gradient_rms
from hf_lecture_models.lab.studies.sampling import sample_texts
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram.interpolation_ngram import fit_weights

UNIGRAM = [
    UnigramCache(weight, window, decay)
    for weight in (0.05, 0.1, 0.2, 0.3)
    for window, decay in ((200, 1.0), (500, 1.0), (2000, 1.0), (2000, 0.998), (2000, 0.995))
]
CONTINUOUS = [ContinuousCache(weight, 2000, theta) for weight in (0.1, 0.2, 0.3) for theta in (0.3, 1.0, 3.0)]
SEGMENT = 70


def predictions(model: Any, tokenizer: Any, texts: Sequence[str], adaptation: Any = ()) -> Predictions:
    if adaptation == ():
        scores = score_stream(model, tokenizer, texts)
    else:
        scores, _ = score_adapted(model, tokenizer, texts, adaptation)
    return Predictions(np.concatenate([one.ids for one in scores]), np.concatenate([one.log_probs for one in scores]))


def perplexity(log_probs: np.ndarray) -> float:
    return math.exp(-log_probs.mean())


def mixed(weights: Sequence[float], parts: Sequence[Predictions]) -> Predictions:
    log_probs = np.logaddexp.reduce([math.log(w) + one.log_probs for w, one in zip(weights, parts, strict=True)])
    return Predictions(parts[0].words, log_probs)


class Report:
    """The rows of the table, the settings that were tried, and the texts."""

    def __init__(self, texts: dict[str, list[str]]) -> None:
        self.texts, self.rows, self.tried = texts, [], []

    def add(self, name: str, log_probs: np.ndarray, adaptation: str = "", cpu_s: float | None = None) -> None:
        """Note and print a row."""
        found = perplexity(log_probs)
        self.rows.append({"model": name, "adaptation": adaptation, "perplexity": found, "cpu_s": cpu_s})
        print(f"{found:8.1f}  {name}{', ' if adaptation else ''}{adaptation}", flush=True)

    def best(self, name: str, found: Iterable[tuple[Any, np.ndarray]]) -> Any:
        """Return the setting with the lowest perplexity on the tuning text, from (setting, log-probabilities)."""
        tried = [(perplexity(log_probs), setting) for setting, log_probs in found]
        self.tried += [{"model": name, "adaptation": describe(one), "tuning_perplexity": ppl} for ppl, one in tried]
        return min(tried, key=lambda pair: pair[0])[1]

    def add_unigram(self, name: str, tuning: Predictions, test: Predictions, before: str = "") -> None:
        """Note and print a row with a unigram cache, computed from the predictions without it."""
        best = self.best(f"{name} {before}".strip(), ((cache, cache.adapt(tuning)[0]) for cache in UNIGRAM))
        self.add(name, best.adapt(test)[0], f"{before}{', ' if before else ''}{describe(best)}")


def measure_network(report: Report, model: Any, tokenizer: Any) -> tuple[Predictions, Predictions]:
    """The LSTM alone and with each adaptation; its predictions of the tuning and of the test text."""

    def settle(settings: Sequence[Adaptation]) -> tuple[Any, Predictions, float]:
        tuning = report.texts["tuning"]
        best = report.best("LSTM", ((one, predictions(model, tokenizer, tuning, one).log_probs) for one in settings))
        test, cpu_s, _ = timed(lambda: predictions(model, tokenizer, report.texts["test"], best))
        return best, test, cpu_s

    plain, cpu_s, _ = timed(lambda: predictions(model, tokenizer, report.texts["test"]))
    tuning = predictions(model, tokenizer, report.texts["tuning"])
    report.add("LSTM", plain.log_probs, cpu_s=cpu_s)
    report.add_unigram("LSTM", tuning, plain)
    best, test, cpu_s = settle(CONTINUOUS)
    report.add("LSTM", test.log_probs, describe(best), cpu_s)
    rms = gradient_rms(model, tokenizer, report.texts["train"], batches=50, length=SEGMENT)
    descent = [DynamicEvaluation(rate, 0.001, SEGMENT) for rate in (0.3, 1.0, 3.0)]
    steps = ((1e-4, 0.003), (3e-4, 0.003), (1e-3, 0.003), (3e-4, 0.03))
    by_rms = [DynamicEvaluation(rate, decay, SEGMENT, gradient_rms=rms) for rate, decay in steps]
    best, test, cpu_s = settle([*descent, *by_rms])
    rule = f"{describe(best)} {'RMS' if best.gradient_rms else 'gradient descent'}"
    report.add("LSTM", test.log_probs, rule, cpu_s)
    report.add_unigram("LSTM", predictions(model, tokenizer, report.texts["tuning"], best), test, rule)
    return tuning, plain


def measure_distillation(
    report: Report, model: Any, tokenizer: Any, ngrams: dict[int, NGramForCausalLM], tokens: int
) -> dict[str, Any]:
    """A 3-gram of text that the LSTM wrote, alone and interpolated with those of the real text."""
    sampled, cpu_s, _ = timed(lambda: sample_texts(model, tokenizer, tokens))
    count = sum(len(text.split()) + 1 for text in sampled)
    print(f"{count} tokens sampled in {cpu_s:.0f} CPU s", flush=True)
    distilled = NGramForCausalLM.fit(sampled, tokenizer, 3, progress=False)
    test, valid = report.texts["test"], report.texts["valid"]
    report.add("distilled 3-gram", predictions(distilled, tokenizer, test).log_probs)
    for order, ngram in ngrams.items():
        both = NGramForCausalLM.interpolate([ngram, distilled], tokenizer, valid, progress=False)
        weights = ", ".join(f"{weight:.2f}" for weight in both.config.mixture_weights)
        name = f"{order}-gram + distilled 3-gram"
        report.add(name, predictions(both, tokenizer, test).log_probs, f"weights {weights}")
    return {"sampled_tokens": count, "sampled_texts": len(sampled), "cpu_s": cpu_s, "seed": 0}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sampled-tokens", type=int, default=1_000_000)
    parser.add_argument("--tuned", type=int, default=200, help="lines of the validation text that settle the options")
    parser.add_argument("--part", type=int, help="lines of each text, to try it")
    arguments = read_options(parser)
    if not arguments.dirty:
        check_trained_on_committed_code(arguments.folder)
    report = Report({split: wikitext(split)[: arguments.part] for split in ("train", "valid", "test")})
    report.texts["tuning"] = report.texts["valid"][: arguments.tuned]
    model, tokenizer = load_model(str(arguments.folder))
    ngrams = {n: NGramForCausalLM.fit(report.texts["train"], tokenizer, n, progress=False) for n in (3, 5)}
    tuning, test = {}, {}
    for order, ngram in ngrams.items():
        tuning[order], test[order] = (predictions(ngram, tokenizer, report.texts[part]) for part in ("tuning", "test"))
        report.add(f"{order}-gram", test[order].log_probs)
        report.add_unigram(f"{order}-gram", tuning[order], test[order])
    distillation = measure_distillation(report, model, tokenizer, ngrams, arguments.sampled_tokens)
    network_tuning, network_test = measure_network(report, model, tokenizer)
    weights = fit_weights(np.exp([network_tuning.log_probs, tuning[5].log_probs]))
    parts = [mixed(weights, [network_tuning, tuning[5]]), mixed(weights, [network_test, test[5]])]
    report.add("LSTM + 5-gram", parts[1].log_probs, f"weights {weights[0]:.2f}, {weights[1]:.2f}")
    report.add_unigram("LSTM + 5-gram", *parts)
    counts = {part: len(texts) for part, texts in report.texts.items()}
    results = {"texts": counts, "distillation": distillation, "rows": report.rows, "tried": report.tried}
    write_results("adaptation", results)


if __name__ == "__main__":
    main()
