# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Three claims about segmentation, on WikiText-2: unigram pieces against byte pairs, samples, and sums.

    OMP_NUM_THREADS=1 python -m benchmarks.segmentations [--parts pieces,sampling,marginal]
    OMP_NUM_THREADS=1 python -m benchmarks.segmentations --parts sampling --few 100 --epochs 80 --record NAME

- pieces: byte-pair encoding and unigram segmentation of equally many tokens over bytes; for each an n-gram model
  (modified Kneser-Ney) and a small LSTM that reads the same text equally often. Test bits per byte.
- sampling: the LSTM on the first lines alone, for many epochs, with the best segmentation and with others drawn in each
  epoch (P(x)^alpha), three seeds. Test bits per byte of the best weights by the validation text, and of the last ones.
- marginal: an n-gram model over 4,000 pieces; bits per byte of the best segmentation, and of the sum over all.

About 14 CPU minutes of one thread. CPU seconds are of this process.
"""

import tempfile
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.common import new_parser, read_options, refuse_stopped, timed, wikitext, write_results
from hf_lecture_models import BpeTokenizer, NGramForCausalLM, UnigramTokenizer
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.lab.studies.marginal import MarginalScorer
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tokenization.corpus import encode_corpus

VOCABULARY = 4_000
NETWORK = {"model_type": "lecture_recurrent", "cell_type": "lstm", "hidden_size": 128, "dropout": 0.1}
FEW_LINES, MANY_EPOCHS = 1_000, 8
VALIDATION_LINES = 1_000
PARTS = ("pieces", "sampling", "marginal")
Texts = dict[str, list[str]]


def train_network(
    tokenizer: Any, texts: Texts, seed: int, alpha: float | None = None, **fields: Any
) -> tuple[list[float], float, float]:
    """Validation bits per byte after each epoch, test bits per byte of the best weights; CPU seconds."""
    task = CausalLM()
    common = {"layout": "blocks", "sequence_length": 64, "batch_size": 16, "learning_rate": 2e-3, "model": NETWORK}
    sampling = {} if alpha is None else {"sampling": alpha}
    recipe = CausalLMRecipe(**common | fields, seed=seed, tokenizer={"type": "unigram", **sampling})
    model = task.model(recipe, tokenizer, texts["train"])
    with tempfile.TemporaryDirectory() as folder:
        run = {"output_dir": Path(folder) / "run", "quiet": True}
        result, cpu, _ = timed(
            lambda: task.train(model, tokenizer, texts["train"], texts["valid"], recipe, **run)  # type: ignore[arg-type]
        )
        refuse_stopped(result)
        best = type(model).from_pretrained(result.folder)
    curve = [row["validation_bits_per_byte"] for row in result.history if "validation_bits_per_byte" in row]
    test = evaluate_language_model(best, tokenizer, texts["test"], stream=True)["bits_per_byte"]
    return curve, test, cpu


def measure_pieces(texts: Texts) -> dict[str, Any]:
    found = {}
    for kind in (BpeTokenizer, UnigramTokenizer):
        options: dict[str, Any] = {"vocab_size": VOCABULARY, "form": "bytes", "progress": False}
        tokenizer, cpu, _ = timed(lambda: kind.train(texts["train"], **options))  # noqa: B023
        ngram = NGramForCausalLM.fit(texts["train"], tokenizer, order=4, progress=False)
        _, network, network_cpu = train_network(tokenizer, texts, seed=0, epochs=1)
        found[kind.__name__] = {
            "tokens": len(tokenizer),
            "train_cpu_s": cpu,
            "test_tokens": len(encode_corpus(tokenizer, texts["test"]).ids),
            "ngram_bits_per_byte": evaluate_language_model(ngram, tokenizer, texts["test"])["bits_per_byte"],
            "lstm_bits_per_byte": network,
            "lstm_cpu_s": network_cpu,
        }
        print(kind.__name__, found[kind.__name__], flush=True)
    return found


def measure_sampling(texts: Texts, lines: int, epochs: int, alphas: list[float]) -> dict[str, Any]:
    tokenizer = UnigramTokenizer.train(texts["train"], vocab_size=VOCABULARY, form="bytes", progress=False)
    few = texts | {"train": texts["train"][:lines], "valid": texts["valid"][:VALIDATION_LINES]}
    found: dict[str, Any] = {"lines": lines, "epochs": epochs}
    for alpha in (None, *alphas):
        runs = [train_network(tokenizer, few, seed, alpha, epochs=epochs) for seed in range(3)]
        tests = [test for _, test, _ in runs]
        found["best segmentation" if alpha is None else f"sampled, alpha {alpha}"] = {
            "test_bits_per_byte": tests,
            "mean": mean(tests),
            "standard_deviation": stdev(tests),
            "validation_bits_per_byte": [curve for curve, _, _ in runs],
            "cpu_s": sum(cpu for *_, cpu in runs),
        }
        print(alpha, found[list(found)[-1]], flush=True)
    return found


def measure_marginal(texts: Texts, orders: tuple[int, ...]) -> dict[str, Any]:
    tokenizer = UnigramTokenizer.train(texts["train"], vocab_size=VOCABULARY, form="bytes", progress=False)
    found = {}
    for order in orders:
        model = NGramForCausalLM.fit(texts["train"], tokenizer, order=order, progress=False)
        row: dict[str, Any] = {}
        for name, score in (("best", None), ("marginal", MarginalScorer())):
            measured, cpu, _ = timed(
                lambda: evaluate_language_model(model, tokenizer, texts["test"], score=score)  # noqa: B023
            )
            row |= {f"{name}_bits_per_byte": measured["bits_per_byte"], f"{name}_cpu_s": cpu}
        row["gain_percent"] = 100 * (1 - row["marginal_bits_per_byte"] / row["best_bits_per_byte"])
        found[f"order {order}"] = row
        print(order, row, flush=True)
    return found


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="some of pieces,sampling,marginal: recorded by another name alone"
    )
    parser.add_argument("--few", type=int, default=FEW_LINES, help="lines that the network with samples learns from")
    parser.add_argument("--epochs", type=int, default=MANY_EPOCHS, help="how often it reads them")
    parser.add_argument("--record", default="", help="results/RECORD.json; with all parts: segmentations")
    parser.add_argument("--lines", type=int, default=None, help="of each text, to try the script, unrecorded")
    options = read_options(parser)
    if unknown := set(options.parts.split(",")) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    texts = {name: wikitext(name)[: options.lines] for name in ("train", "valid", "test")}
    measures = {
        "pieces": lambda: measure_pieces(texts),
        "sampling": lambda: measure_sampling(texts, options.few, options.epochs, [0.2]),
        "marginal": lambda: measure_marginal(texts, (1, 2, 3)),
    }
    results = {name: measures[name]() for name in options.parts.split(",")}
    record = options.record or ("segmentations" if len(results) == len(PARTS) else "")
    if record and options.lines is None:
        write_results(record, {"vocab_size": VOCABULARY} | results)


if __name__ == "__main__":
    main()
