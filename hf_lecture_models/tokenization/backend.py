# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base class of the tokenizers: the special tokens of a language model, loading, saving and training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.decoders import Replace, Sequence
from tokenizers.pre_tokenizers import ByteLevel
from transformers.tokenization_utils_base import TruncationStrategy

from hf_lecture_models.io.compat import TokenizersBackend
from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.io.saved_json import check_tokenizer_files, read_fields, read_json
from hf_lecture_models.tokenization.splitting import CHUNK_CHARACTERS, WordIndex, refuse_surrogates
from hf_lecture_models.tokenization.templates import (
    Template,
    TemplatePieces,
    find_template,
    language_model_template,
    make_post_processor,
    read_pieces,
    show,
    special_tokens_of,
    template_name,
)
from hf_lecture_models.tokenization.train_options import check_train_options

# Options of every tokenizer, without its special tokens.
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

# The names of the roles are left out: many vocabularies lack them, and no model here was trained on them.
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
    r"""A tokenizer of the Rust library `tokenizers`, with `<s>` before a text and nothing after it.

    `<s>`, `</s>` and `<pad>` are added tokens, not words of the vocabulary: their ids come last, in this order, and
    with `split_special_tokens=True` their spellings in a text are plain text. `add_bos_token` and `add_eos_token` put
    `<s>` before and `</s>` after a text, or each text of a pair; both options are saved. Padding is on the left.

    A `template` replaces them: a name of `templates.TEMPLATES`, or a `Template`. "bert" is `[CLS] a [SEP] b [SEP]` with
    `token_type_ids`, "roberta" is `[CLS] a [SEP] [SEP] b [SEP]` without, "gpt1" is `<start> a <delim> b <extract>`, and
    "pair" is `<s> a <s> b`, again with them. Padding is then on the right. `set_template` gives a trained tokenizer
    another one.

    In the default chat template, a question and its answer are a text of two lines, and a system's message is a line
    before them: `<s>Be brief.\nWho was Markov?\nA mathematician.</s><s>And Shannon?\n`.

    Subclasses have no `__init__`: transformers then loads `tokenizer.json` unchanged, so that the generic class, which
    loads it where this package is not installed, gives the same ids.

    Args:
        tokenizer_file: a `tokenizer.json`.
        tokenizer_object: a `tokenizers.Tokenizer`, which the new tokenizer modifies and keeps.
        template: the special tokens around a text and a pair, in place of `add_bos_token` and `add_eos_token`.
        kwargs: options of `transformers.TokenizersBackend`, and the spellings of special tokens.

    Raises:
        ValueError: the file is damaged or holds another kind of tokenizer, there is no such template, or another
            option contradicts it.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json"}
    padding_side = "left"
    chat_template: str | None = CHAT_TEMPLATE
    clean_up_tokenization_spaces: bool = False
    saved_options: ClassVar[tuple[str, ...]] = (
        *("padding_side", "truncation_side", "chat_template"),
        "clean_up_tokenization_spaces",  # False is transformers' default, but Hugging Face's JavaScript has True
    )
    """Options whose values here are saved with a tokenizer; transformers saves only what it is given."""
    characters_at_once: ClassVar[int] = CHUNK_CHARACTERS
    """About how many characters of texts `encode_texts` should be given."""
    model_class: ClassVar[type]
    pre_tokenizer_class: ClassVar[type]
    normalizer_class: ClassVar[type] = NoneType
    default_template: ClassVar[str | None] = None

    def __init__(
        self,
        tokenizer_file: str | None = None,
        tokenizer_object: Tokenizer | None = None,
        template: str | Template | None = None,
        **kwargs: Any,
    ) -> None:
        is_saved = tokenizer_file is not None
        if tokenizer_file is not None:
            backend = self._read_backend(tokenizer_file) if tokenizer_object is None else tokenizer_object
        else:
            backend = self._new_backend() if tokenizer_object is None else tokenizer_object
            template = self.default_template if template is None else template
        if template is not None:
            kwargs = _options_beside(template, kwargs, is_saved)
        tokens = self._default_tokens(backend, None if is_saved else template)
        kwargs = {**{name: getattr(self, name) for name in self.saved_options}, **tokens, **kwargs}
        for name, token in kwargs.items():
            if name.endswith("_token") and str(token) == "":
                raise ValueError(f"{name} is empty, and would stand between all characters; give it a spelling or None")
        if not is_saved:
            special = [kwargs[name] for name in tokens if kwargs[name] is not None]
            backend.add_special_tokens([_as_spelled(token, backend.normalizer) for token in special])
        adds = {"add_bos_token": True, "add_eos_token": False}
        if backend.post_processor is not None:
            adds = _surrounding_tokens(backend, kwargs)
        if backend.post_processor is None or adds.keys() & kwargs.keys():
            kwargs = adds | kwargs
        self._tokenizer = backend
        super().__init__(**kwargs)
        # transformers does not read these two from the file, and would set them to False.
        self._add_bos_token = kwargs.get("add_bos_token", adds["add_bos_token"])
        self._add_eos_token = kwargs.get("add_eos_token", adds["add_eos_token"])
        if template is not None:
            self._use_template(template, kwargs, is_saved)

    def _use_template(self, template: str | Template, kwargs: dict[str, Any], is_saved: bool) -> None:
        chosen = find_template(template)
        named = {name: kwargs.get(name, token) for name, token in chosen.tokens.items()}
        self.set_template(replace(chosen, tokens=named), "right" if is_saved else self.padding_side)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments of `__init__` for files of a folder; it reads and checks `tokenizer.json` itself.

        transformers 5.20 would hand it a backend, as if it were a new one.
        """
        if kwargs.get("tokenizer_file") is not None:
            return kwargs
        return super().convert_to_native_format(trust_remote_code, **kwargs)

    @classmethod
    def _new_backend(cls) -> Tokenizer:
        raise TypeError(
            f"{cls.__name__}() has no vocabulary: use {cls.__name__}.train(texts) or .from_pretrained(folder)"
        )

    @classmethod
    def _read_backend(cls, path: str) -> Tokenizer:
        try:
            backend = Tokenizer.from_file(str(path))
            read_pieces(backend.post_processor)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic in Rust is not an Exception
            raise ValueError(f"{path} is not a whole tokenizer.json ({error}); copy or save it again") from None
        if not cls._is_own_model(backend.model):
            kind = type(backend.model).__name__
            raise ValueError(f"{path} holds a {kind} tokenizer, not a {cls.__name__}; load it with AutoTokenizer")
        size = backend.get_vocab_size()
        if None in map(backend.id_to_token, range(size)):
            raise ValueError(f"{path}: the token ids are not 0 to {size - 1}, each once; save the tokenizer again")
        return backend

    @classmethod
    def _default_tokens(cls, backend: Tokenizer, template: str | Template | None) -> dict[str, str | None]:
        """Return names and spellings of the special tokens that no option names."""
        return default_tokens(template)

    @classmethod
    def _is_own_model(cls, model: Any) -> bool:
        return isinstance(model, cls.model_class)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Load a tokenizer from a folder or the Hub as transformers does; errors name a local folder's damaged file."""
        local = Path(folder, kwargs.get("subfolder") or "")
        if local.is_dir() and not any((local / name).is_file() for name in cls.vocab_files_names.values()):
            files = " and no ".join(cls.vocab_files_names.values())
            raise FileNotFoundError(f"{local} has no {files}; name a folder written by save_pretrained")
        check_tokenizer_files(local)
        try:
            return super().from_pretrained(folder, *args, **{**cls._read_once(local), **kwargs})
        except Exception as error:
            if (local / "tokenizer.json").is_file():
                cls._read_backend(str(local / "tokenizer.json"))
                read_fields(local / "tokenizer.json")
            if local.is_dir() and isinstance(error, ValueError) and str(local) not in str(error):
                raise ValueError(f"{local}: {error}") from error
            raise

    @classmethod
    def _read_once(cls, folder: Path) -> dict[str, Any]:
        """Return the backend of a folder that this package wrote, and its added tokens, as arguments for transformers.

        By itself transformers would parse all of `tokenizer.json` again for these. Folders of other releases have more
        files or fields: for them nothing is returned.
        """
        path, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
        if not (path.is_file() and settings.is_file() and b'"added_tokens"' in path.read_bytes()):
            return {}
        others = ("special_tokens_map.json", "added_tokens.json")
        own = {"added_tokens_decoder", "fast_tokenizer_files"}.isdisjoint(read_json(settings))
        if not own or any((folder / name).exists() for name in others):
            return {}
        backend = cls._read_backend(str(path))
        return {"tokenizer_object": backend, "added_tokens_decoder": backend.get_added_tokens_decoder()}

    @property
    def template(self) -> str | None:
        """The name of the template; None for a template without a name, and for `add_bos_token` and `add_eos_token`."""
        return template_name(self)

    def set_template(self, template: str | Template, padding_side: str = "right", **tokens: str) -> None:
        """Set the special tokens around a text and around a pair; missing ones are added to the tokenizer.

        A model needs embeddings for added tokens: call `model.resize_token_embeddings(len(tokenizer))`.

        >>> from hf_lecture_models import WordTokenizer
        >>> tokenizer = WordTokenizer.train(["a cat", "a dog"], progress=False)
        >>> tokenizer.set_template("gpt1")
        >>> tokenizer("a cat", "a dog").tokens()
        ['<start>', 'a', 'cat', '<delim>', 'a', 'dog', '<extract>']
        >>> tokenizer.set_template("bert", mask_token="[M]")
        >>> tokenizer("a cat", "a dog").token_type_ids
        [0, 0, 0, 0, 1, 1, 1]

        Args:
            template: a name of `templates.TEMPLATES`, or a `Template`.
            padding_side: "right" or "left".
            tokens: other spellings for the template's tokens, by their names. With the spelling of a special token that
                the tokenizer has already, that token gets a second name: `start_token="<s>"`.

        Raises:
            TypeError: the template has no token of such a name.
            ValueError: there is no such template, or one of its tokens is an ordinary word of the tokenizer. The
                tokenizer does not change then.
        """
        chosen = find_template(template)
        if unknown := sorted(tokens.keys() - chosen.tokens.keys()):
            own = ", ".join(chosen.tokens) or "no tokens of its own"
            raise TypeError(f"the template {template!r} has no {', '.join(unknown)}; it has {own}")
        has = self.special_tokens_map
        named = {name: tokens.get(name, has.get(name, spelling)) for name, spelling in chosen.tokens.items()}
        spellings = {name: spelling for name, spelling in named.items() if spelling is not None}
        special = self._missing_tokens(spellings.values())
        written = chosen.write(has | spellings)
        # First on a copy, so that a template that cannot be written does not change the tokenizer.
        for backend in (deepcopy(self.backend_tokenizer), self.backend_tokenizer):
            backend.add_special_tokens(special)
            backend.post_processor = make_post_processor(written, backend)
        self._set_model_specific_special_tokens(
            {name: token for name, token in spellings.items() if name not in self.SPECIAL_TOKENS_ATTRIBUTES}
        )
        for name, spelling in spellings.items():
            setattr(self, name, spelling)
        self._adopt_template(chosen.type_ids, padding_side)

    def _missing_tokens(self, spellings: Iterable[str]) -> list[str]:
        special = {token.content for token in self.added_tokens_decoder.values() if token.special}
        missing = [token for token in spellings if token not in special]
        vocabulary = self.get_vocab()
        for token in missing:
            if token in vocabulary:
                raise ValueError(
                    f"the template needs {token!r} as a special token, but it is an ordinary word of this tokenizer; "
                    "give another spelling, as in set_template('bert', cls_token='[FIRST]')"
                )
        return missing

    def _adopt_template(self, returns_types: bool, padding_side: str) -> None:
        names = ["input_ids", *(["token_type_ids"] if returns_types else []), "attention_mask"]
        self.model_input_names = self.init_kwargs["model_input_names"] = names  # init_kwargs are saved
        self.padding_side = padding_side
        self._should_update_post_processor = False  # else from_pretrained would update it after this
        adds = _surrounding_tokens(self.backend_tokenizer, self.special_tokens_map)
        self._add_bos_token, self._add_eos_token = adds.values()

    def update_post_processor(self) -> None:
        """Put `<s>` and `</s>` around texts according to `add_bos_token` and `add_eos_token`; transformers calls this.

        Raises:
            ValueError: one of them is True, but the tokenizer has a template.
        """
        if self.backend_tokenizer.post_processor is None or not self._has_template():
            super().update_post_processor()
        elif self._add_bos_token or self._add_eos_token:
            self._refuse_additions()

    def _has_template(self) -> bool:
        return _is_template(read_pieces(self.backend_tokenizer.post_processor), self.special_tokens_map)

    def _refuse_additions(self) -> None:
        self._add_bos_token = self._add_eos_token = False
        single, _ = read_pieces(self.backend_tokenizer.post_processor)
        raise ValueError(
            f"add_bos_token and add_eos_token contradict this tokenizer's template {show(single)!r}; leave them out, "
            "or call tokenizer.set_template(Template(...)) with a template that has these tokens"
        )

    def is_unmodified(self) -> bool:
        """Return whether the backend is unchanged, so that `encode_corpus` may bypass it and give the same ids."""
        backend = self.backend_tokenizer
        return (
            isinstance(backend.normalizer, self.normalizer_class)
            and isinstance(backend.model, self.model_class)
            and isinstance(backend.pre_tokenizer, self.pre_tokenizer_class)
            and self._adds_special_tokens_only()
        )

    def encode_texts(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encode texts without special tokens, while the backend is unchanged; each distinct string is encoded once.

        Returns:
            (tokens,) int32, the ids, text after text; (texts,) int64, the tokens of each.
        """
        index = self.index_words(texts)
        return index.expand(*self.encode_words(index.words))

    def index_words(self, texts: list[str]) -> WordIndex:
        """Split `texts` into strings whose tokens do not depend on the text around them; number the distinct ones.

        Raises:
            ValueError: a text holds a lone surrogate.
        """
        raise NotImplementedError

    def encode_words(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the strings of `index_words`, each taken as plain text, never as a special token.

        Returns:
            (tokens,) int32, the ids, string after string; (words,) int64, the tokens of each.
        """
        raise NotImplementedError

    def _adds_special_tokens_only(self) -> bool:
        return all(token.special for token in self.added_tokens_decoder.values())

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        # All methods that add tokens call this one.
        backend = self.backend_tokenizer
        if isinstance(backend.pre_tokenizer, ByteLevel):
            for token in new_tokens:
                _decode_as_spelled(backend, str(token))
        return super()._add_tokens([_as_spelled(token, backend.normalizer) for token in new_tokens], special_tokens)

    def check_text(self, text: str) -> None:
        """Raise a ValueError with the reason if `text` cannot be encoded."""
        refuse_surrogates(text)

    def _encode_plus(self, text: Any, text_pair: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        # All methods that encode call this one: tokenizer(...), encode, tokenize, for batches and split words.
        self._check_length(text, text_pair, **kwargs)
        try:
            return super()._encode_plus(text, text_pair=text_pair, **kwargs)
        except Exception as error:
            for string in _strings([text, text_pair]):
                self.check_text(string)
            if "Truncation error" in str(error):
                raise ValueError(
                    f"a pair cannot be cut to max_length={kwargs['max_length']}: the text that truncation="
                    f"{kwargs['truncation_strategy'].value!r} cuts is too short for it; use truncation='longest_first'"
                ) from None
            if type(error) is Exception:  # the Rust library's
                raise ValueError(
                    f"the tokenizer cannot encode the text ({error}): restore its tokenizer.json, or train it again"
                ) from error
            raise

    def _check_length(
        self,
        text: Any,
        text_pair: Any,
        add_special_tokens: bool = True,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Raise an error if the special tokens alone exceed `max_length`; the Rust library would then cut nothing."""
        if truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE or max_length is None or not add_special_tokens:
            return
        is_pair = text_pair is not None or (not isinstance(text, str) and any(isinstance(row, tuple) for row in text))
        if max_length < (needed := self.num_special_tokens_to_add(is_pair)):
            raise ValueError(f"max_length={max_length} has no room for {needed} special tokens; raise it")

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save `tokenizer.json`, `tokenizer_config.json` and `chat_template.jinja`; return their paths.

        The files are written to another folder and renamed into place. Unlike transformers' own method, this one saves
        neither the padding and truncation of the last call nor the place where the tokenizer was loaded from.

        Raises:
            NotADirectoryError: `save_directory` is a file.
            OSError: the folder cannot be written; what it held before is untouched.
        """
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", os.path.basename(os.path.normpath(save_directory)))
        self.backend_tokenizer.no_truncation()
        self.backend_tokenizer.no_padding()
        # The last of these repeats special tokens, which are saved under their names already.
        for name in (*_HOW_LOADED, "model_specific_special_tokens"):
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
        """Train a tokenizer of the same class and options on other texts.

        transformers' own method would keep the classes of the old unknown words, and merge characters.

        Args:
            text_iterator: texts, or lists of them.
            vocab_size: the largest number of tokens, the special ones included.
            length: not read.
            new_special_tokens: more special tokens.
            special_tokens_map: other spellings of the old ones, such as `{"<s>": "[BOS]"}`.
            kwargs: options of `train`, and transformers' names for two of them, `min_frequency` and `show_progress`.

        Raises:
            TypeError, ValueError: see `train`.
        """
        for theirs, ours in (("min_frequency", "min_count"), ("show_progress", "progress")):
            kwargs |= {ours: kwargs.pop(theirs)} if theirs in kwargs else {}
        options = self._own_options(special_tokens_map or {}, new_special_tokens or ()) | kwargs
        texts = (text for item in text_iterator for text in _strings(item))
        return self.train(texts, vocab_size=vocab_size, **options)

    def _own_options(self, spellings: Mapping[str, str], new_special_tokens: Iterable[str] = ()) -> dict[str, Any]:
        """Return the options with which another tokenizer has the same kind, template and special tokens."""
        tokens: dict[str, Any] = dict.fromkeys(self._default_tokens(self.backend_tokenizer, None))
        tokens |= {name: spellings.get(token, token) for name, token in self.special_tokens_map.items()}
        options = {name: getattr(self, name) for name in _OPTIONS}
        if (template := self._own_template(spellings)) is not None:
            options = {"template": template} | {k: v for k, v in options.items() if not k.startswith("add_")}
        options = {**options, **self._kind(), **tokens}
        extra = [spellings.get(token, token) for token in self.extra_special_tokens]
        if extra := [*extra, *new_special_tokens]:
            options["extra_special_tokens"] = extra
        return options

    def _own_template(self, spellings: Mapping[str, str]) -> Template | None:
        """Return the template with the names or the new `spellings` of its tokens; None for `<s>` and `</s>` alone."""
        written = read_pieces(self.backend_tokenizer.post_processor)
        types, tokens = "token_type_ids" in self.model_input_names, self.special_tokens_map
        if not types and not self._has_template():
            return None
        names = dict(spellings) | {spelling: name for name, spelling in tokens.items()}
        single, pair = (show([(names.get(token, token), type_id) for token, type_id in pieces]) for pieces in written)
        return Template(single, pair, dict.fromkeys([*SPECIAL_TOKENS, *default_tokens(self.template)]), types)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Learn a vocabulary from texts. Every class takes these arguments; its own `train` describes the others.

        Args:
            texts: any iterable of str; a generator is consumed once.
            vocab_size: the largest number of tokens, the special ones included: `len(tokenizer)` is at most this. None:
                as many as the class finds.
            min_count: what occurs less often gets no token.
            progress: whether to show progress bars on a terminal.
            kwargs: options of the tokenizer, such as `template="bert"`, `add_eos_token=True`, `model_max_length=512`,
                and the spellings of special tokens, such as `mask_token="[M]"`.

        Raises:
            TypeError: `texts` is one str or holds something that is not a str; or the class has no such option.
            ValueError: nothing is left of the texts, an option has no such value, or `vocab_size` is too small.
        """
        raise NotImplementedError

    @classmethod
    def _special_spellings(cls, min_count: int, options: Mapping[str, Any]) -> set[str]:
        """Check the options of `train`, and return the spellings of the special tokens; see `special_spellings`."""
        if options or min_count < 1:
            check_train_options(cls, min_count, options, ("template", "add_bos_token", "add_eos_token"))
        return special_spellings(options)

    def _kind(self) -> dict[str, Any]:
        """Return the options of `train` that make a tokenizer of the same kind."""
        return {}


def default_tokens(template: str | Template | None) -> dict[str, str | None]:
    """Return names and spellings of the special tokens of a new tokenizer with this template, in their order.

    >>> default_tokens("bert")["eos_token"], default_tokens("bert")["pad_token"]
    (None, '[PAD]')
    """
    return dict(SPECIAL_TOKENS) if template is None else {**SPECIAL_TOKENS, **find_template(template).tokens}


def special_spellings(options: Mapping[str, Any]) -> set[str]:
    """Return the spellings of all special tokens of a tokenizer with these options, which cannot be words as well.

    >>> sorted(special_spellings({"pad_token": None, "mask_token": "[M]"}))
    ['</s>', '<s>', '[M]']
    """
    spellings = {*map(str, options.get("extra_special_tokens", ()))}
    for name, token in (default_tokens(options.get("template")) | dict(options)).items():
        if name.endswith("_token") and isinstance(token, str | AddedToken):
            spellings.add(str(token))
    return spellings


def _as_spelled(token: str | AddedToken, normalizer: Any) -> str | AddedToken:
    """Return an added token that keeps its spelling: the Rust library would normalize it as it does texts.

    A token that the normalizer changes is therefore looked for in the text as it is, before the normalizer.
    """
    spelling = str(token)
    if normalizer is None or normalizer.normalize_str(spelling) == spelling:
        return token
    given = AddedToken(spelling) if isinstance(token, str) else token
    sides = {name: getattr(given, name) for name in ("single_word", "lstrip", "rstrip", "special")}
    return AddedToken(spelling, normalized=False, **sides)


def _decode_as_spelled(backend: Tokenizer, spelling: str) -> None:
    """Let the decoder of a vocabulary of bytes return an added token as it is spelled.

    Such a decoder takes letters of Latin-1 in a token for bytes, as they are in the tokens of the vocabulary.

    Raises:
        ValueError: the vocabulary has a token of bytes of this name already.
    """
    decoder: Any = backend.decoder
    if decoder.decode([spelling]) == spelling:
        return
    if backend.model.token_to_id(spelling) is not None:
        raise ValueError(
            f"{spelling!r} cannot be added: in this vocabulary of bytes it is the name of other bytes, and texts with "
            f"{spelling!r} would get that token; add a longer spelling, or leave it to the tokens of its bytes"
        )
    ((in_bytes, _),) = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(spelling)
    whole = "".join(f"\\x{{{ord(character):X}}}" for character in spelling)
    backend.decoder = Sequence([Replace(Regex(rf"\A{whole}\z"), in_bytes), decoder])


def _surrounding_tokens(backend: Tokenizer, options: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether `<s>` and `</s>` surround a text."""
    written = read_pieces(backend.post_processor)
    found = set() if _is_template(written, options) else special_tokens_of(written)
    return {f"add_{end}_token": str(options.get(f"{end}_token")) in found for end in ("bos", "eos")}


def _is_template(written: TemplatePieces, tokens: Mapping[str, Any]) -> bool:
    """Return whether there are other tokens, or tokens in other places, than add_bos_token and add_eos_token write."""
    found = special_tokens_of(written)
    spellings = {name: str(tokens[name]) for name in ("bos_token", "eos_token") if tokens.get(name) is not None}
    form = language_model_template(*(spellings.get(name) in found for name in ("bos_token", "eos_token")))
    return bool(found) and form.write(spellings) != written


def _options_beside(template: str | Template, options: Mapping[str, Any], is_saved: bool) -> dict[str, Any]:
    """Return the options of a tokenizer with a template."""
    for name in ("add_bos_token", "add_eos_token"):
        if options.get(name):
            raise ValueError(
                f"{name}=True and the template {template!r} both say which tokens stand around a text; leave one out"
            )
    return {**options} if is_saved else {"padding_side": "right", "chat_template": None, **options}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _strings(part)
