# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec`: other programs, run as Python runs them."""

import subprocess
import sys

import pytest

from hf_lecture_models.cli.exec import find_program
from tests.forked_python import HF_LECTURE, PATIENCE, ForkedPython


def in_a_new_interpreter(*arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def forked(*arguments):
    """From a process that has imported the package."""
    process = ForkedPython(*arguments)
    out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.parametrize("run", [forked, pytest.param(in_a_new_interpreter, marks=pytest.mark.slow)])
def test_exec_runs_other_programs_that_know_the_models(folder, tmp_path, run):
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from transformers import AutoModelForCausalLM\n"
        "print(type(AutoModelForCausalLM.from_pretrained(sys.argv[1])).__name__, sys.argv[2:])\n"
        "sys.exit(3)\n",
        encoding="utf-8",
    )
    status, out, err = run(*HF_LECTURE, "exec", "python", tmp_path / "program.py", folder, "--help", "-x")
    assert status == 3, err
    assert out.split(maxsplit=1) == ["NGramForCausalLM", "['--help', '-x']\n"]


def test_exec_finds_console_scripts_and_modules(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])
    run = find_program(["transformers", "version"])
    assert sys.argv == ["transformers", "version"]
    with pytest.raises(SystemExit) as stop:
        run()
    assert not stop.value.code
    run = find_program(["python", "-m", "json.tool", "--help"])
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 0
    assert "json" in capsys.readouterr().out


def test_exec_runs_code_and_files_as_python_does(monkeypatch, capsys, tmp_path):
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, [*getattr(sys, name)])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    find_program(["python", "-c", "import sys; f = lambda: sys.argv; print(__name__, f())", "-x"])()
    assert capsys.readouterr().out == "__main__ ['-c', '-x']\n"
    (tmp_path / "beside_it.py").write_text("VALUE = 7", encoding="utf-8")
    (tmp_path / "program.py").write_text("import beside_it; print(beside_it.VALUE)", encoding="utf-8")
    find_program(["python", str(tmp_path / "program.py")])()
    assert capsys.readouterr().out == "7\n"
    monkeypatch.delitem(sys.modules, "beside_it")
