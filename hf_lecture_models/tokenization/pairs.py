# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two tokenizers of one model: of what its encoder reads, and of what its decoder writes."""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

TARGET_FOLDER = "target_tokenizer"
"""The folder of the second one, beside the model and the first one; the configuration's `target_tokenizer` names it."""


class TokenizerPair:
    """The tokenizers of source and target; all but `target` is that of the source.

    A folder that it saves is one that `AutoTokenizer` loads the source's tokenizer from, and with
    `subfolder="target_tokenizer"` the target's.

    >>> from hf_lecture_models import WordTokenizer
    >>> pair = TokenizerPair(*(WordTokenizer.train([text], progress=False) for text in ("je suis", "I am")))
    >>> pair.tokenize("je suis"), pair.target.tokenize("je suis"), len(pair)
    (['je', 'suis'], ['<unk>', '<unk>'], 6)

    Raises:
        ValueError: special tokens have other ids in one than in the other: a configuration has one `eos_token_id`.
    """

    def __init__(self, source: Any, target: Any) -> None:
        self.source, self.target = source, target
        for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
            if getattr(source, name) != getattr(target, name):
                raise ValueError(
                    f"{name} is {getattr(source, name)} in the vocabulary of the source and {getattr(target, name)} in "
                    "that of the target, but a model has one: make both of one size, or share one vocabulary"
                )

    def __getattr__(self, name: str) -> Any:
        if name in ("source", "target"):  # not yet there: a copy is being made
            raise AttributeError(name)
        return getattr(self.source, name)

    def __len__(self) -> int:
        return len(self.source)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Encode sources."""
        return self.source(*args, **kwargs)

    def __copy__(self) -> TokenizerPair:
        return TokenizerPair(copy(self.source), copy(self.target))

    @property
    def model_max_length(self) -> int:
        """The tokens of one text at most."""
        return self.source.model_max_length

    @model_max_length.setter
    def model_max_length(self, value: int) -> None:
        self.source.model_max_length = self.target.model_max_length = value

    def save_pretrained(self, folder: str | os.PathLike[str], *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save the source's tokenizer into the folder, the target's into the folder `target_tokenizer` in it."""
        files = self.source.save_pretrained(folder, *args, **kwargs)
        return (*files, *self.target.save_pretrained(Path(folder, TARGET_FOLDER), *args, **kwargs))


def with_target_tokenizer(tokenizer: Any, config: Any, name: str, **options: Any) -> Any:
    """The tokenizer of a folder or of the Hub; a pair, where the model's configuration says that there are two.

    Raises:
        FileNotFoundError: the folder does not hold the second one.
    """
    folder = getattr(config, "target_tokenizer", None)
    if folder is None or hasattr(tokenizer, "target"):
        return tokenizer
    if name and Path(name).is_dir() and not Path(name, folder).is_dir():
        raise FileNotFoundError(
            f"{name} has no folder {folder}, which its config.json names: the tokenizer of the target. Copy that "
            "folder from where the model was loaded or trained; a TokenizerPair saves both"
        )
    return TokenizerPair(tokenizer, AutoTokenizer.from_pretrained(name, subfolder=folder, **options))
