# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Does what a model computes depend on the order of the words?"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, set_seed

from hf_lecture_models.lab.claims.methods.states import differ
from hf_lecture_models.lab.claims.methods.texts import read_part
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.models.bert import LectureBertConfig, LectureBertModel
from hf_lecture_models.tokenization.word import WordTokenizer

_LONGEST = 200  # words


def changed_by_shuffling(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return for each text 100 if a classifier's logits change when its words change places, otherwise 0.

    The weights are random, in float64; what they cannot tell apart, no training can. Texts whose words cannot be put
    into another order are left out.

    Args:
        settings: `model`, the fields of a configuration, and the texts of `texts.read_part`.
    """
    read = read_part(settings, part)
    read = read.at([place for place, text in enumerate(read.texts) if len(set(text.split())) > 1])
    texts = [text.split() for text in read.texts]
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
            changed.append(differ(first, second))
    return Values(changed, clusters=read.articles)


def changed_by_moving(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return for each text 100 if a word's state changes when the words change places, otherwise 0.

    Each state is compared with the state of the same word at its new place. The model is an encoder of two blocks with
    random weights, in float64. Texts of one word are left out.

    Args:
        settings: `positions`, whether the vectors of the positions are added (otherwise they are 0), and the texts of
            `texts.read_part`.
    """
    read = read_part(settings, part)
    read = read.at([place for place, text in enumerate(read.texts) if len(text.split()) > 1])
    texts = [text.split()[:_LONGEST] for text in read.texts]
    tokenizer = WordTokenizer.train(map(" ".join, texts), progress=False)
    shape: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    set_seed(seed)
    config = LectureBertConfig(
        **shape, intermediate_size=64, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id
    )
    model = LectureBertModel(config).double().eval()
    if not settings["positions"]:
        torch.nn.init.zeros_(model.embed_positions.weight)
    changed = []
    with torch.no_grad():
        for words in texts:
            ids = tokenizer(" ".join(words), add_special_tokens=False, return_tensors="pt")["input_ids"]
            order = torch.randperm(len(words))
            order = order.roll(1) if torch.equal(order, order.sort().values) else order
            before, after = (model(input_ids=one).last_hidden_state for one in (ids, ids[:, order]))
            changed.append(differ(before[:, order], after))
    return Values(changed, clusters=read.articles)


def in_another_order(words: list[str], chance: random.Random) -> list[str]:
    """Return the words in a random order that is not theirs.

    >>> in_another_order(["the", "cat"], random.Random(0))
    ['cat', 'the']
    """
    moved = words
    while moved == words:
        moved = chance.sample(words, len(words))
    return moved
