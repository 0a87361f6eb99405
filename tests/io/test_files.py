# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Files and folders that are written whole or not at all: what is synced, what errors say, when signals are heard."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from hf_lecture_models.io import files
from hf_lecture_models.io.files import check_writable, staged_file, staged_folder
from hf_lecture_models.io.runs import run_lock
from hf_lecture_models.io.system import locked_folder

NO_SPACE = "No space left on device"


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("exists", [False, True])
def test_all_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    target, synced = tmp_path / "target", []
    if exists:
        target.mkdir()

    def sync(path: Path) -> None:
        synced.append((path.name, (target / "sub" / "b").exists()))

    monkeypatch.setattr(files, "sync", sync)
    with staged_folder(target) as stage:
        (stage / "a").write_text("a")
        (stage / "sub").mkdir()
        (stage / "sub" / "b").write_text("b")
    before = [name for name, in_place in synced if not in_place]
    assert sorted(before) == sorted(["a", "sub", "b", stage.name])
    assert before.index("b") < before.index("sub") < before.index(stage.name), "a folder after what it holds"
    # Then the names themselves.
    assert [name for name, in_place in synced if in_place] == (["target"] if exists else []) + [tmp_path.name]
    assert names(target) == {"a", "sub", "sub/b"}

    synced.clear()
    with staged_file(target / "sub" / "b") as file:
        file.write_text("new")
    assert [name for name, _ in synced] == [file.name, "sub"]


def test_whoever_sees_the_new_configuration_finds_the_new_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, moved = Path.replace, []
    monkeypatch.setattr(files.Path, "replace", lambda path, target: moved.append(path.name) or replace(path, target))
    (tmp_path / "target").mkdir()
    with staged_folder(tmp_path / "target") as stage:
        for name in ("a", "config.json", *map(str, range(8)), "z"):
            (stage / name).touch()
    assert (moved[-1], len(moved)) == ("config.json", 11)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_in_a_files_place_is_named_and_nothing_moves(tmp_path: Path, kind: str) -> None:
    other = {"file": Path.mkdir, "folder": Path.touch}[kind]
    (tmp_path / "target").mkdir()
    other(tmp_path / "target" / "model.safetensors")
    before = names(tmp_path)
    with (
        pytest.raises(FileExistsError, match=r"cannot write \S*/target/model.safetensors: a f\w+ stands in the place"),
        staged_folder(tmp_path / "target") as stage,
    ):
        (stage / "a").touch()
        {"file": Path.touch, "folder": Path.mkdir}[kind](stage / "model.safetensors")
    assert names(tmp_path) == before


@pytest.mark.parametrize("stage", [staged_file, staged_folder])
def test_a_file_in_the_place_of_its_folder_is_named(tmp_path: Path, stage: Callable[[Path], Any]) -> None:
    (tmp_path / "file").touch()
    for target in (tmp_path / "file" / "x", tmp_path / "file" / "y" / "x"):
        with pytest.raises(NotADirectoryError, match=rf"cannot write {target}: {tmp_path}/file"), stage(target):
            pass


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, NO_SPACE),
        OSError(errno.ENOSPC, NO_SPACE, "/somewhere/.x.partial/file"),
        SafetensorError(f"Error while serializing: I/O error: {NO_SPACE} (os error 28)"),
        Exception(f"{NO_SPACE} (os error 28)"),
    ],
    ids=["python", "python with a name", "safetensors", "tokenizers"],
)
@pytest.mark.parametrize("stage", [staged_file, staged_folder])
def test_a_full_disk_is_said_of_the_target(tmp_path: Path, stage: Callable[[Path], Any], error: Exception) -> None:
    with (
        pytest.raises(OSError, match=rf"^cannot write {tmp_path}/target: {NO_SPACE}$") as caught,
        stage(tmp_path / "target") as outer,
        staged_file(outer.parent / "inner"),
    ):
        raise error
    assert caught.value.errno == errno.ENOSPC
    assert not names(tmp_path)


@pytest.mark.parametrize("error", [ValueError("x"), PermissionError(errno.EACCES, "no"), SafetensorError("bad header")])
def test_all_other_errors_stay_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, staged_folder(tmp_path / "target"):
        raise error
    assert caught.value is error


class Stopped(Exception):
    pass


def stop(number: int, _: Any) -> None:
    raise Stopped


