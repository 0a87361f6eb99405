# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a translator by a recipe, or without a recipe on a small grammar of French and English.
Reads: rows with `source` and `target`, or line-aligned files.

    hf-lecture train translation --output_dir OUT && echo "Je suis étudiant" | hf-lecture translate OUT
    hf-lecture train translation --output_dir OUT \\
        --train_files "[T.fr.txt, T.en.txt]" --validation_files "[V.fr.txt, V.en.txt]"
    hf-lecture train translation RECIPE.yaml [--name value ...] [--resume]

Name line-aligned files in pairs, source and target. With --resume a run that was killed ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.translation.task import Translation

if __name__ == "__main__":
    run_task(Translation(), sys.argv[1:], __doc__)
