# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Token counts, and what the fields of the output layer refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM

COUNTS = torch.tensor([3, 0, 9, 1, 1, 0, 0, 20, 5, 1])


def config(output_layer: str, **fields: Any) -> RecurrentConfig:
    return RecurrentConfig(**{"vocab_size": 10, "hidden_size": 8, "output_layer": output_layer, **fields})


@pytest.mark.parametrize("output_layer", ["adaptive", "noise_contrastive"])
def test_counts_are_set_once_and_saved(output_layer: str, tmp_path: Path) -> None:
    model = RecurrentForCausalLM(config(output_layer))
    assert model.needs_token_counts
    model.set_token_counts(COUNTS)
    assert not model.needs_token_counts
    with pytest.raises(ValueError, match="set others on a new model"):
        model.set_token_counts(COUNTS)
    model.save_pretrained(tmp_path)
    loaded = RecurrentForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert not loaded.needs_token_counts
    assert torch.equal(loaded.lm_head.token_counts, COUNTS)


@pytest.mark.parametrize("output_layer", ["adaptive", "noise_contrastive"])
@pytest.mark.parametrize("eos", [8, [7, 8]])
def test_padding_is_not_counted(output_layer: str, eos: Any) -> None:
    """Counts of padded rows: `<pad>` is never a target, but would have rank 0 and be most of the noise."""
    rows = torch.tensor([[1, 2, 2, 8], [2, 8, 9, 9], [8, 9, 9, 9]])
    counts = rows.flatten().bincount(minlength=10)
    model = RecurrentForCausalLM(config(output_layer, pad_token_id=9, eos_token_id=eos))
    model.set_token_counts(counts)
    assert model.lm_head.token_counts.tolist() == [0, 1, 3, 0, 0, 0, 0, 0, 3, 0]
    # Where the same token ends texts it is a target.
    model = RecurrentForCausalLM(config(output_layer, pad_token_id=9, eos_token_id=9))
    model.set_token_counts(counts)
    assert model.lm_head.token_counts.tolist() == [0, 1, 3, 0, 0, 0, 0, 0, 3, 5]
    with pytest.raises(ValueError, match="all token counts are 0"):
        RecurrentForCausalLM(config(output_layer, pad_token_id=9)).set_token_counts(torch.eye(10, dtype=torch.long)[9])


def test_a_softmax_wants_no_counts() -> None:
    model = RecurrentForCausalLM(config("softmax"))
    assert not model.needs_token_counts
    with pytest.raises(ValueError, match="Linear wants no token counts"):
        model.set_token_counts(COUNTS)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (COUNTS[1:], r"shape \(9,\)"),
        (COUNTS.float(), "torch.float32"),
        (COUNTS - 1, "at least 0"),
        (COUNTS * 0, "all token counts are 0"),
    ],
    ids=["short", "fractions", "negative", "none"],
)
def test_counts_that_cannot_be_are_refused(counts: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecurrentForCausalLM(config("adaptive")).set_token_counts(counts)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"output_layer": "softmax", "adaptive_cutoffs": [2]}, "set output_layer='adaptive', or adaptive_cutoffs=None"),
        ({"tie_word_embeddings": True}, "set tie_word_embeddings=False, or output_layer='softmax'"),
        ({"adaptive_cutoffs": []}, r"must ascend, .* for example \[1\]"),
        ({"adaptive_cutoffs": [0, 4]}, "must ascend"),
        ({"adaptive_cutoffs": [4, 4]}, "must ascend"),
        ({"adaptive_cutoffs": [4, 2]}, "must ascend"),
        ({"adaptive_cutoffs": [4, 10]}, "at most vocab_size - 1 = 9"),
        ({"vocab_size": 1}, "at least 2 words"),
        ({"output_layer": "noise_contrastive", "noise_samples": 0}, "noise_samples is 0"),
    ],
)
def test_contradictions_name_the_fix(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config(**{"output_layer": "adaptive", **fields})


def test_the_default_cutoffs_are_written_down(tmp_path: Path) -> None:
    config("adaptive", vocab_size=1600).save_pretrained(tmp_path)
    assert '"adaptive_cutoffs": [' in (tmp_path / "config.json").read_text(encoding="utf-8")
    assert RecurrentConfig.from_pretrained(tmp_path).adaptive_cutoffs == [100, 500]
    assert config("softmax").adaptive_cutoffs is None


@pytest.mark.parametrize("output_layer", ["adaptive", "noise_contrastive"])
def test_resizing_is_refused(output_layer: str) -> None:
    model = RecurrentForCausalLM(config(output_layer))
    for arguments in ((12,), (10, 8)):
        with pytest.raises(ValueError, match=r"cannot be resized.*train a new model with vocab_size=len\(tokenizer\)"):
            model.resize_token_embeddings(*arguments)
    assert model.resize_token_embeddings(10) is model.model.embed_tokens
    plain = RecurrentForCausalLM(config("softmax"))
    plain.resize_token_embeddings(12)
    assert plain(torch.tensor([[11]])).logits.shape == (1, 1, 12)


def test_noise_contrastive_weights_can_be_tied() -> None:
    model = RecurrentForCausalLM(config("noise_contrastive", tie_word_embeddings=True))
    assert model.lm_head.weight is model.model.embed_tokens.weight
