# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Rows from recipes, files and data sets, and what is said of those that cannot be read."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.data import reading
from hf_lecture_models.data.files import find_file
from hf_lecture_models.data.reading import FileLines, read_part_texts, read_rows, read_test_texts
from hf_lecture_models.data.recipe import RowsRecipe, TextsRecipe
from hf_lecture_models.data.streaming import stream_texts
from hf_lecture_models.tokenization import corpus

COLUMNS = ("text", "label")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_LECTURE_DATA", raising=False)


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_keeps_its_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\n\n two \n")
    assert read_part_texts(TextsRecipe(train_files=[path]), "train") == ["one", "", " two "]
    assert read_part_texts(TextsRecipe(), "validation") is None


def test_lines_to_test_on_are_those_of_a_list_and_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "a.txt", "\ufeff<s> one </s>\n\n<s> two <unk> </s>\n")
    second = write(tmp_path / "b.txt", "three\r\nfour")
    recipe = TextsRecipe(test_files=[first, second])
    lines, listed = read_test_texts(recipe), read_part_texts(recipe, "test")
    assert isinstance(lines, FileLines)
    assert list(lines) == [*lines] == listed == ["one", "", "two <unk>", "three", "four"]
    assert (len(lines), lines[-1], lines[1:3]) == (5, "four", ["", "two <unk>"])
    given: list[str] = []

    def reads(path: Path) -> Any:
        for line in corpus.read_texts(path):
            given.append(line)
            yield line

    monkeypatch.setattr(reading, "read_texts", reads)
    next(iter(lines))
    assert len(given) == 1
    table = write(tmp_path / "c.tsv", "text\nfive\n")
    assert read_test_texts(TextsRecipe(test_files=[table])) == ["five"]
    assert read_test_texts(TextsRecipe(test_files=[first, table], columns={"text": "text"})) == [*listed[:3], "five"]


@pytest.mark.parametrize(("content", "message"), [("", "no row in it"), ("one\n<s> two </s>\n", "row 2 begins with")])
def test_lines_to_test_on_are_checked_at_once(tmp_path: Path, content: str, message: str) -> None:
    recipe = TextsRecipe(test_files=[write(tmp_path / "a.txt", content)])
    for read in (lambda: read_test_texts(recipe), lambda: read_part_texts(recipe, "test")):
        with pytest.raises(ValueError, match=message):
            read()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_columns_of_files_are_read(tmp_path: Path, suffix: str) -> None:
    """A field of a table is a text, whatever it looks like; other formats say themselves what is a number."""
    import datasets

    table = datasets.Dataset.from_dict({"line": ["a b", "c, d"], "number": [1, 2]})
    path = str(tmp_path / f"data{suffix}")
    writers: dict[str, Any] = {
        ".csv": table.to_csv,
        ".tsv": lambda path: table.to_csv(path, sep="\t"),
        ".parquet": table.to_parquet,
    }
    writers.get(suffix, table.to_json)(path)
    assert read_part_texts(TextsRecipe(train_files=[path], columns={"text": "line"}), "train") == ["a b", "c, d"]
    rows = read_rows(RowsRecipe(train_files=[path], columns={"text": "line", "label": "number"}), "train", COLUMNS)
    labels = ["1", "2"] if suffix in (".csv", ".tsv") else [1, 2]
    assert list(rows or ()) == [{"text": "a b", "label": labels[0]}, {"text": "c, d", "label": labels[1]}]
    with pytest.raises(ValueError, match=r"no column 'text', only line, number; `columns.text` names another one"):
        read_part_texts(TextsRecipe(train_files=[path]), "train")
    numbers = TextsRecipe(train_files=[path], columns={"text": "number"})
    if suffix in (".csv", ".tsv"):
        assert read_part_texts(numbers, "train") == [row["number"] for row in stream_texts(numbers)] == ["1", "2"]
        return
    with pytest.raises(ValueError, match=rf"data{suffix}, row 1: text is 1, no text"):
        read_part_texts(numbers, "train")


def test_nothing_is_quoted_in_tsv_and_no_word_means_nothing(tmp_path: Path) -> None:
    """As in GLUE's files: one quotation mark once swallowed the rows up to the next one."""
    lines = ["index\tsentence\tlabel", '0\t"Who said "yes"?\tno', "1\tNA\tyes", "2\tNone\tno", '3\tsaid twice"\tyes']
    path = write(tmp_path / "dev.tsv", "\n".join(lines) + "\n")
    rows = read_rows(RowsRecipe(train_files=[path], columns={"text": "sentence"}), "train", COLUMNS)
    assert rows is not None
    assert rows.texts("text") == ['"Who said "yes"?', "NA", "None", 'said twice"']
    assert rows.columns["label"] == ["no", "yes", "no", "yes"]


