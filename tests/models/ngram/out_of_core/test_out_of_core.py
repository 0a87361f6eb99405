# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimation out of core: the model of `fit`, bit for bit, in stages that can be killed."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import signal
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from tokenizers.normalizers import Lowercase

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.io.runs import run_lock
from hf_lecture_models.io.system import move
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.out_of_core import (
    engines,
    estimation,
    packed_windows,
    stored_counts,
    stored_smoothing,
    survey,
)
from hf_lecture_models.models.ngram.out_of_core.columns import Column
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit
from hf_lecture_models.models.ngram.out_of_core.stored_counts import open_counts, pack_batches, parts, store_counts
from hf_lecture_models.models.ngram.out_of_core.stored_smoothing import STORED_SMOOTHINGS
from hf_lecture_models.models.ngram.out_of_core.survey import Spool, survey_texts
from tests.printed_commands import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")


def some_texts(seed: int, texts: int = 150, words: int = 12) -> list[str]:
    """Frequent words and rare ones; empty texts and repeated ones."""
    draw = random.Random(seed)
    names = [chr(97 + number) for number in range(words)]
    made = [
        " ".join(names[min(int(draw.expovariate(0.4)), words - 1)] for _ in range(draw.randrange(9)))
        for _ in range(texts)
    ]
    return [*made, *made[: texts // 3], "", "z"]


TEXTS = some_texts(seed=0)
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)


@pytest.fixture(autouse=True)
def a_small_process(monkeypatch):
    """Whatever the tests before these have left in memory."""
    for module in (estimation, survey):
        monkeypatch.setattr(module, "resident_bytes", lambda: 4 * 10**8)


@pytest.fixture
def small_parts(monkeypatch):
    """Several chunks of texts, several parts of n-grams, and runs of 40 windows, of which 5 are in memory."""
    monkeypatch.setattr(survey, "CHUNK_CHARACTERS", 400)
    monkeypatch.setattr(estimation._Job, "rows", property(lambda job: 40))
    monkeypatch.setattr(engines, "BATCH_ROWS", 50)

    def write(parts, folder, columns, rows):
        packed_windows.write_runs(parts, folder, columns, rows=40)
        assert len(list(folder.iterdir())) > 1

    def merge(folder, columns, rows):
        return packed_windows.merge_runs(folder, columns, 5 * len(list(folder.iterdir())))

    monkeypatch.setattr(estimation, "write_runs", write)
    monkeypatch.setattr(estimation, "merge_runs", merge)


def fit(texts=TEXTS, tokenizer=TOKENIZER, memory=None, **options):
    return NGramForCausalLM.fit(texts, tokenizer, progress=False, memory=memory, **options)


def assert_equal(model, other):
    assert model.config.to_dict() == other.config.to_dict()
    tables, others = model.tables(), other.tables()
    for name in ("keys", "log10_probs", "log10_backoffs"):
        for table, expected in zip(getattr(tables, name), getattr(others, name), strict=True):
            assert table.dtype == expected.dtype
            assert np.array_equal(table, expected)


@pytest.mark.parametrize("smoothing", STORED_SMOOTHINGS)
def test_the_tables_are_those_of_fit(small_parts, smoothing):
    for order, prune in ((3, None), (4, [0, 0, 1, 2])):
        options = {"order": order, "smoothing": smoothing, "prune": prune}
        assert_equal(fit(memory=MemoryLimit(engine="numpy"), **options), fit(**options))


@pytest.mark.parametrize("engine", ["numpy", "duckdb"])
@pytest.mark.parametrize("order", range(1, 9))
def test_any_order(small_parts, order, engine):
    assert_equal(fit(memory=MemoryLimit(engine=engine), order=order), fit(order=order))


@pytest.mark.parametrize(("order", "columns"), [(3, 1), (4, 2), (7, 4)])
def test_windows_of_several_integers(small_parts, order, columns, monkeypatch):
    """A million of words, of which the texts have the last ones; 21 bits each."""
    words = [chr(97 + number) for number in range(12)]
    tokenizer = WordTokenizer.from_words([*(f"w{number}" for number in range(1_100_000)), *words, "z"])
    assert packed_windows.Packing(order, len(tokenizer)).columns == columns
    monkeypatch.setattr(estimation._Job, "rows", property(lambda job: 10**6))
    limit = MemoryLimit(engine="numpy")
    assert_equal(fit(tokenizer=tokenizer, memory=limit, order=order), fit(tokenizer=tokenizer, order=order))


@pytest.mark.cases(0, 10)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 40))
def test_any_corpus(small_parts, seed):
    draw = random.Random(seed)
    texts = some_texts(seed, draw.randrange(1, 300), draw.randrange(1, 20))
    tokenizer = WordTokenizer.train(texts, progress=False)
    order = draw.randrange(1, min(max(len(text.split()) for text in texts) + 2, 6) + 1)
    prune = sorted([0, *(draw.randrange(3) for _ in range(order - 1))])
    options = {"order": order, "smoothing": draw.choice(STORED_SMOOTHINGS), "prune": prune}
    engine = draw.choice(["numpy", "numpy", "duckdb"])
    assert_equal(fit(texts, tokenizer, MemoryLimit(engine=engine), **options), fit(texts, tokenizer, **options))


