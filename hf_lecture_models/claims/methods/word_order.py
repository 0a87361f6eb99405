# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Does a model's answer depend on the order of the words?"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, set_seed

from hf_lecture_models.claims.methods.texts import part_texts
from hf_lecture_models.tokenization.word import WordTokenizer

_ROUNDING = 1e-9


def changed_by_shuffling(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each text 100 if a classifier's logits change when its words change places, otherwise 0.

    The weights are random, in float64; what they cannot tell apart, no training can. Texts whose words cannot be put
    into another order are left out.

    Args:
        settings: `model`, the fields of a configuration, and the texts of `part_texts`.
    """
    texts = [text.split() for text in part_texts(settings, part)]
    texts = [words for words in texts if len(set(words)) > 1]
    tokenizer = WordTokenizer.train(map(" ".join, texts), progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    set_seed(seed)
    config = AutoConfig.for_model(**settings["model"], vocab_size=len(tokenizer), num_labels=2, **ids)
    model = AutoModelForSequenceClassification.from_config(config).double().eval()
    chance = random.Random(seed)
    changed = []
    with torch.no_grad():
        for words in texts:
            orders = (" ".join(one) for one in (words, in_another_order(words, chance)))
            first, second = (model(**tokenizer(text, return_tensors="pt")).logits for text in orders)
            changed.append(100.0 * bool((first - second).abs().max() > _ROUNDING))
    return changed


def in_another_order(words: list[str], chance: random.Random) -> list[str]:
    """Return the words in a random order that is not theirs.

    >>> in_another_order(["the", "cat"], random.Random(0))
    ['cat', 'the']
    """
    moved = words
    while moved == words:
        moved = chance.sample(words, len(words))
    return moved