@pytest.mark.slow
def test_files_of_glue_are_whole(shared_data: Path) -> None:
    recipe = RowsRecipe(
        train_files=[str(shared_data / "glue" / "qnli" / "dev.tsv")], columns={"text": "question", "pair": "sentence"}
    )
    rows = read_rows(recipe, "train", ("text", "pair", "label"))
    assert rows is not None
    assert len(rows) == 5463
    assert set(rows.columns["label"]) == {"entailment", "not_entailment"}


def test_rows_of_several_files_know_where_they_stand(tmp_path: Path) -> None:
    first = write(tmp_path / "a.tsv", "text\tlabel\na\t0\nb\t1\n")
    second = write(tmp_path / "b.jsonl", '{"text": "c", "label": "x"}\n')
    rows = read_rows(RowsRecipe(train_files=[first, second]), "train", COLUMNS)
    assert rows is not None
    assert [rows.where(index) for index in range(3)] == [f"{first}, row 1", f"{first}, row 2", f"{second}, row 1"]
    assert rows[1:] == [{"text": "b", "label": "1"}, {"text": "c", "label": "x"}]


def test_optional_columns_are_read_where_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,text_pair,label\na,b,0\n")
    for columns, expected in (({}, "b"), ({"text_pair": "label"}, "0")):
        rows = read_rows(RowsRecipe(train_files=[path], columns=columns), "train", COLUMNS, optional=("text_pair",))
        assert rows is not None
        assert rows[0]["text_pair"] == expected
    rows = read_rows(RowsRecipe(train_rows=[{"text": "a", "label": 0}]), "train", COLUMNS, optional=("text_pair",))
    assert rows is not None
    assert rows[0] == {"text": "a", "label": 0}


def test_files_are_found_in_the_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    write(tmp_path / "data" / "set" / "a.txt", "there\n")
    monkeypatch.chdir(tmp_path / "here")
    recipe = TextsRecipe(train_files=["set/a.txt"])
    with pytest.raises(FileNotFoundError, match=r"no file set/a.txt, .* nor in HF_LECTURE_DATA, which is not set"):
        read_part_texts(recipe, "train")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path / "data"))
    assert read_part_texts(recipe, "train") == ["there"]
    (tmp_path / "here" / "set").mkdir()
    write(tmp_path / "here" / "set" / "a.txt", "here\n")
    assert read_part_texts(recipe, "train") == ["here"], "the current folder comes first"
    with pytest.raises(FileNotFoundError, match=rf"nor in HF_LECTURE_DATA, {tmp_path}/data"):
        find_file("set/b.txt")


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({}, ValueError, "names no training data: set train_files, dataset_name or train_texts"),
        ({"train_texts": ["a"], "train_files": ["b"]}, ValueError, "names its data twice"),
        ({"train_files": ["nowhere.txt"]}, FileNotFoundError, "there is no file nowhere.txt"),
        ({"dataset_name": "a/b"}, ValueError, "needs dataset_revision"),
        ({"train_texts": ["a"], "columns": {"txt": "line"}}, ValueError, "columns has 'txt', but there are only text"),
    ],
)
def test_data_that_cannot_be_read_are_named(fields: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read_part_texts(TextsRecipe(**fields), "train")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.doc", "text", "all files must be of one kind"),
        ("a.csv", "", "a.csv is empty"),
        ("a.jsonl", "\n", "a.jsonl"),
        ("a.csv", "text\n", "a.csv"),
        ("a.txt", "", "a.txt: there is no row in it"),
    ],
)
def test_files_without_rows_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        read_part_texts(TextsRecipe(train_files=[path]), "train")


def test_what_cannot_be_streamed_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"line": "a"}\n')
    with pytest.raises(ValueError, match="train_texts are in memory and cannot be streamed"):
        stream_texts(TextsRecipe(train_texts=["a"]))
    with pytest.raises(ValueError, match=r"a.jsonl has no column 'text', only line"):
        stream_texts(TextsRecipe(train_files=[path]))
    assert list(stream_texts(TextsRecipe(train_files=[path], columns={"text": "line"}))) == [{"line": "a"}]


def test_classes_of_a_data_set_have_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    table = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features=features)
    asked: dict[str, Any] = {}

    def load_dataset(*names: str | None, **options: Any) -> Any:
        asked.update(options, names=names)
        return table

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    recipe = RowsRecipe(dataset_name="some/set", dataset_config="one", dataset_revision="abc")
    rows = read_rows(recipe, "validation", COLUMNS)
    assert rows is not None
    assert rows.columns["label"] == ["yes", "no", None]
    assert rows.where(1) == "split validation of some/set, row 2"
    assert asked == {"names": ("some/set", "one"), "split": "validation", "revision": "abc", "streaming": False}
    assert read_rows(recipe, "test", COLUMNS) is None, "no split is named"
    recipe.predict_split = "other/hidden"
    rows = read_rows(recipe, "predict", COLUMNS)
    assert (asked["names"], asked["split"]) == (("some/set", "other"), "hidden"), "of another configuration"
    assert rows.where(0) == "split other/hidden of some/set, row 1"


