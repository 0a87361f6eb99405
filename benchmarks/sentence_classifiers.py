# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classifiers of the lectures on the three-way Stanford Sentiment Treebank, each trained from scratch with three seeds.

    OMP_NUM_THREADS=1 python -m benchmarks.sentence_classifiers [RECIPE ...] [--output FOLDER]

RECIPE is the name of one in training/recipes, of the same data, or a title of `CLASSIFIERS`; it gets a row, and the
rows of earlier runs stay. Without any, all of `CLASSIFIERS` are trained. A run that was cut off goes on after the last
model that it finished.

Two classifiers are compared on the same test sentences: a_i and b_i are the shares of their seeds that classify
sentence i rightly, the test statistic is |mean(a_i - b_i)|, and the p-value is (1 + k) / (1 + 10,000), where k of
10,000 random choices of the signs of all a_i - b_i make it as large. The signs that were found are one more choice, so
that p is never 0 (Phipson and Smyth 2010).
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from transformers.utils.logging import disable_progress_bar

from benchmarks.common import (
    ROOT,
    add_output,
    commit,
    markdown_table,
    mean_and_error,
    new_parser,
    read_options,
    read_results,
    refuse_stopped,
    training_record,
    write_results,
)
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe

RECIPES = ROOT / "training" / "recipes"
SEEDS = (0, 1, 2)
BASELINE = "bag of words"
# Title -> recipe, and what is said otherwise.
CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    BASELINE: ("bag_of_words_sst3", {}),
    "LSTM, last state": ("recurrent_sst3", {}),
    "LSTM, maximum": ("recurrent_sst3", {"model.pooling": "max"}),
    "LSTM both ways, last states": ("recurrent_sst3", {"model.bidirectional": True}),
    "LSTM both ways, maximum": ("recurrent_sst3", {"model.bidirectional": True, "model.pooling": "max"}),
    "LSTM of two layers, last state": ("recurrent_sst3", {"model.num_hidden_layers": 2}),
    "Elman, last state": ("recurrent_sst3", {"model.cell_type": "elman"}),
    "Elman, maximum": ("recurrent_sst3", {"model.cell_type": "elman", "model.pooling": "max"}),
}
COMPARISONS = [
    *((title, BASELINE) for title in CLASSIFIERS if title != BASELINE),
    ("LSTM, maximum", "LSTM, last state"),
    ("LSTM both ways, maximum", "LSTM both ways, last states"),
    ("LSTM both ways, last states", "LSTM, last state"),
    ("LSTM of two layers, last state", "LSTM, last state"),
    ("LSTM, last state", "Elman, last state"),
    ("LSTM, maximum", "Elman, maximum"),
    ("recurrent_sst3_from_lm", "LSTM, last state"),
]


def run(
    recipe_name: str,
    changes: Mapping[str, Any],
    seed: int,
    folder: Path,
    prepare: Callable[[Any, Any], object] | None = None,
) -> dict[str, Any]:
    """Train one model, or read what an earlier run of the same code found; `right` has a bit for each test sentence.

    Args:
        prepare: called with the new model and its tokenizer.
    """
    record = folder / "run.json"
    if record.is_file() and (found := json.loads(record.read_text(encoding="utf-8")))["commit"] == commit():
        return found
    shutil.rmtree(folder, ignore_errors=True)  # a run that was cut off, or of other code
    task = TextClassification()
    recipe = load_recipe(
        RECIPES / f"{recipe_name}.yaml", {**changes, "seed": seed}, recipe_class=TextClassificationRecipe
    )
    data, validation_data, test_data = (task.read(recipe, part) for part in ("train", "validation", "test"))
    tokenizer = task.processor(recipe, data)
    model = task.model(recipe, tokenizer, data)
    if prepare is not None:
        prepare(model, tokenizer)
    result = task.train(model, tokenizer, data, validation_data, recipe, output_dir=folder, quiet=True)
    refuse_stopped(result)
    best = task.auto_class.from_pretrained(result.folder)
    encoded = task.encode(best, tokenizer, test_data, recipe)
    right = task.predict(best, tokenizer, encoded).argmax(1).numpy() == np.array(encoded.labels)
    found = {
        "commit": commit(),
        "validation": result.best_metric,
        "test": float(right.mean()),
        "parameters": model.num_parameters(),
        "step_cpu_seconds": training_record(folder)["step_cpu_seconds"],
        "sentences": len(right),
        "right": np.packbits(right).tobytes().hex(),
    }
    record.write_text(json.dumps(found), encoding="utf-8")
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """A row: mean and standard error over the seeds."""
    accuracies = [one["test"] for one in runs]
    return {
        "parameters": runs[0]["parameters"],
        "sentences": runs[0]["sentences"],
        "test": accuracies,
        **mean_and_error(accuracies),
        "validation_mean": float(np.mean([one["validation"] for one in runs])),
        "step_cpu_seconds": round(float(np.mean([one["step_cpu_seconds"] for one in runs])), 1),
        "right": [one["right"] for one in runs],
    }


