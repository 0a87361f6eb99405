# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A disk that is really full: one line that names what could not be written, and nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models.hub import export
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.language_models.causal import CausalLM
from tests.cli.writers import TRAINING, WRITERS
from tests.forked_python import HF_LECTURE, ForkedPython

NO_SPACE = "No space left on device"


class Disk:
    """A small file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def with_free(self, kibibytes: int) -> Iterator[None]:
        """Within the block so much room is left, in whole pages of memory."""
        ballast = self.path / "ballast"
        found = os.statvfs(self.path)
        ballast.write_bytes(bytes(found.f_bavail * found.f_frsize - kibibytes * 1024))
        try:
            yield
        finally:
            ballast.unlink()

    def files(self) -> dict[str, bytes]:
        found = {path for path in self.path.rglob("*") if path.is_file() and path.name != "ballast"}
        return {str(path.relative_to(self.path)): path.read_bytes() for path in found}

    def half_written(self) -> list[Path]:
        return [path for path in self.path.rglob("*") if ".partial" in path.name]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Mounted where this process may do so."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(path)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


# The KiB that each command finds free in turn.
ROOMS = {
    "fit_ngram": [8, 40],
    "train_causal_lm": [0, 32, 320],
    "finetune_glue": [8],
    "quickstart": [0, 64],
    "ladder": [0, 64],
    "convert to ARPA": [0],
    "convert to packed ARPA": [0],
    "convert to KenLM": [0],
    "convert from ARPA": [0, 4, 12],
    "prune": [0],
    "cut": [0],
    "extend": [0, 4, 12],
    "mix": [0, 4, 12],
    "mix to ARPA": [0],
    "neighbours": [0, 4],
    "export": [0, 8, 64],
    "live": [0],
    "publish": [8, 32, 64],
    "convert to ONNX": [0, 4],
}


@pytest.mark.cases(1, 9)
@pytest.mark.parametrize("writer", ROOMS)
def test_a_full_disk_costs_one_line(place: Path, disk: Disk, writer: str) -> None:
    (program, *words), (_, needed, kept) = WRITERS[writer].arguments(out="disk/"), WRITERS[writer]
    command = [*HF_LECTURE, *words] if program == "hf-lecture" else [program, *words]
    if needed is not None:
        pytest.importorskip(needed)
    for room in ROOMS[writer]:
        with disk.with_free(room):
            process = ForkedPython(*command, cwd=place, TMPDIR=str(disk.path))
            out, err = process.communicate()
        assert process.returncode == 1, (room, out[-1000:])
        assert "Traceback" not in err, (room, err)
        told = err.splitlines()[-1]
        assert told.startswith(("error: cannot write", f"hf-lecture {writer.split()[0]}: cannot write")), (room, err)
        assert told.endswith(f": {NO_SPACE}"), (room, err)
        assert ".partial" not in told, (room, err)
        assert not disk.half_written(), room
        left = [name for name in disk.files() if kept is None or not name.startswith(f"{kept}/")]
        # The folder of a model is whole, its ARPA file beside it is none.
        assert left == [] or (writer == "fit_ngram" and "new/model.safetensors" in left), room
        for path in disk.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path)


def test_an_export_that_finds_no_room_leaves_the_earlier_one(disk: Disk, folder: Path) -> None:
    model, tokenizer = load_model(str(folder))
    export(model, tokenizer, disk.path / "new")
    before = disk.files()
    for room in (0, 4, 16, 48):
        with disk.with_free(room):
            with pytest.raises(OSError, match=f"^cannot write {disk.path}/new: {NO_SPACE}$"):
                export(model, tokenizer, disk.path / "new")
            assert not disk.half_written()
        assert disk.files() == before


@pytest.mark.slow
def test_training_that_finds_room_again_ends_in_the_same_bits(disk: Disk, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    command = [str(TRAINING / "recipes/recurrent_tiny.yaml"), "--save_every", "3", "--output_dir"]
    train_from_command(CausalLM(), [*command, str(tmp_path / "straight")])
    steps = []
    for room in (900, 150, 60, 0):  # for some checkpoints, then for models alone, then for nothing
        with disk.with_free(room), pytest.raises(OSError, match=f"^cannot write {disk.path}/run.*: {NO_SPACE}$"):
            train_from_command(CausalLM(), [*command, str(disk.path / "run"), "--resume"])
        assert not disk.half_written()
        steps.append(max((path.name for path in disk.path.glob("run/checkpoints/step-*")), default=""))
    assert steps[0] > ""
    assert steps == sorted(steps), "no checkpoint was lost"
    train_from_command(CausalLM(), [*command, str(disk.path / "run"), "--resume"])
    found, expected = (load_file(path / "model.safetensors") for path in (disk.path / "run", tmp_path / "straight"))
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())
    histories = [
        json.loads((path / "training.json").read_text())["history"]
        for path in (disk.path / "run", tmp_path / "straight")
    ]
    assert histories[0] == histories[1]
