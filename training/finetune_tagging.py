# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a tagger of words: parts of speech of CoNLL-U files, names of CoNLL files, or your own lists of words and tags.

    python training/finetune_tagging.py --from_pretrained FOLDER --columns.tags upos \\
        --train_files T.conllu --validation_files V.conllu --output_dir OUT
    python training/finetune_tagging.py --scheme entities --train_files T.conll --output_dir OUT
    python training/finetune_tagging.py --task wnut17 --from_pretrained FOLDER --output_dir OUT
    python training/finetune_tagging.py training/recipes/recurrent_tagger_tiny.yaml --output_dir tiny
    accelerate launch training/finetune_tagging.py RECIPE.yaml [--name value ...] [--resume]

The tasks are ewt, parts of speech of UD English EWT, and wnut17, names of WNUT-17, which is read from the Hub where no
files are named. `--predict_files` get their tags in `predictions/predictions.conll`.

FOLDER holds a model with its tokenizer: a tagger, or what transformers can give a tagger's head, such as BERT. Without
it, a new bidirectional LSTM is trained (`--model.model_type`, `--tokenizer.type`). Killed at any moment, the same
command with --resume goes on to the same weights.
"""

import sys

from hf_lecture_models.tasks.main import run_task
from hf_lecture_models.tasks.token_classification import TokenClassification

if __name__ == "__main__":
    run_task(TokenClassification(), sys.argv[1:], __doc__)
