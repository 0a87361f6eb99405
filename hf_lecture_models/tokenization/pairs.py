# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The two tokenizers of a model with two vocabularies: one for its encoder, one for its decoder.

This file travels with exported models.
"""

from __future__ import annotations

import json
import os
import warnings
from copy import copy
from pathlib import Path
from typing import Any

from transformers.utils import PushToHubMixin

from hf_lecture_models.io.compat import TokenizersBackend, get_tokenizer_config, tokenizer_class_from_name
from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.tokenization.loading import load_saved_tokenizer

TARGET_FOLDER = "target_tokenizer"
"""The folder of the target's tokenizer in the model's folder; the configuration's `target_tokenizer` names it."""
_CONFIG, _SOURCE_CLASS = "tokenizer_config.json", "source_tokenizer_class"


class TokenizerPair(PushToHubMixin):
    """The tokenizers of source and target, used like one tokenizer with two vocabularies, such as Marian's.

    The attributes `source` and `target` are the two tokenizers. A text is encoded by the source's, a `text_target` by
    the target's. `decode` and `batch_decode` take ids of the target, and with `use_source_tokenizer=True` ids of the
    source. Everything else is the source's (`convert_ids_to_tokens`, `len`, ...). Setting an attribute sets it on both.

    `AutoTokenizer` loads a pair from a folder that `save_pretrained` wrote. Where this package is not installed, it
    loads the source's tokenizer, and with `subfolder="target_tokenizer"` the target's.

    >>> from hf_lecture_models import WordTokenizer
    >>> pair = TokenizerPair(*(WordTokenizer.train([text], progress=False) for text in ("je suis", "I am")))
    >>> pair.tokenize("je suis"), pair.target.tokenize("je suis"), len(pair)
    (['je', 'suis'], ['<unk>', '<unk>'], 6)
    >>> encoded = pair("je suis", text_target="I am")
    >>> pair.decode(encoded["labels"]), pair.decode(encoded["input_ids"], use_source_tokenizer=True)
    ('<s> I am', '<s> je suis')

    Raises:
        ValueError: a special token has different ids in the two; a configuration has one `eos_token_id`.
    """

    def __init__(self, source: Any, target: Any) -> None:
        both = getattr(source, "source", source), getattr(target, "target", target)
        vars(self).update(zip(("source", "target"), both, strict=True))
        for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
            if getattr(self.source, name) != getattr(self.target, name):
                raise ValueError(
                    f"{name} is {getattr(self.source, name)} in the vocabulary of the source and "
                    f"{getattr(self.target, name)} in that of the target, but a model has one: make both of one size, "
                    "or share one vocabulary"
                )

    def __getattr__(self, name: str) -> Any:
        if name in ("source", "target"):  # not yet there: a copy is being made
            raise AttributeError(name)
        return getattr(self.source, name)

    def __setattr__(self, name: str, value: Any) -> None:
        for one in (self.source, self.target):
            setattr(one, name, value)

    def __len__(self) -> int:
        return len(self.source)

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Encode sources, or targets, or both: the ids of the targets are then `labels`."""
        if text_target is None:
            return self.source(text, text_pair, **kwargs)
        targets = self.target(text_target=text_target, text_pair_target=text_pair_target, **kwargs)
        if text is None:
            return targets
        encoded = self.source(text, text_pair, **kwargs)
        encoded["labels"] = targets["input_ids"]
        return encoded

    def encode(self, text: Any, *args: Any, add_special_tokens: bool = True, **kwargs: Any) -> list[int]:
        """Return the ids of a source, or of a target if `add_special_tokens` is False.

        An encoder always reads special tokens. Programs that encode without them, such as lm_eval, encode a text that
        the decoder is to write, or to stop at.
        """
        if add_special_tokens:
            return self.source.encode(text, *args, **kwargs)
        warnings.warn(
            "encode(add_special_tokens=False) takes the text for a target's; call tokenizer.source.encode for a source",
            stacklevel=2,
        )
        return self.target.encode(text, *args, add_special_tokens=False, **kwargs)

    def decode(self, *args: Any, use_source_tokenizer: bool = False, **kwargs: Any) -> Any:
        """Return the text of ids that the decoder wrote, or that the encoder read."""
        return (self.source if use_source_tokenizer else self.target).decode(*args, **kwargs)

    def batch_decode(self, *args: Any, use_source_tokenizer: bool = False, **kwargs: Any) -> list[str]:
        """Return the texts of rows of ids that the decoder wrote, or that the encoder read."""
        return (self.source if use_source_tokenizer else self.target).batch_decode(*args, **kwargs)

    def __copy__(self) -> TokenizerPair:
        return TokenizerPair(copy(self.source), copy(self.target))

    def save_pretrained(self, folder: str | os.PathLike[str], *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save the source's tokenizer into the folder, the target's into the folder `target_tokenizer` in it."""
        push, repo_id = kwargs.pop("push_to_hub", False), kwargs.pop("repo_id", None)
        with staged_folder(folder) as stage:
            files = self.source.save_pretrained(stage, *args, **kwargs)
            files = (*files, *self.target.save_pretrained(stage / TARGET_FOLDER, *args, **kwargs))
            config = json.loads((stage / _CONFIG).read_text(encoding="utf-8"))
            config |= {_SOURCE_CLASS: config["tokenizer_class"], "tokenizer_class": type(self).__name__}
            (stage / _CONFIG).write_text(
                json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8", newline="\n"
            )
        if push:
            self.push_to_hub(repo_id or Path(folder).resolve().name, token=kwargs.get("token"))
        return tuple(os.path.join(folder, os.path.relpath(file, stage)) for file in files)

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], *args: Any, subfolder: str = "", **kwargs: Any) -> Any:
        """Load both from a folder or the Hub; `AutoTokenizer` calls this.

        Raises:
            FileNotFoundError: the folder has no tokenizer of the target.
        """
        config = get_tokenizer_config(name, subfolder=subfolder, **kwargs)
        source_class = config.get(_SOURCE_CLASS) or config.get("tokenizer_class") or ""
        load = (tokenizer_class_from_name(source_class) or TokenizersBackend).from_pretrained
        source = load(name, *args, subfolder=subfolder, **kwargs)
        for key in (_SOURCE_CLASS, "auto_map"):  # they belong to the pair
            source.init_kwargs.pop(key, None)
        return cls(source, _load_target(str(name), os.path.join(subfolder, TARGET_FOLDER), **kwargs))

    @classmethod
    def register_for_auto_class(cls, auto_class: str = "AutoTokenizer") -> None:
        """Do nothing: `hub.export` writes the code of a pair; transformers calls this where it has loaded such code."""


def with_target_tokenizer(tokenizer: Any, config: Any, name: str, **options: Any) -> Any:
    """Return the tokenizer of a model, made a pair with the target's where the configuration names one.

    Raises:
        FileNotFoundError: the folder has no tokenizer of the target.
        ValueError: the model was not loaded from a folder or the Hub.
    """
    folder = getattr(config, "target_tokenizer", None)
    if folder is None or hasattr(tokenizer, "target"):
        return tokenizer
    if not name:
        raise ValueError(
            "the model has two vocabularies and comes from no folder, where the target's tokenizer would be: give both "
            "as tokenizer=TokenizerPair(source, target) of hf_lecture_models.tokenization.pairs"
        )
    return TokenizerPair(tokenizer, _load_target(name, folder, **options))


def _load_target(name: str, folder: str, **options: Any) -> Any:
    if Path(name).is_dir() and not Path(name, folder).is_dir():
        raise FileNotFoundError(
            f"{name} has no folder {folder}, which its config.json names: the tokenizer of the target. Copy that "
            "folder from where the model was loaded or trained; a TokenizerPair saves both"
        )
    return load_saved_tokenizer(name, subfolder=folder, **options)
