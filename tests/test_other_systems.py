# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Windows and macOS: what the package needs of the system, and what it does where that is missing.

Nothing here runs on another system. `other_system/sitecustomize.py` takes from the package what Windows lacks.
"""

from __future__ import annotations

import ast
import errno
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.io import system
from hf_lecture_models.io.files import check_writable, staged_file, staged_folder
from hf_lecture_models.io.runs import as_program
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit
from tests.other_system import sitecustomize as windows

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in for Windows reads /proc")
ROOT = Path(__file__).resolve().parents[1]
SYSTEM = ROOT / "hf_lecture_models" / "io" / "system.py"
CODE = [ROOT / "hf_lecture_cli.py"]
CODE += [path for folder in ("hf_lecture_models", "training") for path in sorted((ROOT / folder).rglob("*.py"))]
PROGRAMS = [*CODE, *sorted((ROOT / "benchmarks").rglob("*.py"))]


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[Any]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, kinds):
            yield node


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]


def test_what_a_system_lacks_is_used_in_one_module():
    found = []
    for path in CODE:
        if path == SYSTEM:
            continue
        for node in nodes(path, ast.Import, ast.ImportFrom):
            # The completion of lines, which says so where it is missing.
            names = {name.split(".")[0] for name in imported(node)} & (windows.MODULES - {"readline"} | {"msvcrt"})
            found += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for name in names]
        for node in nodes(path, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.attr in windows.FUNCTIONS.get(node.value.id, ()):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.value.id}.{node.attr}")
    assert not found


def opens_text(call: ast.Call) -> str:
    """How a call opens text, "r" or "w"; "" for all other calls."""
    name, owner = getattr(call.func, "attr", getattr(call.func, "id", "")), getattr(call.func, "value", None)
    if name in ("read_text", "write_text"):
        return name[0]
    if name in ("run", "Popen", "check_output"):
        return "r" if any(word.arg == "text" for word in call.keywords) else ""
    if name != "open" or getattr(owner, "id", "") in ("Image", "gzip", "os", "webbrowser"):
        return ""
    # The mode is the first argument of a path's method, and the second one of the function.
    given = [*(word.value for word in call.keywords if word.arg == "mode"), *call.args[owner is None :][:1]]
    mode = given[0].value if given and isinstance(given[0], ast.Constant) else "r"
    return "" if "b" in mode else "w" if set(mode) & set("wax+") else "r"


def test_text_has_an_encoding_and_what_is_written_has_line_feeds():
    found = []
    for path in PROGRAMS:
        for call in nodes(path, ast.Call):
            if not (way := opens_text(call)):
                continue
            words = {word.arg for word in call.keywords}
            if any(isinstance(value, ast.Constant) and value.value == "utf-8" for value in call.args):
                words.add("encoding")
            if not words >= ({"encoding", "newline"} if way == "w" and path in CODE else {"encoding"}):
                found.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert not found


@pytest.fixture
def as_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `io/system.py` would see there; files of this process that are in use are refused below `tmp_path`."""
    monkeypatch.setattr(system, "IS_WINDOWS", True)
    monkeypatch.setattr(system, "PAUSE", 0)
    monkeypatch.setattr(system, "_fcntl", None)
    monkeypatch.setattr(system, "_msvcrt", windows.MSVCRT)
    monkeypatch.setattr(system, "_resource", None)
    monkeypatch.setattr(system, "os", windows.SEEN["os"])


