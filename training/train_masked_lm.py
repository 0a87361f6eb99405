# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train a masked language model by a recipe: predict masked words and next sentences (BERT), or words alone.
Reads: texts, one on each line, or rows with `text`.

    hf-lecture train masked_lm RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train masked_lm bert_tiny --output_dir tiny --next_sentence false
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_masked_lm.py RECIPE.yaml --num_processes 2

A recipe without `model` trains a small new one and prints its size. If the run is killed, the same command with
--resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.language_models.masked import MaskedLM

if __name__ == "__main__":
    run_task(MaskedLM(), sys.argv[1:], __doc__)
