# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""trl: supervised fine-tuning and preferences, in Python and as a user types it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    LectureBertConfig,
    LectureBertForSequenceClassification,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
    RecurrentConfig,
    RecurrentForSequenceClassification,
)
from tests.interop.small_models import TEXTS, save_small_model, small_tokenizer

trl = pytest.importorskip("trl")
datasets = pytest.importorskip("datasets")
pytestmark = pytest.mark.slow

MODELS = ["gpt1", "self_attention", "recurrent"]
PAIRS = [
    {"prompt": "the cat", "chosen": " sat on the mat", "rejected": " log tree log"},
    {"prompt": "the dog", "chosen": " saw the cat", "rejected": " mat a a"},
] * 8
OPTIONS: dict[str, Any] = {
    "use_cpu": True,
    "bf16": False,
    "max_steps": 8,
    "per_device_train_batch_size": 4,
    "learning_rate": 0.03,
    "lr_scheduler_type": "constant",
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": "none",
    "disable_tqdm": True,
    "max_length": 32,
}


def rows(kind: str) -> list[dict[str, Any]]:
    if kind == "plain text":
        return [{"text": text} for text in TEXTS]
    split = [text.rsplit(" ", 1) for text in TEXTS]
    if kind == "prompt and completion":
        return [{"prompt": prompt, "completion": f" {word}"} for prompt, word in split]
    # What an assistant's turn is, the tokenizer's chat template says.
    roles = ("user", "assistant")
    turns = ([{"role": role, "content": part} for role, part in zip(roles, parts, strict=True)] for parts in split)
    return [{"messages": messages} for messages in turns]


REWARDS: dict[str, tuple[type, type, dict[str, Any]]] = {
    "bag_of_words": (BagOfWordsForSequenceClassification, BagOfWordsConfig, {"hidden_sizes": [8]}),
    "padded_mlp": (PaddedMlpForSequenceClassification, PaddedMlpConfig, {"max_position_embeddings": 9}),
    "bert": (LectureBertForSequenceClassification, LectureBertConfig, {"hidden_size": 12, "num_hidden_layers": 1}),
    "recurrent": (RecurrentForSequenceClassification, RecurrentConfig, {"hidden_size": 8}),
}


def losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def same_logits(model: Any, folder: Path) -> bool:
    """Whether what was saved reloads as the same model."""
    reloaded = AutoModelForCausalLM.from_pretrained(folder)
    tokens = AutoTokenizer.from_pretrained(folder)("the cat sat", return_tensors="pt")
    with torch.no_grad():
        return torch.equal(model.eval()(**tokens).logits, reloaded(**tokens).logits)


@pytest.mark.cases(0, 4)
@pytest.mark.parametrize("data", ["plain text", "prompt and completion", "conversation"])
@pytest.mark.parametrize("given", ["path", "object"])
@pytest.mark.parametrize("name", MODELS)
def test_supervised_fine_tuning(name: str, given: str, data: str, tmp_path: Path) -> None:
    path = save_small_model(tmp_path / "model", name)
    trainer = trl.SFTTrainer(
        path if given == "path" else AutoModelForCausalLM.from_pretrained(path),
        trl.SFTConfig(output_dir=str(tmp_path / "run"), assistant_only_loss=data == "conversation", **OPTIONS),
        train_dataset=datasets.Dataset.from_list(rows(data)),
    )
    trainer.train()
    assert losses(trainer)[-1] < 0.9 * losses(trainer)[0]
    # Nothing that the tokenizer puts in front or trl behind is lost or doubled; only completions are learnt.
    tokenizer, first = trainer.processing_class, trainer.train_dataset[0]
    assert tokenizer.decode(first["input_ids"]) == f"<s> {TEXTS[0]} </s>"
    counted = next(iter(trainer.get_train_dataloader()))["labels"][:, 1:] != -100
    assert counted.sum(1).max() == (7 if data == "plain text" else 2)
    trainer.save_model(str(tmp_path / "saved"))
    assert same_logits(trainer.model, tmp_path / "saved")


PACKED = {"padding_free": {"padding_free": True, "max_length": None}, "packing": {"packing": True, "max_length": 16}}


