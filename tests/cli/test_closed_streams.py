# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Standard streams that are closed, as by `<&-` and `>&-` in a shell: they are like /dev/null, without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked_python import PATIENCE, ForkedPython

NAMES = ("stdin", "stdout", "stderr")


def with_closed(numbers: tuple[int, ...], *arguments: object) -> tuple[int, str, str]:
    """Exit status, output and errors of a command that is started with these streams closed."""
    closing = "".join(f"os.close({number}); sys.{NAMES[number]} = None; " for number in numbers)
    process = ForkedPython("-c", f"import os, sys; {closing}from hf_lecture_cli import main; main()", *arguments)
    process.stdin.close()
    return process.wait(PATIENCE), process.stdout.read(), process.stderr.read()


@pytest.mark.parametrize("numbers", [(1,), (0, 1, 2)])
def test_a_file_is_scored_whatever_is_closed(folder: Path, tmp_path: Path, numbers: tuple[int, ...]) -> None:
    (tmp_path / "text.txt").write_text("the cat\n", encoding="utf-8")
    status, out, err = with_closed(numbers, "score", folder, tmp_path / "text.txt")
    assert status == 0
    assert ("the cat" in out) == (1 not in numbers)
    assert ("perplexity" in err) == (2 not in numbers)


@pytest.mark.parametrize("verb", [["rank"], ["generate", "--interactive"]])
def test_no_standard_input_is_an_empty_one(folder: Path, verb: list[str]) -> None:
    status, out, err = with_closed((0,), *verb[:1], folder, *verb[1:])
    assert status in (0, 1)
    assert "None" not in err + out
    assert len(err.splitlines()) <= 1


def test_what_is_closed_gets_no_message_of_another_stream(folder: Path) -> None:
    """Python prints what is for a missing standard error to standard output."""
    assert with_closed((2,), "score", folder / "missing") == (1, "", "")
