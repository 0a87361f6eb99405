# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a model is given: ids or vectors, and which of them are real tokens."""

from __future__ import annotations

import pytest
import torch

from hf_lecture_models.layers.inputs import real_token_mask, scored_positions


def test_real_tokens_are_told_by_the_mask_or_by_the_padding_token() -> None:
    ids = torch.tensor([[0, 3, 0], [2, 1, 3]])
    assert real_token_mask(ids, None, 3).tolist() == [[True, False, True], [True, True, False]]
    mask = torch.tensor([[1, 1, 0], [0, 1, 1]])
    assert torch.equal(real_token_mask(ids, mask, 3), mask.bool())
    assert real_token_mask(ids, None, None).all()
    with pytest.raises(ValueError, match=r"add input_ids\[None\]"):
        real_token_mask(ids[0], None, None)


def test_the_first_token_and_every_beginning_have_no_probability() -> None:
    ids, real = torch.tensor([[7, 1, 7, 2], [0, 0, 1, 2]]), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]]).bool()
    expected = [[False, True, False, True], [False, False, False, True]]
    assert scored_positions(real, ids, 7, 8).tolist() == expected
    # One token for both counts as the end.
    expected[0][2] = True
    assert scored_positions(real, ids, 7, 7).tolist() == scored_positions(real, ids, None, 8).tolist() == expected
