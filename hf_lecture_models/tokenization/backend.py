# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the tokenizers share: the special tokens of a language model, and loading that names the file at fault."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import AddedToken, Tokenizer
from transformers import TokenizersBackend

from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.tokenization.splitting import refuse_surrogates

# Of every tokenizer, beside its special tokens.
_OPTIONS = (
    "padding_side",
    "truncation_side",
    "model_max_length",
    "chat_template",
    "add_bos_token",
    "add_eos_token",
)
# Written by transformers into the options of a tokenizer that it loads.
_HOW_LOADED = ("is_local", "local_files_only")

SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}

# A chat as plain text. Each message is a line; an answer ends its text, and the next message begins another. Names of
# roles are left out: they would be unknown words in many vocabularies, and no model here was trained on them.
CHAT_TEMPLATE = """\
{%- for message in messages -%}
    {{- bos_token if loop.first or loop.previtem['role'] == 'assistant' else '\\n' -}}
    {%- if message['role'] == 'assistant' -%}
        {%- generation -%}{{- message['content'] ~ eos_token -}}{%- endgeneration -%}
    {%- else -%}
        {{- message['content'] -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- bos_token if messages[-1]['role'] == 'assistant' else '\\n' -}}
{%- endif -%}
"""


class LectureTokenizer(TokenizersBackend):
    r"""A tokenizer of the Rust library `tokenizers` with `<s>` in front of a text and nothing behind.

    `<s>`, `</s>` and `<pad>` are added tokens, not words of the vocabulary: their ids come last, in this order, and
    with `split_special_tokens=True` their spellings in a text are plain text. `add_bos_token` and `add_eos_token` say
    which of them surround a text, or each text of a pair; both survive saving. Padding is on the left.

    A plain chat template comes along, for programs that ask by chat; another one may be given or assigned. A question
    and its answer are a text of two lines, between `<s>` and `</s>`, and a system's message is a line before them:

        <s>Be brief.\nWho was Markov?\nA mathematician.</s><s>And Shannon?\n

    Subclasses have no `__init__` of their own: transformers then loads `tokenizer.json` as it is, so that the generic
    class, which serves where this package is not installed, gives the same ids.

    Args:
        tokenizer_file: a `tokenizer.json`.
        tokenizer_object: a `tokenizers.Tokenizer`; the new tokenizer takes it over.
        kwargs: options of `transformers.TokenizersBackend`.

    Raises:
        ValueError: the file is damaged or holds another kind of tokenizer.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json"}
    padding_side = "left"
    model_class: ClassVar[type]
    pre_tokenizer_class: ClassVar[type]

    def __init__(
        self, tokenizer_file: str | None = None, tokenizer_object: Tokenizer | None = None, **kwargs: Any
    ) -> None:
        for name, token in SPECIAL_TOKENS.items():
            kwargs.setdefault(name, token)
        for name in ("padding_side", "truncation_side"):
            kwargs.setdefault(name, getattr(self, name))  # what is not named here is not saved
        kwargs.setdefault("chat_template", CHAT_TEMPLATE)
        if tokenizer_file is not None:
            backend = self._read_backend(tokenizer_file)
        else:
            backend = self._new_backend() if tokenizer_object is None else tokenizer_object
            backend.add_special_tokens([_special(kwargs[name]) for name in SPECIAL_TOKENS if kwargs[name] is not None])
        adds = _surrounding_tokens(backend, kwargs)
        if backend.post_processor is None or adds.keys() & kwargs.keys():
            kwargs = adds | kwargs
        self._tokenizer = backend
        super().__init__(**kwargs)
        # transformers does not read these two from the file and would report False.
        self._add_bos_token, self._add_eos_token = (kwargs.get(name, value) for name, value in adds.items())

    @classmethod
    def _new_backend(cls) -> Tokenizer:
        raise TypeError(
            f"{cls.__name__}() has no vocabulary: use {cls.__name__}.train(texts) or .from_pretrained(folder)"
        )

    @classmethod
    def _read_backend(cls, path: str) -> Tokenizer:
        try:
            backend = Tokenizer.from_file(str(path))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic in Rust is not an Exception
            raise ValueError(f"{path} is not a whole tokenizer.json ({error}); copy or save it again") from None
        if not cls._is_own_model(backend.model):
            kind = type(backend.model).__name__
            raise ValueError(f"{path} holds a {kind} tokenizer, not a {cls.__name__}; load it with AutoTokenizer")
        ids = backend.get_vocab().values()
        if len(set(ids)) != len(ids) or max(ids, default=-1) != len(ids) - 1:
            raise ValueError(f"{path}: the token ids are not 0 to {len(ids) - 1}, each once; save the tokenizer again")
        return backend

    @classmethod
    def _is_own_model(cls, model: Any) -> bool:
        return isinstance(model, cls.model_class)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Load a tokenizer from a folder or the Hub as transformers does, but name a damaged file of a local folder."""
        local = Path(folder, kwargs.get("subfolder") or "")
        if local.is_dir() and not (local / "tokenizer.json").is_file():
            raise FileNotFoundError(f"{local} has no tokenizer.json; name a folder written by save_pretrained")
        try:
            return super().from_pretrained(folder, *args, **kwargs)
        except Exception:
            if local.is_dir():
                _check_json(local / "tokenizer_config.json")
                cls._read_backend(str(local / "tokenizer.json"))
            raise

    def is_unmodified(self) -> bool:
        """Whether the backend is unchanged, so that `encode_corpus` may bypass it and give its ids."""
        backend = self.backend_tokenizer
        return (
            backend.normalizer is None
            and isinstance(backend.model, self.model_class)
            and isinstance(backend.pre_tokenizer, self.pre_tokenizer_class)
            and self._adds_special_tokens_only()
        )

    def _adds_special_tokens_only(self) -> bool:
        return all(token.special for token in self.added_tokens_decoder.values())

    def check_text(self, text: str) -> None:
        """Raise a ValueError that says why `text` cannot be encoded; return if it can."""
        refuse_surrogates(text)

    def _encode_plus(self, text: Any, text_pair: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        # Every way of encoding a text ends here: tokenizer(...), encode, tokenize, batches, split words.
        try:
            return super()._encode_plus(text, text_pair=text_pair, **kwargs)
        except Exception:
            for string in _strings([text, text_pair]):
                self.check_text(string)
            raise

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save `tokenizer.json`, `tokenizer_config.json` and `chat_template.jinja`; return their paths.

        They are written beside and renamed into place. Neither how the last call padded and cut, nor where the
        tokenizer came from, is saved, both of which transformers would do.

        Raises:
            NotADirectoryError: `save_directory` is a file.
            OSError: the folder cannot be written; what it held before is untouched.
        """
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", os.path.basename(os.path.normpath(save_directory)))
        self.backend_tokenizer.no_truncation()
        self.backend_tokenizer.no_padding()
        for name in _HOW_LOADED:
            self.init_kwargs.pop(name, None)
        with staged_folder(save_directory) as stage:
            files = super().save_pretrained(stage, *args, **kwargs)
        return tuple(os.path.join(save_directory, os.path.relpath(file, stage)) for file in files)

    def train_new_from_iterator(
        self,
        text_iterator: Iterable[str] | Iterable[list[str]],
        vocab_size: int,
        length: int | None = None,
        new_special_tokens: list[str] | None = None,
        special_tokens_map: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Learn another vocabulary: a tokenizer of the same class and options, by `train`.

        transformers' own would keep the classes of the old unknown words, and merge characters.

        Args:
            text_iterator: texts, or lists of them.
            vocab_size: the largest number of tokens, the special ones included.
            length: not read.
            new_special_tokens: more special tokens.
            special_tokens_map: other spellings of the old ones, such as `{"<s>": "[BOS]"}`.
            kwargs: options of `train`; `min_frequency` and `show_progress`, as transformers has them, too.

        Raises:
            TypeError: there is no such option.
            ValueError: as `train`.
        """
        for theirs, ours in (("min_frequency", "min_count"), ("show_progress", "progress")):
            kwargs |= {ours: kwargs.pop(theirs)} if theirs in kwargs else {}
        if unknown := sorted(kwargs.keys() - signature(self.train).parameters.keys()):
            raise TypeError(f"{type(self).__name__}.train() takes no argument {', '.join(unknown)}")
        spellings = special_tokens_map or {}
        tokens = {name: spellings.get(str(token), token) for name, token in self.special_tokens_map.items()}
        options = {**{name: getattr(self, name) for name in _OPTIONS}, **self._kind(), **tokens, **kwargs}
        if extra := [*self.extra_special_tokens, *(new_special_tokens or ())]:
            options["extra_special_tokens"] = extra
        texts = (text for item in text_iterator for text in _strings(item))
        return self.train(texts, vocab_size=vocab_size, **options)

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int | None = None, **kwargs: Any) -> Any:
        """Learn a vocabulary from texts; each class has its own options."""
        raise NotImplementedError

    def _kind(self) -> dict[str, Any]:
        """The options of `train` that make a tokenizer of the same kind."""
        return {}


