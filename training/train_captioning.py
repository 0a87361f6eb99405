# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a model that writes captions of images, by attention of its decoder to their patches.
Reads: folders of images whose metadata.csv has `file_name` and `text`.

    hf-lecture train image_captioning image_captioning_tiny --output_dir tiny
    hf-lecture train image_captioning --train_files PHOTOS --validation_share 0.1 --output_dir OUT
    hf-lecture train image_captioning RECIPE.yaml [--name value ...] [--resume]

PHOTOS is a folder of images with a metadata.csv, whose columns are file_name and text. With `--captions templated`, the
captions of a set of classified images are written by rules from pixels and class. If the run is killed, the same
command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.captioning.task import ImageCaptioning
from hf_lecture_models.tasks.core.main import run_task

if __name__ == "__main__":
    run_task(ImageCaptioning(), sys.argv[1:], __doc__)