@pytest.fixture
def in_use(as_windows: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OTHER_SYSTEM_FOLDER", str(tmp_path))
    for name in ("replace", "rename", "unlink", "rmdir"):
        monkeypatch.setattr(os, name, windows.refusing(getattr(os, name)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_folders_are_written_locked_and_replaced(in_use: None, tmp_path: Path):
    for text in ("old", "new"):
        with staged_folder(tmp_path / "model") as stage:
            assert names(tmp_path) == sorted(
                {"model", stage.name, f"{stage.name}.lock"} - ({"model"} if text == "old" else set())
            )
            with pytest.raises(BlockingIOError), system.locked_folder(stage):
                pass
            check_writable(tmp_path / "model")
            (stage / "sub").mkdir()
            for path in (stage / "config.json", stage / "sub" / "x"):
                path.write_text(text, encoding="utf-8")
    assert names(tmp_path) == ["model"]
    assert {path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()} == {"new"}


def test_what_a_killed_process_left_is_removed(in_use: None, tmp_path: Path):
    left = tmp_path / ".model.12345678.partial"
    left.mkdir()
    (tmp_path / f"{left.name}.lock").touch()
    with staged_file(tmp_path / "model") as stage:
        stage.touch()
    assert names(tmp_path) == ["model"]


def test_a_file_in_use_is_named_before_anything_is_replaced(in_use: None, tmp_path: Path):
    for name in ("a.json", "config.json", "model.safetensors"):
        (tmp_path / "model").mkdir(exist_ok=True)
        (tmp_path / "model" / name).write_text("old", encoding="utf-8")
    message = r"cannot write \S+/model/model.safetensors: .* This or another program has .* open, .*: close it"
    with (tmp_path / "model" / "model.safetensors").open("rb"):
        with pytest.raises(PermissionError, match=message), staged_folder(tmp_path / "model") as stage:
            for name in names(tmp_path / "model"):
                (stage / name).write_text("new", encoding="utf-8")
        assert {path.read_text(encoding="utf-8") for path in (tmp_path / "model").iterdir()} == {"old"}
        with pytest.raises(PermissionError, match="cannot delete .*/model: .*another program"):
            system.remove(tmp_path / "model")
    assert names(tmp_path) == ["model"]
    system.remove(tmp_path / "model")


def test_a_scanner_may_have_a_file_open_for_a_moment(as_windows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").touch()
    opened = (tmp_path / "a").open("rb")
    monkeypatch.setenv("OTHER_SYSTEM_FOLDER", str(tmp_path))
    monkeypatch.setattr(os, "replace", windows.refusing(os.replace))
    monkeypatch.setattr(system.time, "sleep", lambda seconds: opened.close())
    system.move(tmp_path / "a", tmp_path / "b")
    assert names(tmp_path) == ["b"]


def test_other_refusals_are_not_waited_for(as_windows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system.time, "sleep", None)
    with pytest.raises(FileNotFoundError):
        system.move(tmp_path / "a", tmp_path / "b")


def test_a_model_is_not_saved_over_the_weights_that_it_has_mapped(in_use: None, tmp_path: Path):
    """On Linux transformers maps them. On Windows it reads them, and other programs may have the file open."""
    tokenizer = WordTokenizer.train(["a b", "b a"], progress=False)
    fitted = NGramForCausalLM.fit(["a b", "b a"], tokenizer, order=2, smoothing="add_alpha", progress=False)
    fitted.save_pretrained(tmp_path / "model")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    loaded = NGramForCausalLM.from_pretrained(tmp_path / "model")
    assert windows.is_in_use(tmp_path / "model" / "model.safetensors")
    with pytest.raises(PermissionError, match=r"cannot write \S+model.safetensors: .*delete the model that was loaded"):
        loaded.save_pretrained(tmp_path / "model")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before
    assert names(tmp_path) == ["model"]
    del loaded
    fitted.save_pretrained(tmp_path / "model")


@pytest.mark.parametrize("name", ["run 12:30", "a?.txt", "con", "NUL.txt", "model.", "model ", "tab\t", 'say "x"'])
def test_impossible_names_are_refused_before_anything_is_written(as_windows: None, tmp_path: Path, name: str):
    for write in (staged_file, staged_folder, check_writable):
        with pytest.raises(ValueError, match="Windows allows no file name"), write(tmp_path / name):
            pass
    assert not names(tmp_path)


def test_all_names_are_possible_elsewhere(tmp_path: Path):
    with staged_file(tmp_path / "con: 12:30?") as stage:
        stage.touch()
    assert names(tmp_path) == ["con: 12:30?"]


@pytest.mark.parametrize("name", ["model", "v1.0", "console", ".hidden", "ł", "..", "a b"])
def test_usual_names_are_possible_on_windows(as_windows: None, name: str):
    system.refuse_name(Path("folder", name))


def test_commands_are_quoted_for_the_terminal(as_windows: None):
    assert [system.shell_quoted(text) for text in (r"out\lstm", "my model")] == [r"out\lstm", '"my model"']


def test_a_closed_pipe_is_an_invalid_argument_on_windows(as_windows: None):
    assert system.is_closed_pipe(OSError(errno.EINVAL, "Invalid argument"))
    assert not system.is_closed_pipe(OSError(errno.EINVAL, "Invalid argument", "a|b"))
    assert not system.is_closed_pipe(ValueError())


def test_signals_are_left_alone_outside_the_main_thread():
    caught: list[BaseException] = []

    def run() -> None:
        try:
            with as_program():
                pass
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not caught


def test_a_handler_that_was_not_set_from_python_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    monkeypatch.setattr(signal, "signal", None)
    with system.signal_handlers({signal.SIGINT: signal.default_int_handler}):
        pass


def test_memory_is_told_without_proc(as_windows: None, monkeypatch: pytest.MonkeyPatch):
    held = system.resident_bytes()
    monkeypatch.setattr(system, "Path", lambda name: Path("/nowhere"))
    with monkeypatch.context() as patch:
        patch.setattr(system, "find_spec", lambda name: None)
        with pytest.raises(ImportError, match="pip install psutil"):
            system.resident_bytes()
        assert system.free_bytes() is None
        usage = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda who: SimpleNamespace(ru_maxrss=5000))
        patch.setattr(system, "_resource", usage)
        assert system.resident_bytes() == 5000 * 1024
        patch.setattr(system.sys, "platform", "darwin")
        assert system.resident_bytes() == 5000
    pytest.importorskip("psutil")
    assert 0.5 < system.resident_bytes() / held < 2
    assert system.free_bytes() > 0


@pytest.mark.parametrize("given", ["", "latin-1"])
def test_streams_have_utf8_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch, given: str):
    streams = [
        io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\r\n", errors=how) for how in ("strict", "replace")
    ]
    monkeypatch.setattr(system.sys, "stdout", streams[0])
    monkeypatch.setattr(system.sys, "stderr", streams[1])
    monkeypatch.setattr(system.sys, "stdin", io.StringIO())
    monkeypatch.setenv("PYTHONIOENCODING", given)
    if not given:
        monkeypatch.delenv("PYTHONIOENCODING")
    system.use_utf8()
    print("ż" if not given else "z")
    sys.stdout.flush()
    assert streams[0].buffer.getvalue() == (b"z\r\n" if given else "ż\n".encode())
    assert [stream.errors for stream in streams] == ["strict", "replace"]


def test_tables_are_deleted_when_no_model_has_them_mapped(in_use: None, tmp_path: Path):
    numpy = pytest.importorskip("numpy")
    work = tmp_path / "work"
    (work / "tables").mkdir(parents=True)
    (work / "estimation.json").touch()
    (work / "tables" / "keys_2").write_bytes(bytes(80))
    mapped = numpy.memmap(work / "tables" / "keys_2", numpy.int64, "c")
    limit = MemoryLimit("2GB", folder=work)
    with pytest.raises(PermissionError, match=r"cannot rename \S+/tables: .*delete the model"):
        limit.clear()
    assert names(work) == ["estimation.json", "tables"]
    del mapped
    limit.clear()
    assert names(tmp_path) == []


def run_there(tmp_path: Path, *arguments: object, given: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run `python ARGUMENTS` as if the package were on Windows."""
    path = os.pathsep.join([str(Path(windows.__file__).parent), str(ROOT)])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    environment |= {"PYTHONPATH": path, "OTHER_SYSTEM_FOLDER": str(tmp_path), "OMP_NUM_THREADS": "1"}
    environment |= {"PYTHONWARNDEFAULTENCODING": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, input=given.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return done


IMPORT_ALL = """
import importlib, os, pkgutil
import hf_lecture_models, hf_lecture_cli
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.io import system

assert (system.IS_WINDOWS, system._fcntl, system._resource, hasattr(os, "fork")) == (True, None, None, False)
for module in pkgutil.walk_packages(hf_lecture_models.__path__, "hf_lecture_models."):
    if "startup" not in module.name:
        importlib.import_module(module.name)
"""


@pytest.mark.slow
@linux_only
def test_every_module_is_importable_there(tmp_path: Path):
    run_there(tmp_path, "-c", IMPORT_ALL)


ESTIMATE = """
import pathlib, numpy, tempfile
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit

tempfile.tempdir = str(pathlib.Path("temporary").absolute())
pathlib.Path("temporary").mkdir()
texts = pathlib.Path("texts.txt").read_text(encoding="utf-8").splitlines()
tokenizer = WordTokenizer.train(texts, progress=False)

def fit(memory):
    return NGramForCausalLM.fit(texts, tokenizer, order=3, memory=memory, progress=False)

def assert_equal(model, other):
    for name in ("keys", "log10_probs", "log10_backoffs"):
        for one, two in zip(getattr(model.tables(), name), getattr(other.tables(), name), strict=True):
            assert numpy.array_equal(one, two)

limit = MemoryLimit("8GB", engine="numpy", folder="work")
kept, expected = fit(limit), fit(None)
for engine in ("numpy", "duckdb"):
    assert_equal(fit(MemoryLimit("8GB", engine=engine)), expected)
assert not list(pathlib.Path("temporary").iterdir())
assert_equal(kept, expected)
kept.save_pretrained("model")
tokenizer.save_pretrained("model")
try:
    limit.clear()
    raise SystemExit("the tables were deleted")
except PermissionError as error:
    assert "delete the model" in str(error), error
del kept
limit.clear()
assert sorted(path.name for path in pathlib.Path().iterdir()) == ["model", "temporary", "texts.txt"]
"""


@pytest.mark.slow
@linux_only
def test_an_estimation_out_of_core_is_the_one_in_memory_there(tmp_path: Path):
    for module in ("ibis", "duckdb", "psutil"):
        pytest.importorskip(module)
    texts = ["żółw i kot", "kot i żółw śpi", "kot śpi", "pies i kot i żółw"] * 20
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    run_there(tmp_path, "-W", "ignore::UserWarning", "-c", ESTIMATE)
    verb = ("-c", "from hf_lecture_cli import main; main()")
    done = run_there(tmp_path, *verb, "filter", "model", "--keep", "1.0", given="żółw śpi\r\nkot\n")
    assert done.stdout == "żółw śpi\r\nkot\n".encode()
    run_there(tmp_path, *verb, "convert", "model", "model.arpa")
    assert b"\r" not in (tmp_path / "model.arpa").read_bytes()


RESUME = """
import runpy, signal, sys
from hf_lecture_models.trainer import loop

step, stopped_at = loop._Run._step, []

def interrupted(*arguments):
    if len(stopped_at) == 6:
        signal.raise_signal(signal.SIGINT)  # Ctrl-C
    stopped_at.append(None)
    return step(*arguments)

def train(*options):
    sys.argv = [*command, *options]
    runpy.run_path(command[0], run_name="__main__")

command = sys.argv[1:]
train("--output_dir", "straight")
loop._Run._step = interrupted
try:
    train("--output_dir", "cut")
    raise SystemExit("nothing stopped the run")
except SystemExit as error:
    assert error.code == 128 + signal.SIGINT, error.code
loop._Run._step = step
train("--output_dir", "cut", "--resume")
"""


@pytest.mark.slow
@linux_only
def test_a_training_that_was_stopped_goes_on_to_the_same_weights_there(tmp_path: Path):
    pytest.importorskip("accelerate")
    script = [ROOT / "training" / "train_causal_lm.py", ROOT / "training" / "recipes" / "recurrent_tiny.yaml"]
    done = run_there(tmp_path, "-c", RESUME, *script, "--max_steps", 12, "--save_every", 5, "--keep_checkpoints", 1)
    assert b"stopped by SIGINT at step 7" in done.stdout
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("straight", "cut"))
    assert first.keys() == second.keys()
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".lock", ".partial")]


@pytest.mark.nightly
@pytest.mark.slow
@linux_only
def test_the_quickstart_runs_there(tmp_path: Path):
    for module in ("accelerate", "matplotlib"):
        pytest.importorskip(module)
    run_there(tmp_path, "-c", "from hf_lecture_cli import main; main()", "quickstart", "--tiny")
    assert {"results.json", "comparison.png", "lstm"} <= set(names(tmp_path / "quickstart"))
    texts = [path for path in tmp_path.rglob("*") if path.suffix in (".json", ".md", ".yaml")]
    assert texts
    assert not [path for path in texts if b"\r" in path.read_bytes()]
