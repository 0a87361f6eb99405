# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a multiple-choice model: SWAG, COPA, ARC, or your own rows.
Reads: rows with `context`, `choices` and `label`.

    hf-lecture train multiple_choice --task copa --from_pretrained FOLDER \\
        --train_files T.jsonl --validation_files V.jsonl --predict_files P.jsonl --output_dir OUT
    hf-lecture train multiple_choice bert_choice_tiny --output_dir tiny
    hf-lecture train multiple_choice RECIPE.yaml [--name value ...] [--resume]

FOLDER holds a model with its tokenizer: a multiple-choice model, or a model without a head, such as BERT, which gets
a new one. Without FOLDER and without a recipe's `model`, a small new model is trained and its size printed. A row has
two or more choices. Predictions for rows without labels are written as the benchmark takes them. If the run is
killed, the same command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.choice.task import MultipleChoice
from hf_lecture_models.tasks.core.main import run_task

if __name__ == "__main__":
    run_task(MultipleChoice(), sys.argv[1:], __doc__)
