# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Word vectors from and to word2vec files: `Word2VecModel.from_word2vec_format` and `.save_word2vec_format`.

`__init__.py` binds them. `<s>`, `</s>`, `<pad>` and `<unk>` are the tokenizer's special tokens. A special token that a
file does not have gets a vector of zeros, and is not written if its vector is still zero.
"""

import gzip
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.io.files import staged_file, staged_folder
from hf_lecture_models.models.word2vec.configuration_word2vec import Word2VecConfig
from hf_lecture_models.models.word2vec.modeling_word2vec import Word2VecModel
from hf_lecture_models.models.word2vec.reader_word2vec import read_word2vec
from hf_lecture_models.tokenization.loading import load_saved_tokenizer
from hf_lecture_models.tokenization.word import WordTokenizer, tokenizer_of_file

_Path = str | os.PathLike[str]

BINARY_NAMES, TEXT_NAMES = (".bin", ".bin.gz"), (".vec", ".vec.gz", ".txt", ".txt.gz")
"""Suffixes of the names of word2vec files, binary and text."""


def is_word2vec_name(name: _Path) -> bool:
    """Return whether a path has a suffix of word2vec files.

    >>> is_word2vec_name("GoogleNews-vectors.bin.gz"), is_word2vec_name("glove.TXT"), is_word2vec_name("word2vec")
    (True, True, False)
    """
    return os.fspath(name).lower().endswith((*BINARY_NAMES, *TEXT_NAMES))


def is_binary_name(name: _Path) -> bool:
    """Return whether a path has a suffix of binary word2vec files.

    >>> is_binary_name("a.BIN"), is_binary_name("a.vec")
    (True, False)
    """
    return os.fspath(name).lower().endswith(BINARY_NAMES)


def from_word2vec_format(
    cls: type[Word2VecModel],
    path: _Path,
    binary: bool | None = True,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> tuple[Word2VecModel, WordTokenizer]:
    """Read a word2vec file, plain or gzip: `Word2VecModel.from_word2vec_format(path)`.

    >>> import tempfile
    >>> tokenizer = WordTokenizer.from_words(["cat", "dog"])
    >>> model = Word2VecModel(Word2VecConfig(vocab_size=len(tokenizer), hidden_size=4, unk_token_id=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_word2vec_format(f"{folder}/cat.vec", tokenizer, binary=False)
    ...     again, its_tokenizer = Word2VecModel.from_word2vec_format(f"{folder}/cat.vec", binary=False)
    >>> bool((again.embed_tokens.weight[1] == model.embed_tokens.weight[1]).all()), its_tokenizer.tokenize("a dog")
    (True, ['<unk>', 'dog'])

    Args and errors are those of `read_word2vec`.

    Returns:
        The model and a tokenizer of its words; unknown words have a vector of zeros where the file has no `<unk>`.
    """
    words, vectors = read_word2vec(path, binary, encoding, errors)
    ordinary = [word for word in words if word not in ("<unk>", "<s>", "</s>", "<pad>")]
    tokenizer = tokenizer_of_file(ordinary, "<unk>", path)
    config = Word2VecConfig(
        vocab_size=len(tokenizer),
        hidden_size=vectors.shape[1],
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        unk_token_id=tokenizer.unk_token_id,
    )
    model = cls(config).eval()
    with torch.no_grad():
        model.embed_tokens.weight.zero_()
        model.embed_tokens.weight[torch.tensor(tokenizer.convert_tokens_to_ids(words))] = torch.from_numpy(vectors)
    return model, tokenizer


def save_word2vec_format(self: Word2VecModel, path: _Path, tokenizer: Any, binary: bool = True) -> None:
    """Write the vectors as a word2vec file: `model.save_word2vec_format(path, tokenizer)`; gzip if named `.gz`.

    Words are in the order of their ids. Special tokens whose vectors are zeros are left out.

    Raises:
        OSError: the file cannot be written; an earlier file of that name is untouched.
        ValueError: the tokenizer is not the model's, or a word is empty or holds a space or a line feed; other white
            space, such as a no-break space, is written as it is read.
    """
    check_tokenizer(self, tokenizer)
    table = self.embed_tokens.weight.detach().float().cpu().numpy()
    words = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    special = set(tokenizer.all_special_ids)
    written = [id_ for id_ in range(len(words)) if id_ not in special or table[id_].any()]
    for id_ in written:
        # `read_word2vec` and gensim end a word at these two; other white space is part of it.
        if not words[id_] or " " in words[id_] or "\n" in words[id_]:
            raise ValueError(
                f"the word {words[id_]!r} is empty or holds a space or line feed, which words of word2vec files "
                "cannot have"
            )
    if not np.isfinite(table[written]).all():
        raise ValueError("a vector holds NaN or infinity, which no reader takes; nothing is written")
    with staged_file(path) as stage, _open(stage, path) as file:
        file.write(f"{len(written)} {table.shape[1]}\n".encode())
        for id_ in written:
            if binary:
                file.write(words[id_].encode() + b" " + table[id_].astype("<f4").tobytes())
            else:
                file.write(f"{words[id_]} {' '.join(map(str, table[id_]))}\n".encode())


def _open(stage: Path, path: _Path) -> BinaryIO:
    # mtime 0: the same vectors make the same file.
    packed = os.fspath(path).lower().endswith(".gz")
    return gzip.GzipFile(stage, "wb", mtime=0) if packed else stage.open("wb")  # type: ignore[return-value]


def _sizes(model: Word2VecModel) -> tuple[int, int]:
    return int(model.embed_tokens.weight.any(dim=1).sum()), model.config.hidden_size


def convert_from_word2vec(path: _Path, folder: _Path) -> tuple[int, int]:
    """Write a model folder with its tokenizer from a word2vec file; return the number of vectors and their width."""
    model, tokenizer = Word2VecModel.from_word2vec_format(path, binary=None)
    with staged_folder(folder) as stage:
        model.save_pretrained(stage)
        tokenizer.save_pretrained(stage)
    return _sizes(model)


def convert_to_word2vec(folder: _Path, path: _Path) -> tuple[int, int]:
    """Write a word2vec file from a model folder with a tokenizer; return the number of vectors and their width."""
    model = Word2VecModel.from_pretrained(folder)
    model.save_word2vec_format(path, load_saved_tokenizer(os.fspath(folder)), is_binary_name(path))
    return _sizes(model)