def test_one_token_may_begin_and_end_texts(small_parts):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    tokenizer.bos_token = tokenizer.eos_token
    for engine in ("numpy", "duckdb"):
        model = fit(tokenizer=tokenizer, memory=MemoryLimit(engine=engine), order=3)
        assert_equal(model, fit(tokenizer=tokenizer, order=3))


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["a b a b c"], 3),
        (["", "", ""], 2),
        (["a b c d e f g", "", "a"], 8),
        (["a", "b", "a b c d"], 6),
        (["a a a a a a a a"] * 300, 3),
        (["<s> a b </s>", "<s> b </s>", "<s> </s>"], 2),
    ],
)
def test_odd_corpora(monkeypatch, texts, order):
    """One text, empty ones, texts shorter than the order, one window again and again, and marks around texts."""
    monkeypatch.setattr(estimation, "RUN_BYTES", 10**8)  # runs of some tens of windows
    monkeypatch.setattr(estimation, "MERGED_BYTES", 10**9)
    tokenizer = WordTokenizer.train(["a b c d e f g"], progress=False)
    for engine in ("numpy", "duckdb"):
        limit = MemoryLimit(engine=engine)
        assert_equal(fit(texts, tokenizer, limit, order=order), fit(texts, tokenizer, order=order))


@pytest.mark.parametrize("memory", [MemoryLimit(engine="numpy"), MemoryLimit(engine="duckdb"), "8GB"])
def test_the_texts_are_read_once(memory):
    assert_equal(fit((text for text in TEXTS), memory=memory, order=3), fit(order=3))


@pytest.mark.slow
def test_spark_counts_the_same(small_parts, tmp_path):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    assert_equal(fit(memory=MemoryLimit("4GB", engine="spark"), order=3), fit(order=3))


@pytest.mark.parametrize("running", [None, "the user's session"])
def test_spark_logs_nothing_in_a_session_of_our_own(running, tmp_path, monkeypatch):
    """The level of a session that is active is left as it is."""
    ibis = pytest.importorskip("ibis")
    options, stopped = {}, []
    own = SimpleNamespace(stop=lambda: stopped.append(True))
    builder = SimpleNamespace(config=lambda map: options.update(map) or SimpleNamespace(getOrCreate=lambda: own))
    session = SimpleNamespace(getActiveSession=lambda: running, builder=builder)
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pyspark.sql", SimpleNamespace(SparkSession=session))
    monkeypatch.setitem(vars(ibis), "pyspark", SimpleNamespace(connect=lambda one: one))
    with engines._connect("spark", tmp_path, 10**9) as connection:
        assert connection == (running or own)
    assert options.get("spark.log.level") == (None if running else "OFF")
    assert bool(stopped) == (running is None)


def test_a_file_is_counted_and_what_fits_stays_in_memory(tmp_path, monkeypatch):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    assert_equal(fit(path, memory="8GB", order=2), fit(order=2))
    monkeypatch.setattr(estimation, "fit_within", None)
    monkeypatch.setattr(estimation._Job, "run", lambda *arguments: pytest.fail("counted on disk"))
    assert fit(path, memory="8GB", order=2).config.order == 2
    with pytest.raises(pytest.fail.Exception, match="counted on disk"):
        fit(path, memory=MemoryLimit("8GB", engine="duckdb"), order=2)


class Killed(BaseException):
    """As SIGKILL: nothing is cleaned up behind it."""


