# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Templates of prompts and the rows that they write: files, examples, and what is refused by name."""

import json
import re
from pathlib import Path

import pytest
import typer

import hf_lecture_cli
from hf_lecture_models.lab.studies.prompt_items import PromptData, read_prompt_data, with_shots
from hf_lecture_models.lab.studies.prompt_templates import TASKS, PromptTemplate, load_template
from hf_lecture_models.lab.studies.prompting import PromptItem

TWO = {"prompt": "{animal:open} is", "answers": ["{first}", "{second}"]}
ROW = {"animal": "A mouse", "first": "small", "second": "large", "label": 0}


def template(**fields):
    return PromptTemplate(**{**TWO, **fields})


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [str(path)]


def rows(count, **more):
    return [{**ROW, "animal": f"Animal {number}", "id": number, **more} for number in range(count)]


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("answers: [a, b]", "t.yaml: prompt is missing"),
        ("prompt: a", "t.yaml: answers is missing"),
        ("prompt: a\nanswer: [a, b]", "t.yaml: no field answer; did you mean answers?"),
        (
            "prompt: 'a {b'\nanswers: [a, b]",
            "t.yaml: prompt is 'a {b' (expected '}' before end of string); write a brace",
        ),
        ("prompt: '{a:upper}'\nanswers: [a, b]", "t.yaml: prompt has {a:upper}; no form upper; there are open, small"),
        ("prompt: '{}'\nanswers: [a, b]", "t.yaml: prompt is '{}'; the braces must hold the name of a column"),
        ("prompt: '{a!r}'\nanswers: [a, b]", "the braces must hold the name of a column"),
        ("prompt: a\nanswers: [a]", "t.yaml: answers has one text, 'a'; give several, or one with one column of lists"),
        ("prompt: a\nanswers: [a, b]\nwords: {c: d}", "t.yaml: words of c is 'd'; give `value: word` pairs"),
        ("prompt: a\nanswers: [a, b]\nshots: [f]\nfirst_for_shots: 2", "shots and first_for_shots are both given"),
        ("prompt: a\nanswers: [a, b]\ngroup_modulo: 2", "group_modulo has no column; name it by group"),
        ("prompt: a\nanswers: [a, b]\nfirst_for_shots: -1", "first_for_shots must be at least 0, not -1"),
        ("- a", "t.yaml must hold `name: value` lines"),
        ("a: [", "t.yaml is not a YAML file"),
    ],
)
def test_a_template_that_is_no_template(tmp_path, yaml, message):
    (tmp_path / "t.yaml").write_text(yaml, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        load_template(path=tmp_path / "t.yaml")


def test_an_unknown_task_and_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match="no task coppa; did you mean copa\\?; `template` names a file of your own"):
        load_template("coppa")
    with pytest.raises(FileNotFoundError, match="nowhere.yaml"):
        load_template(path=tmp_path / "nowhere.yaml")


def test_the_tasks_of_the_package_are_those_of_the_command_line():
    assert tuple(hf_lecture_cli.PromptTask) == TASKS
    assert isinstance(typer.main.get_command(hf_lecture_cli.app).commands["prompt"], typer.core.TyperCommand)
    folder = Path(load_template.__code__.co_filename).parent / "templates"
    assert {path.stem for path in folder.glob("*.yaml")} == set(TASKS)
    assert all(load_template(task).scored for task in TASKS)


