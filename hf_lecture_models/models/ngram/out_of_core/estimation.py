# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimating the model of `fit` from a corpus that does not fit into memory, in stages on disk.

    windows     the texts are encoded; the words from each position on, as Parquet files
    counted     the windows sorted, each once with its number of occurrences: a group-by of an engine (`engines.py`)
    numbered    the n-grams of all orders, from one pass over the sorted windows (`stored_counts.py`)
    tables      smoothed, some contexts at a time (`stored_smoothing.py`)

When a stage is finished, the one before it is deleted. An estimation that starts again in the same folder goes on after
the last finished stage.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.runs import RUN_LOCK, run_lock
from hf_lecture_models.io.system import deletes_mapped_files, move, remove, resident_bytes
from hf_lecture_models.models.ngram.checks_ngram import how_estimated
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import FileTexts, check_longest, make_stream
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.out_of_core.engines import ENGINES, count_windows, import_engine, read_counted
from hf_lecture_models.models.ngram.out_of_core.stored_counts import open_counts, store_counts, windows_of
from hf_lecture_models.models.ngram.out_of_core.stored_smoothing import STORED_SMOOTHINGS, StoredSmoothing, open_tables
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import encode_corpus, fingerprint_tokenizer
from hf_lecture_models.tokenization.splitting import chunk_texts

STAGES = ("windows", "counted", "numbered", "tables")
NOTE = "estimation.json"  # says what is estimated in a folder
ESTIMATES = ("discounts", "discount_ratios", "interpolation_weights", "strengths")
CHUNK_CHARACTERS = 1 << 21
BYTES_PER_ROW = 320  # of the arrays that smoothing holds for an n-gram
SMALLEST_BUDGET = {"duckdb": 300 * 10**6, "spark": 900 * 10**6}  # beside what the process holds already
ENGINE_SHARE = 0.6
_FULL_DISK = ("No space left on device", "not enough space on the disk", "max_temp_directory_size")
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class MemoryLimit:
    """The memory that `fit` may take, and the engine that counts on disk where that is too little.

    >>> MemoryLimit("2GB").bytes, MemoryLimit("512MiB", engine="duckdb", folder="work").bytes
    (2000000000, 536870912)

    Args:
        memory: of the whole process, as "2GB" or in bytes. The tables of the model are mapped from disk.
        engine: "duckdb", in this process; "spark", on the session that is active, or else on this machine, in a process
            of its own; "memory", whatever the limit says. None: in memory where it fits, else DuckDB.
        folder: where the stages are kept, for one estimation at a time. An estimation that starts again goes on there,
            and at the end the tables stay there until `clear()`. None: a temporary folder, deleted in any case; Windows
            deletes no mapped files, so there the tables are read into memory at the end.

    Raises:
        ValueError: the memory cannot be read as a size, or the engine is unknown.
    """

    memory: str | int = "2GB"
    engine: str | None = None
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.engine not in (None, "memory", *ENGINES):
            raise ValueError(f"the engine must be one of memory, {', '.join(ENGINES)}, not {self.engine!r}")
        if self.bytes <= 0:
            raise ValueError(f"the memory limit is {self.memory!r}; give a size such as '2GB'")

    @property
    def bytes(self) -> int:
        """The limit as a number."""
        text = str(self.memory).strip()
        digits = text.rstrip("KMGTIBkmgtib ")
        try:
            return int(float(digits) * _UNITS[text[len(digits) :].strip().upper()])
        except (KeyError, ValueError, OverflowError):
            raise ValueError(f"the memory limit is {self.memory!r}; give a size such as '2GB' or '500MB'") from None

    def clear(self) -> None:
        """Delete the tables in `folder`, and the folder itself if it is then empty.

        An estimation that is not finished, or at work, is left as it is.

        Raises:
            PermissionError: a model has the tables mapped, and the system is Windows, which does not delete them then.
        """
        if self.folder is None or not Path(self.folder).is_dir():
            return
        folder = Path(self.folder)
        with suppress(BlockingIOError), run_lock(folder):
            doomed = folder / f".{STAGES[-1]}.cleared.partial"
            if all((folder / name).exists() for name in (NOTE, STAGES[-1])):
                move(folder / STAGES[-1], doomed)  # a call that is killed leaves no part of the tables
                (folder / NOTE).unlink()
            if doomed.exists():
                remove(doomed)  # what is mapped stays readable
        with suppress(OSError):  # it is not empty
            folder.rmdir()