def special_spellings(options: dict[str, Any]) -> set[str]:
    """Return the spellings of all special tokens that a tokenizer with these options has; they cannot be words as well.

    >>> sorted(special_spellings({"pad_token": None, "mask_token": "[M]"}))
    ['</s>', '<s>', '[M]']
    """
    named = [options.get(name, SPECIAL_TOKENS.get(name)) for name in LectureTokenizer.SPECIAL_TOKENS_ATTRIBUTES]
    return {str(token) for token in (*named, *options.get("extra_special_tokens", ())) if token is not None}


def _special(token: str | AddedToken) -> AddedToken:
    return token if isinstance(token, AddedToken) else AddedToken(token, special=True, normalized=False)


def _surrounding_tokens(backend: Tokenizer, options: dict[str, Any]) -> dict[str, bool]:
    """Return whether `<s>` and `</s>` stand around a text: as the file has it, else the default of a language model."""
    if backend.post_processor is None:
        return {"add_bos_token": True, "add_eos_token": False}
    tokens = backend.post_processor.process(backend.encode("", add_special_tokens=False)).tokens
    return {f"add_{end}_token": str(options[f"{end}_token"]) in tokens for end in ("bos", "eos")}


def _check_json(path: Path) -> None:
    try:
        if path.is_file() and not isinstance(json.loads(path.read_bytes()), dict):
            raise ValueError("it holds no object")
    except ValueError as error:
        raise ValueError(f"{path} is not whole JSON ({error}); copy or save it again") from None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _strings(part)
