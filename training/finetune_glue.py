# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a classifier of texts or pairs: a task of GLUE, SST-5, three-way SST, or your own data.
Reads: rows with `text` and `label`, of pairs also `text_pair`.

    hf-lecture train text_classification --task sst2 --from_pretrained FOLDER \\
        --train_files T.tsv --validation_files V.tsv --optimizer sgd --accumulation_steps 4 --output_dir OUT
    hf-lecture train text_classification --task rte --from_pretrained FOLDER --predict_split test --output_dir OUT
    hf-lecture train text_classification bag_of_words_tiny --output_dir tiny
    hf-lecture train text_classification RECIPE.yaml [--name value ...] [--resume]

The tasks are cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, sst5 and sst3. Without files, GLUE's data are read
from the Hub. The task's official measure selects the best weights. They label the rows of `--predict_files` or
`--predict_split`, in the files that gluebenchmark.com takes. Your own data have the columns `text` and `label`, and
`text_pair` for pairs; `--columns.text NAME` names another column.

FOLDER holds a model with its tokenizer: a classifier, or a model without a head, such as BERT, which gets a new one.
Without FOLDER a new model is trained (`--model.model_type`, `--tokenizer.type`). If the run is killed, the same
command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.classification.task import TextClassification
from hf_lecture_models.tasks.core.main import run_task

if __name__ == "__main__":
    run_task(TextClassification(), sys.argv[1:], __doc__)
