# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Encode one text, or a pair, for attention maps and gradients."""

from dataclasses import dataclass
from inspect import signature
from typing import Any

from torch import Tensor

from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.base.limits import check_tokenizer, input_limit


@dataclass(frozen=True)
class TextInput:
    """A text in tokens.

    Attributes:
        inputs: arguments of the model's `forward`, each (1, seq), on its device.
        tokens: as the tokenizer prints them, with the template's; an unknown word as the text has it.
        special: True for a token of the template.
    """

    inputs: dict[str, Tensor]
    tokens: tuple[str, ...]
    special: tuple[bool, ...]

    def find(self, tokenizer: Any, word: str) -> int:
        """Return the position of the first token that is this word.

        Raises:
            ValueError: no token of the text is this word.
        """
        alone = (tokenizer(form, add_special_tokens=False)["input_ids"] for form in (f" {word}", word))
        wanted = {ids[0] for ids in alone if len(ids) == 1} - {tokenizer.unk_token_id}
        ids = self.inputs["input_ids"][0].tolist()
        named = (i for i, token in enumerate(self.tokens) if ids[i] in wanted or token == word)
        position = next(named, None)
        if position is None:
            raise ValueError(f"no token of the text is {word!r}; its tokens are {' '.join(self.tokens)}")
        return position


def check_text(text: str) -> None:
    """Raise a TypeError for anything but a str, and a ValueError for a blank text."""
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}")
    if not text.strip():
        raise ValueError("the text is blank, so there is nothing to see; give some words")


def text_input(model: Any, tokenizer: Any, text: str, text_pair: str | None = None) -> TextInput:
    """Encode a text, or a pair, with the tokenizer's own template.

    Raises:
        TypeError: a text is not a str.
        ValueError: a text is blank, or longer than the model reads; the model reads no texts, or those of another
            tokenizer.
    """
    if model.main_input_name != "input_ids":
        raise ValueError(f"{type(model).__name__} reads {model.main_input_name}, not texts; choose a model of texts")
    check_text(text)
    if text_pair is not None:
        check_text(text_pair)
    check_tokenizer(model, tokenizer)
    encoded = tokenizer(text, text_pair, return_tensors="pt", return_special_tokens_mask=True, verbose=False)
    special = encoded.pop("special_tokens_mask")[0].bool().tolist()
    length, limit = len(special), input_limit(model)
    if limit is not None and length > limit:
        raise ValueError(f"the text has {length} tokens and the model reads {limit} at most; give a shorter one")
    known = signature(model.forward).parameters
    inputs = {name: value.to(model.device) for name, value in encoded.items() if name in known}
    tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
    words = _unknown_words(tokenizer, text, text_pair, inputs["input_ids"][0].tolist())
    return TextInput(inputs, tuple(shown(words.get(i, token)) for i, token in enumerate(tokens)), tuple(special))


def _unknown_words(tokenizer: Any, text: str, text_pair: str | None, ids: list[int]) -> dict[int, str]:
    """Return by their places the words of the texts that the tokenizer maps to its unknown token."""
    unknown = [place for place, id_ in enumerate(ids) if id_ == tokenizer.unk_token_id]
    if not unknown or not tokenizer.is_fast:
        return {}
    encoded = tokenizer(text, text_pair, return_offsets_mapping=True, verbose=False)
    texts, offsets, sources = (text, text_pair or ""), encoded["offset_mapping"], encoded.sequence_ids()
    found = {
        place: texts[sources[place]][slice(*offsets[place])].strip() for place in unknown if sources[place] in (0, 1)
    }
    return {place: word for place, word in found.items() if word}
