# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-train a model of images by a recipe: the pixels of masked patches, or their mean color, without any classes.

    accelerate launch training/train_masked_images.py RECIPE.yaml [--name value ...] [--resume]
    python training/train_masked_images.py training/recipes/vit_masked_fashion_mnist.yaml --target mean_color

Without `model` in it, a small new one is trained, whose size is printed. Killed at any moment, the same command with
--resume goes on to the same weights.
"""

import sys

from hf_lecture_models.tasks.main import run_task
from hf_lecture_models.tasks.masked_images import MaskedImagesTask

if __name__ == "__main__":
    run_task(MaskedImagesTask(), sys.argv[1:], __doc__)
