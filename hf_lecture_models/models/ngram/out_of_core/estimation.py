# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimating the model of `fit` from a corpus that does not fit into memory, in stages on disk.

The texts are read and encoded once, into a file without a name (`survey.py`).

    runs        the words from each position on, as integers, sorted in parts (`packed_windows.py`)
    numbered    the parts merged: the n-grams of all orders, from one pass over the sorted windows (`stored_counts.py`)
    tables      smoothed, some contexts at a time (`stored_smoothing.py`)

DuckDB and Spark, which are asked for by name, have two stages in place of the runs:

    windows     the words from each position on, as Parquet files
    counted     the windows sorted, each once with its number of occurrences: a group-by of the engine (`engines.py`)

When a stage is finished, the one before it is deleted. An estimation that starts again in the same folder goes on after
the last finished stage; the engine may be another one from `counted` on.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
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
from hf_lecture_models.models.ngram.counting_ngram import FileTexts, Stream, make_stream
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.out_of_core.engines import (
    ENGINES,
    count_windows,
    import_engine,
    read_counted,
    smallest_budget,
)
from hf_lecture_models.models.ngram.out_of_core.packed_windows import Packing, merge_runs, write_runs
from hf_lecture_models.models.ngram.out_of_core.stored_counts import open_counts, pack_batches, store_counts, windows_of
from hf_lecture_models.models.ngram.out_of_core.stored_smoothing import (
    STORED_SMOOTHINGS,
    StoredSmoothing,
    open_tables,
    open_words,
)
from hf_lecture_models.models.ngram.out_of_core.survey import Spool, Survey, size, survey_texts
from hf_lecture_models.models.ngram.vocabulary_ngram import reduce_vocabulary, tokenizer_of_kept
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import fingerprint_tokenizer

_FOR_ALL = ["counted", "numbered", "tables"]  # stages that any engine can go on from
STAGES = ("windows", "runs", *_FOR_ALL)
NOTE = "estimation.json"  # says what is estimated in a folder
ESTIMATES = ("discounts", "discount_ratios", "interpolation_weights", "strengths")
BYTES_PER_ROW = 320  # of the arrays that smoothing holds for an n-gram
RUN_BYTES, MERGED_BYTES = 16, 200  # for each integer of a window that is sorted, or merged and numbered
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
        engine: "numpy" sorts and merges files; "duckdb", in this process; "spark", on the session that is active, or
            else on this machine, in a process of its own; "memory", whatever the limit says. None: in memory where it
            fits, else numpy.
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


def fit_within(
    limit: MemoryLimit | str | int,
    model_class: type[NGramForCausalLM],
    texts: Iterable[str] | str | os.PathLike[str],
    tokenizer: Any,
    config: NGramConfig,
    classes: Any,
    progress: bool,
) -> tuple[NGramForCausalLM | None, tuple[np.ndarray, np.ndarray] | None]:
    """Return a model estimated out of core, or None and the ids and lengths of the texts.

    The limit may be enough for an estimation in memory, from these ids: the texts are read once. With the engine
    "memory" they are not read here.

    Raises:
        ValueError: the limit is too low, the smoothing needs all counts in memory, or the folder holds another
            estimation or has other files.
        OSError: the disk has too little space, a file cannot be read, or another process is at work in the folder.
        ImportError: the engine is not installed.
    """
    limit = limit if isinstance(limit, MemoryLimit) else MemoryLimit(limit)
    if limit.engine == "memory":
        return None, None
    engine = limit.engine or ENGINES[0]
    plain = plain_texts(FileTexts(texts) if isinstance(texts, str | os.PathLike) else texts, tokenizer)
    place = _existing(limit.folder)
    with Spool(place) as spool:
        with _clear_errors(place, "reading"):
            survey = survey_texts(plain, tokenizer, config, spool, engine, progress)
        if progress:
            print(survey, file=sys.stderr)
        if limit.engine is None and survey.memory <= limit.bytes:
            corpus = spool.read()
            return None, (corpus.ids, corpus.lengths)
        _check_supported(config, classes, survey, limit)
        import_engine(engine)
        memory_budget = _memory_budget(limit, engine, config, survey)
        job = _Job(limit.folder is not None, engine, memory_budget, spool, tokenizer, config, survey, progress)
        return _run(job, limit, model_class), None


def _run(job: _Job, limit: MemoryLimit, model_class: type[NGramForCausalLM]) -> NGramForCausalLM:
    """Run a job in its folder, or in a temporary one."""
    with tempfile.TemporaryDirectory(prefix="ngrams.") if limit.folder is None else nullcontext(limit.folder) as name:
        folder = Path(name)
        _check_folder(folder, job.survey, job.spool)
        with run_lock(folder):
            _check_plan(folder, job.survey, job.tokenizer, job.config)
            return job.run(folder, model_class)


