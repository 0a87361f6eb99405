# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a classifier of your own texts, or pairs of texts.
Reads: rows with `text` and `label`, of pairs also `text_pair`.

    hf-lecture train finetune_text_classification --train_files reviews.csv --validation_files more.csv \\
        --output_dir OUT
    hf-lecture train finetune_text_classification --from_pretrained FOLDER --train_files reviews.csv \\
        --validation_files more.csv --class_weights.bad 2.5 --output_dir OUT

Files are tables (.csv, .tsv, .jsonl, .parquet) with the columns `text` and `label`, and of pairs `text_pair`;
`--columns.text NAME` names the column of a file. Classes are those of the labels. Labels such as 0.5 are learned as
numbers; `--problem_type regression` learns whole numbers so, too. Lists of names are several classes of a text, and
so are columns of 0 and 1: `--label_columns toxic,insult`.

The measures are accuracy, which chooses the best weights, macro-F1, and the precision, recall and F1 of each class.
`hf-lecture evaluate OUT text_classification more.csv --output confusion.svg` draws the confusion matrix.
`--class_weights.NAME NUMBER` lets the rows of a rare class count more in the loss, `--class_weights balanced` those of
all rare classes. `--predict_files FILES` writes predictions.

FOLDER holds a model with its tokenizer, such as BERT. Without it, a new model is trained (`--model.model_type`,
`--tokenizer.type`). Killed at any moment, the same command with --resume goes on to the same weights. The benchmarks
of GLUE are in `finetune_glue.py`.
"""

import sys

from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.main import run_task

if __name__ == "__main__":
    run_task(TextClassification(), sys.argv[1:], __doc__)
