# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train an encoder-decoder by a recipe: it writes the spans that were left out of a text (T5).
Reads: texts, one on each line, or rows with `text`.

    hf-lecture train span_corruption RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train span_corruption transformer_span_tiny --output_dir tiny
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_span_corruption.py RECIPE.yaml --num_processes 2

A recipe without `model` trains a small new one and prints its size. If the run is killed, the same command with
--resume continues it and ends in the same weights. finetune_text_to_text.py fine-tunes the trained model.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.language_models.spans import SpanCorruption

if __name__ == "__main__":
    run_task(SpanCorruption(), sys.argv[1:], __doc__)
