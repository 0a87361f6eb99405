# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The vocabularies of published Transformer-XL models, as word tokenizers.

A published folder has a `vocab.bin`, a dictionary that torch saved, or a `vocab.pkl`, the same dictionary pickled.
Later versions of transformers pickled all fields of the tokenizer, patterns and objects of sacremoses among them.
Nothing that a file names is imported or run: an object that does nothing is in the place of all but containers.
"""

import os
import pickle
import zipfile
from collections import Counter, OrderedDict
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers.utils import cached_file

from hf_lecture_models.tokenization.word import NO_UNKNOWN, WordTokenizer

_UNKNOWN = ("<unk>", "<UNK>")
_HUB_OPTIONS = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")


class TransfoXLTokenizer:
    """Reads the tokenizer of a published folder; `AutoTokenizer` finds it there. It makes a `WordTokenizer`."""

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *args: Any, **kwargs: Any) -> WordTokenizer:
        """Return the tokenizer of a folder or a repository of the Hub, with the ids of its vocabulary file.

        Words are split at white space: the texts must be split as the model's training texts were (WikiText's have
        " , " and " @-@ "). `<eos>` ends a text, and nothing begins one.

        Raises:
            FileNotFoundError: the folder has neither a vocabulary nor a `tokenizer.json`.
            ValueError: the vocabulary is damaged, holds what no vocabulary needs, or splits texts otherwise.
        """
        options = {name: value for name, value in kwargs.items() if name in _HUB_OPTIONS}
        found = {
            name: cached_file(folder, name, _raise_exceptions_for_missing_entries=False, **options)
            for name in ("tokenizer.json", "vocab.bin", "vocab.pkl")
        }
        if found["tokenizer.json"]:
            return WordTokenizer.from_pretrained(folder, *args, **kwargs)
        path = found["vocab.bin"] or found["vocab.pkl"]
        if path is None:
            raise FileNotFoundError(f"{folder} has no tokenizer.json, vocab.bin or vocab.pkl")
        given = {name: value for name, value in kwargs.items() if name.endswith("_token") or name in ("padding_side",)}
        return word_tokenizer(read_vocabulary(path), str(path), **given)


def read_vocabulary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the dictionary of a `vocab.bin` or `vocab.pkl`, whose `idx2sym` lists the words by id.

    Its texts, numbers and containers are those of the file; its other objects are replaced.

    Raises:
        ValueError: the file is damaged, or holds something else.
    """
    try:
        vocabulary = _read_fields(Path(path))
    except Exception as error:  # what a damaged file raises is anything
        raise ValueError(
            f"{path} cannot be read as a vocabulary: it is damaged ({type(error).__name__}: {str(error)[:80]}); get it "
            "from its source again"
        ) from error
    words = vocabulary.get("idx2sym") if isinstance(vocabulary, dict) else None
    if not (isinstance(words, list) and words and all(isinstance(word, str) for word in words)):
        raise ValueError(f"{path} has no list of words, idx2sym: it is not a vocabulary of Transformer-XL")
    if len(set(words)) != len(words):
        twice = next(word for word, count in Counter(words).items() if count > 1)
        raise ValueError(f"{path} has the word {twice!r} twice; get it from its source again")
    return vocabulary


def word_tokenizer(vocabulary: dict[str, Any], source: str, **kwargs: Any) -> WordTokenizer:
    """Return a tokenizer with the ids of a vocabulary.

    Raises:
        ValueError: the vocabulary is of characters, or texts are split by something else than white space.
    """
    if vocabulary.get("delimiter") is not None:
        raise ValueError(
            f"{source} splits texts at {vocabulary['delimiter']!r}, not at white space; read its words by "
            "read_vocabulary, and give the model ids of your own making"
        )
    ids = {word: number for number, word in enumerate(vocabulary["idx2sym"])}
    unknown = next((word for word in _UNKNOWN if word in ids), None)
    backend = Tokenizer(WordLevel(ids, unk_token=unknown or NO_UNKNOWN))
    backend.pre_tokenizer = WhitespaceSplit()
    if vocabulary.get("lower_case"):
        backend.normalizer = Lowercase()
    end = "<eos>" if "<eos>" in ids else None
    tokens = {"unk_token": unknown, "bos_token": None, "eos_token": end, "pad_token": None}
    return WordTokenizer(tokenizer_object=backend, **{**tokens, **kwargs})


def _read_fields(path: Path) -> Any:
    """Return what a file has pickled, by itself or saved by torch of any version; of an object, its fields."""
    with path.open("rb") as file:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(file) as archive:
                name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
                return _fields(_Reader(BytesIO(archive.read(name))).load())
        found = _Reader(file).load()
        if isinstance(found, int):  # torch before 1.6: three headers, then the object
            found = [_Reader(file).load() for _ in range(3)][-1]
        return _fields(found)


def _fields(found: Any) -> Any:
    """Return a dictionary as it is, the fields of an object in its place, and of a corpus those of its vocabulary."""
    fields = found.fields if isinstance(found, _Stub) else found
    return _fields(fields["vocab"]) if isinstance(fields, dict) and "vocab" in fields else fields


class _Reader(pickle.Unpickler):
    """Reads a pickle without importing or calling what it names."""

    containers = {("collections", "Counter"): Counter, ("collections", "OrderedDict"): OrderedDict}

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8")  # of texts that Python 2 wrote

    def find_class(self, module: str, name: str) -> type:
        """Return a new subclass of a container, or of `_Stub` for anything else, also for a function.

        A new one, because a pickle can also set attributes of a class.
        """
        kind = self.containers.get((module, name), _Stub)
        return type(kind.__name__, (kind,), {})

    def persistent_load(self, pid: Any) -> Any:
        """Return a stub for what torch saves beside the pickle, the numbers of a tensor."""
        return _Stub()


class _Stub:
    """An object in the place of any other: it takes what pickles give objects, and keeps their fields alone."""

    fields: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __setstate__(self, state: Any) -> None:
        self.fields = state

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def append(self, item: Any) -> None: ...

    def extend(self, items: Any) -> None: ...

    def add(self, item: Any) -> None: ...
