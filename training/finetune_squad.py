# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a question-answering model: SQuAD 1.1, SQuAD 2.0, or your own questions in one of their formats.
Reads: rows with `context`, `question` and `answers`, or SQuAD's .json.

    hf-lecture train question_answering --from_pretrained FOLDER \\
        --train_files T.json --validation_files V.json --output_dir OUT
    hf-lecture train question_answering --task squad_v2 --from_pretrained FOLDER --output_dir OUT
    hf-lecture train question_answering bert_squad_tiny --output_dir tiny
    hf-lecture train question_answering RECIPE.yaml [--name value ...] [--resume]

FOLDER holds a model with its tokenizer: a question-answering model, or a model without a head, such as BERT, which
gets a new one. Without FOLDER and without a recipe's `model`, a small new model is trained and its size printed.
`--task squad` and `--task squad_v2` read the data from the Hub. With `--predict_files` or `--predict_split`, the
folder `predictions` of OUT holds the answers in SQuAD's format. If the run is killed, the same command with --resume
continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering

if __name__ == "__main__":
    run_task(QuestionAnswering(), sys.argv[1:], __doc__)
