# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Fine-tune an encoder-decoder to classify in words: it reads "sst2 sentence: ..." and writes "positive" (T5).
Reads: rows with `text` and `label`, of pairs also `text_pair`.

    hf-lecture train text_to_text --task sst2 --from_pretrained FOLDER \\
        --train_files glue/sst2/train.tsv --test_files glue/sst2/dev.tsv --output_dir OUT
    hf-lecture train text_to_text RECIPE.yaml [--name value ...] [--resume]

The tasks are cola, sst2, mrpc, qqp, mnli, qnli, rte, sst3 and sst5. Without files, GLUE's data are read from the Hub.
FOLDER holds an encoder-decoder with its tokenizer, such as one that train_span_corruption.py trained; without FOLDER
a new model is trained. Use the result with `hf-lecture translate` and pipeline("machine-translation"). If the run is
killed, the same command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.classification.text_to_text import TextToText
from hf_lecture_models.tasks.core.main import run_task

if __name__ == "__main__":
    run_task(TextToText(), sys.argv[1:], __doc__)