STAGES = {"numpy": ["_runs", "_numbered", "_tables"], "duckdb": ["_windows", "_counted", "_numbered", "_tables"]}


@pytest.mark.cases(1, 6)
@pytest.mark.parametrize(("engine", "stage"), [(engine, stage) for engine in STAGES for stage in STAGES[engine]])
def test_a_killed_estimation_goes_on_behind_its_last_stage(small_parts, tmp_path, monkeypatch, engine, stage):
    limit = MemoryLimit(engine=engine, folder=tmp_path / "work")
    whole = getattr(estimation._Job, stage)
    called = []

    def dies(job, before, folder):
        whole(job, before, folder)
        shutil.copytree(folder, folder.with_name(".left.partial"))  # what a killed process leaves behind
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(estimation._Job, stage, dies)
        with pytest.raises(Killed):
            fit(memory=limit, order=3)
    for name in estimation.STAGES:
        method = getattr(estimation._Job, f"_{name}")
        monkeypatch.setattr(estimation._Job, f"_{name}", lambda *a, m=method, n=name: (called.append(f"_{n}"), m(*a)))
    assert_equal(fit(memory=limit, order=3), fit(order=3))
    names = STAGES[engine]
    assert called == names[names.index(stage) :]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["estimation.json", "tables"]
    assert_equal(fit(memory=limit, order=3), fit(order=3))  # from the tables alone
    assert called == names[names.index(stage) :]
    (tmp_path / "work" / "mine.txt").touch()
    limit.clear()
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["mine.txt"]
    limit.clear()  # there is no estimation: nothing is touched
    (tmp_path / "work" / "mine.txt").unlink()
    fit(memory=MemoryLimit(engine=engine, folder=tmp_path / "work"), order=2)
    limit.clear()
    assert not (tmp_path / "work").exists()


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A folder in which the windows are finished."""
    folder = tmp_path / "work"
    with monkeypatch.context() as patch:
        patch.setattr(estimation, "count_windows", lambda *arguments: sys.exit(1))
        with pytest.raises(SystemExit):
            fit(memory=MemoryLimit(engine="duckdb", folder=folder), order=3)
    assert sorted(path.name for path in folder.iterdir()) == ["estimation.json", "windows"]
    return folder


def test_what_has_changed_is_refused(begun):
    limit = MemoryLimit(engine="duckdb", folder=begun)
    limit.clear()  # it is not finished, and stays
    with pytest.raises(ValueError, match="the corpus is not the one that .*work was begun with; delete the folder"):
        fit([*TEXTS[:-1], "a"], memory=limit, order=3)
    with pytest.raises(ValueError, match="work was begun with another order \\(3, not 4\\)"):
        fit(memory=limit, order=4)
    with pytest.raises(ValueError, match="begun with another tokenizer"):
        fit(tokenizer=WordTokenizer.train(["z y x"], progress=False), memory=limit, order=3)
    rules = WordTokenizer.train(TEXTS, progress=False)
    rules.backend_tokenizer.normalizer = Lowercase()
    with pytest.raises(ValueError, match="begun with another tokenizer"):
        fit(tokenizer=rules, memory=limit, order=3)
    assert_equal(fit(memory=limit, order=3), fit(order=3))


def test_another_engine_goes_on_from_what_it_can_read(small_parts, begun, tmp_path, monkeypatch):
    """What Spark or DuckDB has counted is numbered whatever the engine; their windows, and runs, are their own."""
    assert_equal(fit(memory=MemoryLimit(engine="numpy", folder=begun), order=3), fit(order=3))
    limits = {engine: MemoryLimit(engine=engine, folder=tmp_path / "other") for engine in ("duckdb", "numpy")}
    for engine, stopped in (("duckdb", "_numbered"), ("numpy", "_tables"), ("numpy", "_numbered")):
        with monkeypatch.context() as patch:
            patch.setattr(estimation._Job, stopped, lambda *arguments: sys.exit(1))
            with pytest.raises(SystemExit):
                fit(memory=limits[engine], order=3)
        with monkeypatch.context() as patch:
            if stopped == "_numbered" and engine == "duckdb":
                patch.setattr(estimation._Job, "_runs", None)
            other = limits["numpy" if engine == "duckdb" else "duckdb"]
            assert_equal(fit(memory=other, order=3), fit(order=3))
        other.clear()


KILLED = [
    (survey.Spool, "add", 2),
    *((Column, "append", number) for number in (1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40)),
    *((estimation, "move", number) for number in (1, 2, 3)),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked, and killed")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(("owner", "name", "number"), KILLED)
def test_after_kill_9_the_same_call_gives_the_same_bits(small_parts, tmp_path, monkeypatch, owner, name, number):
    """The process dies at a call of what writes, which has then written a part, or before it renames a stage."""
    limit, written, calls = MemoryLimit(engine="numpy", folder=tmp_path / "work"), getattr(owner, name), []

    def dies(*arguments):
        calls.append(name)
        if len(calls) == number:
            if name == "append":
                written(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return written(*arguments)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(owner, name, dies)
        try:
            fit(memory=limit, order=3)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert_equal(fit(memory=limit, order=3), fit(order=3))
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["estimation.json", "tables"]


def test_where_no_stage_is_finished_other_options_begin_anew(tmp_path):
    limit = MemoryLimit(folder=tmp_path / "work", engine="numpy")
    with pytest.raises(ValueError, match="give longer texts or order=10 at most"):
        fit(memory=limit, order=11)
    assert not (tmp_path / "work").exists()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "estimation.json").write_text("")  # as a power cut may leave it
    assert_equal(fit(memory=limit, order=3), fit(order=3))


def test_files_and_folders_of_other_files_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    for folder, error, message in (
        (tmp_path / "thesis.txt", NotADirectoryError, "the work folder .*thesis.txt is a file; name a folder"),
        (tmp_path, ValueError, "holds other files; name an empty one"),
    ):
        with pytest.raises(error, match=message):
            fit(memory=MemoryLimit(engine="duckdb", folder=folder), order=3)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(("engine", "module"), [("duckdb", "ibis"), ("duckdb", "duckdb"), ("spark", "pyspark")])
def test_an_engine_that_is_not_installed(monkeypatch, engine, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=rf"the engine {engine} is not installed .*pip install 'hf-lecture-models\[big\]'"
    ):
        fit(memory=MemoryLimit(engine=engine), order=3)


def test_the_advised_versions_of_spark_are_those_that_were_run(monkeypatch):
    """CONTRIBUTING.md names the version with which the tests of Spark passed; no next major version was run."""
    ran = re.search(r"pyspark (\S+),", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))[1]
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError) as error:
        fit(memory=MemoryLimit(engine="spark"), order=3)
    bound = SpecifierSet(re.search(r"'pyspark(\S+)'", str(error.value))[1])
    assert ran in bound
    assert f"{Version(ran).major + 1}.0" not in bound


def test_spark_without_java(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", sys)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(FileNotFoundError, match="the engine spark needs Java"):
        fit(memory=MemoryLimit(engine="spark"), order=3)


def test_sizes():
    assert {MemoryLimit(memory).bytes for memory in ("2 GB", "2gb", 2 * 10**9, "2000MB")} == {2 * 10**9}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "much"}, "the memory limit is 'much'; give a size such as '2GB' or '500MB'"),
        ({"memory": "2 apples"}, "the memory limit is '2 apples'"),
        ({"memory": "-2GB"}, "the memory limit is '-2GB'"),
        ({"memory": 0}, "the memory limit is 0"),
        ({"engine": "hadoop"}, "the engine must be one of memory, numpy, duckdb, spark, not 'hadoop'"),
    ],
)
def test_impossible_limits(options, message):
    with pytest.raises(ValueError, match=message):
        MemoryLimit(**options)


def test_a_limit_below_the_minimum_names_it():
    for engine, needs, advice in (
        (None, "numpy needs 100 MB", r"([\d.]+ .B), and all is counted in memory"),
        ("numpy", "numpy needs 100 MB", r"at least ([\d.]+ .B)"),
        ("duckdb", "duckdb needs 300 MB", r"at least ([\d.]+ .B)"),
    ):
        message = f"a memory limit of 100 MB is too low: this process holds .* already, and {needs} beside it; give "
        with pytest.raises(ValueError, match=message + advice) as refused:
            fit(memory=MemoryLimit("100MB", engine), order=3)
        advised = re.search(advice, str(refused.value))[1]
        assert_equal(fit(memory=MemoryLimit(advised, engine), order=3), fit(order=3))


def test_the_limit_that_is_advised_is_enough():
    with pytest.raises(ValueError, match="100 MB are too little for [0-9,]+ tokens: give ") as refused:
        fit(memory="100MB", order=3, smoothing="katz")
    advised = re.search(r"give ([\d.]+ [MG]B)", str(refused.value))[1]
    assert fit(memory=advised, order=3, smoothing="katz").config.smoothing == "katz"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"smoothing": "pitman_yor"},
            "smoothing='pitman_yor' cannot be estimated out of core: leave .* numpy out, or take one of maximum",
        ),
        ({"smoothing": "jelinek_mercer", "held_out": TEXTS}, "smoothing='jelinek_mercer' cannot"),
        ({"smoothing": "katz"}, "smoothing='katz' cannot"),
        ({"classes": 3}, "classes of words cannot be estimated out of core"),
    ],
)
def test_what_needs_all_counts_in_memory_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fit(memory=MemoryLimit(engine="numpy"), order=2, **options)
    assert fit(memory=MemoryLimit(engine="memory"), order=2, **options).config.order == 2


@pytest.mark.parametrize(
    ("texts", "order", "error", "message"),
    [
        ([], 2, ValueError, "the corpus is empty"),
        (["a b"], 5, ValueError, "its longest text has 4 tokens"),
        ("none.txt", 2, FileNotFoundError, "there is no file 'none.txt'"),
    ],
)
def test_texts_that_cannot_be_counted(texts, order, error, message):
    with pytest.raises(error, match=message):
        fit(texts, memory=MemoryLimit(engine="numpy"), order=order)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError('IO Error: Could not write file "x": No space left on device'),
        RuntimeError("Out of Memory Error: failed to offload data (set by the 'max_temp_directory_size' setting)"),
    ],
)
def test_a_full_disk_keeps_what_is_finished(begun, monkeypatch, error):
    def fills_the_disk(*arguments):
        raise error

    limit = MemoryLimit(engine="duckdb", folder=begun)
    with monkeypatch.context() as patch:
        patch.setattr(estimation, "count_windows", fills_the_disk)
        with pytest.raises(OSError, match="work is full, at the stage 'counted'; .* start again with the same"):
            fit(memory=limit, order=3)
    assert sorted(path.name for path in begun.iterdir()) == ["estimation.json", "windows"]
    assert_equal(fit(memory=limit, order=3), fit(order=3))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
@pytest.mark.parametrize(
    ("module", "stage"), [(packed_windows, "runs"), (stored_counts, "numbered"), (stored_smoothing, "tables")]
)
def test_what_the_system_says_of_a_full_disk(tmp_path, monkeypatch, module, stage):
    limit = MemoryLimit(engine="numpy", folder=tmp_path / "work")
    before = {"numbered": ["runs"], "tables": ["numbered"]}

    def full(path, dtype):
        return Column(Path("/dev/full") if f".{stage}.partial" in str(path) else path, dtype)

    with monkeypatch.context() as patch:
        patch.setattr(module, "Column", full)
        with pytest.raises(OSError, match=f"work is full, at the stage '{stage}'; .* start again with the same"):
            fit(memory=limit, order=3)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["estimation.json", *before.get(stage, [])]
    assert_equal(fit(memory=limit, order=3), fit(order=3))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
@pytest.mark.parametrize("memory", ["8GB", MemoryLimit(engine="numpy")])
def test_a_full_disk_while_reading(monkeypatch, memory):
    with open("/dev/full", "r+b", buffering=0) as full:
        monkeypatch.setattr(survey.tempfile, "TemporaryFile", lambda dir: full)
        with pytest.raises(OSError, match="the disk of .* is full, at the stage 'reading'"):
            fit(memory=memory, order=3)


def test_an_engine_with_too_little_memory_says_so(monkeypatch):
    monkeypatch.setattr(estimation, "ENGINE_SHARE", 0.0007)
    with pytest.raises(ValueError, match="duckdb has too little memory: give a higher limit .Out of Memory"):
        fit(memory=MemoryLimit(engine="duckdb"), order=3)


def test_a_disk_with_too_little_room_is_refused_before_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(OSError, match="has 0 MB free, and up to .* MB are needed"):
        fit(memory=MemoryLimit(engine="numpy", folder=tmp_path / "work"), order=3)
    assert not (tmp_path / "work").exists()


def test_counts_past_31_bits(tmp_path, monkeypatch):
    """Of a text `<s> a b </s>` that was read four thousand million times, and of `<s> b </s>`, read once."""
    many, bos, eos = 2**32, 0, 1
    windows = {(bos, 2): many, (bos, 3): 1, (2, 3): many, (3, eos): many + 1, (eos, -1): many + 1}
    rows = sorted(windows)
    columns = [pyarrow.array([row[n] for row in rows], pyarrow.int32()) for n in range(2)]
    counts = pyarrow.array([windows[row] for row in rows], pyarrow.int64())
    batch = pyarrow.record_batch([*columns, counts], names=["w1", "w2", "occurrences"])
    config = NGramConfig(vocab_size=4, order=2, bos_token_id=bos, eos_token_id=eos)
    with estimation.tqdm(disable=True) as bar:
        store_counts(pack_batches([batch.slice(0, 2), batch.slice(2)], config), tmp_path, config, many + 1, 10, bar)
    unigrams, bigrams = open_counts(tmp_path)
    assert unigrams.occurrences.read().tolist() == [0, many + 1, many, many + 1]
    assert bigrams.occurrences.read().tolist() == [many, 1, many, many + 1]
    assert bigrams.keys.read().tolist() == [2, 3, 2 * 4 + 3, 3 * 4 + 1]
    # A part holds the n-grams of a whole context, however few rows are asked for.
    found = list(islice(parts([unigrams, bigrams], 2, 4, rows=1), 9))
    assert found[-1] == (slice(0, 4), slice(0, 4))


def test_counts_that_are_not_sorted_are_refused(tmp_path):
    batch = pyarrow.table({"w1": [1, 0], "w2": [-1, 1], "occurrences": [1, 1]}).to_batches()[0]
    config = NGramConfig(vocab_size=4, order=2, bos_token_id=0, eos_token_id=1)
    with estimation.tqdm(disable=True) as bar, pytest.raises(ValueError, match="are not sorted by their words"):
        store_counts(pack_batches([batch], config), tmp_path, config, 1, 10, bar)


def test_the_estimate_is_of_the_whole_corpus_not_of_its_beginning(small_parts):
    """A long first word has few tokens a character; all that follows is counted too, and the disk is for it."""
    texts = ["a" * 5000, *TEXTS]
    tokenizer = WordTokenizer.train(texts, progress=False)
    config = config_for(tokenizer, order=3)
    whole, rest = (survey_texts(some, tokenizer, config, Spool()) for some in (texts, TEXTS))
    tokens = sum(len(text.split()) + 2 for text in TEXTS)
    assert (rest.texts, rest.tokens, whole.tokens) == (len(TEXTS), tokens, tokens + 3)
    assert f"{len(TEXTS):,} texts, {tokens:,} tokens" in str(rest)
    assert whole.memory > rest.memory
    assert whole.disk > 0.9 * rest.disk


def test_two_estimations_cannot_share_a_work_folder(small_parts, tmp_path, monkeypatch):
    limit, whole = MemoryLimit(engine="duckdb", folder=tmp_path / "work"), estimation.count_windows

    def meanwhile(*arguments):
        with pytest.raises(BlockingIOError, match="work is in use by another run; wait for it, or name another folder"):
            fit(memory=limit, order=3)
        limit.clear()  # which leaves the stages of the other one where they are
        whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(estimation, "count_windows", meanwhile)
        assert_equal(fit(memory=limit, order=3), fit(order=3))
    with run_lock(tmp_path / "work"):
        limit.clear()
    assert (tmp_path / "work" / "tables").is_dir()
    limit.clear()
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("engine", ["numpy", "duckdb"])
def test_the_disk_that_is_used_is_within_the_estimate(small_parts, tmp_path, monkeypatch, engine):
    most, texts = [], some_texts(seed=1, texts=20_000)
    monkeypatch.setattr(survey, "CHUNK_CHARACTERS", 10**5)
    monkeypatch.setattr(estimation, "move", lambda *arguments: (measure(), move(*arguments)))

    def measure():
        most.append(sum(path.stat().st_size for path in (tmp_path / "work").rglob("*") if path.is_file()))

    model = fit(texts, memory=MemoryLimit(engine=engine, folder=tmp_path / "work"), order=3)
    spool = Spool()
    found = survey_texts(texts, TOKENIZER, model.config, spool, engine)
    most[0] += spool.bytes
    assert len(most) == len(STAGES[engine])
    assert max(most) < found.disk