@pytest.mark.parametrize(
    ("fields", "row", "message"),
    [
        ({}, {"first": " "}, "row 2: choice 0 is empty"),
        ({}, {"animal": None}, "row 2: animal is None, no text"),
        ({}, {"label": 2}, "row 2: label 2 is none of its 2 choices, which are 0 to 1, or A, B"),
        ({}, {"label": -1}, "row 2: it has no label, as the rows of a test set; leave it out"),
        (
            {"words": {"animal": {"A mouse": "It"}}},
            {"animal": "A cow"},
            "'A cow', none of the template's words for it: A",
        ),
        ({"group": "id"}, {"id": None}, "row 2: id is None; give a value that is equal in rows that belong together"),
        ({"group": "id", "group_modulo": 9}, {"id": "x"}, "row 2: id is 'x', no whole number, of which group_modulo"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path, fields, row, message):
    files = write(tmp_path / "a.jsonl", [{**ROW, "id": "1"}, {**ROW, "id": "2", **row}])
    with pytest.raises(ValueError, match=re.escape(message)):
        read_prompt_data(template(**fields), files)


def test_a_column_that_is_missing_is_named(tmp_path):
    files = write(tmp_path / "a.jsonl", [ROW])
    with pytest.raises(
        ValueError, match=r"a.jsonl has no column 'size', only animal.*; write another name into the tem"
    ):
        read_prompt_data(template(answers=["{size}", "b"]), files)
    with pytest.raises(ValueError, match="no column 'gold'"):
        read_prompt_data(template(label="gold"), files)


def test_answers_of_a_list(tmp_path):
    lists = {"prompt": "{q}", "answers": ["{choices:small}"]}
    many = [
        {"q": "a", "choices": ["Yes", "No"], "label": 1},
        {"q": "b", "choices": ["Yes", "No", "I do"], "label": "C"},
    ]
    files = write(tmp_path / "a.jsonl", many)
    with pytest.raises(ValueError, match="a.jsonl, row 2: it has 3 answers, and the first row 2; if that is meant"):
        read_prompt_data(PromptTemplate(**lists), files)
    found = read_prompt_data(PromptTemplate(**lists, answers_vary=True), files).scored
    assert [(item.answers, item.label) for item in found] == [(("yes", "no"), 1), (("yes", "no", "I do"), 2)]
    # As ARC is on the Hub.
    hub = [{"q": "a", "choices": {"text": ["Yes", "No"], "label": ["1", "2"]}, "label": "2"}]
    assert read_prompt_data(PromptTemplate(**lists), write(tmp_path / "b.jsonl", hub)).scored[0].label == 1
    hub[0]["choices"]["label"] = ["1"]
    with pytest.raises(ValueError, match="choices has 2 texts, and names for 1 of them"):
        read_prompt_data(PromptTemplate(**lists), write(tmp_path / "c.jsonl", hub))
    with pytest.raises(ValueError, match="choices is 'a', no list"):
        read_prompt_data(PromptTemplate(**lists), write(tmp_path / "d.jsonl", [{"q": "a", "choices": "a", "label": 0}]))


@pytest.mark.parametrize("text", ["{}\n{}\n", "\ufeff{}\r\n\r\n{}\r\n"], ids=["plain", "mark, other ends, blank line"])
def test_a_csv_file_with_blank_lines_a_mark_and_other_ends(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.format("animal,first,second,label", "A mouse,small,large,0").encode())
    [item] = read_prompt_data(template(), [str(tmp_path / "a.csv")]).scored
    assert (item.prompt, item.answers, item.label) == ("A mouse is", ("small", "large"), 0)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_rows(tmp_path, content):
    for name in ("a.csv", "a.jsonl"):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=re.escape(name)):
            read_prompt_data(template(), [str(tmp_path / name)])
    with pytest.raises(ValueError, match="the template names no files"):
        read_prompt_data(template())


def test_examples_come_from_rows_that_are_not_scored(tmp_path):
    scored, pool = write(tmp_path / "a.jsonl", rows(9)), write(tmp_path / "b.jsonl", rows(6, second="big"))
    own = template(group="id")
    data = read_prompt_data(own, scored, pool)
    assert len(with_shots(data, own, 0)) == 9
    found = with_shots(data, own, 4)
    assert [item.prompt.split("\n\n")[-1] for item in found] == ["Animal 6 is", "Animal 7 is", "Animal 8 is"]
    for item in found:
        *examples, _ = item.prompt.split("\n\n")
        assert len({*examples}) == 4
        assert {*examples} <= {f"Animal {number} is small" for number in range(6)}
    assert found == with_shots(data, own, 4)
    assert len({item.prompt.rpartition("\n\n")[0] for item in found}) > 1, "each item has examples of its own"
    assert found != with_shots(data, own, 4, seed=1)
    # What is drawn does not depend on where the files are.
    moved = read_prompt_data(own, write(tmp_path / "c.jsonl", rows(9)), pool)
    assert [item.prompt for item in with_shots(moved, own, 4)] == [item.prompt for item in found]


def test_without_a_group_rows_of_equal_text_belong_together(tmp_path):
    files = write(tmp_path / "a.jsonl", rows(3))
    data = read_prompt_data(template(), files, write(tmp_path / "b.jsonl", rows(2)))
    assert [item.prompt.split("\n\n")[-1] for item in with_shots(data, template(), 1)] == ["Animal 2 is"]
    with pytest.raises(ValueError, match="all rows to score are among those that shots are drawn from"):
        with_shots(read_prompt_data(template(), files, files), template(), 1)


def test_the_first_rows_are_kept_for_examples(tmp_path):
    files = write(tmp_path / "a.jsonl", rows(5))
    own = template(first_for_shots=2)
    data = read_prompt_data(own, files)
    assert [item.prompt for item in with_shots(data, own, 0)] == [f"Animal {number} is" for number in (2, 3, 4)]
    assert len(with_shots(data, own, 2)) == 3
    with pytest.raises(ValueError, match="there are 2 rows that 3 shots could be drawn from"):
        with_shots(data, own, 3)
    with pytest.raises(ValueError, match="the first 5 rows are kept for examples .* none is left to score"):
        read_prompt_data(template(first_for_shots=5), files)
    with pytest.raises(ValueError, match="there are no rows that 1 shots could be drawn from"):
        with_shots(PromptData(data.scored, []), own, 1)


def test_files_of_ones_own_bring_no_examples_of_the_template(tmp_path):
    own = template(scored=["nowhere.jsonl"], shots=["nowhere.jsonl"])
    assert read_prompt_data(own, write(tmp_path / "a.jsonl", rows(2))).pool == []


def test_the_text_form_changes_prompts_examples_and_answers():
    pool = [PromptItem("x", ("a", "b"), 1, "pool")]
    data = PromptData([PromptItem("y", ("c", "d"), 0, "own")], pool)
    [item] = with_shots(data, template(between_shots="; "), 1, text_form=str.upper)
    assert (item.prompt, item.answers) == ("X B; Y", ("C", "D"))


@pytest.mark.slow
def test_the_real_tasks(shared_data, monkeypatch):
    monkeypatch.setenv("HF_LECTURE_DATA", str(shared_data))
    counts = {}
    for task in TASKS:
        own = load_template(task)
        data = read_prompt_data(own)
        with_examples = with_shots(data, own, 1)
        counts[task] = (len(data.scored), len(with_examples), len(data.pool))
        assert not {item.group for item in with_examples} & {item.group for item in data.pool}
    assert counts == {
        "copa": (500, 100, 400),
        "balanced_copa": (1000, 200, 400),
        "piqa": (1738, 1738, 100),
        "arc_easy": (548, 548, 2142),
        "arc_challenge": (291, 291, 1095),
    }
    first = read_prompt_data(load_template("copa")).scored[0]
    assert first.prompt == "My body cast a shadow over the grass because"
    assert first.answers == ("the sun was rising.", "the grass was cut.")