def compare(row: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, float]:
    """Return one classifier's lead in points, and the probability of such a lead if both are equally good."""
    shares = [np.mean([_bits(right, one["sentences"]) for right in one["right"]], axis=0) for one in (row, other)]
    differences = shares[0] - shares[1]
    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0], dtype=np.float32), size=(10_000, len(differences)))
    by_chance = np.abs(signs @ differences.astype(np.float32))
    as_large = (by_chance >= abs(differences.sum()) - 1e-3).sum()
    return {"points": 100 * float(differences.mean()), "p": float((1 + as_large) / (1 + len(by_chance)))}


def _bits(right: str, sentences: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(bytes.fromhex(right), dtype=np.uint8), count=sentences).astype(float)


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    heads = ["classifier", "parameters", "CPU seconds", "test accuracy, each seed", "mean ± standard error"]
    lines = []
    for title, row in rows.items():
        seeds = ", ".join(f"{100 * accuracy:.1f}" for accuracy in row["test"])
        mean = f"{100 * row['mean']:.1f} ± {100 * row['standard_error']:.1f}"
        lines.append([title, f"{row['parameters']:,}", f"{row['step_cpu_seconds']:.0f}", seeds, mean])
    return markdown_table(heads, lines)


def sentence(title: str, other: str, found: Mapping[str, float]) -> str:
    """Describe a comparison in words."""
    p = "p < 0.001" if found["p"] < 0.001 else f"p = {found['p']:.3f}"
    return f"{title} against {other}: {found['points']:+.1f} points, {p}"


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help="name of a recipe, without .yaml; or a title")
    add_output(parser, "sentence_classifiers", "the models")
    arguments = read_options(parser)
    known = {path.stem for path in RECIPES.glob("*.yaml")} | CLASSIFIERS.keys()
    if unknown := [name for name in arguments.recipes if name not in known]:
        parser.error(f"there is no recipe {unknown[0]} in {RECIPES.relative_to(ROOT)}")
    disable_progress_bar()
    rows = read_results("sentence_classifiers", {"rows": {}}, arguments.kept)["rows"]
    asked = {name: CLASSIFIERS.get(name, (name, {})) for name in arguments.recipes} or CLASSIFIERS
    for title, (recipe_name, changes) in asked.items():
        slug = title.replace(",", "").replace(" ", "_")
        runs = [run(recipe_name, changes, seed, arguments.output / f"{slug}_{seed}") for seed in SEEDS]
        rows[title] = summary(runs)
        print(f"{title}: {100 * rows[title]['mean']:.1f} %", flush=True)
    pairs = [*COMPARISONS, *((title, BASELINE) for title in rows if title not in CLASSIFIERS)]
    compared = {f"{a} / {b}": compare(rows[a], rows[b]) for a, b in pairs if a in rows and b in rows}
    print(table(rows))
    for names, found in compared.items():
        print(sentence(*names.split(" / "), found))
    write_results("sentence_classifiers", {"seeds": SEEDS, "rows": rows, "comparisons": compared}, arguments.kept)


if __name__ == "__main__":
    main()
