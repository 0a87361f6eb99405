# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files with a word a line: which lines are words, what their columns are called, and what is said of damaged ones."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.data.conll import ConllTable
from hf_lecture_models.data.files import is_table
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows


def word(number: str, form: str, upos: str = "X", xpos: str = "_") -> str:
    return "\t".join((number, form, form.lower(), upos, xpos, *"_____"))


VAMONOS = [
    "# text = Vámonos al mar",
    word("1-2", "Vámonos", "_"),
    word("1", "Vamos", "VERB", "V"),
    word("2", "nos", "PRON"),
    word("3-4", "al", "_"),
    word("3", "a", "ADP"),
    word("4", "el", "DET"),
    word("4.1", "gran", "ADJ"),
    word("5", "mar", "NOUN", "N"),
]
ENGLISH = [
    "# newdoc",
    "# text = 1 000 , #1",
    word("1", "1 000", "NUM"),
    word("2", ",", "PUNCT"),
    word("3", "#1", "NUM"),
]


def write(path: Path, lines: list[str], end: str = "\n") -> str:
    path.write_bytes(end.join([*lines, ""]).encode())
    return str(path)


def read(*paths: str, **columns: Any) -> Rows:
    rows = read_rows(RowsRecipe(train_files=list(paths), columns=columns), "train", ("tokens", "tags"))
    assert rows is not None
    return rows


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_words_of_conll_u(tmp_path: Path, end: str) -> None:
    """Ranges, empty nodes and comments are no words; a blank in a word, and # in front of one, are part of it."""
    path = write(tmp_path / "a.conllu", [*VAMONOS, "", "", *ENGLISH], end)
    rows = read(path, tags="upos")
    assert rows.columns == {
        "tokens": [["Vamos", "nos", "a", "el", "mar"], ["1 000", ",", "#1"]],
        "tags": [["VERB", "PRON", "ADP", "DET", "NOUN"], ["NUM", "PUNCT", "NUM"]],
    }
    assert [rows.where(0), rows.where(0, word=4), rows.where(1, word=1)] == [
        f"{path}, line 3",
        f"{path}, line 9",
        f"{path}, line 15",
    ]
    assert read(path, tags="xpos", tokens="lemma")[0] == {
        "tokens": ["vamos", "nos", "a", "el", "mar"],
        "tags": ["V", "_", "_", "_", "N"],
    }
    with pytest.raises(
        ValueError, match=r"a.conllu has no column 'tags', only tokens, id, form, lemma, upos.*`columns.tags`"
    ):
        read(path)


@pytest.mark.parametrize("separator", ["\t", " ", "  "])
def test_columns_of_the_shared_tasks(tmp_path: Path, separator: str) -> None:
    """As of CoNLL-2003, and of WNUT-17, where a line between sentences holds a tab and words begin with #."""
    four = [
        "-DOCSTART- -X- -X- O",
        "",
        "EU NNP B-NP B-ORG",
        "rejects VBZ B-VP O",
        "",
        "-DOCSTART- -X- -X- O",
        "# # O O",
    ]
    path = write(tmp_path / "a.conll", [line.replace(" ", separator) for line in four])
    rows = read(path)
    assert rows.columns == {"tokens": [["EU", "rejects"], ["#"]], "tags": [["B-ORG", "O"], ["O"]]}
    assert read(path, tags=2).columns["tags"] == [["NNP", "VBZ"], ["#"]], "YAML reads --columns.tags 2 as a number"
    with pytest.raises(ValueError, match=r"has no column '5', only tokens, tags, 1, 2, 3, 4"):
        read(path, tags="5")
    two = write(tmp_path / "b.conll", ["@paul\tO", "#esb\tB-location", "\t", "ok\tO"])
    assert read(two).columns == {"tokens": [["@paul", "#esb"], ["ok"]], "tags": [["O", "B-location"], ["O"]]}


COMMENTED = """\
# newdoc
# sent_id 1
# text = EU rejects
EU	NOUN
rejects	VERB
#	SYM

# text
#	SYM
#esb	NOUN

#begin document (a); part 0
#	NUM
7	NUM

# of all
"""


