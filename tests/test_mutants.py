# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A mutant of a small program is drawn, found, put in, and killed by the test that runs its line."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import mutants
from benchmarks.mutation import Mutant, find, mistakes, mutated, places, plain

CODE = '''"""A docstring with 1 < 2."""


class Rank:
    def better(self, a: int, b: int, *, least: int = 3) -> bool:
        """Whether a is."""
        if a < least:  # a comment
            raise ValueError(f"{a + 1} is less than {least - 1}")
        return a > b and not self


def unused(a):
    return a + 1
'''
TESTS = """from hf_lecture_models.toy import Rank

def test_nothing():
    pass

def test_better():
    assert not Rank().better(5, 4)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one module and its tests, with an empty list of mutants."""
    root = tmp_path / "program"
    files = {"hf_lecture_models/__init__.py": "", "hf_lecture_models/toy.py": CODE, "tests/test_toy.py": TESTS}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(mutants, "ROOT", root)
    monkeypatch.setattr(mutants, "LIST", tmp_path / "mutants.jsonl")
    return root


def test_a_draw_is_the_same_again_and_spares_texts_and_types(program: Path) -> None:
    drawn = mutants.draw(program, number=20)
    assert drawn == mutants.draw(program, number=20)
    assert len({(mutant.function, mutant.old, mutant.occurrence) for mutant in drawn}) == len(drawn) == 4
    assert {mutant.function for mutant in drawn} == {"Rank", "Rank.better", "unused"}
    for mutant in drawn:
        place = find(mutant, program)
        assert place is not None
        text = mutated(mutant, place)
        assert text != CODE
        assert ('"""A docstring with 1 < 2."""' in text, "{a + 1} is less than {least - 1}" in text) == (True, True)


def test_a_mutant_is_found_after_its_file_has_moved_and_its_sentences_are_new(program: Path) -> None:
    mutant = Mutant("a", "hf_lecture_models/toy.py", "unused", "return f('a b', 1)", "return f('a b', 2)")
    (program / "hf_lecture_models/toy.py").rename(program / "hf_lecture_models/other.py")
    assert find(mutant, program) is None
    (program / "hf_lecture_models/other.py").write_text("def unused():\n    return f('c d e', 1)\n", encoding="utf-8")
    place = find(mutant, program)
    assert place is not None
    assert mutated(mutant, place) == "def unused():\n    return f('c d e', 2)\n"
    assert plain("f('a b', 'c')") == "f('', 'c')"


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ("if not a:\n    pass", ["if not not a:\n    pass"]),
        ("x += 1", ["x += 2", "pass"]),
        ("x = f(x, True)", ["x = f(x, False)", "pass"]),
        ("return min(a, b) or zip(a, strict=True)", ["return min(a, b) and zip(a, strict=True)"]),
        ("x: int | 3 = a - 'b'", []),
    ],
)
def test_mistakes(old: str, expected: list[str]) -> None:
    assert [text for text in mistakes(old) if "max" not in text] == expected


@pytest.mark.slow
def test_a_mutant_is_killed_by_the_test_that_runs_it(program: Path, tmp_path: Path) -> None:
    toy = "hf_lecture_models/toy.py"
    listed = [
        Mutant("killed", toy, "Rank.better", "return a > b and (not self)", "return a > b or not self"),
        Mutant("default", toy, "Rank", "def better(least=3):\n    pass", "def better(least=9):\n    pass"),
        Mutant("alive", toy, "Rank.better", "if a < least:\n    pass", "if a <= least:\n    pass"),
        Mutant("never", toy, "unused", "return a + 1", "return a - 1"),
    ]
    listed.append(replace(listed[0], name="lost", function="gone", old="return 7"))
    lines = [json.dumps(vars(mutant)) + "\n" for mutant in listed]
    mutants.LIST.write_text("".join(lines), encoding="utf-8")
    lines_of = {place.old.split()[0]: place.watched() for place in places(program / toy)}
    assert (lines_of["def"], lines_of["if"]) == ((5, 6, "head"), (7, 7, "line"))
    store, record = tmp_path / "store.jsonl", tmp_path / "record.json"
    mutants.reach(store, ["tests"], "not nightly")
    tests = mutants.tests_of([json.loads(line) for line in store.read_text("utf-8").splitlines()])
    assert {name: found[0][1] for name, found in tests.items()} == dict.fromkeys(
        ("killed", "default", "alive"), "tests/test_toy.py::test_better"
    )
    mutants.run(store, record, 9.0, [])
    found = json.loads(record.read_text("utf-8"))
    results = {name: one["result"] for name, one in found.items()}
    assert results == {"killed": "killed", "default": "killed", "alive": "alive", "never": "not run", "lost": "lost"}
    assert found["killed"]["by"] == "tests/test_toy.py::test_better"
    assert (program / toy).read_text("utf-8") == CODE
