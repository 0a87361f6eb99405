# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""sentence-transformers pools the states of `RecurrentModel` and `Gpt1Model` into vectors of texts, and trains them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from hf_lecture_models import (
    ElmoConfig,
    ElmoTokenizer,
    FeedForwardConfig,
    Gpt1Config,
    Gpt1Model,
    PaddedMlpConfig,
    RecurrentConfig,
    RecurrentModel,
)
from tests.interop.installed import need
from tests.interop.small_models import small_tokenizer

pytestmark = pytest.mark.slow

need("datasets", "sentence_transformers")

RAGGED = ["the cat sat on the mat", "the dog", "a bird sang", "the", "the dog saw the cat in the tree on the log"]
MODELS: dict[str, tuple[type, type, dict[str, Any]]] = {
    "gpt1": (Gpt1Model, Gpt1Config, {"num_hidden_layers": 1, "num_attention_heads": 2}),
    "lstm": (RecurrentModel, RecurrentConfig, {}),
    "bidirectional gru": (RecurrentModel, RecurrentConfig, {"cell_type": "gru", "bidirectional": True}),
}
# What a causal model knows of the whole text stands at its end; the first state has seen `<s>` alone.
POOLINGS = [*((name, how) for name in MODELS for how in ("mean", "lasttoken")), ("bidirectional gru", "cls")]


def save_encoder(folder: Path, name: str) -> str:
    model_class, config_class, fields = MODELS[name]
    tokenizer = small_tokenizer()
    special = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("bos", "eos", "pad")}
    model = model_class(config_class(vocab_size=len(tokenizer), hidden_size=32, **special, **fields))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def pooled(folder: str, pooling: str) -> Any:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    states = Transformer(folder)
    width = states.get_embedding_dimension()
    return SentenceTransformer(modules=[states, Pooling(width, pooling)], device="cpu")


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize(("name", "pooling"), POOLINGS)
def test_vectors_of_texts(name: str, pooling: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = pooled(save_encoder(tmp_path / "model", name), pooling)
    vectors = encoder.encode(RAGGED, batch_size=5)
    assert vectors.shape == (5, 64 if "bidirectional" in name else 32)
    # A batch equals its single texts, and what the model itself says of them.
    model, tokenizer = encoder[0].auto_model, encoder.tokenizer
    for text, vector in zip(RAGGED, vectors, strict=True):
        np.testing.assert_allclose(encoder.encode(text), vector, atol=1e-5)
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        expected = {"mean": states.mean(0), "lasttoken": states[-1], "cls": states[0]}[pooling]
        np.testing.assert_allclose(vector, expected.numpy(), atol=1e-5)
    encoder.save(str(tmp_path / "saved"))
    again = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_array_equal(again.encode(RAGGED, batch_size=5), vectors)


WIDTHS: dict[str, tuple[type, dict[str, Any]]] = {
    "no hidden_size": (PaddedMlpConfig, {"hidden_sizes": [5, 7]}),
    "more than hidden_size": (FeedForwardConfig, {"order": 3, "direct_connections": True, "embedding_size": 4}),
    "characters": (ElmoConfig, {"vocab_size": 262, "char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 3}),
}


@pytest.mark.parametrize("kind", WIDTHS)
def test_the_width_is_that_of_the_vectors(kind: str, tmp_path: Path) -> None:
    """Also where `hidden_size` is the width of something else, or there is no such field."""
    from sentence_transformers import SentenceTransformer

    config_class, fields = WIDTHS[kind]
    tokenizer = ElmoTokenizer() if config_class is ElmoConfig else small_tokenizer()
    config = config_class(**{"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id} | fields)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    encoder = SentenceTransformer(str(tmp_path), device="cpu")
    width = encoder.encode(RAGGED).shape[1]
    assert encoder.get_embedding_dimension() == encoder[0].get_embedding_dimension() == width
    encoder.save(str(tmp_path / "saved"))
    saved = json.loads((tmp_path / "saved" / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    assert saved["embedding_dimension"] == width


@pytest.mark.parametrize("name", ["gpt1", "lstm"])
def test_training_brings_pairs_together(name: str, tmp_path: Path) -> None:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    encoder = pooled(save_encoder(tmp_path / "model", name), "mean")
    pairs = {
        "anchor": ["the cat sat on the mat", "a bird sang in the tree", "the dog"],
        "positive": ["the cat sat", "a bird", "the log"],
    }
    before = {key: value.clone() for key, value in encoder[0].auto_model.state_dict().items()}
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "run"),
        max_steps=15,
        per_device_train_batch_size=3,
        learning_rate=0.01,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = SentenceTransformerTrainer(
        model=encoder,
        args=arguments,
        train_dataset=Dataset.from_dict(pairs),
        loss=MultipleNegativesRankingLoss(encoder),
    )
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < 0.5 * losses[0]
    changed = encoder[0].auto_model.state_dict()
    assert all(not torch.equal(value, before[key]) for key, value in changed.items())


def test_a_program_that_does_not_import_us(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "model", "gpt1")
    pooled(folder, "mean").save(str(tmp_path / "saved"))
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from sentence_transformers import SentenceTransformer\n"
        "print(SentenceTransformer(sys.argv[1], device='cpu').encode(['the cat'])[0].tolist())\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-c", "from hf_lecture_cli import main; main()", "exec", "python"]
    done = subprocess.run(
        [*command, str(script), str(tmp_path / "saved")], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    vector = [float(number) for number in done.stdout.strip().splitlines()[-1].strip("[]").split(",")]
    np.testing.assert_allclose(vector, pooled(folder, "mean").encode("the cat"), atol=1e-6)
