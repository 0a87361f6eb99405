# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The default model of a classifier of texts; `docs/own_data.md` shows how it was chosen."""

from typing import Any

from hf_lecture_models.tasks.core.factories import log_once

MODEL: dict[str, Any] = {"model_type": "lecture_bag_of_words", "hidden_sizes": [64], "dropout": 0.5}
TOKENIZER: dict[str, Any] = {"type": "word", "lower_case": True, "split_punctuation": True}


def reads_pairs_as_one(model: Any) -> bool:
    """Return whether the model adds up the words of both texts of a pair, whatever stands between them.

    >>> from hf_lecture_models import BagOfWordsConfig, BagOfWordsForSequenceClassification
    >>> reads_pairs_as_one(BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=9)))
    True
    """
    return model.config.model_type == MODEL["model_type"]


def note_pairs_of_bag() -> None:
    """Log what a bag of words makes of pairs, with the figures of `docs/own_data.md`."""
    log_once(
        "a bag of words reads the two texts of a pair as one and cannot compare them: on RTE it is right on 51.7 % of "
        "the rows, the most frequent class on 52.7, a small BERT named by `from_pretrained` on 58.8"
    )
