# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-gram models from and to files: `from_arpa`, `from_kenlm`, `save_arpa`, `save_kenlm` of `NGramForCausalLM`.

`__init__.py` binds them; `save_fst` writes finite-state machines.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from typing import Any

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.layers.ngram_tables import NGramTables, WordClasses
from hf_lecture_models.models.ngram.classes.class_files import (
    ClassFile,
    class_names,
    classes_beside,
    read_classes,
    special_tokens,
    word_classes,
    write_classes,
)
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END, PADDING, UNKNOWN
from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.files.arpa_writer import check_size, write_arpa
from hf_lecture_models.models.ngram.files.decoder_forms import for_decoder, spelling_of_unknown
from hf_lecture_models.models.ngram.files.fst_writer import write_fst
from hf_lecture_models.models.ngram.files.kenlm_format import PROBING, KenlmFile, is_kenlm_file
from hf_lecture_models.models.ngram.files.kenlm_hashes import read_hashes
from hf_lecture_models.models.ngram.files.kenlm_tries import read_tries
from hf_lecture_models.models.ngram.files.kenlm_writer import KenlmLayout, write_kenlm
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer, tokenizer_of_file

_Path = str | os.PathLike[str]
_MARKS = (UNKNOWN, BEGIN, END, PADDING)


def from_arpa(
    cls: type[NGramForCausalLM], path: _Path, classes: _Path | None = None
) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Read an ARPA file, also packed (gzip, bzip2, xz, zstd) or from a pipe: `NGramForCausalLM.from_arpa(path)`.

    >>> import tempfile
    >>> tokenizer = WordTokenizer.train(["a cat", "a dog"])
    >>> model = NGramForCausalLM.fit(["a cat", "a dog"], tokenizer, order=2, smoothing="add_alpha")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_arpa(f"{folder}/lm.arpa.gz", tokenizer)
    ...     again, its_tokenizer = NGramForCausalLM.from_arpa(f"{folder}/lm.arpa.gz")
    >>> again.config.table_sizes == model.config.table_sizes, its_tokenizer.tokenize("a dog")
    (True, ['a', 'dog'])

    Args:
        path: the file.
        classes: the file of classes (`classes/class_files.py`), if the n-grams are of classes.

    Returns:
        The model and a tokenizer of its words. Unknown words are ``<unk>``; its p is 0 if the file has no ``<unk>``.

    Raises:
        OSError, ValueError: as `read_arpa` and `read_classes`; ValueError: the two files do not belong together.
    """
    of_words = None
    if classes is None:
        words, tables = read_arpa(path, unknown=True)
        _warn_of_classes(words, path)
    else:
        file = read_classes(classes)
        units, tables = read_arpa(path, unknown=UNKNOWN not in file.class_of)
        words, of_words = _words_of_classes(units, path, file, classes)
    tokenizer = tokenizer_of_file(words[1:-3], UNKNOWN, path)
    config = config_for(tokenizer, order=tables.order, smoothing=None)  # the file does not say
    model = cls.from_tables(tables, config, of_words)
    model.own_tokenizer = tokenizer
    return model, tokenizer


def from_kenlm(cls: type[NGramForCausalLM], path: _Path) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Read one of KenLM's binary files, without KenLM: `NGramForCausalLM.from_kenlm("lm.bin")`.

    Tries of all kinds become ordinary tables, and `save_arpa` writes all their n-grams; quantised ones have the values
    of their codebooks. "Probing" files hold hashes of their n-grams: these models do all but write ARPA files and
    machines. Numbers are KenLM's own: -99, which ARPA files write for p = 0, stays a logarithm.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lm.bin")
    ...     _ = path.write_bytes(b"mmap lm http://kheafield.com/code format version 4")
    ...     NGramForCausalLM.from_kenlm(path)
    Traceback (most recent call last):
    ValueError: ...lm.bin: the file has 'format version 4', and only format version 5 is read; build the file again ...

    Returns:
        The model and a tokenizer of its words, for which unknown words are ``<unk>``.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is of another kind, version or machine, lacks its words, or is damaged.
    """
    with KenlmFile(path) as file:
        words, tables = (read_hashes if file.type == PROBING else read_tries)(file)
        hashed = file.type == PROBING
    tokenizer = tokenizer_of_file(words[1:-3], UNKNOWN, path)
    config = config_for(tokenizer, order=tables.order, smoothing=None, hashed=hashed)
    model = cls.from_tables(tables, config)
    model.own_tokenizer = tokenizer
    return model, tokenizer