def test_a_hub_out_of_reach_is_named_with_the_way_around(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def load_dataset(*names: str | None, **options: Any) -> Any:
        raise ConnectionError("Couldn't reach the Hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(ConnectionError, match="Couldn't reach the Hub; name local files in place"):
        read_rows(RowsRecipe(dataset_name="some/set", dataset_revision="abc"), "train", COLUMNS)


def test_labels_of_rows_to_predict_are_not_read(tmp_path: Path) -> None:
    hidden = write(tmp_path / "test.tsv", "sentence\tkind\na film\t-1\n")
    bare = write(tmp_path / "bare.tsv", "sentence\na film\n")
    columns = {"text": "sentence", "label": "kind"}
    for path in (hidden, bare):
        recipe = RowsRecipe(predict_files=[path], test_files=[path], columns=columns)
        rows = read_rows(recipe, "predict", ("text",), labels=("label",))
        assert rows is not None
        assert rows[:] == [{"text": "a film"}]
    with pytest.raises(ValueError, match=r"bare.tsv has no column 'kind', only sentence"):
        read_rows(recipe, "test", ("text",), labels=("label",))
    with pytest.raises(ValueError, match=r"bare.tsv has no column 'text', only sentence"):
        read_rows(RowsRecipe(train_files=[bare]), "train", ("text",))
    assert read_rows(RowsRecipe(columns=columns), "predict", ("text",), labels=("label",)) is None
    with pytest.raises(ValueError, match="columns has 'tag', but there are only text, label"):
        read_rows(RowsRecipe(columns={"tag": "kind"}), "predict", ("text",), labels=("label",))


def test_a_file_beside_a_data_set_is_refused_where_a_split_of_it_is_named_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\n")
    hub = {"dataset_name": "some/set", "dataset_revision": "abc"}
    assert read_part_texts(TextsRecipe(predict_files=[path], **hub), "predict") == ["one"]
    for part, fields in (("train", {}), ("predict", {"predict_split": "test"})):
        with pytest.raises(ValueError, match="names its data twice"):
            read_part_texts(TextsRecipe(**{f"{part}_files": [path]}, **hub, **fields), part)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv", ".json", ".jsonl"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, packed: bool
) -> None:
    """`datasets` reads a line whole, however long it is."""
    monkeypatch.setattr(corpus, "MAX_LINE_BYTES", 1000)
    path = tmp_path / (f"data{suffix}.gz" if packed else f"data{suffix}")

    def put(length: int) -> TextsRecipe:
        row = f'{{"text": "{"x" * length}"}}' if suffix.startswith(".json") else "x" * length
        content = ("text\n" if suffix.endswith("sv") else "") + f"{row}\n{row}\n"
        path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
        return TextsRecipe(train_files=[str(path)])

    assert read_part_texts(put(500), "train") == ["x" * 500] * 2
    assert [row["text"] for row in stream_texts(put(500))] == ["x" * 500] * 2
    for read in (lambda recipe: read_part_texts(recipe, "train"), lambda recipe: list(stream_texts(recipe))):
        with pytest.raises(ValueError, match=rf"data{suffix}.*, line \d: longer than 1000 bytes"):
            read(put(1000))


@pytest.mark.parametrize("brackets", ["[", '{"a": '])
def test_brackets_that_would_overflow_the_stack_are_refused(tmp_path: Path, brackets: str) -> None:
    """Of 10,000, Arrow ends the process; those in texts are signs like others."""
    deep = brackets * 20_000 + "1" + {"[": "]"}.get(brackets, "}") * 20_000
    path = write(tmp_path / "a.jsonl", f'{{"text": "a"}}\n{{"text": "a", "b": {deep}}}\n')
    for read in (read_part_texts, lambda recipe, part: stream_texts(recipe)):
        with pytest.raises(ValueError, match=r"a.jsonl, line 2: brackets are nested more than 60 deep"):
            read(TextsRecipe(train_files=[path]), "train")
    text = r"\"[" * 100
    path = write(tmp_path / "b.jsonl", f'{{"text": "{text}", "b": [[1]]}}\n')
    assert read_part_texts(TextsRecipe(train_files=[path]), "train") == ['"[' * 100]


def test_streamed_lines_are_those_that_are_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("one\r\n\n two \x85\rthree\nlast".encode())
    recipe = TextsRecipe(train_files=[str(path), str(path)])
    streamed = stream_texts(recipe)
    texts = [row["text"] for row in streamed]
    assert texts == read_part_texts(recipe, "train") == ["one", "", " two \x85\rthree", "last"] * 2
    rows = iter(streamed)
    for _ in range(5):
        next(rows)
    place, again = streamed.state_dict(), stream_texts(recipe)
    again.load_state_dict(place)
    assert [row["text"] for row in again] == texts[5:]
