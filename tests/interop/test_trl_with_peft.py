# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec trl sft --use_peft`: an adapter, trained from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.interop.installed import need
from tests.interop.small_models import TEXTS, save_small_model

pytestmark = pytest.mark.slow

need("peft", "trl", "datasets")


def test_an_adapter_is_trained(tmp_path: Path) -> None:
    import peft

    folder = save_small_model(tmp_path / "model", "gpt1")
    (tmp_path / "data").mkdir()
    rows = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (tmp_path / "data" / "train.jsonl").write_text(rows, encoding="utf-8")
    typed = ["exec", "trl", "sft", "--model_name_or_path", folder, "--dataset_name", str(tmp_path / "data")]
    typed += ["--output_dir", str(tmp_path / "out"), "--max_steps", "2", "--use_cpu", "--learning_rate", "0.1"]
    typed += ["--use_peft", "--lora_target_modules", "all-linear"]
    code = f"from hf_lecture_cli import main; import sys; sys.argv[1:] = {typed!r}; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "out" / "adapter_model.safetensors").is_file()
    base, adapted = (
        AutoModelForCausalLM.from_pretrained(folder),
        peft.AutoPeftModelForCausalLM.from_pretrained(tmp_path / "out"),
    )
    ids = AutoTokenizer.from_pretrained(tmp_path / "out")("the cat", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        assert not torch.allclose(base(ids).logits, adapted.eval()(ids).logits, atol=1e-4)