def _warn_of_classes(words: list[str], path: _Path) -> None:
    name = next((word for word in words if word.startswith("CLASS-") and word[6:].isdecimal()), None)
    if name is not None:
        warnings.warn(
            f"{path} has n-grams of classes such as {name}, but no file says which words these hold, so that they are "
            f"taken for words; give classes, or put the file beside it as {classes_beside(path).name}",
            stacklevel=3,
        )


def _words_of_classes(
    units: list[str], path: _Path, file: ClassFile, classes_path: _Path
) -> tuple[list[str], WordClasses]:
    """Replace names of classes among the unigrams of an ARPA file by their words; the order is that of `read_arpa`."""
    index = {unit: i for i, unit in enumerate(units)}
    if lacking := [name for name in file.names if name not in index]:
        rule = f"{path} has no class {lacking[0]!r}, which {classes_path} has"
        raise ValueError(f"{rule}; give the file that belongs to it")
    names = set(file.names)
    alone = {unit: i for unit, i in index.items() if unit not in names}
    if doubles := alone.keys() & file.class_of.keys():
        raise ValueError(f"{min(doubles)!r} is a word of {path} and in a class of {classes_path}; keep one of them")
    marks = units[-3:]
    words = [word for word in (*alone, *file.class_of) if word not in (UNKNOWN, *marks)]
    words = [UNKNOWN, *words, *marks]
    numbers = {word: index[file.names[number]] for word, number in file.class_of.items()}
    return words, word_classes(words, replace(file, class_of=numbers), alone)


def save_arpa(
    self: NGramForCausalLM,
    path: _Path,
    tokenizer: Any,
    classes: _Path | None = None,
    decoder: str | None = None,
    unknown_word: str | None = None,
) -> None:
    """Write the model as an ARPA file: `model.save_arpa(path, tokenizer)`; packed if named .gz, .bz2, .xz or .zst.

    The tokenizer's beginning, end, unknown and padding tokens get the names of ARPA files; all others keep their
    spelling. The file of a class-based model has the n-grams of classes, and `classes` is the path of a second file,
    with the words of each class.

    Args:
        path, tokenizer, classes: see above.
        decoder: "flashlight", "kaldi", "pocketsphinx" or "pyctcdecode": what this one does not read is refused, and
            the file has what it needs (`files/decoder_forms.py`).
        unknown_word: how the unknown word is spelled; by default ``<unk>``, and for pocketsphinx ``<UNK>``.

    Raises:
        OSError: a file cannot be written; an older file of this name is untouched.
        ValueError: the tokenizer is not the model's, or one of its tokens is empty or holds white space; the smoothing
            is stupid back-off; `classes` is missing for a model of classes, or given for another; the decoder
            cannot read the model; or `unknown_word` is given, and the model gives none a probability.
    """
    of_words = self.word_classes()
    if of_words is not None and decoder is not None:
        raise ValueError(f"the model is of classes of words, which {decoder} does not know")
    if (of_words is None) != (classes is None):
        rule = "is of words: leave classes out" if of_words is None else "is of classes: give classes, a second path"
        raise ValueError(f"the model {rule}; an ARPA file has no place for what words a class has")
    _check_file_holds(self, tokenizer)
    words, tables = words_by_id(tokenizer, self.config), self.tables()
    if of_words is not None and classes is not None:
        words = _written_classes(self.config, of_words, words, classes)
    spelling = spelling_of_unknown(decoder, unknown_word)
    _check_unknown(unknown_word, tables, words)
    if decoder is not None:
        tables = for_decoder(decoder, tables, words, path)
    write_arpa(tables, words, path, unknown=False, unknown_word=spelling)


def _check_unknown(spelling: str | None, tables: NGramTables, words: list[str]) -> None:
    """Raise a ValueError if the model lacks an unknown word to be spelled."""
    if spelling is not None and not (UNKNOWN in words and tables.log10_probs[0][words.index(UNKNOWN)] > -math.inf):
        rule = "the model gives unknown words no probability, and the file lacks the word"
        raise ValueError(f"`unknown_word` is {spelling!r}, but {rule}; leave it out")


def _written_classes(config: NGramConfig, of_words: WordClasses, words: list[str], path: _Path) -> list[str]:
    """Write the file of classes; return the names of the classes."""
    special = [index for index in special_tokens(config) if words[index] in _MARKS]
    names = class_names(of_words, words, special)
    write_classes(path, of_words, words, names)
    return names


