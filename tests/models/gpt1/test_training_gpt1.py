# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe of a small GPT-1, going on after it was stopped."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models import Gpt1ForCausalLM
from hf_lecture_models.tasks.causal_lm import CausalLM
from hf_lecture_models.tasks.main import train_from_command

RECIPE = Path(__file__).parents[3] / "training" / "recipes" / "gpt1_tiny.yaml"


def train(*arguments: Any) -> Any:
    return train_from_command(CausalLM(), [str(argument) for argument in (RECIPE, *arguments)])[0]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return train("--output_dir", tmp_path_factory.mktemp("straight") / "run")


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(
    straight: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, calls = Gpt1ForCausalLM.forward, []

    @functools.wraps(forward)  # the trainer asks the signature what it may spare
    def stops(self: Gpt1ForCausalLM, *args: Any, **kwargs: Any) -> Any:
        calls.append(self.training)
        if sum(calls) == 50:
            raise KeyboardInterrupt
        return forward(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Gpt1ForCausalLM, "forward", stops)
        with pytest.raises(KeyboardInterrupt):
            train("--output_dir", tmp_path / "run")
    assert (tmp_path / "run" / "checkpoints" / "step-00000040").is_dir()
    resumed = train("--output_dir", tmp_path / "run", "--resume")
    assert resumed.best_metric == straight.best_metric
    expected = load_file(straight.folder / "model.safetensors")
    found = load_file(resumed.folder / "model.safetensors")
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