@dataclass(frozen=True)
class Survey:
    """The size of a corpus, and what its estimation will take, from a first reading and a sample."""

    digest: str  # hash of all texts
    texts: int
    tokens: int  # `<s>` and `</s>` included
    memory: int  # bytes, if all is counted in memory
    disk: int  # bytes at most, out of core
    seconds: float  # about, out of core

    def __str__(self) -> str:
        return (
            f"{self.texts:,} texts, {self.tokens:,} tokens: in memory {_size(self.memory)}; out of core "
            f"{_size(self.disk)} of disk at most, about {max(self.seconds / 60, 0.1):.1f} minutes"
        )


def fit_within(
    limit: MemoryLimit | str | int,
    model_class: type[NGramForCausalLM],
    texts: Iterable[str] | str | os.PathLike[str],
    tokenizer: Any,
    config: NGramConfig,
    classes: Any,
    progress: bool,
) -> NGramForCausalLM | None:
    """Estimate a model out of core, or return None if the limit is enough for an estimation in memory.

    Raises:
        ValueError: the limit is too low, the smoothing needs all counts in memory, texts can be read only once or have
            changed, or the folder holds another estimation.
        OSError: the disk has too little space, a file cannot be read, or another process is at work in the folder.
        ImportError: the engine is not installed.
    """
    limit = limit if isinstance(limit, MemoryLimit) else MemoryLimit(limit)
    if limit.engine == "memory":
        return None
    texts = _readable_twice(texts, tokenizer)
    survey = survey_texts(texts, tokenizer, config, progress)
    if progress:
        print(survey, file=sys.stderr)
    if limit.engine is None and survey.memory <= limit.bytes:
        return None
    engine = limit.engine or "duckdb"
    _check_supported(config, classes, survey, limit)
    import_engine(engine)
    memory_budget = _memory_budget(limit, engine, survey)
    with tempfile.TemporaryDirectory(prefix="ngrams.") if limit.folder is None else nullcontext(limit.folder) as name:
        folder = Path(name)
        _check_folder(folder, survey)
        with run_lock(folder):
            _check_plan(folder, survey, tokenizer, config)
            kept = limit.folder is not None
            job = _Job(folder, kept, engine, memory_budget, texts, tokenizer, config, survey, progress)
            return job.run(model_class)


def _memory_budget(limit: MemoryLimit, engine: str, survey: Survey) -> int:
    """Return the bytes of the limit that the process does not hold yet, or raise a ValueError if they are too few."""
    held = resident_bytes()
    budget = limit.bytes - held
    if budget < SMALLEST_BUDGET[engine]:
        least = held + SMALLEST_BUDGET[engine]
        advice = f"at least {_size(1.05 * least)}"
        if limit.engine is None and survey.memory < least:
            advice = f"{_size(1.05 * survey.memory)}, and all is counted in memory"
        raise ValueError(
            f"a memory limit of {_size(limit.bytes)} is too low: this process holds {_size(held)} already, and "
            f"{engine} needs {_size(SMALLEST_BUDGET[engine])} beside it; give {advice}"
        )
    return budget


def survey_texts(texts: Iterable[str], tokenizer: Any, config: NGramConfig, progress: bool = False) -> Survey:
    """Read and encode all texts, and estimate what the estimation will take.

    Raises:
        ValueError: the corpus is empty, or as `encode_corpus` and `make_stream`.
    """
    digest, count, tokens, seconds = hashlib.blake2b(), 0, 0, 0.0
    sampled, distinct = 0, np.zeros(config.order)
    for number, chunk in enumerate(chunk_texts(texts, progress, "reading", CHUNK_CHARACTERS), 1):
        _add(digest, chunk)
        begin = time.perf_counter()
        corpus = encode_corpus(tokenizer, chunk)
        seconds += time.perf_counter() - begin
        count, tokens = count + len(chunk), tokens + len(corpus.ids) + 2 * len(chunk)
        if number & (number - 1) == 0:  # 1, 2, 4, 8 ... only: sorting windows takes longer than encoding
            stream = make_stream(corpus.ids, corpus.lengths, config)
            sampled += len(stream.words)
            distinct += _distinct(windows_of(stream, config.order))
    if not count:
        make_stream(np.zeros(0, np.int64), np.zeros(0, np.int64), config)  # raises the error
    distinct /= sampled
    row = 4 * config.order + 8  # of a window with its count
    stored = tokens * (56 * distinct[1:].sum() + distinct[-1] * row)
    disk = int(max(tokens * (4 * config.order + 2.5 * distinct[-1] * row), stored)) + 64 * config.vocab_size + 10**6
    in_memory = tokens * (80 + 40 * config.order) + resident_bytes()
    return Survey(digest.hexdigest(), count, tokens, in_memory, disk, 2 * seconds + 1e-6 * tokens * config.order)


