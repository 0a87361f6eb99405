# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a tagger of words: parts of speech, names, or your own tags.
Reads: CoNLL and CoNLL-U files, or rows with `tokens` and `tags`.

    hf-lecture train token_classification --from_pretrained FOLDER --columns.tags upos \\
        --train_files T.conllu --validation_files V.conllu --output_dir OUT
    hf-lecture train token_classification --train_files T.conll --output_dir OUT
    hf-lecture train token_classification --task wnut17 --from_pretrained FOLDER --output_dir OUT
    hf-lecture train token_classification recurrent_tagger_tiny --output_dir tiny
    hf-lecture train token_classification RECIPE.yaml [--name value ...] [--resume]

If all tags are O or parts of entities, such as B-PER and I-PER, entities are measured; `--scheme plain` measures
words. Tags of IOBES, BILOU and BMES are converted to B-, I- and O.

The tasks are ewt (parts of speech of UD English EWT) and wnut17 (names of WNUT-17, read from the Hub if no files are
named). The tags of `--predict_files` are written to `predictions/predictions.conll`.

FOLDER holds a model with its tokenizer: a tagger, or a model without a head, such as BERT, which gets a new one.
Without FOLDER a new bidirectional LSTM is trained (`--model.model_type`, `--tokenizer.type`). If the run is killed,
the same command with --resume continues it and ends in the same weights.
"""

import sys

from hf_lecture_models.tasks.core.main import run_task
from hf_lecture_models.tasks.tagging.task import TokenClassification

if __name__ == "__main__":
    run_task(TokenClassification(), sys.argv[1:], __doc__)
