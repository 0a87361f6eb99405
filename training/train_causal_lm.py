# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a causal language model by a recipe.
Reads: texts, one on each line, or rows with `text`.

    hf-lecture train causal_lm RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train causal_lm recurrent_tiny --output_dir tiny --model.cell_type gru
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml --num_processes 2

If the run is killed, the same command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.language_models.causal import CausalLM

if __name__ == "__main__":
    run_task(CausalLM(), sys.argv[1:], __doc__)
