# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Scores of chosen positions only."""

import torch
from torch.testing import assert_close

from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM


def test_wanted_positions_have_their_scores_and_all_others_zero():
    torch.manual_seed(0)
    config = RecurrentConfig(vocab_size=11, hidden_size=8, num_hidden_layers=1, bos_token_id=9, pad_token_id=10)
    model = RecurrentForCausalLM(config).eval()
    ids = torch.tensor([[9, 1, 2, 3, 9, 4], [9, 5, 6, 10, 10, 10]])
    wanted = torch.rand(ids.shape, generator=torch.Generator().manual_seed(1)) < 0.5
    scores, some = model.score(ids), model.score(ids, wanted=wanted)
    assert ((scores != 0) & wanted).any()
    assert ((scores != 0) & ~wanted).any()
    assert_close(some, scores.where(wanted, 0.0), rtol=0, atol=1e-6)
    assert (model.score(ids, wanted=torch.zeros_like(wanted)) == 0).all()
