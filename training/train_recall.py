# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a language model to recall words of its text: associative recall, copying, induction, lists of operations.
Reads: rows with `text` and `answers`, or draws its texts.

    hf-lecture train synthetic_recall transformer_xl_recall_tiny --output_dir tiny
    hf-lecture train synthetic_recall --texts copying --length 33 --output_dir OUT
    hf-lecture train synthetic_recall --model "{model_type: lecture_recurrent}" --pairs "[4, 8]" --output_dir OUT
    hf-lecture train synthetic_recall --train_files T.jsonl --validation_files V.jsonl --output_dir OUT
    hf-lecture train synthetic_recall RECIPE.yaml [--name value ...] [--resume]

Texts are drawn by a seed. Files of your own have lines {"text": "k1 v2 k1 v2", "answers": [3]}: words with blanks
between them, and the places of those to predict, counted from 0. `--masked true` trains a masked language model. If
the run is killed, the same command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.language_models.recall import SyntheticRecall

if __name__ == "__main__":
    run_task(SyntheticRecall(), sys.argv[1:], __doc__)
