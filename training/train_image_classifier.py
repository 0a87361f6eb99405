# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a classifier of images by a recipe, from new weights or from a model pre-trained without classes.
Reads: a folder of images for each class, or rows with `image` and `label`.

    hf-lecture train image_classification RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train image_classification vit_tiny --output_dir tiny
    hf-lecture train image_classification --train_files photos --from_pretrained masked

A recipe without `model` trains a small new one and prints its size. If the run is killed, the same command with
--resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.images.classification import ImageClassification

if __name__ == "__main__":
    run_task(ImageClassification(), sys.argv[1:], __doc__)
