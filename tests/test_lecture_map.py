# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The lecture map: its rows stand where the slides stand, nothing of a lecture is missing, files and commands are real.

The lectures' texts are not part of this repository; what needs them skips where they are absent. What the map says was
measured is compared with its records by tests/test_figures.py.
"""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
import yaml

import hf_lecture_cli
from hf_lecture_models.cli.train import script_command
from tests.test_readme import ROOT

MAP = (ROOT / "docs" / "lecture_map.md").read_text(encoding="utf-8")
LECTURES = {"R": "001_*.txt", "N": "003_*.txt", "Y": "004_*.txt"}
# "R:23-43", "N s36"; R and Y count lines of the text, N counts slides.
_REFERENCE = r"\b(?:([RY]):|(N) s)(\d+)(?:-(\d+))?"


class Row(NamedTuple):
    """One row of the map: which lines (slides) of which lecture, words that stand there, and the row's cells."""

    lecture: str
    first: int
    last: int
    words: list[str]
    cells: list[str]

    @property
    def name(self) -> str:
        return f"{self.lecture}:{self.first}-{self.last}"


def _rows() -> list[Row]:
    rows = []
    for line in MAP.splitlines():
        if found := re.match(rf"\| {_REFERENCE} <!-- (.*?) --> \|", line):
            line_lecture, slide_lecture, first, last, words = found.groups()
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            rows.append(Row(line_lecture or slide_lecture, int(first), int(last or first), words.split("; "), cells))
    return rows


ROWS = _rows()
COMMANDS = re.findall(r"`((?:hf-lecture|python|pytest) [^`]+)`", MAP)
COMMANDS += [line.split("  ")[0] for line in re.findall(r"^ +(hf-lecture .*)$", MAP, re.MULTILINE)]


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())


@pytest.fixture(scope="module")
def lectures(shared_data: Path) -> dict[str, list[str]]:
    """The lines of R and Y and the slides of N, counted from 1 (the first entry is empty)."""
    texts = {}
    for lecture, pattern in LECTURES.items():
        paths = list((shared_data.parent / "seeds").glob(pattern))
        if len(paths) != 1:
            pytest.skip(f"the text of lecture {lecture} is not here")
        lines = paths[0].read_text(encoding="utf-8").splitlines()
        if lecture == "N":
            lines = [line for line in lines[lines.index("Slide Content") + 1 :] if line.strip()]
        texts[lecture] = ["", *lines]
    return texts


def test_every_line_of_the_tables_is_a_row() -> None:
    table_lines = [line for line in MAP.splitlines() if line.startswith("| ") and not line.startswith("| slides |")]
    assert len(ROWS) == len(table_lines) > 80
    assert {len(row.cells) for row in ROWS} == {5}
    for row, after in itertools.pairwise(ROWS):
        assert row.first <= row.last
        assert row.lecture != after.lecture or row.last < after.first, f"{row.name} and {after.name} are out of order"


def test_the_words_of_a_row_stand_in_its_slides(lectures: dict[str, list[str]]) -> None:
    missing = []
    for row in ROWS:
        text = _normalise(" ".join(lectures[row.lecture][row.first : row.last + 1]))
        missing += [(row.name, words) for words in row.words if not words or _normalise(words) not in text]
    assert not missing


def test_a_row_begins_and_ends_on_words(lectures: dict[str, list[str]]) -> None:
    for row in ROWS:
        for line in (row.first, row.last):
            assert lectures[row.lecture][line].strip(), f"{row.name}: line {line} is blank"


def test_nothing_of_a_lecture_is_missing(lectures: dict[str, list[str]]) -> None:
    """Every line that is not blank belongs to one row, or to a range of the section "Left out"."""
    covered = [(row.lecture, line) for row in ROWS for line in range(row.first, row.last + 1)]
    for lines, slides, first, last in re.findall(_REFERENCE, MAP.partition("## Left out")[2]):
        covered += [(lines or slides, line) for line in range(int(first), int(last or first) + 1)]
    assert len(covered) == len(set(covered)), "two ranges overlap"
    missing = {
        (lecture, line)
        for lecture, text in lectures.items()
        for line, words in enumerate(text)
        if words.strip() and (lecture, line) not in covered
    }
    assert not missing


