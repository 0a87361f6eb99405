# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train word vectors by a recipe: word2vec's skip-gram or CBOW, by negative sampling or hierarchical softmax.
Reads: texts, one on each line, or rows with `text`.

    hf-lecture train word_vectors RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train word_vectors word2vec_tiny --output_dir tiny --model.architecture cbow

If the run is killed, the same command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.word_vectors.task import WordVectors

if __name__ == "__main__":
    run_task(WordVectors(), sys.argv[1:], __doc__)
