# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the states of a model with random weights depend on: the other words, and padding.

All is in float64. What random weights keep apart, or cannot tell apart, holds before and after any training.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModel, set_seed

from hf_lecture_models.lab.claims.methods.texts import read_part
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.tasks.core.factories import make_tokenizer

_ROUNDING = 1e-9
_LONGEST = 30  # words
_ZEROS = 10  # vectors of padding


def changed_by_other_words(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return for each text 100 if the state of a word changes when all other words change, otherwise 0.

    The other words are those of the next text at the same places. Texts that have fewer than two other words there are
    left out: such as those of one word, and headings that are the same in many articles.

    Args:
        settings: `model`, the fields of a configuration; `tokenizer`, as in a recipe (words by default); `place` of the
            word that stays: "first", "last" or "any", a random one; and the texts of `texts.read_part`.
    """
    read, articles = read_part(settings, part)
    texts = [text.split()[:_LONGEST] for text in read]
    tokenizer, model = _tokenizer_and_model(settings, [" ".join(words) for words in texts], seed)
    chance, changed, kept = random.Random(seed), [], []
    with torch.no_grad():
        for words, others, article in zip(texts, texts[1:] + texts[:1], articles, strict=True):
            # Of one other word the place might be the one that stays.
            if sum(one != other for one, other in zip(words, others, strict=False)) < 2:
                continue
            length = min(len(words), len(others))
            place = {"first": 0, "last": length - 1, "any": chance.randrange(length)}[settings["place"]]
            replaced = [*others[:place], words[place], *others[place + 1 : length]]
            before, after = (
                model(tokenizer(" ".join(one), add_special_tokens=False, return_tensors="pt")["input_ids"])
                for one in (words[:length], replaced)
            )
            changed.append(differ(before.last_hidden_state[0, place], after.last_hidden_state[0, place]))
            kept.append(article)
    return Values(changed, clusters=kept)


def changed_by_zeros(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return for each text 100 if some word's state changes when ten vectors of zeros are put beside the words.

    Args:
        settings: `model`, the fields of a configuration whose vectors of positions, if there are any, are set to zero,
            so that nothing is added to the zeros; `side` of the zeros, "before" or "after" the words; `masked`, whether
            the model is told which vectors are padding; and the texts of `texts.read_part`.
    """
    read, articles = read_part(settings, part)
    texts = [" ".join(text.split()[:_LONGEST]) for text in read]
    tokenizer, model = _tokenizer_and_model(settings, texts, seed)
    for name, vectors in model.named_children():
        if name == "embed_positions":
            torch.nn.init.zeros_(vectors.weight)
    changed = []
    with torch.no_grad():
        for text in texts:
            ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
            words = model.get_input_embeddings()(ids)
            zeros, real = words.new_zeros(1, _ZEROS, words.shape[-1]), torch.ones_like(ids)
            padded = _beside(words, zeros, settings["side"])
            mask = _beside(real, real.new_zeros(1, _ZEROS), settings["side"]) if settings["masked"] else None
            before = model(inputs_embeds=words).last_hidden_state
            after = model(inputs_embeds=padded, attention_mask=mask).last_hidden_state
            start = 0 if settings["side"] == "after" else _ZEROS
            changed.append(differ(after[:, start : start + ids.shape[1]], before))
    return Values(changed, clusters=articles)


def differ(first: Tensor, second: Tensor) -> float:
    """Return 100 if two tensors differ by more than the rounding of float64, otherwise 0."""
    return 100.0 * bool((first - second).abs().max() > _ROUNDING)


def _beside(words: Tensor, padding: Tensor, side: str) -> Tensor:
    return torch.cat((words, padding) if side == "after" else (padding, words), 1)


def _tokenizer_and_model(settings: Mapping[str, Any], texts: list[str], seed: int) -> tuple[Any, Any]:
    """Return a tokenizer of the texts' words, and the base model in float64 and evaluation mode."""
    tokenizer = make_tokenizer(settings.get("tokenizer", {"type": "word"}), texts)
    fields = dict(settings["model"])
    if "tokenizer" not in settings:
        fields |= {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    set_seed(seed)
    return tokenizer, AutoModel.from_config(AutoConfig.for_model(**fields)).double().eval()