@pytest.fixture(params=["SIGINT", "SIGTERM"])
def stopping(request: pytest.FixtureRequest) -> Any:
    """A signal that raises an exception, as programs set it up that tidy up after themselves."""
    number = signal.Signals[request.param]
    before = signal.signal(number, stop)
    yield number
    assert signal.getsignal(number) is stop, "the handler is put back"
    signal.signal(number, before)


# What is done to a stage, and what is there when a signal comes while it is done.
MOMENTS = {
    "tempfile.mkdtemp": {"target", "target/config.json"},
    "shutil.rmtree": {"target", "target/config.json"},
    "Path.replace": {"target", "target/a", "target/config.json", "target/sub", "target/sub/b"},
    "Path.rmdir": {"target", "target/a", "target/config.json", "target/sub", "target/sub/b"},
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_waits_while_a_stage_is_made_moved_or_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopping: int, moment: str
) -> None:
    owner, name = moment.split(".")
    original = getattr(getattr(files, owner), name)

    def interrupted(*arguments: Any, **options: Any) -> Any:
        if name != "mkdtemp":
            signal.raise_signal(stopping)
        done = original(*arguments, **options)
        signal.raise_signal(stopping)
        return done

    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text("old")
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(getattr(files, owner), name, interrupted)
        with staged_folder(tmp_path / "target") as stage:
            (stage / "a").write_text("new")
            (stage / "sub").mkdir()
            (stage / "sub" / "b").write_text("new")
            (stage / "config.json").write_text("new")
            if name == "rmtree":
                raise ValueError
    assert names(tmp_path) == MOMENTS[moment]
    # All of the old entries, or all of the new ones.
    contents = {path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert contents == ({"new"} if "target/a" in MOMENTS[moment] else {"old"})


def test_a_signal_while_the_block_runs_is_heard_at_once(tmp_path: Path, stopping: int) -> None:
    for stage in (staged_file, staged_folder):
        with pytest.raises(Stopped), stage(tmp_path / "target"):
            signal.raise_signal(stopping)
            pytest.fail("the block went on")
        assert not names(tmp_path)


def test_other_threads_write_too(tmp_path: Path) -> None:
    def write() -> None:
        with staged_file(tmp_path / "x") as stage:
            stage.write_text(str(os.getpid()))

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert names(tmp_path) == {"x"}


def test_two_runs_cannot_share_a_folder(tmp_path: Path) -> None:
    with run_lock(tmp_path), pytest.raises(BlockingIOError, match="in use by another run"), run_lock(tmp_path):
        pass
    assert not (tmp_path / "run.lock").exists()
    with run_lock(tmp_path):
        assert (tmp_path / "run.lock").exists()


@pytest.mark.slow
def test_what_a_killed_process_left_is_removed_by_the_next_and_a_live_ones_stays(tmp_path: Path) -> None:
    target = tmp_path / "model[1]"
    code = (
        "import os, sys; from hf_lecture_models.io.files import staged_folder\n"
        "with staged_folder(sys.argv[1]) as stage, staged_folder(stage):\n"
        "    (stage / 'x').touch(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(target)], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".model[1].other.12345678.partial").mkdir()  # of a target of another name
    with staged_folder(target) as stage:
        assert names(tmp_path) == {stage.name, ".model[1].other.12345678.partial"}
        check_writable(target)
        (stage / "x").touch()
    assert names(tmp_path) == {"model[1]", "model[1]/x", ".model[1].other.12345678.partial"}


def test_a_stage_that_another_process_is_about_to_remove_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made, locks = files.tempfile.mkdtemp, [], ExitStack()

    def make_and_lock_the_first(**options: Any) -> str:
        made.append(make(**options))
        if len(made) == 1:
            locks.enter_context(locked_folder(Path(made[0])))
        return made[-1]

    monkeypatch.setattr(files.tempfile, "mkdtemp", make_and_lock_the_first)
    with locks, staged_folder(tmp_path / "model") as stage:
        assert [str(stage)] == made[1:]


@pytest.mark.parametrize("is_folder", [False, True])
def test_where_nothing_can_be_written_is_said_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    def targets(path: Path) -> tuple[Path | None, Path | None]:
        return (path, None) if is_folder else (None, path)

    check_writable(*targets(tmp_path / "new" / "target"))
    assert names(tmp_path) == {"new"}

    def refuse(*_: Any, dir: Path, **options: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", f"{dir}/.x.partial")

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    with pytest.raises(PermissionError, match=rf"^cannot write {tmp_path}/target: Permission denied$"):
        check_writable(*targets(tmp_path / "target"))
