# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a model to choose: SWAG, COPA, ARC, or rows of your own with columns `context`, `choices` and `label`.

    python training/finetune_multiple_choice.py --task copa --from_pretrained FOLDER \\
        --train_files T.jsonl --validation_files V.jsonl --predict_files P.jsonl --output_dir OUT
    python training/finetune_multiple_choice.py training/recipes/bert_choice_tiny.yaml --output_dir tiny
    accelerate launch training/finetune_multiple_choice.py RECIPE.yaml [--name value ...] [--resume]

FOLDER holds a model with its tokenizer: one that chooses, or what transformers can give such a head, as BERT. Without
it and without a recipe's `model`, a small new one is trained, whose size is printed. Rows may have any number of
choices, two at least. Predictions for rows without labels are written as the benchmark takes them.
Killed at any moment, the same command with --resume goes on to the same weights.
"""

import sys

from hf_lecture_models.tasks.main import run_task
from hf_lecture_models.tasks.multiple_choice import MultipleChoice

if __name__ == "__main__":
    run_task(MultipleChoice(), sys.argv[1:], __doc__)