@pytest.mark.cases(0, 3)
@pytest.mark.filterwarnings("ignore")  # trl knows only flash attention to keep packed texts apart
@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("kind", ["gpt1", "sinusoidal", "learned", "relative", "alibi"])
def test_packed_texts(kind: str, how: str, tmp_path: Path) -> None:
    """Each batch is one row of several texts, and its loss that of the texts apart."""
    name = "gpt1" if kind == "gpt1" else "self_attention"
    path = save_small_model(tmp_path / "model", name, **({} if kind == "gpt1" else {"position_encoding": kind}))
    trainer = trl.SFTTrainer(
        path,
        trl.SFTConfig(output_dir=str(tmp_path / "run"), **OPTIONS | PACKED[how]),
        train_dataset=datasets.Dataset.from_list(rows("plain text")),
    )
    batch = next(iter(trainer.get_train_dataloader()))
    begins = [*(batch["position_ids"][0] == 0).nonzero().flatten().tolist(), batch["input_ids"].shape[1]]
    assert batch["input_ids"].shape[0] == 1
    assert len(begins) > 3
    model = AutoModelForCausalLM.from_pretrained(path)
    with torch.no_grad():
        found, total, count = model(**batch).loss, 0.0, 0
        for begin, end in pairwise(begins):
            text = batch["input_ids"][:, begin:end]
            total += model(text, labels=text, num_items_in_batch=1).loss.item()
            count += text.shape[1] - 1
    assert found.item() == pytest.approx(total / count, rel=1e-5)
    trainer.train()
    assert losses(trainer)[-1] < 0.9 * losses(trainer)[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", PACKED)
def test_packed_texts_are_refused_where_a_state_would_run_on(how: str, tmp_path: Path) -> None:
    trainer = trl.SFTTrainer(
        save_small_model(tmp_path / "model", "recurrent"),
        trl.SFTConfig(output_dir=str(tmp_path / "run"), **OPTIONS | PACKED[how]),
        train_dataset=datasets.Dataset.from_list(rows("plain text")),
    )
    with pytest.raises(TypeError, match="takes no argument .*position_ids"):
        trainer.train()


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("kind", REWARDS)
def test_rewards(kind: str, tmp_path: Path) -> None:
    """RewardTrainer passes `use_cache=False` to any classifier of one label."""
    tokenizer, (model_class, config_class, fields) = small_tokenizer(), REWARDS[kind]
    fields = fields | {"vocab_size": len(tokenizer), "num_labels": 1, "pad_token_id": tokenizer.pad_token_id}
    pairs = [{name: pair[name] for name in ("chosen", "rejected")} for pair in PAIRS]
    trainer = trl.RewardTrainer(
        model_class(config_class(**fields)),
        args=trl.RewardConfig(output_dir=str(tmp_path), **OPTIONS | {"max_steps": 2, "gradient_checkpointing": False}),
        train_dataset=datasets.Dataset.from_list(pairs),
        processing_class=tokenizer,
    )
    trainer.train()
    assert all(math.isfinite(loss) for loss in losses(trainer))


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("given", ["path", "object"])
@pytest.mark.parametrize("name", MODELS)
def test_preferences(name: str, given: str, tmp_path: Path) -> None:
    """The model that it is compared with is found by the folder that the model was loaded from."""
    path = save_small_model(tmp_path / "model", name)
    trainer = trl.DPOTrainer(
        path if given == "path" else AutoModelForCausalLM.from_pretrained(path),
        args=trl.DPOConfig(output_dir=str(tmp_path / "run"), **OPTIONS),
        train_dataset=datasets.Dataset.from_list(PAIRS),
    )
    assert type(trainer.ref_model) is type(trainer.model)
    before = {key: value.clone() for key, value in trainer.ref_model.state_dict().items()}
    trainer.train()
    assert losses(trainer)[0] == pytest.approx(0.6931, abs=1e-3)  # ln 2: still the model that it is compared with
    assert losses(trainer)[-1] < 0.7 * losses(trainer)[0]
    assert all(torch.equal(value, before[key]) for key, value in trainer.ref_model.state_dict().items())
    trainer.save_model(str(tmp_path / "saved"))
    assert same_logits(trainer.model, tmp_path / "saved")


@pytest.mark.parametrize(
    "adapter", [pytest.param(False, marks=pytest.mark.nightly, id="whole"), pytest.param(True, id="adapter")]
)
def test_the_command_line(adapter: bool, tmp_path: Path) -> None:
    """What a user types: the model, or an adapter of it, is trained."""
    path = save_small_model(tmp_path / "model", "gpt1" if adapter else "recurrent")
    (tmp_path / "data").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in rows("plain text"))
    (tmp_path / "data" / "train.jsonl").write_text(lines, encoding="utf-8")
    typed = ["exec", "trl", "sft", "--model_name_or_path", path, "--dataset_name", str(tmp_path / "data")]
    typed += ["--output_dir", str(tmp_path / "out"), "--max_steps", "2", "--use_cpu", "--learning_rate", "0.1"]
    typed += ["--use_peft", "--lora_target_modules", "all-linear"] if adapter else []
    code = f"from hf_lecture_cli import main; import sys; sys.argv[1:] = {typed!r}; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "out" / "adapter_model.safetensors").is_file() == adapter
    load = pytest.importorskip("peft").AutoPeftModelForCausalLM if adapter else AutoModelForCausalLM
    before, after = AutoModelForCausalLM.from_pretrained(path), load.from_pretrained(tmp_path / "out").eval()
    ids = AutoTokenizer.from_pretrained(tmp_path / "out")("the cat", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        assert not torch.allclose(before(ids).logits, after(ids).logits, atol=1e-4)