def save_kenlm(self: NGramForCausalLM, path: _Path, tokenizer: Any, **layout: Any) -> None:
    """Write one of KenLM's binary files, without KenLM: `model.save_kenlm("lm.bin", tokenizer)`.

    The file is, byte for byte, what `build_binary` makes of the file of `save_arpa`. The model may have order 2 to 6.

    >>> import tempfile
    >>> tokenizer = WordTokenizer.train(["a cat", "a dog"])
    >>> model = NGramForCausalLM.fit(["a cat", "a dog"], tokenizer, order=2, smoothing="add_alpha")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_kenlm(f"{folder}/lm.bin", tokenizer, kenlm_type="trie")
    ...     again, its_tokenizer = NGramForCausalLM.from_kenlm(f"{folder}/lm.bin")
    >>> again.config.table_sizes == model.config.table_sizes, its_tokenizer.tokenize("a dog")
    (True, ['a', 'dog'])

    Args:
        path: the file.
        tokenizer: as of `save_arpa`.
        layout: fields of `KenlmLayout`: `kenlm_type` is "probing" (hash tables, the default: faster, larger) or "trie";
            for hash tables `probing_multiplier`, how many times as large as what they hold they are (1.5); for tries
            `quantise_probs` and `quantise_backoffs`, bits of each logarithm (by default float32; the second is by
            default as the first), and `array_compress`, the most bits of a pointer that an array holds.

    Raises:
        OSError: the file cannot be written; an older file of this name is untouched.
        ValueError: as `save_arpa`; an option has no such value; the model is of classes, of another order, or lacks so
            many ends of n-grams that KenLM's hash tables cannot hold those that it adds.
    """
    options = KenlmLayout(**layout)
    if self.word_classes() is not None:
        raise ValueError("the model is of classes of words, and KenLM's files hold words; write an ARPA file")
    _check_file_holds(self, tokenizer)
    write_kenlm(self.tables(), words_by_id(tokenizer, self.config), path, options)


def save_fst(model: NGramForCausalLM, path: _Path, tokenizer: Any) -> tuple[int, int]:
    """Write the model as a machine in OpenFst's text format, NAME.fst.txt with NAME.syms; return its states and arcs.

    Raises:
        OSError: a file cannot be written.
        ValueError: as `save_arpa`; a token cannot be a symbol, or the model is of classes of words.
    """
    if model.word_classes() is not None:
        raise ValueError("the model is of classes of words, and the machine would read classes; write an ARPA file")
    _check_file_holds(model, tokenizer)
    words: list[str | None] = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    begin, end = model.config.bos_token_id, model.config.eos_token_id
    if begin is None or end is None:
        raise ValueError(
            "the model's configuration lacks bos_token_id or eos_token_id, where its machine begins and ends"
        )
    for index in (begin, end, *model.config.non_events):
        words[index] = None
    return write_fst(model.tables(), words, begin, end, path)


def words_by_id(tokenizer: Any, config: NGramConfig) -> list[str]:
    """Return the tokens by id; the beginning, end, unknown and padding tokens get their names of ARPA files.

    >>> tokenizer = WordTokenizer.from_words(["cat"], eos_token="[end]")
    >>> words_by_id(tokenizer, config_for(tokenizer))
    ['<unk>', 'cat', '<s>', '</s>', '<pad>']

    Raises:
        ValueError: the model of the configuration has more or fewer words.
    """
    words = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    check_size(words, config.vocab_size)
    ids = {PADDING: config.pad_token_id, END: config.eos_token_id, BEGIN: config.bos_token_id}
    ids |= {UNKNOWN: tokenizer.unk_token_id} if tokenizer.unk_token_id not in ids.values() else {}
    for name, index in ids.items():
        if index is not None:
            words[index] = name
    return words


def _check_file_holds(model: NGramForCausalLM, tokenizer: Any) -> None:
    """Raise a ValueError if a file of back-off n-grams cannot hold the model."""
    check_tokenizer(model, tokenizer)
    config = model.config
    if config.hashed:
        raise ValueError(
            "the model has hashes of its n-grams, from a file that KenLM built as 'probing', and not their words; such "
            "a file cannot be written from it: take the ARPA file, or KenLM's trie of it"
        )
    if not config.is_distribution:
        raise ValueError(
            "such a file holds probabilities, and contexts that it lacks weigh 1; stupid back-off has scores, and its "
            f"factor {config.backoff_factor} for every context; fit with another smoothing"
        )
    check_size(range(len(tokenizer)), config.vocab_size)
    if config.eos_token_id == config.bos_token_id is not None:
        raise ValueError(
            f"one token (id {config.eos_token_id}) both begins and ends texts, but the file needs two; "
            "train the model with a tokenizer that has both <s> and </s>"
        )


def load_file(path: _Path) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Load an ARPA file, or one of KenLM's binary files whatever its name, as a model and a tokenizer.

    If there is a file NAME.classes beside an ARPA file, the n-grams are of these classes.
    """
    if is_kenlm_file(path):
        return NGramForCausalLM.from_kenlm(path)
    classes = classes_beside(path)
    return NGramForCausalLM.from_arpa(path, classes if classes.is_file() else None)
