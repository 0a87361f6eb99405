# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train a masked language model by a recipe: BERT's masked words and next sentences, or masked words alone.

    accelerate launch training/train_masked_lm.py RECIPE.yaml [--name value ...] [--resume]
    python training/train_masked_lm.py training/recipes/bert_tiny.yaml --output_dir tiny --next_sentence false
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_masked_lm.py RECIPE.yaml --num_processes 2

Without `model` in it, a small new one is trained, whose size is printed. Killed at any moment, the same command with
--resume goes on to the same weights.
"""

import sys

from hf_lecture_models.tasks.main import run_task
from hf_lecture_models.tasks.masked_lm import MaskedLM

if __name__ == "__main__":
    run_task(MaskedLM(), sys.argv[1:], __doc__)
