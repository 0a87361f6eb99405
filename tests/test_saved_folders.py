# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Folders that version 0.1.0 saved before its rooms were rebuilt: they load, and score as they did."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

FOLDERS = Path(__file__).with_name("saved_folders")
EXPECTED = json.loads((FOLDERS / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_folder_of_an_earlier_version_loads_with_equal_scores(name):
    tokenizer = AutoTokenizer.from_pretrained(FOLDERS / name)
    model, info = AutoModelForCausalLM.from_pretrained(FOLDERS / name, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    for row in EXPECTED[name]:
        ids = tokenizer(row["text"], return_tensors="pt")["input_ids"]
        assert ids[0].tolist() == row["input_ids"]
        torch.testing.assert_close(model.score(ids)[0], torch.tensor(row["scores"]), rtol=1e-6, atol=1e-6)
