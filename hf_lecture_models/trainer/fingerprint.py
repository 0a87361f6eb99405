# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a run was trained on, in checksums: a checkpoint is resumed from only with the same tokenizer and data."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from hf_lecture_models.tokenization.pairs import TokenizerPair
from hf_lecture_models.trainer.data import Rows, find_file


def fingerprint(values: Iterable[Any]) -> str:
    """A checksum of values, their order included; `repr` must say all of each.

    >>> fingerprint(["a b", "c"]) == fingerprint(["a", "b c"])
    False
    """
    digest = hashlib.sha256()
    for value in values:
        digest.update(f"{value!r}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def fingerprint_data(data: Rows | Iterable[str] | None) -> str:
    """A checksum of texts, or of rows by their columns, whatever files they are from."""
    if data is None:
        return "none"
    return fingerprint(chain(data.columns, *data.columns.values()) if isinstance(data, Rows) else data)


def fingerprint_files(names: Sequence[str]) -> str:
    """A checksum of the content of files as a recipe names them, each of which is read once.

    Raises:
        OSError: one cannot be read.
    """
    contents = []
    for name in names:
        with find_file(name).open("rb") as file:
            contents.append(hashlib.file_digest(file, "sha256").hexdigest())
    return fingerprint(contents)


def fingerprint_tokenizer(tokenizer: Any) -> str:
    """A checksum of all by which texts become ids: vocabulary, merges, rules, special tokens.

    Of two tokenizers, one for each language, that of both; of an image processor, which has none of these, all of its
    settings.
    """
    if isinstance(tokenizer, TokenizerPair):
        return fingerprint(map(fingerprint_tokenizer, (tokenizer.source, tokenizer.target)))
    if not hasattr(tokenizer, "get_vocab"):
        return fingerprint(sorted(tokenizer.to_dict().items()))
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = {} if backend is None else json.loads(backend.to_str())
    for name in ("truncation", "padding"):  # the options of its latest call
        rules.pop(name, None)
    known = [sorted(tokenizer.get_vocab().items()), sorted(tokenizer.special_tokens_map.items()), rules]
    # What ElmoTokenizer has beside its characters.
    words = getattr(tokenizer, "words", None)
    return fingerprint(known if words is None else [*known, words, tokenizer.max_characters_per_token])


def refuse_other_data(found: Mapping[str, str], saved: Mapping[str, str]) -> None:
    """Refuse to continue a run on other data, because its weights would belong to neither.

    Args:
        found: checksums, by what they are of, for the message: "the tokenizer".
        saved: those of the run.

    Raises:
        ValueError: naming all that differ.
    """
    changed = [name for name, value in found.items() if saved.get(name) != value]
    if changed:
        raise ValueError(
            f"cannot resume: {' and '.join(changed)} changed since the run was started; "
            "restore what was there, or train into another output folder"
        )
