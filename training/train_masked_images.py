# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train a model of images by a recipe: predict the pixels of masked patches or their mean color.
Reads: folders of images, or rows with `image`.

    hf-lecture train masked_images RECIPE.yaml [--name value ...] [--resume]
    hf-lecture train masked_images vit_masked_fashion_mnist --target mean_color

A recipe without `model` trains a small new one and prints its size. If the run is killed, the same command with
--resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.images.masked import MaskedImagesTask

if __name__ == "__main__":
    run_task(MaskedImagesTask(), sys.argv[1:], __doc__)
