# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exercise`: the list, the printed blank, right and wrong files, and files that cannot be run."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from hf_lecture_cli import EXERCISE_NAMES
from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.registry import EXERCISES, blank_file

ADAPTER = Path(adapter.__file__)
ORDER = "    f, i, g, o = (torch.cat((h, u), -1) @ W.T + b).chunk(4, -1)\n"
CELL = f"""import torch

def lstm_cell(u, h, c, W, b):
{ORDER}    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c
"""
SHIFT = "def relative_shift(by_distance):\n    {}\n"


@pytest.fixture
def mine(tmp_path):
    """Write my.py, and return its path."""

    def write(content):
        path = tmp_path / "my.py"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_the_command_line_knows_the_exercises():
    assert [*EXERCISE_NAMES] == [*EXERCISES, "all"]


def test_without_arguments_the_exercises_are_listed(run):
    status, out, err = run("exercise")
    assert (status or 0, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(EXERCISES)
    assert "  R:506-558 " in out


def test_a_printed_file_is_checked_and_not_yet_right(run, mine):
    status, out, _ = run("exercise", "lstm_cell")
    assert (status or 0, out) == (0, blank_file(["lstm_cell"]))
    assert run("exercise", "lstm_cell", mine(out)) == (1, "lstm_cell: nothing is returned yet\n", "")
    out = run("exercise", "all")[1]
    lines = [f"{name}: nothing is returned yet" for name in EXERCISES]
    assert run("exercise", "all", mine(out)) == (1, "\n".join([*lines, "0 of 12 are right", ""]), "")


def test_the_package_is_right(run):
    status, out, err = run("exercise", "all", ADAPTER)
    assert (status or 0, err) == (0, "")
    assert out.splitlines()[-1] == "12 of 12 are right"


def test_a_right_answer(run, mine):
    status, out, _ = run("exercise", "lstm_cell", mine(CELL))
    assert (status or 0, out) == (0, "lstm_cell: right, values and gradients on 5 inputs\n")
    status, out, _ = run("exercise", "all", mine(CELL))
    assert status == 1
    assert "bpe_merge: it is not in my.py\n" in out
    assert out.endswith("1 of 12 are right\n")


def test_a_wrong_answer_is_shown_with_input_and_hint(run, mine):
    status, out, err = run("exercise", "lstm_cell", mine(CELL.replace("f, i,", "i, f,")))
    problem, hint, where, *inputs = out.splitlines()
    assert (status, err) == (1, "")
    assert problem.startswith("lstm_cell: wrong at input 1 of 5: h[0, 0] is ")
    assert hint.startswith("hint: the gates are in the order i, f, g, o")
    assert where.endswith("EXERCISES['lstm_cell'].inputs()[0]`:")
    assert [line.split(" = ")[0] for line in inputs] == ["  u", "  h", "  c", "  W", "  b"]


def test_a_mistake_of_no_known_kind_has_no_hint(run, mine):
    status, out, _ = run("exercise", "lstm_cell", mine(CELL.replace("tanh(), c", "tanh() + 1, c")))
    assert status == 1
    assert "hint" not in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def lstm_cell(:\n", "my.py, line 1: invalid syntax: def lstm_cell(:"),
        ("x = 1\nimport nothing_like_it\n", "my.py, line 2: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("import sys\nsys.exit(0)\n", "my.py, line 2: it ends the program (sys.exit); leave that out (sys.exit(0))"),
        (
            "def f():\n    return 1 / 0\nf()\n",
            "my.py, line 2, in f: ZeroDivisionError: division by zero (return 1 / 0)",
        ),
        ("", "my.py has no function lstm_cell; it has no functions"),
        ("def lstm_cel(): pass", "my.py has no function lstm_cell; is it lstm_cel?"),
        ("from math import sqrt\ndef f(): pass\ndef g(): pass", "my.py has no function lstm_cell; it has f, g"),
        ("lstm_cell = 3", "my.py has no function lstm_cell; it has no functions"),
        (b"\x00\xff\x00", "my.py has null bytes, so it is not a Python file; save it as text in UTF-8"),
        (b"\xff\xfe", "my.py, line 1: (unicode error) 'utf-8' codec can't decode byte 0xff in position 0"),
    ],
)
def test_a_file_that_cannot_be_checked_is_refused(run, mine, content, message):
    status, out, err = run("exercise", "lstm_cell", mine(content))
    assert (status, out) == (1, "")
    assert err.startswith("hf-lecture exercise: ")
    assert message in err
    assert err.count("\n") == 1
    assert str(mine(content).parent) not in sys.path


def test_missing_files_and_unknown_exercises_are_refused(run, tmp_path):
    status, _, err = run("exercise", "lstm_cell", tmp_path / "no.py")
    assert (status, "there is no file" in err) == (1, True)
    assert run("exercise", "lstm_cell", tmp_path)[0] == 1
    line = "hf-lecture exercise: no exercise lstm; did you mean lstm_cell?\n"
    assert run("exercise", "lstm") == (1, "", line)
    assert run("exercise", "nosuch")[2].startswith("hf-lecture exercise: no exercise nosuch; there are bpe_merge, ")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return by_distance.nonsense", "my.py, line 2, in relative_shift: AttributeError: 'Tensor' object has no"),
        ("import sys; sys.exit(0)", "my.py, line 2, in relative_shift: it ends the program (sys.exit)"),
        ("raise NotImplementedError('later')", "my.py, line 2, in relative_shift: NotImplementedError: later"),
        ("return torch.tensor(by_distance.tolist())", "NameError: name 'torch' is not defined"),
    ],
)
def test_an_error_of_the_function_is_shown_with_its_line(run, mine, body, message):
    status, out, err = run("exercise", "relative_shift", mine(SHIFT.format(body)))
    assert (status, err) == (1, "")
    assert message in out


def test_windows_line_ends_a_byte_order_mark_and_modules_beside_the_file_are_welcome(run, mine, tmp_path):
    (tmp_path / "my_gates.py").write_text("GATES = 4\n", encoding="utf-8")
    text = CELL.replace("import torch\n", "import torch\nfrom my_gates import GATES\n").replace(
        "chunk(4", "chunk(GATES"
    )
    status, out, _ = run("exercise", "lstm_cell", mine(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert (status or 0, out.split()[1]) == (0, "right,"), out
    sys.modules.pop("my_gates")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_endless_loop_is_stopped_by_signals(start, mine, number, status):
    """SIGTERM is a SystemExit too, but not one of the file's."""
    process = start(
        "exercise", "relative_shift", mine(SHIFT.format("print('running', flush=True)\n    while True: pass"))
    )
    assert process.stdout.readline() == "running\n"
    process.send_signal(number)
    _, err = process.communicate()
    assert (process.returncode, "Traceback" in err) == (status, False)
