# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture filter`: rows of every form stay as they were, whole files or none, and what is refused."""

import bz2
import csv
import gzip
import json
import lzma
import math
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.lab.studies import row_writer, text_rows
from hf_lecture_models.lab.studies.filtering import (
    BUCKETS,
    fraction_threshold,
    percentile_threshold,
    text_differences,
    text_perplexities,
)
from hf_lecture_models.lab.studies.text_rows import TextRows, bounded_chunks
from hf_lecture_models.lab.verbs.filter import _read_again
from hf_lecture_models.loading import load_model
from tests.forked_python import PATIENCE
from tests.memory import memory_taken

LINES = "the cat ran\r\nran ran the\n\na zebra saw a cat\nthe dog ran\nthe dog saw a cat"
TEXTS = ["the cat ran", "ran ran the", "", "a zebra saw a cat", "the dog ran", "the dog saw a cat"]


@pytest.fixture
def kept(folder):
    """Which of TEXTS have the lowest perplexities: half of those with a word, rounded to 2."""
    values = text_perplexities(*load_model(str(folder)), TEXTS)
    return [bool(value <= fraction_threshold(values, 0.5)) for value in values]


def chosen(kept, rows):
    return [row for row, is_kept in zip(rows, kept, strict=True) if is_kept]


def test_lines_keep_their_ends(run, folder, kept, tmp_path):
    (tmp_path / "texts.txt").write_bytes(LINES.encode())
    expected = "".join(chosen(kept, LINES.splitlines(True)))
    status, out, err = run("filter", folder, tmp_path / "texts.txt", "--keep", "0.5")
    assert (status, out) == (0, expected)
    assert "kept 2 of 5 texts (40.0 %), perplexity at most " in err
    assert err.endswith("; 1 without a word left out\n")
    # The printed threshold keeps the same texts, from standard input too.
    threshold = re.search(r"at most ([\d.]+\d)", err)[1]
    assert run("filter", folder, "--max-perplexity", threshold, stdin=LINES)[1] == expected
    assert run("filter", folder, "--keep", "0.5", stdin=LINES)[1] == expected


@pytest.mark.parametrize("form", ["bz2", "xz"])
def test_packed_rows(run, folder, tmp_path, form):
    module = {"bz2": bz2, "xz": lzma}[form]
    for name, content in (
        ("texts.txt", "the cat ran\n"),
        ("a.csv", "text,id\nthe cat ran,1\n"),
        ("a.jsonl", '{"text": "a"}\n'),
    ):
        source, target = tmp_path / f"{name}.{form}", tmp_path / f"kept-{name}.{form}"
        source.write_bytes(module.compress(content.encode()))
        assert run("filter", folder, source, "--min-perplexity", "0", "-o", target)[0] == 0
        assert module.decompress(target.read_bytes()).decode() == content


def test_two_files_and_the_figures(run, folder, tmp_path):
    (tmp_path / "first.txt").write_text("the cat ran", encoding="utf-8")
    with gzip.open(tmp_path / "second.txt.gz", "wt") as file:
        file.write("\nran ran the\n")
    files = [tmp_path / "first.txt", tmp_path / "second.txt.gz"]
    options = ["--min-perplexity", "0", "--scores", tmp_path / "scores.txt", "-o", tmp_path / "kept.txt.gz"]
    status, out, _ = run("filter", folder, *files, *options, "--measure", "bits_per_byte")
    assert (status, out) == (0, "")
    assert gzip.decompress((tmp_path / "kept.txt.gz").read_bytes()) == b"the cat ran\nran ran the\n"
    found = [float(line) for line in (tmp_path / "scores.txt").read_text().splitlines()]
    expected = text_perplexities(*load_model(str(folder)), ["the cat ran", "", "ran ran the"], "bits_per_byte")
    np.testing.assert_array_equal(found, expected)


