# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tables are read as texts, row by row as wide as their header, at once and streamed alike."""

import gzip
from pathlib import Path

import pytest

from hf_lecture_models.data.fingerprint import fingerprint_data
from hf_lecture_models.data.reading import read_part_texts, read_rows
from hf_lecture_models.data.recipe import RowsRecipe, TextsRecipe
from hf_lecture_models.data.streaming import stream_texts
from hf_lecture_models.data.tables import TextTable
from hf_lecture_models.tasks.images.rows import fingerprint_images

pytest.importorskip("datasets")


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def records(path: str) -> list[list[str]]:
    return [fields for _, fields in TextTable(Path(path), path).rows()]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        # Of three fields the first once became the name of the row: the texts were good and bad, the labels x and y.
        (
            "a.tsv",
            "text\tlabel\na film\tgood\tx\na bore\tbad\ty\n",
            "a.tsv, line 2: 3 fields, .* 2 columns, text, label",
        ),
        ("a.tsv", "text\tlabel\na film\tgood\n\na bore\n", "a.tsv, line 4: 1 field, .*; part columns by one tab"),
        ("a.tsv", "text\tlabel\na film\tgood\t\n", "a.tsv, line 2: 3 fields, but there are 2 columns, text, label"),
        ("a.tsv", "text\na\nb\tc\n", "a.tsv, line 3: 2 fields, but there is 1 column, text"),
        ("a.csv", "text,label\nwell, well,good\n", "a.csv, line 2: 3 fields, .*; put a field that holds a comma into"),
        ("a.csv", 'text,label\n"a\nb",good\na\n', "a.csv, line 4: 1 field, but there are 2 columns"),
        ("a.csv", 'text,label\na,good\n"b,bad\nc,bad\n', "a.csv, line 3: unexpected end of data; quotation marks"),
        ("a.csv", 'text,label\n"a"b,good\n', "a.csv, line 2: ',' expected after '\"'; quotation marks"),
        ("a.tsv", "text\tlabel\ttext\na\tb\tc\n", "a.tsv, line 1: two columns have the name 'text'; rename one"),
        ("a.csv", "text,label,text\na,b,c\n", "a.csv, line 1: two columns have the name 'text'; rename one"),
        ("a.csv", "\n \n", "a.csv is empty"),
        ("a.tsv", "text\tlabel\n\n", "a.tsv has no row below the names of its columns"),
    ],
)
def test_rows_that_do_not_fit_their_header_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        read_rows(RowsRecipe(train_files=[path]), "train", ("text", "label"))
    if "no row" not in message:
        with pytest.raises(ValueError, match=message):
            list(stream_texts(TextsRecipe(train_files=[path])))


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_every_field_is_the_text_that_stands_there(tmp_path: Path, suffix: str) -> None:
    """`01` once became 1, and a column of years was "no text"."""
    rows = [["1984", "01", "007"], ["2001", "02", "1e3"], ["NA", "", "True"], ["None", "-0", " 5.10 "]]
    lines = [["text", "label", "index"], *rows]
    path = write(tmp_path / f"a{suffix}", "".join("\t,"[suffix == ".csv"].join(row) + "\n" for row in lines))
    found = read_rows(RowsRecipe(train_files=[path]), "train", ("text", "label", "index"))
    assert found is not None
    assert [list(row.values()) for row in found] == rows
    texts = TextsRecipe(train_files=[path])
    assert read_part_texts(texts, "train") == [row["text"] for row in stream_texts(texts)] == [row[0] for row in rows]


def test_what_csv_files_may_hold(tmp_path: Path) -> None:
    """A byte order mark, either end of line, a gzip file, fields of several lines, empty and long ones."""
    content = '\ufefftext,label\r\n"a ""b"", c",1\r\n\r\n"two\r\nlines",2\r\n"",3\r\n' + "x" * 200_000 + ",4"
    expected = [['a "b", c', "1"], ["two\r\nlines", "2"], ["", "3"], ["x" * 200_000, "4"]]
    assert records(write(tmp_path / "a.csv", content)) == expected
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(content.encode()))
    assert records(str(tmp_path / "b.csv.gz")) == expected
    assert TextTable(tmp_path / "a.csv", "a.csv").column_names == ["text", "label"]
    assert records(write(tmp_path / "one.csv", 'text\na\n""\n \n\nb\n')) == [["a"], [""], ["b"]]


def test_what_tsv_files_may_hold(tmp_path: Path) -> None:
    content = '\ufefftext\tlabel\r\n"a\t1\r\n\r\n  \n\t2\nb "\t3'
    assert records(write(tmp_path / "a.tsv", content)) == [['"a', "1"], ["", "2"], ['b "', "3"]]
    assert TextTable(tmp_path / "a.tsv", "a.tsv").column_names == ["text", "label"]


def test_streamed_tables_go_on_where_they_stopped_and_need_the_column_in_each(tmp_path: Path) -> None:
    first = write(tmp_path / "a.tsv", "text\tlabel\na\t1\nb\t2\n")
    second = write(tmp_path / "b.tsv", "label\ttext\n3\tc\n4\td\n")
    recipe = TextsRecipe(train_files=[first, second])
    rows = iter(streamed := stream_texts(recipe))
    assert [next(rows)["text"] for _ in range(3)] == ["a", "b", "c"]
    again = stream_texts(recipe)
    again.load_state_dict(streamed.state_dict())
    assert [row["text"] for row in again] == ["d"]
    third = write(tmp_path / "c.tsv", "line\ne\n")
    with pytest.raises(ValueError, match=r"c.tsv has no column 'text', only line"):
        stream_texts(TextsRecipe(train_files=[first, third]))
    with pytest.raises(ValueError, match="all files must be of one kind"):
        stream_texts(TextsRecipe(train_files=[first, write(tmp_path / "d.csv", "text\na\n")]))


def test_runs_on_numbers_of_tables_go_on() -> None:
    """The checksums of runs that were begun when numbers were read as such."""
    from hf_lecture_models.data.rows import Rows

    def checksums(labels: list[object], source: str) -> tuple[str, str]:
        rows = Rows({"text": ["a", "b"], "label": labels}, [(source, 2)])
        return fingerprint_data(rows), fingerprint_images(Rows({"image": ["a", "b"], "label": labels}, [(source, 2)]))

    for texts, numbers in ((["0", "-1"], [0, -1]), (["5.000", "0.25"], [5.0, 0.25]), (["3", "2.5"], [3.0, 2.5])):
        assert checksums(list(texts), "a.tsv") == checksums(list(numbers), "a.jsonl")
        assert checksums(list(texts), "a.jsonl") != checksums(list(numbers), "a.jsonl")
    assert len({checksums(labels, "a.csv") for labels in (["01", "1"], ["1", "01"], ["1", "1"], ["01", "01"])}) == 4


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_lines_that_end_with_carriage_returns_alone_are_lines(tmp_path: Path, name: str) -> None:
    """The whole table was its line of names, and had no row."""
    between = "\t,"[name == "a.csv"]
    text = "id,text,label\r1,a cat,x\r\r2,a dog,y\r".replace(",", between)
    for written in (text, text.removesuffix("\r"), text.replace("\r", "\n"), text.replace("\r", "\r\n")):
        assert records(write(tmp_path / name, written)) == [["1", "a cat", "x"], ["2", "a dog", "y"]]


def test_lines_of_texts_may_end_with_carriage_returns_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "a cat\r\ra dog\r")
    assert read_part_texts(TextsRecipe(train_files=[path]), "train") == ["a cat", "", "a dog"]