def test_slides_named_elsewhere_exist(lectures: dict[str, list[str]]) -> None:
    """Of every "R:23-43" in code and documents the first and the last line are lines with words."""
    wrong = []
    for path in sorted([*ROOT.glob("*.md"), *ROOT.rglob("docs/*.md"), *ROOT.glob("[hbt]*/**/*.*")]):
        if path.suffix not in (".md", ".py", ".yaml") or "node_modules" in path.parts:
            continue
        for lines, slides, first, last in re.findall(_REFERENCE, path.read_text(encoding="utf-8")):
            text = lectures[lines or slides]
            ends = [int(number) for number in (first, last) if number]
            if not all(end < len(text) and text[end].strip() for end in ends):
                wrong.append(f"{path.relative_to(ROOT)}: {lines or slides} {first}-{last}")
    assert not wrong, "\n".join(wrong)


def test_files_and_anchors_of_the_map_exist() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", MAP):
        path, _, anchor = target.partition("#")
        file = (ROOT / "docs" / path).resolve()
        assert file.is_file(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert not anchor or anchor in anchors, target


def test_every_row_says_where_it_is_computed_or_that_it_is_not() -> None:
    for row in ROWS:
        _, computed, code, command, _ = row.cells
        assert code or "not built yet" in computed, row.name
        assert not command or code, f"{row.name}: a command of nothing"


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_are_known(command: str) -> None:
    """Verbs and options are those of the command line; recipes and tests are files."""
    program, *arguments = shlex.split(command)
    if arguments[0] == "train":
        script, recipe, *options = script_command(arguments[1:], ROOT / "training")
        assert Path(script).is_file()
        fields = yaml.safe_load(Path(recipe).read_text(encoding="utf-8"))
        assert {option.removeprefix("--").split(".")[0] for option in options if option.startswith("--")} <= {
            *fields,
            "alpha",
            "tokenizer",
        }
    elif program == "hf-lecture":
        known = typer.main.get_command(hf_lecture_cli.app).commands[arguments[0]]  # type: ignore[attr-defined]
        options = {option for parameter in known.params for option in parameter.opts}
        assert {argument for argument in arguments[1:] if argument.startswith("--")} <= options
        models = {"unigram", "trigram", "feed_forward", "rnn", "lstm", "self_attention"}
        used = {argument.split("/")[1] for argument in arguments if argument.startswith(("quickstart/", "ladder/"))}
        assert used <= models
    elif program == "pytest":
        test = ROOT / arguments[0]
        assert test.is_file()
        assert all(word in test.read_text(encoding="utf-8") for word in arguments[2:]), "-k would select nothing"
    else:
        assert arguments[0] == "-c"
        compile(arguments[1], "the map", "exec")


def test_no_two_commands_write_to_one_folder() -> None:
    """A second run into the folder of a first one is refused."""
    folders = re.findall(r"--output_dir (\S+)", " ".join(f"{command} " for command in COMMANDS))
    assert len(folders) == len(set(folders))
    assert all(folder.startswith("runs/") for folder in folders)


def test_a_row_links_the_notebooks_that_name_its_slides() -> None:
    """A notebook names its slides in its part "The question"."""
    notebooks = {}
    for path in (ROOT / "docs" / "notebooks").glob("[0-9]*.md"):
        question = path.read_text(encoding="utf-8").partition("## The question")[2].partition("```{code-cell}")[0]
        notebooks[f"notebooks/{path.name}"] = re.findall(_REFERENCE, question)
    for row in ROWS:
        named = {
            notebook
            for notebook, slides in notebooks.items()
            for lines_of, slides_of, first, last in slides
            if (lines_of or slides_of) == row.lecture and int(first) <= row.last and row.first <= int(last or first)
        }
        assert set(re.findall(r"\]\((notebooks/\d\d_\w+\.md)\)", row.cells[2])) == named, row.name


def test_every_model_is_on_the_newcomers_path() -> None:
    path = MAP.partition("## R:")[0]
    for page in (ROOT / "hf_lecture_models" / "models").glob("*/README.md"):
        assert f"(../{page.relative_to(ROOT).as_posix()})" in path