def test_json_lines_stay_as_they_are_written(run, folder, kept, tmp_path):
    """Odd names, nested fields, large numbers, uneven rows, spaces: the line itself is kept."""
    rows = [
        '{"text": "the cat ran", "a.b": [1, {"c": null}], "n": 123456789012345678901234567890}\r\n',
        '{"other": 1,   "text":"ran ran the"}\n',
        '{"text": null}\n',
        '{"text": "a zebra\\nsaw a cat", "x": NaN}\n',
        '{"text": "the dog \\u0072an", "text2": "z\\u00e9"}\n',
        '{"": 5, "text": "the dog saw a cat"}',
    ]
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(["".join(rows[:3]), "".join(rows[3:])]), encoding="utf-8", newline=""
    )
    expected = "".join(chosen(kept, rows))
    status, out, err = run("filter", folder, tmp_path / "rows.jsonl", "--keep", "0.5")
    assert (status, out) == (0, expected)
    assert "kept 2 of 5 texts" in err
    assert "1 without a word" in err
    _, out, _ = run("filter", folder, "--jsonl", "--keep", "0.5", stdin="".join(rows))
    assert out == expected


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_tables_keep_their_header_and_fields(run, folder, kept, tmp_path, suffix):
    extra = ["007", "", 'a "quote"', "x", "two\nlines, a comma" if suffix == ".csv" else "two lines, a comma", "é"]
    rows = [["n", "the text"], *([a, b] for a, b in zip(extra, TEXTS, strict=True))]
    place = tmp_path / f"rows{suffix}"
    with open(place, "w", encoding="utf-8", newline="") as file:
        if suffix == ".csv":
            csv.writer(file).writerows(rows)
        else:
            file.writelines("\t".join(row) + "\n" for row in rows)
    target = tmp_path / f"kept{suffix}"
    status, _, err = run("filter", folder, place, "--keep", "0.5", "--text-column", "the text", "-o", target)
    assert status == 0, err
    with open(target, encoding="utf-8", newline="") as file:
        found = list(csv.reader(file)) if suffix == ".csv" else [line.rstrip("\n").split("\t") for line in file]
    assert found == [rows[0], *chosen(kept, rows[1:])]
    status, _, err = run("filter", folder, place, "--keep", "0.5")
    assert status == 1
    assert f"rows{suffix} has no column 'text', only 'n', 'the text'" in err
    (tmp_path / f"other{suffix}").write_text("text\nthe cat\n")
    status, out, err = run("filter", folder, place, tmp_path / f"other{suffix}", "--keep", "0.5")
    assert (status, out) == (1, "")
    assert f"other{suffix} has other columns than" in err


MARK = "\ufeff"
WRITTEN = {
    "quoted.csv": '"id",text\r\n1,"the cat ran"\r\n"2",a dog\r\n',
    "spread.csv": 'text,"a\r\nb"\r\n"the cat\r\nran",""\r\n"a ""cat""",\'x\'\r\n',
    "marked.csv": f'{MARK}"text"\n"the cat"\n"ran, ran"\n',
    "last.csv": "text,n\r\nthe cat ran,1\r\na dog,2",
    "old.csv": 'n,text\r"1",the cat\r2,"a dog\rran"\r',
    "lines.tsv": 'id\ttext\r\n01\t"the cat" ran \r\n\ta dog\r\n',
    "last.tsv": f"{MARK}text\tn\nthe cat\t\na dog\t1e0",
    "old.tsv": "id\ttext\tlabel\r1\tthe cat ran\ta\r2\ta dog\tb\r",
    "lines.txt": "the cat ran \r\n\ta dog\u2028ran\nthe dog",
    "marked.txt": f"{MARK}the cat ran\na dog\n",
    "old.txt": "the cat ran\rthe dog\ra cat",
    "rows.jsonl": f'{MARK}{{"b":1e0, "text" : "the c\\u0061t \\/", "a":-0.0}}\r\n{{"text":"a dog","n":1E400}}',
    "old.jsonl": '{"text": "the cat"}\r{"text": "a  dog", "text2": 1.0}\r',
}


@pytest.mark.cases(3, 4)
@pytest.mark.parametrize("name", WRITTEN)
def test_a_filter_that_keeps_all_writes_the_file_that_it_read(run, folder, tmp_path, name):
    """Quotation marks, line ends, a byte order mark and numbers are not rows' contents, but stay as they are."""
    (tmp_path / name).write_bytes(WRITTEN[name].encode())
    with gzip.open(tmp_path / f"{name}.gz", "wb") as file:
        file.write(WRITTEN[name].encode())
    for source in (tmp_path / name, tmp_path / f"{name}.gz"):
        for target in (tmp_path / f"kept.{name}", tmp_path / f"kept.{name}.gz"):
            status, out, err = run("filter", folder, source, "--keep", "1", "-o", target)
            assert (status, out) == (0, ""), err
            written = target.read_bytes()
            assert (gzip.decompress(written) if target.suffix == ".gz" else written).decode() == WRITTEN[name]
        assert "kept 0 of" not in err
        assert run("filter", folder, source, "--max-perplexity", "1e9")[1] == WRITTEN[name]


