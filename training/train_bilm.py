# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train ELMo, a language model in both directions, by a recipe.
Reads: texts, one on each line, or rows with `text`.

    hf-lecture train bidirectional_lm RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train bidirectional_lm elmo_tiny --output_dir tiny --model.softmax_samples 20

A recipe without `model` trains a small new one and prints its size. If the run is killed, the same command with
--resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.language_models.bidirectional import BidirectionalLM

if __name__ == "__main__":
    run_task(BidirectionalLM(), sys.argv[1:], __doc__)
