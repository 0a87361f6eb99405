# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a model of sequences of points: pen strokes, series, rows of numbers.
Reads: JSON lines, a list of points on each, or draws its curves.

    hf-lecture train sequence_prediction graves_tiny --output_dir tiny
    hf-lecture train sequence_prediction --epochs 2 --output_dir OUT
    hf-lecture train sequence_prediction --train_files T.jsonl --validation_files V.jsonl --output_dir OUT
    hf-lecture train sequence_prediction RECIPE.yaml [--name value ...] [--resume]

The model is Graves' network, or a joint Gaussian. Without data, spirals and waves are drawn by a seed. Files of your
own have a sequence on each line, a list of points: [[3, 1, 0], [4, 1, 1]], whose last number is the pen (1: lifted
after the point), unless `--model.has_pen false` says that there is none. If the run is killed, the same command with
--resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.strokes.task import SequencePrediction

if __name__ == "__main__":
    run_task(SequencePrediction(), sys.argv[1:], __doc__)
