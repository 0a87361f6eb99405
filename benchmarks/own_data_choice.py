# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How the defaults of classes were chosen: other models, tokenizers and learning rates, on the validation rows.

    OMP_NUM_THREADS=1 python -m benchmarks.own_data_choice [--output FOLDER]

Each choice is trained on the sets of `own_data` that were not kept back, and judged by the accuracy on the tenth of the
training rows that a run holds out by itself. No test row is read. A run that was cut off goes on.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from benchmarks.common import add_output, commit, new_parser, read_options, refuse_stopped, write_results
from benchmarks.own_data_sets import CLASSES, write_csv
from hf_lecture_models.io.progress import no_progress
from hf_lecture_models.io.runs import no_log
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.main import train_and_test

SEEDS = (0,)
SETS = ("sst2_1500", "sst2", "tweets", "articles", "cola", "imdb", "mrpc")
BAG = "lecture_bag_of_words"
CHOICES: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "no hidden layer": {"model": {"model_type": BAG}},
    "words between blanks, no hidden layer": {"model": {"model_type": BAG}, "tokenizer": {"type": "word"}},
    "words between blanks": {"tokenizer": {"type": "word"}},
    "WordPiece of 8,000 tokens": {"tokenizer": {"type": "wordpiece", "vocab_size": 8000, "rule": "frequency"}},
    "learning rate 0.003": {"learning_rate": 0.003},
    "dropout 0.8": {"model": {"model_type": BAG, "hidden_sizes": [64], "dropout": 0.8}},
    "128 hidden units": {"model": {"model_type": BAG, "hidden_sizes": [128], "dropout": 0.5}},
}


def run(fields: dict[str, Any], name: str, seed: int, folder: Path) -> float:
    """Return the best accuracy on the rows that a run holds out, or what an earlier run of the same commit found."""
    found = folder / "found.json"
    if found.is_file() and (result := json.loads(found.read_text(encoding="utf-8")))["commit"] == commit():
        return result["accuracy"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_csv(CLASSES[name][1]()[0], folder / "train.csv")
    recipe = TextClassificationRecipe(
        train_files=[str(folder / "train.csv")], output_dir=str(folder / "model"), seed=seed, **fields
    )
    with no_log(), no_progress():
        outcome = train_and_test(TextClassification(), recipe)
    refuse_stopped(outcome.training)
    accuracy = outcome.training.best_metric
    assert accuracy is not None
    shutil.rmtree(folder / "model")
    found.write_text(json.dumps({"commit": commit(), "accuracy": accuracy}), encoding="utf-8")
    return accuracy


def main() -> None:
    parser = new_parser(__doc__)
    add_output(parser, "own_data_choice", "the models")
    options = read_options(parser)
    disable_progress_bar()
    rows: dict[str, Any] = {}
    for number, (title, fields) in enumerate(CHOICES.items()):
        own = options.output.absolute() / str(number)
        sets = {
            name: sum(run(fields, name, seed, own / f"{name}-{seed}") for seed in SEEDS) / len(SEEDS) for name in SETS
        }
        rows[title] = {"mean": sum(sets.values()) / len(sets), "sets": sets}
        print(
            f"{title}: {100 * rows[title]['mean']:.1f}",
            {name: round(100 * x, 1) for name, x in sets.items()},
            flush=True,
        )
    write_results("own_data_choice", {"seeds": SEEDS, "rows": rows}, options.kept)


if __name__ == "__main__":
    main()