def test_rows_left_out_take_neither_the_mark_nor_the_next_rows_line_with_them(run, folder, tmp_path):
    tables = {"a.csv": f'{MARK}text,n\r\n,1\r\n"the cat",2\r\n\r\nran,3', "b.csv": "text,n\r\na dog,4\r\n"}
    for name, text in tables.items():
        (tmp_path / name).write_bytes(text.encode())
    expected = f'{MARK}text,n\r\n"the cat",2\r\nran,3\r\na dog,4\r\n'
    assert run("filter", folder, *(tmp_path / name for name in tables), "--keep", "1")[1] == expected
    stdin = f"{MARK}\nthe cat\n\na dog"
    for options in (["--keep", "1"], ["--max-perplexity", "1e9"]):
        assert run("filter", folder, *options, stdin=stdin)[1] == f"{MARK}the cat\na dog"
    # A mark is not part of the first word.
    values = []
    for text in ("the cat\n", f"{MARK}the cat\n"):
        assert run("filter", folder, "--keep", "1", "--scores", tmp_path / "scores.txt", stdin=text)[1] == text
        values.append((tmp_path / "scores.txt").read_text())
    assert values[0] == values[1]


def test_lines_that_end_in_several_ways_are_refused_where_rows_would_be_lost(run, folder, tmp_path):
    (tmp_path / "old.tsv").write_bytes(b"id\ttext\tlabel\r1\tthe cat\ta\r\n")
    status, out, err = run("filter", folder, tmp_path / "old.tsv", "--keep", "1")
    assert (status, out) == (1, "")
    assert "old.tsv, line 1: a carriage return within the names of the columns" in err


@pytest.fixture
def data():
    datasets = pytest.importorskip("datasets")
    texts = [text or None for text in TEXTS]
    fields: dict[str, list] = {"text": texts, "odd name.x": list(range(6))}
    fields["nested"] = [{"list": [n], "none": None} for n in range(6)]
    fields["label"] = [0, 1, 0, 1, 0, None]
    return datasets.Dataset.from_dict(fields).cast_column("label", datasets.ClassLabel(names=["no", "yes"]))


