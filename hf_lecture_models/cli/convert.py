# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture convert`: old files to folders, n-grams and word vectors back, n-grams to automata, others to ONNX."""

from pathlib import Path
from typing import Any

from transformers import AutoConfig

from hf_lecture_models.cli.convert_checkpoints import converter_of
from hf_lecture_models.loading import be_quiet, check_location, is_arpa_name, is_ngram_file, load_model
from hf_lecture_models.models.ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import save_fst
from hf_lecture_models.models.ngram.files.fst_writer import FST_SUFFIX, symbols_path
from hf_lecture_models.models.ngram.files.kenlm_writer import KenlmLayout
from hf_lecture_models.models.ngram.saving_ngram import (
    FILE_SUFFIX,
    check_target,
    is_kenlm_name,
    refuse_existing,
    save_ngrams,
)
from hf_lecture_models.models.word2vec import Word2VecConfig
from hf_lecture_models.models.word2vec.conversion_word2vec import (
    convert_from_word2vec,
    convert_to_word2vec,
    is_word2vec_name,
)

_OPTIONS_OF = {
    "KenLM": ("kenlm_type", "probing_multiplier", "quantise_probs", "quantise_backoffs", "array_compress"),
    "ARPA": ("decoder", "unknown_word"),
}
_OPTIONS = {*_OPTIONS_OF["KenLM"], *_OPTIONS_OF["ARPA"]}


def run(
    source: str,
    target: Path,
    kenlm_type: str | None = None,
    probing_multiplier: float | None = None,
    quantise_probs: int | None = None,
    quantise_backoffs: int | None = None,
    array_compress: int | None = None,
    decoder: str | None = None,
    unknown_word: str | None = None,
) -> None:
    """Convert a file of n-grams (ARPA) or word vectors (word2vec) to a folder, or a folder to such a file or to ONNX.

    AllenNLP's ELMo and old checkpoints of transformers become folders too: `convert_checkpoints.converter_of`.

    An n-gram, in a folder or a file, is also written as one of KenLM's binary files (.bin, .klm), or as a finite-state
    machine (NAME.fst.txt, with NAME.syms). ARPA and KenLM's binary files are known by what is in them. `decoder` and
    `unknown_word` are those of `save_arpa`, all other options those of `save_kenlm`.

    Raises:
        FileExistsError, FileNotFoundError: the target is there already; the source is missing.
        ImportError: the packages that write ONNX files, or read HDF5 files, are not installed.
        ValueError: the two are not of kinds that go together, the file is damaged, or its kind does not fit the
            folder's model; an option does not belong to the target, or has no such value.
    """
    options = {name: value for name, value in locals().items() if name in _OPTIONS and value is not None}
    _refuse_other_options(target, options)
    if target.suffix.lower() == ".onnx":
        return _convert_to_onnx(source, target)
    if target.name.lower().endswith(FST_SUFFIX):
        return _convert_to_fst(source, target)
    if not _is_file_name(target) and _convert_network(source, target):
        return
    is_ngrams = _is_of_ngrams(source, target)
    if options and not is_ngrams:
        raise ValueError(f"{_spelled(options)} is for KenLM's files of n-grams, and {source} has word vectors")
    _refuse_target(target)
    be_quiet()
    if is_ngrams:
        _convert_ngrams(source, target, options)
    else:
        _convert_word2vec(source, target)


def _is_file_name(target: Path) -> bool:
    return is_arpa_name(target) or is_kenlm_name(target) or is_word2vec_name(target)


def _convert_network(source: str, target: Path) -> bool:
    """Return whether the source was a network's old files; it is then converted."""
    be_quiet()
    convert = converter_of(source)
    if convert is None:
        return False
    _refuse_target(target)
    model = convert(target)
    print(f"{target}: {type(model).__name__} with {model.num_parameters():,} parameters")
    return True


def _is_of_ngrams(source: str, target: Path) -> bool:
    """Return True for n-grams, False for word vectors.

    Raises:
        ValueError: the source and the target are not of kinds that go together.
    """
    from_ngrams = is_ngram_file(source) or (is_arpa_name(source) and not Path(source).exists())
    to_ngrams = is_arpa_name(target) or (is_kenlm_name(target) and (from_ngrams or not _is_word2vec(source, target)))
    from_vectors, to_vectors = not from_ngrams and is_word2vec_name(source), is_word2vec_name(target) and not to_ngrams
    if (
        (from_ngrams and to_vectors)
        or (from_vectors and (to_ngrams or to_vectors))
        or not (from_ngrams or to_ngrams or from_vectors or to_vectors)
    ):
        raise ValueError(
            f"one of {source} and {target} must be an ARPA file (.arpa or .lm, also packed), one of KenLM's binary "
            "files (.bin or .klm) or a file of word2vec or GloVe (.bin, .vec, .txt or these with .gz), the other a "
            "folder; or both files of n-grams; or the first AllenNLP's weights.hdf5 or a folder of an old checkpoint; "
            "or the second a file .onnx or .fst.txt"
        )
    return from_ngrams or to_ngrams


def _refuse_other_options(target: Path, options: dict[str, Any]) -> None:
    """Raise a ValueError if an option belongs to files of another kind than the target, or has no such value."""
    layout, spelling = ({name: options[name] for name in names if name in options} for names in _OPTIONS_OF.values())
    if layout and not is_kenlm_name(target):
        raise ValueError(f"{_spelled(layout)} is for KenLM's binary files; name the target .bin or .klm")
    if spelling and not is_arpa_name(target):
        raise ValueError(f"{_spelled(spelling)} is for ARPA files; name the target .arpa or .lm")
    KenlmLayout(**layout)


def _spelled(options: dict[str, Any]) -> str:
    first = next(iter(options))
    return "--for" if first == "decoder" else f"`{first}`"


def _is_word2vec(source: str, target: Path) -> bool:
    """Return whether a target that may be a file of KenLM's or of word2vec is for word vectors: the model decides."""
    if is_word2vec_name(source) or target.suffix.lower() != ".bin":
        return is_word2vec_name(source)
    return isinstance(AutoConfig.from_pretrained(source, local_files_only=check_location(source)), Word2VecConfig)


def _refuse_target(target: Path) -> None:
    refuse_existing(target)
    if not _is_file_name(target) and FILE_SUFFIX.fullmatch(target.suffix) and not target.is_dir():
        raise ValueError(
            f"{target} would be a folder, but {target.suffix} is the suffix of a file: name a folder without a suffix, "
            "make an empty one of this name first, or name a file .arpa, .arpa.gz, .bin or .klm (KenLM's), .fst.txt or "
            ".onnx"
        )


def _convert_ngrams(source: str, target: Path, options: dict[str, Any]) -> None:
    if not is_ngram_file(source):
        rule = "n-grams are written as ARPA files and KenLM's"
        _refuse_other_models(source, check_location(source), NGramConfig, rule)
    check_target(target)
    counts = save_ngrams(*load_model(source), target, **options)
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

    refuse_existing(target)
    model, _ = load_model(source)
    difference = export_onnx(model, target)
    checked = "not compared with the model: onnxruntime is not installed"
    if difference is not None:
        checked = f"outputs differ from the model's by at most {difference:.1g}"
    print(f"{target}: {target.stat().st_size:,} bytes; {checked}")


def _convert_to_fst(source: str, target: Path) -> None:
    symbols = symbols_path(target)
    for file in (target, symbols):
        refuse_existing(file)
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
