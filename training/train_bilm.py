# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train a language model of both directions by a recipe: ELMo.

    accelerate launch training/train_bilm.py RECIPE.yaml [--name value ...] [--resume]
    python training/train_bilm.py training/recipes/elmo_tiny.yaml --output_dir tiny --model.softmax_samples 20

Without `model` in it, a small new one is trained, whose size is printed. Killed at any moment, the same command with
--resume goes on to the same weights.
"""

import sys

from hf_lecture_models.tasks.bidirectional_lm import BidirectionalLM
from hf_lecture_models.tasks.main import run_task

if __name__ == "__main__":
    run_task(BidirectionalLM(), sys.argv[1:], __doc__)
