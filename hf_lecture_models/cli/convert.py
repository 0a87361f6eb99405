# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture convert`: ARPA, KenLM's and word2vec files to folders and back, n-grams to automata, others to ONNX."""

import re
from pathlib import Path

from transformers import AutoConfig

from hf_lecture_models.loading import be_quiet, check_location, is_arpa_name, is_ngram_file, load_model
from hf_lecture_models.models.ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import convert_from_file, convert_to_arpa, save_fst
from hf_lecture_models.models.ngram.files.fst_writer import FST_SUFFIX, symbols_path
from hf_lecture_models.models.word2vec import Word2VecConfig
from hf_lecture_models.models.word2vec.conversion_word2vec import (
    convert_from_word2vec,
    convert_to_word2vec,
    is_word2vec_name,
)

_KENLM_SUFFIXES = (".klm", ".binary", ".mmap", ".blm", ".probing", ".trie")
_FILE_SUFFIX = re.compile(r"\.([a-z]{2,}|bz2|h5|7z)", re.IGNORECASE)


def run(source: str, target: Path, decoder: str | None = None, unknown_word: str | None = None) -> None:
    """Convert a file of n-grams (ARPA) or word vectors (word2vec) to a folder, or a folder to such a file or to ONNX.

    An n-gram is also written as a finite-state machine (NAME.fst.txt, with NAME.syms). ARPA and KenLM's binary files
    are known by what is in them. `decoder` and `unknown_word` are those of `save_arpa`.

    Raises:
        FileExistsError: the target is there already.
        FileNotFoundError: the source is missing.
        ImportError: the packages that write ONNX files are not installed.
        ValueError: the two are not of kinds that go together, the file is damaged, or its kind does not fit the
            folder's model.
    """
    options = _arpa_options(target, decoder, unknown_word)
    if target.suffix.lower() == ".onnx":
        _convert_to_onnx(source, target)
        return
    if target.name.lower().endswith(FST_SUFFIX):
        _convert_to_fst(source, target)
        return
    from_ngrams = is_ngram_file(source) or (is_arpa_name(source) and not Path(source).exists())
    to_arpa = is_arpa_name(target)
    _refuse_kenlm_name(target, from_ngrams)
    from_vectors, to_vectors = not from_ngrams and is_word2vec_name(source), is_word2vec_name(target)
    if (
        (from_ngrams and to_vectors)
        or (from_vectors and (to_arpa or to_vectors))
        or not (from_ngrams or to_arpa or from_vectors or to_vectors)
    ):
        raise ValueError(
            f"one of {source} and {target} must be an ARPA file (.arpa or .lm, also packed) or a word2vec file (.bin, "
            ".vec, .txt or these with .gz), the other a folder; or the first an ARPA file or one of KenLM's binary "
            "files, the second a folder or an ARPA file; or the second a file .onnx or .fst.txt"
        )
    _refuse_existing(target)
    if not (to_arpa or to_vectors):
        _refuse_file_name(target)
    be_quiet()
    if from_ngrams or to_arpa:
        _convert_ngrams(source, target, options)
    else:
        _convert_word2vec(source, target)


def _arpa_options(target: Path, decoder: str | None, unknown_word: str | None) -> dict[str, str | None]:
    options = {"decoder": decoder, "unknown_word": unknown_word}
    if options != dict.fromkeys(options) and not is_arpa_name(target):
        raise ValueError(f"--for and `unknown_word` belong to ARPA files; {target} must end in .arpa or .lm")
    return options


def _refuse_kenlm_name(target: Path, from_ngrams: bool) -> None:
    suffix = target.suffix.lower()
    if suffix in _KENLM_SUFFIXES or (from_ngrams and suffix == ".bin"):
        arpa = target.with_suffix(".arpa")
        raise ValueError(
            f"{target} has the name of a binary file of KenLM, which are read but not written: write {arpa}, and then "
            f"call KenLM's build_binary {arpa.name} {target.name}"
        )


def _refuse_file_name(target: Path) -> None:
    if _FILE_SUFFIX.fullmatch(target.suffix) and not target.is_dir():
        raise ValueError(
            f"{target} would be a folder, but {target.suffix} is the suffix of a file: name a folder without a suffix, "
            "make an empty one of this name first, or name a file .arpa, .arpa.gz, .fst.txt or .onnx"
        )


def _convert_ngrams(source: str, target: Path, options: dict[str, str | None]) -> None:
    local_only = check_location(source)
    if is_arpa_name(target):
        if not is_ngram_file(source):
            _refuse_other_models(source, local_only, NGramConfig, "n-grams are written as ARPA files")
        counts = convert_to_arpa(source, target, **options)
    else:
        counts = convert_from_file(source, target)
    print(f"{target}: {', '.join(f'{count:,} {order}-grams' for order, count in enumerate(counts, start=1))}")


def _convert_word2vec(source: str, target: Path) -> None:
    if is_word2vec_name(target):
        _refuse_other_models(
            source, check_location(source), Word2VecConfig, "word vectors of word2vec are written as its files"
        )
        count, width = convert_to_word2vec(source, target)
    else:
        count, width = convert_from_word2vec(source, target)
    print(f"{target}: {count:,} words of width {width}")


def _convert_to_onnx(source: str, target: Path) -> None:
    from hf_lecture_models.hub.onnx import export_onnx

    _refuse_existing(target)
    model, _ = load_model(source)
    difference = export_onnx(model, target)
    checked = "not compared with the model: onnxruntime is not installed"
    if difference is not None:
        checked = f"outputs differ from the model's by at most {difference:.1g}"
    print(f"{target}: {target.stat().st_size:,} bytes; {checked}")


def _convert_to_fst(source: str, target: Path) -> None:
    symbols = symbols_path(target)
    for file in (target, symbols):
        _refuse_existing(file)
    be_quiet()
    local_only = check_location(source)
    if not is_ngram_file(source):
        _refuse_other_models(source, local_only, NGramConfig, "n-grams are finite-state machines")
    model, tokenizer = load_model(source)
    states, arcs = save_fst(model, target, tokenizer)
    print(f"{target}: {states:,} states, {arcs:,} arcs; symbols in {symbols}")


def _refuse_other_models(source: str, local_only: bool, config_class: type, rule: str) -> None:
    config = AutoConfig.from_pretrained(source, local_files_only=local_only)
    if not isinstance(config, config_class):
        saved = ", ".join(config.architectures or [config.model_type])
        form = ".arpa" if isinstance(config, NGramConfig) else ".onnx"
        raise ValueError(f"{source} holds {saved}, and only {rule}; name a file {form} for this model")


def _refuse_existing(target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; remove it or name another")
