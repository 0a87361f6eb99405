# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Where the result of a tool goes: an n-gram model as an ARPA file, one of KenLM's binary files, or a folder.

The name decides: `.arpa` and `.lm`, also packed (`.gz`, `.bz2`, `.xz`, `.zst`), are ARPA files; `.bin` and `.klm` are
KenLM's; all else is a folder of `save_pretrained`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import check_writable, staged_folder
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.models.ngram.checks_ngram import ngram_counts
from hf_lecture_models.models.ngram.classes.class_files import save_with_classes
from hf_lecture_models.models.ngram.files.arpa_reader import read_counts
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

ARPA_SUFFIXES, KENLM_SUFFIXES = (".arpa", ".lm"), (".bin", ".klm")
FILE_SUFFIX = re.compile(r"\.([a-z]{2,}|bz2|h5|7z)", re.IGNORECASE)


def check_target(target: Path) -> None:
    """Refuse, before any work, a target that `save_ngrams` cannot write.

    Raises:
        FileExistsError: there is something already.
        ValueError: the name has the suffix of another kind of file.
        OSError: the file cannot be written there.
    """
    refuse_existing(target)
    is_file = file_suffix(str(target)) in ARPA_SUFFIXES or is_kenlm_name(target)
    if not is_file and FILE_SUFFIX.fullmatch(target.suffix) and not target.is_dir():
        raise ValueError(
            f"{target} would be a folder, but {target.suffix} is the suffix of a file: name a folder without a suffix, "
            "an ARPA file (.arpa, .arpa.gz) or one of KenLM's binary files (.bin, .klm)"
        )
    check_writable(None if is_file else target, target if is_file else None)


def refuse_existing(target: Path) -> None:
    """Raise a FileExistsError where there is a file, or a folder that is not empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; remove it or name another")


def is_kenlm_name(name: Path) -> bool:
    """Return whether an n-gram model of this name is one of KenLM's binary files.

    >>> is_kenlm_name(Path("lm.KLM")), is_kenlm_name(Path("lm.arpa"))
    (True, False)
    """
    return name.suffix.lower() in KENLM_SUFFIXES


def save_ngrams(model: NGramForCausalLM, tokenizer: Any, target: Path, **options: Any) -> list[int]:
    """Write a model and its tokenizer as the target's name says; return the number of n-grams of each order.

    Args:
        model: of any kind that such a file can hold.
        tokenizer: the model's.
        target: checked with `check_target`.
        options: of `save_arpa` for ARPA files, and of `save_kenlm` for KenLM's.

    Raises:
        OSError: it cannot be written; what was there before is untouched.
        ValueError: such a file cannot hold the model.
    """
    if is_kenlm_name(target):
        model.save_kenlm(target, tokenizer, **options)
    elif file_suffix(str(target)) in ARPA_SUFFIXES:
        save_with_classes(model, tokenizer, target, **options)
        return read_counts(target)
    else:
        with staged_folder(target) as stage:
            model.save_pretrained(stage)
            tokenizer.save_pretrained(stage)
    return ngram_counts(model.config)
