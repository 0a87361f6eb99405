# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A perplexity as a function of a column: columns of all kinds, threads, other processes, and queries of DuckDB."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.lab.studies import text_figures
from hf_lecture_models.lab.studies.filtering import text_differences, text_perplexities
from hf_lecture_models.lab.studies.text_figures import TextFigures

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "a cat"]
COLUMN = ["the cat ran", None, "a zebra saw a cat", "", "  ", "the cat ran"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An ARPA file, which no other test has loaded, its model and tokenizer."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="add_alpha", progress=False)
    path = tmp_path_factory.mktemp("model") / "lm.arpa"
    model.save_arpa(path, tokenizer)
    return path, *NGramForCausalLM.from_arpa(path)


def test_columns_of_all_kinds(model):
    path, *pair = model
    expected = text_perplexities(*pair, COLUMN)
    figures = TextFigures(path)
    np.testing.assert_array_equal(figures(COLUMN), expected)
    np.testing.assert_array_equal(figures(iter(COLUMN)), expected)
    np.testing.assert_array_equal(figures(np.array(COLUMN, object)), expected)
    assert figures([]).shape == (0,)
    for name, make in (
        ("pandas", lambda module: module.Series(COLUMN)),
        ("pandas", lambda module: module.Series(COLUMN, dtype=object)),
        ("pandas", lambda module: module.Series(COLUMN, dtype="string")),
        ("pyarrow", lambda module: module.array(COLUMN)),
        ("pyarrow", lambda module: module.chunked_array([COLUMN[:2], COLUMN[2:]], type=module.large_string())),
    ):
        np.testing.assert_array_equal(figures(make(pytest.importorskip(name))), expected)
    with pytest.raises(TypeError, match="got one text"):
        figures("the cat")
    with pytest.raises(TypeError, match="str only"):
        figures([1])


def test_other_options(model):
    path, *pair = model
    found = TextFigures(path, "bits_per_byte", batch_size=1)(COLUMN)
    np.testing.assert_array_equal(found, text_perplexities(*pair, COLUMN, "bits_per_byte"))
    other = NGramForCausalLM.fit(TEXTS[:2], pair[1], order=1, smoothing="add_alpha", progress=False)
    other.save_arpa(path.with_name("other.arpa"), pair[1])
    loaded = NGramForCausalLM.from_arpa(path.with_name("other.arpa"))
    found = TextFigures(path, minus=path.with_name("other.arpa"))(COLUMN)
    np.testing.assert_array_equal(found, text_differences(*pair, *loaded, COLUMN))
    with pytest.raises(OSError, match=r"there is no ARPA file no\.arpa"):
        TextFigures("no.arpa")(["a"])


def test_threads_load_the_model_once_and_find_the_same(model, monkeypatch):
    """Each thread has enough texts that hash tables are made while others search."""
    path, *pair = model
    loads = []
    load = text_figures.load_language_model
    monkeypatch.setattr(text_figures, "load_language_model", lambda *names: loads.append(names) or load(*names))
    text_figures._load.cache_clear()
    draw = np.random.default_rng(0)
    columns = [[" ".join(draw.choice(["the", "a", "cat", "dog", "zebra"], 6)) for _ in range(3000)] for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda column: TextFigures(path)(column), columns))
    assert len(loads) == 1
    for column, values in zip(columns, found, strict=True):
        np.testing.assert_array_equal(values, text_perplexities(*pair, column))


@pytest.mark.slow
def test_another_process_loads_the_model_itself(model):
    path, *pair = model
    figures = TextFigures(path)
    figures(COLUMN)
    sent = pickle.dumps(figures)
    assert len(sent) < 1000
    program = f"import pickle; print(pickle.loads({sent!r})({COLUMN!r}).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(text_perplexities(*pair, COLUMN).tolist())


def test_processes_of_datasets(model):
    datasets = pytest.importorskip("datasets")
    path, *pair = model
    rows = datasets.Dataset.from_dict({"text": COLUMN})
    figures = TextFigures(path)
    kept = rows.filter(lambda texts: figures(texts) < 10, input_columns="text", batched=True, num_proc=2)
    values = text_perplexities(*pair, COLUMN)
    assert kept["text"][:] == [text for text, value in zip(COLUMN, values, strict=True) if value < 10] != []


@pytest.mark.parametrize("threads", [1, 4])
def test_queries_of_duckdb(model, tmp_path, threads):
    """Missing and blank texts are null, which no comparison finds; rows of several chunks stay with their figures."""
    duckdb = pytest.importorskip("duckdb")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path, *pair = model
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(["the", "a", "cat", "ran", "zebra"], 3)) for _ in range(5000)] + COLUMN
    for part in range(2):
        parquet.write_table(pyarrow.table({"id": range(len(texts)), "text": texts}), tmp_path / f"{part}.parquet")
    database = duckdb.connect(config={"threads": threads})
    function = TextFigures(path).arrow
    database.create_function("perplexity", function, ["VARCHAR"], "DOUBLE", type="arrow", null_handling="special")
    source, values = f"read_parquet('{tmp_path}/?.parquet')", text_perplexities(*pair, texts)
    limit = float(np.nanmedian(values))
    for sign, wanted in (("<=", values <= limit), (">", values > limit)):
        target = tmp_path / "kept.out"
        query = f"SELECT * FROM {source} WHERE perplexity(text) {sign} {limit!r}"
        database.sql(f"COPY ({query}) TO '{target}' (FORMAT parquet)")
        found = sorted(parquet.read_table(target).column("id").to_pylist())
        assert found == sorted([*np.flatnonzero(wanted), *np.flatnonzero(wanted)]) != []
    query = f"SELECT count(*) FROM {source} WHERE perplexity(text) IS NULL"
    ((count,),) = database.execute(query).fetchall()
    assert count == 2 * 3
