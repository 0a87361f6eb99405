# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
import random
import shutil

import numpy as np
import pytest
import torch
from torch import nn

from hf_lecture_models.trainer.checkpoint import (
    latest_checkpoint,
    random_state,
    read_model,
    read_state,
    remove_stale,
    set_random_state,
    write_checkpoint,
)

FILES = ["model.safetensors", "state.safetensors", "state.json", "complete.json"]


class Tied(nn.Module):
    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(3, 2), nn.Linear(2, 3, bias=False)
        self.head.weight = self.embed.weight
        nn.init.constant_(self.embed.weight, value)


@pytest.fixture
def folder(tmp_path):
    for step in (1, 2):
        write_checkpoint(tmp_path, step, Tied(step), {"step": step, "tensors": [torch.full((2,), step)]}, keep=2)
    return tmp_path


def test_what_is_written_is_read(folder):
    path = latest_checkpoint(folder)
    state, model = read_state(path), Tied()
    read_model(path, model)
    assert state["step"] == 2
    assert torch.equal(state["tensors"][0], torch.tensor([2, 2]))
    assert model.head.weight is model.embed.weight
    assert model.head.weight.unique().tolist() == [2]


def test_only_the_newest_are_kept(folder):
    write_checkpoint(folder, 10, Tied(), {}, keep=2)
    assert sorted(path.name for path in folder.iterdir()) == ["step-00000002", "step-00000010"]


def test_there_is_none_before_the_first(tmp_path):
    assert latest_checkpoint(tmp_path / "nothing") is None


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def swap(path):
    shutil.copy(path.parent.parent / "step-00000001" / path.name, path)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "halved": halve,
    "flipped": flip,
    "swapped": swap,
    "folder": replace_by_folder,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_by_name(folder, name, damage):
    DAMAGES[damage](folder / "step-00000002" / name)
    # A marker taken from another step accuses the files that it does not describe.
    named = "state" if (name, damage) == ("complete.json", "swapped") else name
    with pytest.warns(UserWarning, match=f"step-00000002/({named}|model.safetensors)"):
        assert latest_checkpoint(folder) == folder / "step-00000001"


def test_if_all_are_damaged_the_error_names_them(folder):
    for step in (1, 2):
        (folder / f"step-0000000{step}" / "model.safetensors").unlink()
    with (
        pytest.warns(UserWarning, match="passed over"),
        pytest.raises(ValueError, match=r"1/model.safetensors is missing"),
    ):
        latest_checkpoint(folder)


def test_a_damaged_checkpoint_is_replaced_by_a_new_one_of_its_step(folder):
    (folder / "step-00000002" / "state.json").unlink()
    write_checkpoint(folder, 2, Tied(7), {"step": 2}, keep=2)
    assert latest_checkpoint(folder) == folder / "step-00000002"


def test_weights_that_are_not_finite_are_never_written(folder):
    with pytest.raises(FloatingPointError, match=r"embed.weight holds NaN"):
        write_checkpoint(folder, 3, Tied(float("nan")), {}, keep=2)
    assert latest_checkpoint(folder) == folder / "step-00000002"


def test_a_full_disk_leaves_the_old_checkpoints(folder, monkeypatch):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hf_lecture_models.trainer.checkpoint.save_file", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_checkpoint(folder, 3, Tied(), {}, keep=1)
    assert sorted(path.name for path in folder.iterdir()) == ["step-00000001", "step-00000002"]
    assert latest_checkpoint(folder) == folder / "step-00000002"


def test_what_killed_runs_left_is_removed_and_nothing_else(tmp_path):
    output = tmp_path / "run"
    keep = [output / "checkpoints" / "step-00000001", output / "model", tmp_path / ".other.x.partial"]
    stale = [
        output / "checkpoints" / ".step-00000002.x.partial",
        output / "checkpoints" / ".step-00000001.discarded.partial",
        output / ".y.partial.training.json",
        tmp_path / ".run.z.partial",
    ]
    for path in (*keep, *stale):
        path.mkdir(parents=True)
    remove_stale(output)
    assert all(path.exists() for path in keep)
    assert not any(path.exists() for path in stale)


def test_random_generators_go_back(tmp_path):
    def draw():
        return [random.random(), random.gauss(0, 1), *np.random.rand(2), np.random.randn(), *torch.rand(3).tolist()]

    random.gauss(0, 1)
    np.random.randn()
    write_checkpoint(tmp_path, 1, Tied(), random_state(), keep=1)
    first = draw()
    set_random_state(read_state(tmp_path / "step-00000001"))
    assert draw() == first