@pytest.mark.slow
def test_rows_of_parquet(run, folder, kept, data, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(text_rows, "CHUNK_ROWS", 2)
    monkeypatch.setattr(row_writer, "_GROUP_ROWS", 1)
    parquet.write_table(data.with_format("arrow")[:], tmp_path / "rows.parquet")
    whole = parquet.read_table(tmp_path / "rows.parquet")
    command = ["filter", folder, tmp_path / "rows.parquet", "--keep", "0.5"]
    status, _, err = run(*command, "-o", tmp_path / "kept.parquet")
    assert status == 0, err
    found = parquet.read_table(tmp_path / "kept.parquet")
    assert found.schema.equals(whole.schema, check_metadata=True)
    assert found.to_pylist() == chosen(kept, whole.to_pylist())
    for options, message in (
        ([], "--output names a file for them"),
        (["-o", tmp_path / "kept.txt"], "rows stay in their own form, parquet"),
        (["-o", tmp_path / "kept.parquet", "--text-column", "label"], "'label' holds int64, not texts"),
        (["-o", tmp_path / "kept.parquet", "--text-column", "no"], "has no column 'no'"),
    ):
        status, _, err = run(*command, *options)
        assert status == 1
        assert message in err
    assert not (tmp_path / "kept.txt").exists()
    parquet.write_table(whole.drop_columns(["nested"]), tmp_path / "other.parquet")
    files = [tmp_path / "rows.parquet", tmp_path / "other.parquet"]
    status, _, err = run("filter", folder, *files, "--keep", "0.5", "-o", tmp_path / "both.parquet")
    assert status == 1
    assert "other.parquet has other columns than" in err
    assert not (tmp_path / "both.parquet").exists()
    (tmp_path / "rows.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes()[:-9])
    status, _, err = run(*command, "-o", tmp_path / "again.parquet")
    assert status == 1
    assert "rows.parquet cannot be read as parquet" in err
    assert not (tmp_path / "again.parquet").exists()


@pytest.mark.slow
def test_folders_of_data_sets(run, folder, kept, data, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    data.save_to_disk(tmp_path / "saved")
    (tmp_path / "files").mkdir()
    parquet.write_table(data.with_format("arrow")[:], tmp_path / "files" / "train.parquet")
    for source in ("saved", "files"):
        target = tmp_path / f"{source}.parquet"
        status, _, err = run("filter", folder, tmp_path / source, "--keep", "0.5", "-o", target)
        assert status == 0, err
        assert parquet.read_table(target).to_pylist() == chosen(kept, data.to_list())
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "train.txt").write_text("\ufeffthe cat ran\nran ran the\n", encoding="utf-8")
    assert run("filter", folder, tmp_path / "lines", "--keep", "0.5", "-o", tmp_path / "lines.parquet")[0] == 0
    assert parquet.read_table(tmp_path / "lines.parquet").to_pylist() == [{"text": "the cat ran"}]
    status, _, err = run("filter", folder, tmp_path / "files", "--split", "test", "--keep", "0.5", "-o", target)
    assert status == 1
    assert "no split 'test', only train" in err
    status, _, err = run("filter", folder, folder, "--keep", "0.5", "-o", target)
    assert status == 1
    assert f"{folder} cannot be read as a data set" in err


@pytest.mark.slow
def test_texts_are_printed_as_they_come(start, folder):
    process = start("filter", folder, "--max-perplexity", "1e9")
    for text in ("the cat", "a dog"):
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{text}\n"
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    assert "kept 2 of 2 texts (100.0 %), perplexity at most 1000000000.0\n" in process.stderr.read()


def test_a_pipe_is_read_once_and_filtered_twice(run, folder, kept, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[LINES.encode()], daemon=True)
    thread.start()
    status, out, _ = run("filter", folder, tmp_path / "pipe", "--keep", "0.5")
    thread.join(PATIENCE)
    assert status == 0
    assert [line.strip() for line in out.splitlines()] == chosen(kept, TEXTS)


def test_an_input_that_changes_is_refused():
    for now in (["a\n"], ["a\n"] * 3):
        with pytest.raises(ValueError, match="changed while it was read"):
            list(_read_again(TextRows(["f.txt"], lambda name, now=now: [now]), np.zeros(2)))


def test_chunks_are_bounded_by_rows_and_characters(monkeypatch):
    monkeypatch.setattr(text_rows, "CHUNK_ROWS", 3)
    monkeypatch.setattr(text_rows, "CHUNK_CHARACTERS", 10)
    assert list(map(len, bounded_chunks(["a"] * 7))) == [3, 3, 1]
    assert list(map(len, bounded_chunks(["a" * 9] * 5))) == [2, 2, 1]


def test_no_rows_and_no_texts(run, folder, tmp_path):
    status, out, err = run("filter", folder, "--keep", "0.5", stdin="")
    assert (status, out, err) == (0, "", "hf-lecture filter: kept 0 of 0 texts\n")
    status, out, err = run("filter", folder, "--keep", "0.5", stdin="\n \n")
    assert (status, out) == (0, "")
    assert "kept 0 of 0 texts; 2 without a word left out" in err


def test_bad_rows_are_named_and_nothing_is_written(run, folder, tmp_path):
    place, target = tmp_path / "rows.jsonl", tmp_path / "kept.jsonl"
    for row, message in (
        ('{"text": 5}', "rows.jsonl, line 2: 'text' is 5, not a text"),
        ('{"text": ["a"]}', "rows.jsonl, line 2: 'text' is"),
        ("[1]", "rows.jsonl, line 2 is not a JSON object"),
        ('{"text": "a"', "rows.jsonl, line 2 is not JSON"),
        ("[" * 100_000, "rows.jsonl, line 2 is not JSON"),
        ('{"text": "\\ud800"}', "lone surrogate"),
    ):
        place.write_text('{"text": "the cat"}\n' + row + "\n", encoding="utf-8")
        status, out, err = run("filter", folder, place, "--max-perplexity", "1e9", "-o", target)
        assert (status, out) == (1, "")
        assert message in err
        assert not target.exists()
    place.write_text('{"a": 1}\n{"b": 2}\n', encoding="utf-8")
    status, _, err = run("filter", folder, place, "--keep", "0.5", "-o", target)
    assert status == 1
    assert "has no column 'text', only 'a', 'b'" in err


def test_options_that_do_not_go_together(run, folder, tmp_path):
    (tmp_path / "a.txt").write_text("the cat\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "the cat"}))
    for options, status, message in (
        ([], 2, "give either --keep"),
        (["--keep", "0.5", "--max-perplexity", "9"], 2, "give either --keep"),
        (["--keep", "0"], 2, "at most 1"),
        (["--keep", "nan"], 2, "at most 1"),
        (["-", "-", "--keep", "1"], 2, "name - once"),
        ([tmp_path / "a.txt", tmp_path / "a.jsonl", "--keep", "1"], 1, "several forms (lines, json)"),
        ([tmp_path / "a.txt", "--keep", "1", "-o", tmp_path / "b.csv"], 1, "rows stay in their own form, lines"),
        ([tmp_path / "a.txt", "--keep", "1", "-o", tmp_path], 1, "is a folder"),
        ([tmp_path / "no.txt", "--keep", "1"], 1, "there is no file"),
    ):
        found, out, err = run("filter", folder, *options, stdin="")
        assert (found, out) == (status, "")
        assert message in err.replace("\n", " ")


def test_the_input_may_be_replaced(run, folder, kept, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    assert run("filter", folder, tmp_path / "a.txt", "--keep", "0.5", "-o", tmp_path / "a.txt")[0] == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8").splitlines() == chosen(kept, TEXTS)


def test_pieces_of_sentencepiece(run, folder, network, tmp_path):
    pytest.importorskip("sentencepiece")
    from tests.tokenization.test_sentencepiece_words import TEXTS as WORDS
    from tests.tokenization.test_sentencepiece_words import fit, train

    model, tokenizer = fit(train(tmp_path / "en.sp.model", WORDS), WORDS)
    model.save_arpa(tmp_path / "en.arpa", tokenizer)
    pieces = ["--sentencepiece", tmp_path / "en.sp.model"]
    held_out = ["the newest tower", "tower the of is"]
    status, out, _ = run("score", tmp_path / "en.arpa", *pieces, "--json", "--tokens", stdin="\n".join(held_out) + "\n")
    *rows, last = map(json.loads, out.splitlines())
    assert (status, [row["text"] for row in rows]) == (0, held_out)
    assert rows[0]["token_log_probs"][0]["token"].startswith("\u2581")
    assert last["summary"]["words"] == 9
    status, out, err = run("filter", tmp_path / "en.arpa", *pieces, "--keep", "0.5", stdin="\n".join(held_out))
    assert (status, out) == (0, f"{held_out[0]}\n")
    threshold = float(re.search(r"at most ([\d.]+\d)", err)[1])
    assert threshold == pytest.approx(math.exp(-rows[0]["log_prob_per_token"]))
    for verb in (["score"], ["filter", "--keep", "1"]):
        status, _, err = run(*verb, folder, *pieces, stdin="the cat\n")
        assert status == 1
        assert f"{folder} with " in err
        assert "has none of its" in err
    assert run("score", network, *pieces, "--segmentations", "marginal", stdin="")[0] == 2


@pytest.fixture
def general(folder, tmp_path):
    """A bigram with the trigram's tokenizer, of other texts, and an ARPA file with words of its own."""
    tokenizer = load_model(str(folder))[1]
    texts = ["ran ran the", "the dog saw", "a zebra saw a cat"]
    model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
    model.save_pretrained(tmp_path / "general")
    tokenizer.save_pretrained(tmp_path / "general")
    own = WordTokenizer.train(texts, progress=False)
    NGramForCausalLM.fit(texts, own, order=2, smoothing="add_alpha", progress=False).save_arpa(
        tmp_path / "own.arpa", own
    )
    return tmp_path / "general"


def test_the_difference_of_two_models(run, folder, network, general, tmp_path):
    found = text_differences(*load_model(str(folder)), *load_model(str(general)), TEXTS)
    expected = [text for text, value in zip(TEXTS, found, strict=True) if value <= fraction_threshold(found, 0.4)]
    options = ["--minus", general, "--scores", tmp_path / "scores.txt"]
    status, out, err = run("filter", folder, *options, "--keep", "0.4", stdin=LINES)
    assert (status, out.split("\n")[:-1]) == (0, [f"{expected[0]}\r", *expected[1:]])
    assert "kept 2 of 5 texts (40.0 %), difference in bits per token at most " in err
    np.testing.assert_array_equal([float(line) for line in (tmp_path / "scores.txt").read_text().split()], found)
    limit = re.search(r"at most (-?[\d.]+\d)", err)[1]
    assert run("filter", folder, *options, "--max-difference", limit, stdin=LINES)[1] == out
    # Each model's own figures give the same differences.
    figures = []
    for model in (folder, general):
        run("filter", model, "--keep", "1", "--scores", tmp_path / "scores.txt", stdin=LINES)
        figures.append(np.array([float(line) for line in (tmp_path / "scores.txt").read_text().split()]))
    np.testing.assert_allclose(np.log2(figures[0] / figures[1]), found, rtol=1e-9)
    # A network, and models with other words.
    assert run("filter", network, "--minus", folder, "--keep", "0.4", stdin=LINES)[0] == 0
    own = ["filter", folder, "--minus", tmp_path / "own.arpa", "--keep", "0.4"]
    status, out, err = run(*own, stdin=LINES)
    assert (status, out) == (1, "")
    assert "--measure is 'perplexity', per token, and the two models have different tokens" in err
    for measure, unit in (("word_perplexity", "word"), ("bits_per_byte", "byte")):
        status, out, err = run(*own, "--measure", measure, stdin=LINES)
        assert (status, len(out.splitlines())) == (0, 2)
        assert f"difference in bits per {unit} at most " in err


def test_a_percentile_of_a_sample(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("hf_lecture_models.lab.verbs.filter.tempfile", None)  # nothing is copied
    (tmp_path / "sample.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    values = text_perplexities(*load_model(str(folder)), TEXTS)
    command = ["filter", folder, "--sample", tmp_path / "sample.jsonl", "--percentile"]
    for percentile in (20, 30, 40, 100):
        limit = percentile_threshold(values, percentile)
        status, out, err = run(*command, percentile, stdin=LINES)
        assert status == 0
        assert [line.strip() for line in out.splitlines()] == chosen(values <= limit, TEXTS)
        assert f"perplexity at most {limit!r}; 1 without a word" in err
    rows = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    assert len(run(*command, "30", "--jsonl", stdin=rows)[1].splitlines()) == 2
    (tmp_path / "blank.txt").write_text("\n \n")
    status, out, err = run("filter", folder, "--sample", tmp_path / "blank.txt", "--percentile", "30", stdin=LINES)
    assert (status, out) == (1, "")
    assert "no text has a word" in err


@pytest.mark.parametrize("name", ["parts.txt", "parts", "parts.jsonl.gz", "parts.csv"])
def test_head_middle_and_tail(run, folder, tmp_path, name):
    rows = {".txt": LINES, "": LINES, ".gz": "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)}
    rows[".csv"] = "text,n\n" + "".join(f"{text},{n}\n" for n, text in enumerate(TEXTS))
    source = tmp_path / f"in{name.removeprefix('parts').removesuffix('.gz')}"
    source.write_bytes(rows[Path(name).suffix].encode())
    head = rows[".csv"][:7] if source.suffix == ".csv" else ""
    lines = source.read_bytes().decode()[len(head) :].splitlines(True)
    values = text_perplexities(*load_model(str(folder)), TEXTS)
    first, second = (percentile_threshold(values, one) for one in (30, 60))
    wanted = {"head": values <= first, "middle": (values > first) & (values <= second), "tail": values > second}
    for options in (
        ["--buckets", "30,60"],
        ["--buckets", "30,60", "--sample", source],
        ["--cutoffs", f"{first!r},{second!r}"],
    ):
        status, out, err = run("filter", folder, source, *options, "-o", tmp_path / name)
        assert (status, out) == (0, ""), err
        assert "head 2 (40.0 %), middle 1 (20.0 %), tail 2 (40.0 %) of 5 texts, perplexity cut off at " in err
        assert f"{first!r} and {second!r}; 1 without a word left out" in err
        for bucket, kept in wanted.items():
            target = tmp_path / name.replace("parts", f"parts.{bucket}")
            written = target.read_bytes()
            text = (gzip.decompress(written) if target.suffix == ".gz" else written).decode()
            # A last line without an end gets one where another row follows; none does here.
            assert text == head + "".join(chosen(kept, lines))
            target.unlink()
    assert not (tmp_path / name).exists()


def test_buckets_of_parquet(run, folder, tmp_path):
    pytest.importorskip("datasets")
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.table({"text": TEXTS, "n": range(6)}), tmp_path / "in.parquet")
    command = ["filter", folder, tmp_path / "in.parquet", "--buckets", "30,60", "-o", tmp_path / "out.parquet"]
    assert run(*command)[0] == 0
    numbers = [parquet.read_table(tmp_path / f"out.{bucket}.parquet")["n"].to_pylist() for bucket in BUCKETS]
    assert list(map(len, numbers)) == [2, 1, 2]
    assert sorted(number for part in numbers for number in part) == [0, 1, 3, 4, 5]


def test_the_summary_as_json(run, folder, general, tmp_path):
    status, out, err = run("filter", folder, "--max-perplexity", "1e9", "--json", stdin=LINES)
    assert (status, out) == (0, "".join(line for line in LINES.splitlines(True) if line.strip()))
    assert json.loads(err) == {
        "summary": {
            "measure": "perplexity", "minus": None, "texts": 5, "kept": 5, "at_least": None, "at_most": 1e9,
            "blank": 1, "impossible": 0,
        }
    }  # fmt: skip
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    options = ["--minus", general, "--cutoffs", "-0.5,0.5", "-o", tmp_path / "a.txt", "--json"]
    status, out, err = run("filter", folder, tmp_path / "in.txt", *options)
    summary = json.loads(err)["summary"]
    assert summary["head"] + summary["middle"] + summary["tail"] == 5
    assert (summary["cutoffs"], summary["minus"]) == ([-0.5, 0.5], str(general))


def test_new_options_that_do_not_go_together(run, folder, tmp_path):
    (tmp_path / "a.txt").write_text("the cat\n")
    output = ["-o", tmp_path / "out.txt"]
    for options, message in (
        (["--percentile", "30"], "--percentile needs --sample"),
        (["--sample", tmp_path / "a.txt", "--keep", "0.5"], "--sample needs --percentile or --buckets"),
        (["--sample", tmp_path / "a.txt", "--percentile", "0"], "above 0 and at most 100"),
        (["--sample", tmp_path / "a.txt", "--percentile", "30", "--keep", "0.5"], "give either --keep"),
        (["--sample", "-", "--percentile", "30"], "a sample is read before the texts"),
        (["--max-difference", "0"], "--max-difference needs --minus"),
        (["--minus", folder, "--max-perplexity", "3"], "give --max-difference"),
        (["--minus", folder], "give either --keep"),
        (["--buckets", "30,60"], "need --output NAME"),
        (["--buckets", "30", *output], "is not two numbers"),
        (["--buckets", "60,30", *output], "must not be above the second"),
        (["--buckets", "0,30", *output], "above 0 and at most 100"),
        (["--cutoffs", "nan,3", *output], "must not be above the second"),
        (["--buckets", "30,60", "--cutoffs", "1,2", *output], "give either --keep"),
    ):
        status, out, err = run("filter", folder, tmp_path / "a.txt", *options)
        assert (status, out) == (2, ""), options
        assert message in err.replace("\n", " ").replace("│", "").replace("  ", " "), err
    assert not list(tmp_path.glob("out*"))


@pytest.mark.slow
@pytest.mark.parametrize("way", [["--max-perplexity", "3"], ["--sample", "SAMPLE", "--percentile", "30"]])
def test_ways_that_read_once_take_constant_memory(run, folder, tmp_path, monkeypatch, way):
    """Four and sixteen chunks of lines: what is held beside the model does not grow."""
    monkeypatch.setattr(text_rows, "CHUNK_ROWS", 512)
    (tmp_path / "sample.txt").write_text("\n".join(TEXTS))
    options = [str(tmp_path / "sample.txt") if word == "SAMPLE" else word for word in way]
    taken = []
    for chunks in (1, 4, 16):
        (tmp_path / "in.txt").write_text("the cat saw a dog and a zebra\n" * 512 * chunks)
        with memory_taken() as memory:
            assert run("filter", folder, tmp_path / "in.txt", *options, "-o", tmp_path / "out.txt")[0] == 0
        taken.append(memory.python)
    # All texts of sixteen chunks would be 640 KiB more than those of four.
    assert taken[2] < taken[1] + 100_000