def _existing(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return a folder that exists on the disk of a work folder; None for a temporary one."""
    if folder is None:
        return None
    return next(path for path in (Path(folder), *Path(folder).absolute().parents) if path.is_dir())


def _memory_budget(limit: MemoryLimit, engine: str, config: NGramConfig, survey: Survey) -> int:
    """Return the bytes of the limit that the process does not hold yet, or raise a ValueError if they are too few."""
    held, smallest = resident_bytes(), smallest_budget(engine, config.vocab_size)
    budget = limit.bytes - held
    if budget < smallest:
        least = held + smallest
        advice = f"at least {size(1.05 * least)}"  # the process may hold a little more next time
        if limit.engine is None and survey.memory < least:
            advice = f"{size(1.05 * survey.memory)}, and all is counted in memory"
        raise ValueError(
            f"a memory limit of {size(limit.bytes)} is too low: this process holds {size(held)} already, and "
            f"{engine} needs {size(smallest)} beside it; give {advice}"
        )
    return budget


@dataclass
class _Job:
    is_kept: bool
    engine: str
    memory_budget: int
    spool: Spool
    tokenizer: Any
    config: NGramConfig
    survey: Survey
    progress: bool

    def run(self, folder: Path, model_class: type[NGramForCausalLM]) -> NGramForCausalLM:
        """Run the stages that are left, and return the model."""
        for file in folder.glob(f".*.partial.{NOTE}"):
            file.unlink()
        for leftover in folder.glob(".*.partial"):
            remove(leftover)
        before, left = self._plan(folder)
        if before:
            self.spool.close()
        for name in STAGES:
            if name != before and (folder / name).is_dir():
                remove(folder / name)
        for name in left:
            with _clear_errors(folder, name, self.engine, self.survey.disk), _staged(folder, name) as stage:
                getattr(self, f"_{name}")(folder / (before or ""), stage)
            if before:
                remove(folder / before)
            before = name
        tables = folder / "tables"
        for name, value in json.loads((tables / "estimates.json").read_text("utf-8")).items():
            setattr(self.config, name, value)
        reduce_vocabulary(self.config, words := open_words(tables))
        mapped = self.is_kept or deletes_mapped_files()
        model = model_class.from_tables(open_tables(tables, self.config, mapped), self.config)
        model.own_tokenizer = tokenizer_of_kept(self.tokenizer, words)
        return model

    def _plan(self, folder: Path) -> tuple[str | None, list[str]]:
        """Return the last finished stage that this engine can go on from, and the stages after it."""
        first = ["runs"] if self.engine == "numpy" else ["windows", "counted"]
        done = [name for name in STAGES if name in (*first, *_FOR_ALL) and (folder / name).is_dir()]
        if not done:
            return None, [*first, "numbered", "tables"]
        path = [*first, "numbered", "tables"] if done[-1] in first else _FOR_ALL
        return done[-1], path[path.index(done[-1]) + 1 :]

    @property
    def rows(self) -> int:
        """Number of n-grams that may be in memory."""
        return self.memory_budget // BYTES_PER_ROW

    def _bar(self, total: int, desc: str, unit: str) -> tqdm:
        return ProgressBar(total=total, desc=desc, unit=unit, unit_scale=True, shown=self.progress)

    def _streams(self, desc: str) -> Iterator[Stream]:
        """Yield the texts that are in the spool, and then delete it."""
        with self._bar(self.survey.tokens, desc, " tokens") as bar, self.spool:
            for ids, lengths in self.spool:
                yield make_stream(ids, lengths, self.config)
                bar.update(len(ids) + 2 * len(lengths))

    def _runs(self, _: Path, stage: Path) -> None:
        packing = Packing(self.config.order, self.config.vocab_size)
        rows = max(min(self.memory_budget // (RUN_BYTES * packing.columns), self.survey.tokens), 1)
        write_runs(map(packing.pack, self._streams("sorting")), stage, packing.columns, rows)

    def _windows(self, _: Path, stage: Path) -> None:
        from pyarrow import array, int32, record_batch, schema
        from pyarrow.parquet import ParquetWriter

        names = [f"w{n}" for n in range(1, self.config.order + 1)]
        with ParquetWriter(stage / "windows.parquet", schema([(name, int32()) for name in names])) as writer:
            for stream in self._streams("writing"):
                windows = windows_of(stream, self.config.order)
                writer.write_batch(record_batch([array(column) for column in windows], names=names))

    def _counted(self, windows: Path, stage: Path) -> None:
        scratch = stage / "scratch"
        scratch.mkdir()
        with self._bar(100, f"counting by {self.engine}", "%") as bar:
            count_windows(self.engine, windows, stage, scratch, int(ENGINE_SHARE * self.memory_budget), bar)
        remove(scratch)

    def _numbered(self, before: Path, stage: Path) -> None:
        columns = Packing(self.config.order, self.config.vocab_size).columns
        if before.name == "runs":
            counted = merge_runs(before, columns, self.memory_budget // (MERGED_BYTES * columns))
        else:
            counted = pack_batches(read_counted(before), self.config)
        with self._bar(self.survey.tokens, "numbering", " windows") as bar:
            store_counts(counted, stage, self.config, self.survey.texts, self.rows, bar)

    def _tables(self, numbered: Path, stage: Path) -> None:
        counts = open_counts(numbered)
        with self._bar(sum(len(entry.keys) for entry in counts), "smoothing", " n-grams") as bar:
            StoredSmoothing(counts, self.config, stage, self.rows, bar).run()
        estimates = {name: getattr(self.config, name) for name in ESTIMATES}
        (stage / "estimates.json").write_text(json.dumps(estimates), "utf-8", newline="\n")


@contextmanager
def _staged(folder: Path, name: str) -> Iterator[Path]:
    """Yield a folder that gets its name when the stage is finished."""
    stage = folder / f".{name}.partial"
    stage.mkdir()
    try:
        yield stage
        move(stage, folder / name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _clear_errors(place: Path | None, stage: str, engine: str = "", disk: int = 0) -> Iterator[None]:
    """Raise errors that say what to do in place of each engine's own for a full disk and for too little memory."""
    try:
        yield
    except Exception as error:
        number = getattr(error, "errno", None)
        if "Out of Memory" in str(error) and "max_temp_directory_size" not in str(error):
            raise ValueError(f"{engine} has too little memory: give a higher limit ({error})") from error
        if number not in (errno.ENOSPC, errno.EDQUOT) and not any(words in str(error) for words in _FULL_DISK):
            raise
        enough = f"; {size(disk)} are enough" if disk else ""
        failure = OSError(
            f"the disk of {place or tempfile.gettempdir()} is full, at the stage '{stage}'{enough}. "
            "Finished stages stay in a folder that you name: free some space, and start again with the same one"
        )
        failure.errno = errno.ENOSPC
        raise failure from error


def _check_folder(folder: Path, survey: Survey, spool: Spool) -> None:
    """Raise an error for a file, a folder with other files, and too little disk space before the first stage."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"the work folder {folder} is a file; name a folder, or move the file away")
    if _has_finished_stage(folder):
        return
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if NOTE not in names and any(name != RUN_LOCK and ".partial" not in name for name in names):
        raise ValueError(f"the work folder {folder} holds other files; name an empty one")
    free = shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free
    needed = survey.disk - spool.bytes
    if free < needed:
        raise OSError(
            f"the disk of {folder} has {size(free)} free, and up to {size(needed)} are needed; free some space, "
            "or name a work folder on another disk"
        )


def _has_finished_stage(folder: Path) -> bool:
    return (folder / NOTE).is_file() and any((folder / name).is_dir() for name in STAGES)


def _check_plan(folder: Path, survey: Survey, tokenizer: Any, config: NGramConfig) -> None:
    """Write a note of what is estimated in the folder, or, if a stage is finished there, compare with its note."""
    fields = {**how_estimated(config), **{name: getattr(config, name) for name in VOCABULARY_FIELDS}}
    plan = {"tokenizer": fingerprint_tokenizer(tokenizer), "corpus": survey.digest}  # the digest is one of ids
    plan |= {name: value for name, value in fields.items() if name not in ESTIMATES}
    note = folder / NOTE
    if not _has_finished_stage(folder):
        with staged_file(note) as stage:
            stage.write_text(json.dumps(plan), "utf-8", newline="\n")
        return
    begun = json.loads(note.read_text("utf-8"))
    for name, value in plan.items():
        if begun.get(name) != value:
            if name == "corpus":
                raise ValueError(
                    f"the corpus is not the one that {folder} was begun with; delete the folder, or name another"
                )
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
        need = f", and {size(limit.bytes)} are too little for {survey.tokens:,} tokens"
        advice = f"give {size(1.05 * survey.memory)}"
    rule = f"{what} cannot be estimated out of core{need}: {advice}"
    raise ValueError(f"{rule}, or take one of {', '.join(STORED_SMOOTHINGS)} on words")