@pytest.mark.parametrize("separator", ["\t", " "])
def test_comments_are_no_words(tmp_path: Path, separator: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever their number of columns; a word # has a tag that other words have, and may begin a sentence."""
    path = write(tmp_path / "a.conll", COMMENTED.replace("\t", separator).splitlines())
    rows = read(path)
    assert rows.columns == {
        "tokens": [["EU", "rejects", "#"], ["#", "#esb"], ["#", "7"]],
        "tags": [["NOUN", "VERB", "SYM"], ["SYM", "NOUN"], ["NUM", "NUM"]],
    }
    assert [rows.where(0), rows.where(1), rows.where(2, word=1)] == [f"{path}, line {n}" for n in (4, 9, 14)]
    assert "a.conll: 3 line(s) before a sentence that begin with # are left out" in capsys.readouterr().err


def test_a_comment_with_a_tab(tmp_path: Path) -> None:
    """In a file whose columns have tabs, the first column of a comment may be more than its sign."""
    lines = ["# id\t7", "#\tx", "# 1\tNOUN", "ok\tNOUN", "", "# new doc\t8", "no\tDET"]
    rows = read(write(tmp_path / "a.conll", lines))
    assert rows.columns == {"tokens": [["# 1", "ok"], ["no"]], "tags": [["NOUN", "NOUN"], ["DET"]]}


def test_words_that_begin_with_a_sign_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in WNUT-17: first in a sentence, with a tag that no other word has."""
    lines = ["#esb\tB-location", "", "#\tB-product", "", "ok\tO"]
    assert read(write(tmp_path / "a.conll", lines)).columns["tokens"] == [["#esb"], ["#"], ["ok"]]
    assert read(write(tmp_path / "b.conll", lines[:1])).columns["tokens"] == [["#esb"]]
    one = ["# a comment", "#", "ok", "", "#"]
    table = ConllTable(write(tmp_path / "c.conll", one), "c.conll", has_tags=False)
    assert table["tokens"] == [["#", "ok"], ["#"]]
    assert not capsys.readouterr().err
    with pytest.raises(ValueError, match=r"a.conll, line 2: 3 columns, but those above have 2"):
        read(write(tmp_path / "a.conll", ["ok O", "# a comment"]))


def test_capitals_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "A.CONLLU", ["\ufeff" + VAMONOS[0], *VAMONOS[1:]])
    assert read(path, tags="upos").columns["tokens"] == [["Vamos", "nos", "a", "el", "mar"]]
    assert read(write(tmp_path / "a.conll", ["\ufeffEU O"])).columns["tokens"] == [["EU"]]


def test_compressed_and_beside_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress("\n".join(VAMONOS).encode()))
    other = tmp_path / "b.jsonl"
    other.write_text('{"tokens": ["a", "b"], "upos": ["X", "Y"]}\n')
    rows = read(str(path), str(other), tags="upos")
    assert rows[1] == {"tokens": ["a", "b"], "tags": ["X", "Y"]}
    assert (rows.where(0), rows.where(1, word=1)) == (f"{path}, line 3", f"{other}, row 1, word 2")
    assert is_table(str(path))
    assert is_table("a.conll")


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("a.conllu", [*VAMONOS, "", "1\tno\tno"], r"a.conllu, line 11: a word of CoNLL-U has 10 columns .* not 3"),
        ("a.conllu", [word("1", "a").replace("\t", " ")], r"a.conllu, line 1: a word .* tabs, not 1"),
        ("a.conllu", [word("x", "a")], r"a.conllu, line 1: 'x' is no number of a word; a comment begins with #"),
        ("a.conllu", [word("1", " ")], r"a.conllu, line 1: there is no word in front of its tag"),
        ("a.conllu", ["# nothing", ""], r"a.conllu: there is no row in it"),
        ("a.conllu", [], r"a.conllu: there is no row in it"),
        ("a.conll", ["a O", "b O", "", "c"], r"a.conll, line 4: 1 column, but those above have 2"),
        ("a.conll", ["a X O", "b O"], r"a.conll, line 2: 2 columns, but those above have 3"),
        ("a.conll", ["a"], r"a.conll, line 1: 1 column, but a word and its tag are needed"),
        ("a.conll", ["a\tO", "\tO"], r"a.conll, line 2: there is no word in front of its tag"),
        ("a.conll", [""], r"a.conll: there is no row in it"),
        ("a.conll", ["# nothing", ""], r"a.conll: there is no row in it"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / name, lines), tags="upos" if name == "a.conllu" else "tags")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_bytes("là O\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a.conll, line 1: not UTF-8"):
        read(str(tmp_path / "a.conll"))


def test_classes_of_words_have_the_names_that_a_data_set_gives_them(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["O", "B-PER"])
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "ner_tags": datasets.List(names)})
    table = datasets.Dataset.from_dict({"tokens": [["a", "b"], ["c"]], "ner_tags": [[0, 1], [-1]]}, features=features)
    table.to_parquet(str(tmp_path / "a.parquet"))
    assert read(str(tmp_path / "a.parquet"), tags="ner_tags").columns["tags"] == [["O", "B-PER"], [None]]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_the_web_treebank_is_read_as_another_reader_read_it(shared_data: Path, part: str) -> None:
    """Beside the JSON lines that lie with the data."""
    folder = shared_data / "ud_english_ewt"
    table = ConllTable(folder / f"en_ewt-ud-{part}.conllu.gz", f"en_ewt-ud-{part}.conllu.gz")
    rows = [json.loads(line) for line in (folder / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert table["form"] == table["tokens"] == [row["tokens"] for row in rows]
    assert table["upos"] == [row["upos"] for row in rows]
    assert [len(lines) for lines in table.lines] == [len(row["tokens"]) for row in rows]


def test_a_packed_file_is_conll_u_by_its_name(tmp_path: Path) -> None:
    """Read as columns, the multiword token of `1-2` would be a word."""
    (tmp_path / "a.conllu.bz2").write_bytes(bz2.compress("\n".join([*VAMONOS, "", ""]).encode()))
    table = ConllTable(tmp_path / "a.conllu.bz2", "a.conllu.bz2")
    assert table["tokens"] == [["Vamos", "nos", "a", "el", "mar"]]