def _distinct(windows: np.ndarray) -> np.ndarray:
    """Return the number of different windows of each order, (order,)."""
    numbers, different = windows[0].astype(np.int64), []
    for n, words in enumerate(windows, 1):
        if n > 1:
            numbers = numbers * (int(windows.max()) + 2) + words + 1
        found, numbers = np.unique(numbers, return_inverse=True)
        different.append(len(found))
    return np.array(different, float)


@dataclass
class _Job:
    folder: Path
    is_kept: bool
    engine: str
    memory_budget: int
    texts: Iterable[str]
    tokenizer: Any
    config: NGramConfig
    survey: Survey
    progress: bool

    def run(self, model_class: type[NGramForCausalLM]) -> NGramForCausalLM:
        done = [name for name in STAGES if (self.folder / name).is_dir()]
        for file in self.folder.glob(f".*.partial.{NOTE}"):
            file.unlink()
        for leftover in [*self.folder.glob(".*.partial"), *(self.folder / name for name in done[:-1])]:
            remove(leftover)
        for name in STAGES[STAGES.index(done[-1]) + 1 if done else 0 :]:
            before = STAGES[max(STAGES.index(name) - 1, 0)]
            with self._clear_errors(name), self._staged(name) as stage:
                getattr(self, f"_{name}")(self.folder / before, stage)
            if before != name:
                remove(self.folder / before)
        tables = self.folder / "tables"
        for name, value in json.loads((tables / "estimates.json").read_text("utf-8")).items():
            setattr(self.config, name, value)
        mapped = self.is_kept or deletes_mapped_files()
        return model_class.from_tables(open_tables(tables, self.config, mapped), self.config)

    @contextmanager
    def _staged(self, name: str) -> Iterator[Path]:
        """Yield a folder that gets its name when the stage is finished."""
        stage = self.folder / f".{name}.partial"
        stage.mkdir()
        try:
            yield stage
            move(stage, self.folder / name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    @property
    def rows(self) -> int:
        """Number of n-grams that may be in memory."""
        return self.memory_budget // BYTES_PER_ROW

    def _bar(self, total: int, desc: str, unit: str) -> tqdm:
        return ProgressBar(total=total, desc=desc, unit=unit, unit_scale=True, shown=self.progress)

    def _windows(self, _: Path, stage: Path) -> None:
        from pyarrow import array, int32, record_batch, schema
        from pyarrow.parquet import ParquetWriter

        names = [f"w{n}" for n in range(1, self.config.order + 1)]
        digest, longest = hashlib.blake2b(), 0
        with ParquetWriter(stage / "windows.parquet", schema([(name, int32()) for name in names])) as writer:
            for chunk in chunk_texts(self.texts, self.progress, "encoding", CHUNK_CHARACTERS):
                _add(digest, chunk)
                corpus = encode_corpus(self.tokenizer, chunk)
                stream = make_stream(corpus.ids, corpus.lengths, self.config)
                longest = max(longest, int(stream.places.max()) + 1)
                windows = windows_of(stream, self.config.order)
                writer.write_batch(record_batch([array(column) for column in windows], names=names))
        if digest.hexdigest() != self.survey.digest:
            raise ValueError("the corpus has changed between two readings: start again when nothing writes to it")
        check_longest(longest, self.config.order)

    def _counted(self, windows: Path, stage: Path) -> None:
        scratch = stage / "scratch"
        scratch.mkdir()
        with self._bar(100, f"counting by {self.engine}", "%") as bar:
            count_windows(self.engine, windows, stage, scratch, int(ENGINE_SHARE * self.memory_budget), bar)
        remove(scratch)

    def _numbered(self, counted: Path, stage: Path) -> None:
        with self._bar(0, "numbering", " windows") as bar:
            store_counts(read_counted(counted), stage, self.config, self.survey.texts, self.rows, bar)

    def _tables(self, numbered: Path, stage: Path) -> None:
        counts = open_counts(numbered)
        with self._bar(sum(len(entry.keys) for entry in counts), "smoothing", " n-grams") as bar:
            StoredSmoothing(counts, self.config, stage, self.rows, bar).run()
        estimates = {name: getattr(self.config, name) for name in ESTIMATES}
        (stage / "estimates.json").write_text(json.dumps(estimates), "utf-8", newline="\n")

    @contextmanager
    def _clear_errors(self, name: str) -> Iterator[None]:
        """Raise errors that say what to do in place of each engine's own for a full disk and for too little memory."""
        try:
            yield
        except Exception as error:
            number = getattr(error, "errno", None)
            if "Out of Memory" in str(error) and "max_temp_directory_size" not in str(error):
                raise ValueError(f"{self.engine} has too little memory: give a higher limit ({error})") from error
            if number not in (errno.ENOSPC, errno.EDQUOT) and not any(words in str(error) for words in _FULL_DISK):
                raise
            failure = OSError(
                f"the disk of {self.folder} is full, at the stage '{name}'; {_size(self.survey.disk)} are enough. "
                "Finished stages stay in a folder that you name: free some space, and start again with the same one"
            )
            failure.errno = errno.ENOSPC
            raise failure from error


def _check_folder(folder: Path, survey: Survey) -> None:
    """Raise an error for a file, a folder with other files, and too little disk space before the first stage."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"the work folder {folder} is a file; name a folder, or move the file away")
    if _has_finished_stage(folder):
        return
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if NOTE not in names and any(name != RUN_LOCK and ".partial" not in name for name in names):
        raise ValueError(f"the work folder {folder} holds other files; name an empty one")
    free = shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free
    if free < survey.disk:
        raise OSError(
            f"the disk of {folder} has {_size(free)} free, and up to {_size(survey.disk)} are needed; free some space, "
            "or name a work folder on another disk"
        )


def _has_finished_stage(folder: Path) -> bool:
    return (folder / NOTE).is_file() and any((folder / name).is_dir() for name in STAGES)


def _check_plan(folder: Path, survey: Survey, tokenizer: Any, config: NGramConfig) -> None:
    """Write a note of what is estimated in the folder, or, if a stage is finished there, compare with its note."""
    fields = {**how_estimated(config), **{name: getattr(config, name) for name in VOCABULARY_FIELDS}}
    plan = {"corpus": survey.digest, "tokenizer": fingerprint_tokenizer(tokenizer)}
    plan |= {name: value for name, value in fields.items() if name not in ESTIMATES}
    note = folder / NOTE
    if not _has_finished_stage(folder):
        with staged_file(note) as stage:
            stage.write_text(json.dumps(plan), "utf-8", newline="\n")
        return
    begun = json.loads(note.read_text("utf-8"))
    if begun["corpus"] != plan["corpus"]:
        raise ValueError(f"the corpus is not the one that {folder} was begun with; delete the folder, or name another")
    for name, value in plan.items():
        if begun.get(name) != value:
            raise ValueError(
                f"{folder} was begun with another {name} ({str(begun.get(name))[:20]}, not {str(value)[:20]}); delete "
                "the folder, or name another"
            )


def _check_supported(config: NGramConfig, classes: Any, survey: Survey, limit: MemoryLimit) -> None:
    if classes is None and config.smoothing in STORED_SMOOTHINGS:
        return
    what = "classes of words" if classes is not None else f"smoothing={config.smoothing!r}"
    need, advice = "", f"leave the engine {limit.engine} out"
    if limit.engine is None:
        need = f", and {_size(limit.bytes)} are too little for {survey.tokens:,} tokens"
        advice = f"give {_size(1.05 * survey.memory)}"
    rule = f"{what} cannot be estimated out of core{need}: {advice}"
    raise ValueError(f"{rule}, or take one of {', '.join(STORED_SMOOTHINGS)} on words")


def _readable_twice(texts: Iterable[str] | str | os.PathLike[str], tokenizer: Any) -> Iterable[str]:
    if isinstance(texts, str | os.PathLike):
        return plain_texts(FileTexts(texts), tokenizer)
    if iter(texts) is texts:
        raise ValueError(
            "the texts are read twice under a memory limit, and an iterator or generator gives them once: give a list, "
            "the path of a file, or an object that can be iterated again"
        )
    return plain_texts(texts, tokenizer)


def _add(digest: Any, texts: list[str]) -> None:
    digest.update("\0".join([*texts, ""]).encode("utf-8", "surrogatepass"))


def _size(count: float) -> str:
    """Format bytes; advice has a margin of 5 %, as the process may hold a little more next time."""
    return f"{count / 10**9:.1f} GB" if count >= 10**9 else f"{count / 10**6:.0f} MB"
