# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a classifier of texts or pairs: a task of GLUE, SST-5, three-way SST, or your own data.

    python training/finetune_glue.py --task sst2 --from_pretrained FOLDER \\
        --train_files T.tsv --validation_files V.tsv --optimizer sgd --accumulation_steps 4 --output_dir OUT
    python training/finetune_glue.py --task rte --from_pretrained FOLDER --predict_split test --output_dir OUT
    python training/finetune_glue.py training/recipes/bag_of_words_tiny.yaml --output_dir tiny
    accelerate launch training/finetune_glue.py RECIPE.yaml [--name value ...] [--resume]

The tasks are cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, sst5 and sst3; without files, GLUE's data are read
from the Hub. The official measure of the task chooses the best weights. Rows without labels (`--predict_files`, or
`--predict_split`) get predictions in the files that gluebenchmark.com takes. Data of your own have the columns `text`
and `label`, and pairs `text_pair`; `--columns.text NAME` says what a file calls one.

FOLDER holds a model with its tokenizer: a classifier, or what transformers can give a classifier's head, such as BERT.
Without it, a new model is trained (`--model.model_type`, `--tokenizer.type`). Killed at any moment, the same
command with --resume goes on to the same weights.
"""

import sys

from hf_lecture_models.tasks.main import run_task
from hf_lecture_models.tasks.text_classification import TextClassification

if __name__ == "__main__":
    run_task(TextClassification(), sys.argv[1:], __doc__)
