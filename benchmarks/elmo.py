# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A tagger with and without ELMo's features: parts of speech (EWT) and names (WNUT-17), slide R:723-750.

    OMP_NUM_THREADS=1 python -m benchmarks.elmo ELMO [--only ewt] [--epochs 3] [--seeds 0 1 2]

ELMO is the folder that `training/recipes/elmo_wikitext2.yaml` leaves behind. All three taggers are the same: a word's
own vector from its characters, a bidirectional LSTM, a linear layer. Without features γ is held at 0; with them the
tagger learns s and γ, and the language models stay as they are. The results have the mix weights of the best model,
layer 0 first.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from benchmarks.common import (
    check_trained_on_committed_code,
    mean_and_error,
    new_parser,
    read_options,
    refuse_stopped,
    write_results,
)
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe

WAYS = ("without", "with")
FILES: dict[str, dict[str, Any]] = {
    "ewt": {
        "train_files": ["ud_english_ewt/en_ewt-ud-train.conllu.gz"],
        "validation_files": ["ud_english_ewt/en_ewt-ud-dev.conllu.gz"],
        "test_files": ["ud_english_ewt/en_ewt-ud-test.conllu.gz"],
        "columns": {"tags": "upos"},
    },
    "wnut17": {
        "train_files": ["wnut17/train.jsonl"],
        "validation_files": ["wnut17/dev.jsonl"],
        "test_files": ["wnut17/test.jsonl"],
        "columns": {"tags": "ner_tags"},
        "scheme": "entities",
    },
}
EPOCHS = {"ewt": 3, "wnut17": 10}


def train_tagger(elmo: str, data: str, way: str, seed: int, epochs: int) -> dict[str, Any]:
    """Return the test measure of the best epoch's model, its mix weights, and its CPU seconds."""
    task = TokenClassification()
    recipe = TokenClassificationRecipe(
        from_pretrained=elmo,
        freeze_backbone=True,
        epochs=epochs,
        seed=seed,
        batch_size=32,
        learning_rate=0.003,
        clip_norm=1.0,
        **FILES[data],
    )
    rows = task.read(recipe, "train")
    tokenizer = task.processor(recipe, rows)
    model = task.model(recipe, tokenizer, rows)
    if way == "without":
        nn.init.zeros_(model.reader.mix.gamma)
        model.reader.mix.gamma.requires_grad_(False)
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        validation = task.read(recipe, "validation")
        refuse_stopped(task.train(model, tokenizer, rows, validation, recipe, output_dir=folder, quiet=True))
        best = task.auto_class.from_pretrained(folder)
    seconds = time.process_time() - begin
    measures = task.evaluate(best, tokenizer, task.read(recipe, "test"), recipe)
    key = task.measures(recipe)[0].key
    mix = best.reader.mix
    return {"value": measures[key], "s": mix.shares.tolist(), "gamma": float(mix.gamma), "cpu_seconds": seconds}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("elmo", metavar="ELMO", help="folder of a trained ElmoForPreTraining")
    parser.add_argument("--only", choices=tuple(FILES), help="one of the two data sets")
    parser.add_argument("--epochs", type=int, help="in place of 3 and 10")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the taggers")
    options = read_options(parser)
    if not options.dirty:
        check_trained_on_committed_code(Path(options.elmo))
    be_quiet()
    results: dict[str, Any] = {}
    for data in [options.only] if options.only else FILES:
        for way in WAYS:
            epochs = options.epochs or EPOCHS[data]
            runs = [train_tagger(options.elmo, data, way, seed, epochs) for seed in options.seeds]
            values = [run["value"] for run in runs]
            found = mean_and_error(values) if len(runs) > 1 else {"mean": values[0]}
            results[f"{data}, {way}"] = {**found, "runs": runs}
            mix = ", ".join(f"{share:.2f}" for share in np.mean([run["s"] for run in runs], axis=0))
            gamma = np.mean([run["gamma"] for run in runs])
            print(f"{data}, {way}: {100 * found['mean']:.2f}, s {mix}, γ {gamma:.2f}", flush=True)
    write_results("elmo", results)


if __name__ == "__main__":
    main()
