# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Packed files: read by their first bytes, written by the end of their names (.gz, .bz2, .xz, .zst)."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import zlib
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_BY_SUFFIX = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
SUFFIXES = tuple(_BY_SUFFIX)


def packing_of(head: bytes) -> str | None:
    r"""Return how a file that begins so is packed; None if it is not.

    >>> packing_of(b"BZh91AY"), packing_of(b"\\data\\")
    ('bzip2', None)
    """
    return next((packing for magic, packing in _MAGIC.items() if head.startswith(magic)), None)


def packing_of_name(name: str | os.PathLike[str]) -> str | None:
    """Return how a file with this name is packed; None if it is not.

    >>> packing_of_name("a.txt.GZ"), packing_of_name("a.txt")
    ('gzip', None)
    """
    return _BY_SUFFIX.get(os.path.splitext(os.fspath(name))[1].lower())


def file_suffix(name: str) -> str:
    """Return the suffix of a file's name in small letters, without one of a packed file.

    >>> file_suffix("dev.TSV.gz"), file_suffix("a.jsonl.bz2")
    ('.tsv', '.jsonl')
    """
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in SUFFIXES else path).suffix


def unpacked(file: BinaryIO, packing: str | None) -> BinaryIO:
    """Return the text of an open file, to be closed before the file.

    Raises:
        ValueError: it is packed with zstd, and no package that unpacks this is installed.
    """
    if packing is None:
        return file
    if packing == "zstd":
        return io.BufferedReader(_zstd_opener()(file, "rb"))
    kinds: dict[str, Any] = {"gzip": gzip.GzipFile, "bzip2": bz2.BZ2File, "xz": lzma.LZMAFile}
    return io.BufferedReader(kinds[packing](**{"fileobj" if packing == "gzip" else "filename": file}))


def is_damage(error: Exception) -> bool:
    """Return whether an error of reading says that packed data are cut off or damaged."""
    if isinstance(error, OSError):
        return error.errno is None
    return isinstance(error, EOFError | zlib.error | lzma.LZMAError) or type(error).__name__ == "ZstdError"


def packed(file: BinaryIO, name: str | os.PathLike[str]) -> Any:
    """Return a context that packs the bytes written to it as the file's name says, to be left before the file.

    Raises:
        ValueError: the name ends in .zst, and no package that packs so is installed.
    """
    packing = packing_of_name(name)
    if packing == "gzip":
        return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
    if packing == "bzip2":
        return bz2.BZ2File(file, "wb")
    if packing == "xz":
        return lzma.LZMAFile(file, "wb")
    return nullcontext(file) if packing is None else _zstd_opener()(file, "wb")


def _zstd_opener() -> Any:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        with suppress(ImportError):
            return importlib.import_module(name).open
    raise ValueError("zstd needs a package that is not installed: install zstandard, or unpack the file with zstd -d")
