# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""MiniLM fine-tuned on RTE by our BERT and by transformers' own: are the losses the same?

    OMP_NUM_THREADS=1 python -m benchmarks.minilm_parity FOLDER [--steps 50]

FOLDER holds sentence-transformers' all-MiniLM-L6-v2. Both start from the same file, classifier included, see the same
batches in float32 without dropout, and are trained by the same recipe. Recorded are each step's losses, and their
largest difference.
"""

import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from benchmarks.common import new_parser, read_options, refuse_stopped, write_results
from hf_lecture_models import LectureBertForSequenceClassification
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe


def losses(model: Any, tokenizer: Any, data: Any, recipe: TextClassificationRecipe, folder: Path) -> list[float]:
    """Return the loss of each step, in nats."""
    result = TextClassification().train(model, tokenizer, data, None, recipe, output_dir=folder, quiet=True)
    refuse_stopped(result)
    return [row["loss"] for row in result.history if "loss" in row]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folder", help="the published model")
    parser.add_argument("--steps", type=int, default=50)
    options = read_options(parser)
    be_quiet()
    torch.set_num_threads(1)
    recipe = TextClassificationRecipe(
        task="rte",
        train_files=["glue/rte/train.tsv"],
        max_length=128,
        batch_size=16,
        max_steps=options.steps,
        log_every=1,
        optimizer="adamw",
        learning_rate=5e-5,
        output_dir="unused",
    )
    data = TextClassification().read(recipe, "train")
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "start")
        torch.manual_seed(0)
        classes = {"id2label": {0: "entailment", 1: "not_entailment"}}
        theirs: Any = BertForSequenceClassification.from_pretrained(
            options.folder, **classes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        theirs.save_pretrained(start)
        tokenizer = AutoTokenizer.from_pretrained(options.folder)
        ours = LectureBertForSequenceClassification.from_pretrained(start)
        found = {
            name: losses(model, tokenizer, data, recipe, Path(folder, name))
            for name, model in (("ours", ours), ("transformers", theirs))
        }
    difference = max(abs(a - b) for a, b in zip(found["ours"], found["transformers"], strict=True))
    first, *_, last = found["ours"]
    print(f"{options.steps} steps, loss {first:.6f} to {last:.6f}: largest difference {difference:.1e}")
    write_results("minilm_parity", {"steps": options.steps, "largest_difference": difference, **found})


if __name__ == "__main__":
    main()
