# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A streamed data set's place survives any number of interruptions, wherever they fall."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from hf_lecture_models.tasks.language_models import streamed_blocks as streaming
from hf_lecture_models.tasks.language_models.streamed_blocks import StreamedBlocks
from tests.interop.small_models import small_tokenizer

datasets = pytest.importorskip("datasets")
TEXTS = [" ".join(("the cat saw the bird in the tree " * 2).split()[: n % 9 + 1]) for n in range(60)]
STEPS = 24


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _few_texts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than there are, and enough for several steps."""
    monkeypatch.setattr(streaming, "_TEXTS_AT_ONCE", 16)


def streamed_blocks(path: Path) -> StreamedBlocks:
    dataset = datasets.load_dataset("text", data_files=str(path), split="train", streaming=True)
    recipe = SimpleNamespace(batch_size=4, sequence_length=5, shuffle_buffer=0, text_column="text")
    list(dataset)  # as what trains a tokenizer or counts tokens, before the run begins
    return StreamedBlocks(dataset, small_tokenizer(), recipe)


def test_a_place_that_was_gone_to_is_the_place_that_is_saved(path: Path) -> None:
    straight = streamed_blocks(path)
    expected = [straight.next_step()[0].inputs["input_ids"] for _ in range(STEPS)]
    assert straight.epoch > 0, "else no epoch would end"
    found, state = [], None
    while len(found) < STEPS:
        batches = streamed_blocks(path)
        if state is not None:
            batches.load_state_dict(state)
            assert str(batches.state_dict()) == str(state)
        found += [batches.next_step()[0].inputs["input_ids"] for _ in range(2)]
        state = batches.state_dict()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=False))


def test_before_the_first_read_the_place_is_the_beginning(path: Path) -> None:
    first, state = streamed_blocks(path).next_step()[0], streamed_blocks(path).state_dict()
    batches = streamed_blocks(path)
    batches.load_state_dict(state)
    assert torch.equal(batches.next_step()[0].inputs["input_ids"], first.inputs["input_ids"])
    assert batches.epoch == 0


def test_a_place_that_was_counted_by_another_reader_is_refused(path: Path) -> None:
    """A run on a `.csv` file that was begun when `datasets` read its batches: a KeyError."""
    batches = streamed_blocks(path)
    batches.next_step()
    state = batches.state_dict()
    own = state["dataset"]["examples_iterable"]
    state["dataset"] = {
        "examples_iterable": {"examples_iterable": own, "type": "RebatchedArrowExamplesIterable"},
        "epoch": 0,
    }
    with pytest.raises(ValueError, match="cannot resume: the streamed training data were read in another way"):
        streamed_blocks(path).load_state_dict(state)
