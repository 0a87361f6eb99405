# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Secrets in a training text: exposure of n-grams, an LSTM and a Transformer by the number of repetitions.

    OMP_NUM_THREADS=1 python -m benchmarks.canaries [--seeds 2] [--output canaries]

Lines "the number of K is 3 9 1 4" are put among the first lines of WikiText-2's training text: each letter owns four
digits that were drawn by the seed, and each of the numbers of repetitions has several owners; those of 0 stand nowhere.
All models read the same words. A secret is ranked among all 10,000 (`lab.studies.exposure`). Each seed draws other
secrets, other places and other initial weights. A run that was cut off goes on after the last finished model. About 10
CPU minutes of one thread; draws docs/canaries.svg.
"""

import json
import math
import string
import tempfile
import time
from collections import Counter
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from benchmarks.common import (
    ROOT,
    add_output,
    commit,
    is_committed,
    markdown_table,
    new_parser,
    read_options,
    refuse_stopped,
    wikitext,
    write_results,
)
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.analysis.figures import COLOURS, DASHES, MARKERS, SMALL, WIDTH, slide
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.lab.studies.exposure import measure_exposure
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe

PREFIX = "the number of {} is"
REPETITIONS = (0, 1, 2, 4, 8, 16, 32, 64)
OWNERS = 3
SEEDS = 2
LINES, VALIDATION_LINES, VOCABULARY, EPOCHS = 3_000, 400, 5_000, 4
CANDIDATES = [" ".join(digits) for digits in product(string.digits, repeat=4)]
NGRAMS = {"trigram": 3, "5-gram": 5}
NETWORKS = {
    "LSTM": {"model_type": "lecture_recurrent", "cell_type": "lstm", "hidden_size": 128, "tie_word_embeddings": True},
    "Transformer": {
        "model_type": "lecture_self_attention",
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "position_encoding": "alibi",
        "norm_position": "pre",
        "max_position_embeddings": 64,
        "tie_word_embeddings": True,
    },
}
TRAINING = {"layout": "blocks", "sequence_length": 64, "batch_size": 16, "learning_rate": 3e-3, "epochs": EPOCHS}


def plant(lines: list[str], seed: int) -> tuple[list[str], dict[str, tuple[str, int]]]:
    """Return the lines with the secrets among them, and each owner's secret and its number of repetitions.

    >>> lines, secrets = plant(["a", "b"], seed=0)
    >>> len(lines) == 2 + OWNERS * sum(REPETITIONS), len(secrets)
    (True, 24)
    >>> all(sum(line == f"{PREFIX.format(owner)} {secret}" for line in lines) == times
    ...     for owner, (secret, times) in secrets.items())
    True
    """
    draw = np.random.default_rng(seed)
    chosen = draw.choice(len(CANDIDATES), OWNERS * len(REPETITIONS), replace=False)
    owners = draw.permutation(list(string.ascii_uppercase))[: len(chosen)]
    secrets = {
        str(owner): (CANDIDATES[place], REPETITIONS[number // OWNERS])
        for number, (owner, place) in enumerate(zip(owners, chosen, strict=True))
    }
    planted = [f"{PREFIX.format(owner)} {secret}" for owner, (secret, times) in secrets.items() for _ in range(times)]
    # Before line p of the text; lines of the same place keep the order of the draw.
    places = draw.integers(len(lines) + 1, size=len(planted))
    return np.insert(np.array(lines, object), places, np.array(planted, object)).tolist(), secrets


def make_tokenizer(lines: list[str]) -> WordTokenizer:
    """Return a tokenizer of the text's frequent words, and of all words that secrets are made of."""
    needed = [*string.digits, *string.ascii_uppercase, *PREFIX.format("").split()]
    counts = Counter(word for line in lines for word in line.split())
    frequent = [word for word, _ in counts.most_common(VOCABULARY) if word not in {*needed, "<unk>"}]
    return WordTokenizer.from_words([*needed, *frequent[: VOCABULARY - len(needed)]])


def train_network(fields: dict[str, Any], tokenizer: Any, texts: dict[str, list[str]], seed: int) -> Any:
    """Return the weights that were the best on the validation text."""
    task, recipe = CausalLM(), CausalLMRecipe(**TRAINING, seed=seed, model=dict(fields))
    model = task.model(recipe, tokenizer, texts["train"])
    with tempfile.TemporaryDirectory() as folder:
        run: dict[str, Any] = {"output_dir": Path(folder) / "run", "quiet": True}
        result = task.train(model, tokenizer, texts["train"], texts["valid"], recipe, **run)
        refuse_stopped(result)
        return type(model).from_pretrained(result.folder)


def measure(name: str, lines: list[str], valid: list[str], seed: int) -> dict[str, Any]:
    """Return one model's validation perplexity, its CPU seconds, and the rank and the exposure of each secret."""
    train, secrets = plant(lines, seed)
    tokenizer = make_tokenizer(lines)
    begin = time.process_time()
    if name in NGRAMS:
        model = NGramForCausalLM.fit(train, tokenizer, order=NGRAMS[name], progress=False)
    else:
        model = train_network(NETWORKS[name], tokenizer, {"train": train, "valid": valid}, seed)
    trained = time.process_time()
    found = []
    for owner, (secret, times) in secrets.items():
        exposure = measure_exposure(model, tokenizer, PREFIX.format(owner), secret, CANDIDATES)
        found.append({"repetitions": times, "rank": exposure.rank, "bits": exposure.bits})
    return {
        "seed": seed,
        "validation_perplexity": evaluate_language_model(model, tokenizer, valid, stream=True)["perplexity"],
        "train_cpu_s": round(trained - begin, 1),
        "rank_cpu_s": round(time.process_time() - trained, 1),
        "secrets": found,
    }


def summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean exposure over owners and seeds for each number of repetitions, with its standard error.

    >>> secrets = [{"repetitions": 1, "bits": bits, "rank": rank} for bits, rank in ((13.0, 1.0), (11.0, 4.0))]
    >>> summarise([{"secrets": secrets}])
    {'1': {'bits': 12.0, 'standard_error': 1.0, 'secrets': 2, 'first': 1}}
    """
    rows = {}
    for times in sorted({secret["repetitions"] for run in runs for secret in run["secrets"]}):
        found = [secret for run in runs for secret in run["secrets"] if secret["repetitions"] == times]
        bits = [secret["bits"] for secret in found]
        error = stdev(bits) / len(bits) ** 0.5
        first = sum(secret["rank"] == 1 for secret in found)
        rows[str(times)] = {"bits": fmean(bits), "standard_error": error, "secrets": len(bits), "first": first}
    return rows


def table(models: dict[str, dict[str, Any]]) -> str:
    """Return the table of exposures: a line for each model, a column for each number of repetitions."""
    lines = []
    for name, model in models.items():
        perplexity = fmean(run["validation_perplexity"] for run in model["runs"])
        cells = [f"{row['bits']:.1f} ± {row['standard_error']:.1f}" for row in model["exposure"].values()]
        lines.append([name, f"{perplexity:.0f}", *cells])
    return markdown_table(["model", "validation perplexity", *(f"{times} times" for times in REPETITIONS)], lines)


def save_picture(models: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw the mean exposure of each model against the repetitions, with standard errors."""
    title = "How well models remember a secret of their training text"
    caption = "mean exposure and its standard error; a part of WikiText-2 with secrets of four digits"
    with slide(path, title, caption, WIDTH, 4.6, legend=True) as axes:
        places = range(len(REPETITIONS))
        for number, (name, model) in enumerate(models.items()):
            rows = [model["exposure"][str(times)] for times in REPETITIONS]
            means, errors = [row["bits"] for row in rows], [row["standard_error"] for row in rows]
            style = {"marker": MARKERS[number % len(MARKERS)], "capsize": 3, "color": COLOURS[number % len(COLOURS)]}
            style |= {"linestyle": DASHES[number % len(DASHES)], "linewidth": 2}
            # Within a column the models are side by side, so that equal values stay visible.
            shifted = [place + 0.06 * (number - (len(models) - 1) / 2) for place in places]
            axes.errorbar(shifted, means, errors, label=name, **style)
        first, chance = math.log2(len(CANDIDATES)), math.log2(math.e)
        for bits in (first, chance):
            axes.axhline(bits, color="0.4", linestyle="--", linewidth=1)
        # No exposure is above the first line, and few of many repetitions are below the other.
        for bits, label, side in (
            (first + 0.2, "ranked first", "bottom"),
            (chance - 0.15, "not seen, by chance", "top"),
        ):
            axes.annotate(label, (places[-1] + 0.2, bits), ha="right", va=side, fontsize=SMALL, color="0.3")
        axes.set_xticks(places, [str(times) for times in REPETITIONS])
        axes.set_xlabel("times that the secret stands in the training text")
        axes.set_ylabel("exposure (bits)")
        axes.set_ylim(0, first + 1.2)
        axes.grid(axis="y")


def finished(path: Path) -> dict[str, Any]:
    """Return what an earlier call of the same commit has measured, by model and seed."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return dict(found.get("runs", {})) if found.get("commit") == commit() and is_committed(commit()) else {}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how often each network is trained (%(default)s)")
    add_output(parser, "canaries", "what is finished")
    arguments = read_options(parser)
    lines, valid = wikitext("train")[:LINES], wikitext("valid")[:VALIDATION_LINES]
    runs = finished(arguments.output / "runs.json")
    for seed, name in product(range(arguments.seeds), [*NGRAMS, *NETWORKS]):
        key = f"{name}, seed {seed}"
        if key not in runs:
            runs[key] = measure(name, lines, valid, seed)
            record = strict_json({"commit": commit(), "runs": runs}, indent=1)
            write_file(arguments.output / "runs.json", f"{record}\n")
        print(key, summarise([runs[key]]), flush=True)
    models = {}
    for name in [*NGRAMS, *NETWORKS]:
        mine = [runs[f"{name}, seed {seed}"] for seed in range(arguments.seeds)]
        models[name] = {"exposure": summarise(mine), "runs": mine}
    print(table(models))
    settings = {"lines": LINES, "words": sum(len(line.split()) for line in lines), "vocabulary": VOCABULARY}
    settings |= {"candidates": len(CANDIDATES), "owners": OWNERS, "training": TRAINING, "networks": NETWORKS}
    if write_results("canaries", settings | {"models": models}, arguments.kept):
        save_picture(models, (arguments.kept or ROOT / "docs") / "canaries.svg")


if __name__ == "__main__":
    main()
