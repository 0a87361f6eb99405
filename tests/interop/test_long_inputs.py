# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts longer than a model reads, in other programs: the tokenizer beside the model says how long a text may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    pipeline,
)

from hf_lecture_models import WordTokenizer
from hf_lecture_models.base.limits import with_input_limit
from hf_lecture_models.hub import export
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm
from hf_lecture_models.tasks.registry import read_file
from tests.interop.small_models import TEXTS, small_model, small_tokenizer
from tests.tasks.small_classifier import small_bert, write_tsv
from tests.tasks.small_classifier import small_tokenizer as bert_tokenizer

LIMIT = 16
LONG = " ".join(TEXTS)


def train(folder: Path, name: str = "gpt1", **changes: Any) -> tuple[Any, Any]:
    """A model trained for one step, as our loop saves it; what is loaded from the folder."""
    tokenizer = small_tokenizer()
    model = small_model(name, tokenizer, **changes)
    recipe = CausalLMRecipe(layout="texts", sequence_length=8, batch_size=4, max_steps=1)
    train_causal_lm(model, tokenizer, TEXTS, None, folder, recipe, quiet=True)
    assert tokenizer.model_max_length > 10**20  # it may serve another model next
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("gpt1")
    train(path, max_position_embeddings=LIMIT)
    return str(path)


@pytest.mark.parametrize(
    ("name", "changes", "limit"),
    [
        ("gpt1", {"max_position_embeddings": LIMIT}, LIMIT),
        ("self_attention", {"max_position_embeddings": LIMIT, "position_encoding": "learned"}, LIMIT),
        ("self_attention", {"position_encoding": "alibi"}, None),
        ("recurrent", {}, None),
        ("feed_forward", {}, None),
    ],
)
def test_training_writes_the_models_limit(
    name: str, changes: dict[str, Any], limit: int | None, tmp_path: Path
) -> None:
    model, tokenizer = train(tmp_path, name, **changes)
    assert (tokenizer.model_max_length == limit) if limit else (tokenizer.model_max_length > 10**20)
    ids = tokenizer(LONG, truncation=True, return_tensors="pt")["input_ids"]
    assert model(ids).logits.shape[1] == (limit or 1 + len(LONG.split()))
    export(model, small_tokenizer(), tmp_path / "exported")
    assert AutoTokenizer.from_pretrained(tmp_path / "exported").model_max_length == tokenizer.model_max_length


def test_a_smaller_limit_of_the_tokenizer_stays(tmp_path: Path) -> None:
    tokenizer = WordTokenizer.train(TEXTS, model_max_length=9)
    export(small_model("gpt1", tokenizer, max_position_embeddings=LIMIT), tokenizer, tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).model_max_length == 9


def test_a_classifier_writes_its_limit_too(tmp_path: Path) -> None:
    task, recipe = TextClassification(), TextClassificationRecipe(max_steps=1, batch_size=2, output_dir=str(tmp_path))
    write_tsv(tmp_path / "train.tsv", text="text")
    data = read_file(task, str(tmp_path / "train.tsv"), recipe)
    tokenizer = bert_tokenizer()
    task.train(small_bert(), tokenizer, data, None, recipe, quiet=True)
    assert (AutoTokenizer.from_pretrained(tmp_path).model_max_length, tokenizer.model_max_length > 10**20) == (16, True)
    classify = pipeline("text-classification", model=str(tmp_path))
    (cut,), every = classify("a fine film " * 20, truncation=True), classify("fine", top_k=None)
    assert cut["label"] in ("LABEL_0", "LABEL_1")
    assert sum(entry["score"] for entry in every) == pytest.approx(1.0, abs=1e-6)


def test_the_pipeline_cuts_the_prompt(folder: str) -> None:
    generate = pipeline("text-generation", model=folder)
    options = {"do_sample": False, "return_full_text": False}
    with pytest.raises(ValueError, match=f"{LIMIT}"):
        generate(LONG, max_new_tokens=2, **options)
    with pytest.warns(UserWarning, match="generation stops there"):
        (found,) = generate(LONG, truncation=True, max_new_tokens=2, **options)
    first = generate.tokenizer(LONG, truncation=True, return_tensors="pt")["input_ids"]
    assert first[0].tolist() == generate.tokenizer(LONG)["input_ids"][:LIMIT]
    assert found["generated_text"] == generate.tokenizer.decode(generate.model(first).logits[0, -1].argmax())
    # What matters to a continuation is the end of the prompt; <s> stays in front of it.
    generate.tokenizer.truncation_side = "left"
    ids = generate.tokenizer(LONG, truncation=True)["input_ids"]
    assert ids == [generate.tokenizer.bos_token_id, *generate.tokenizer(LONG)["input_ids"][1 - LIMIT :]]
    # "hole" leaves room for the new tokens.
    (found,) = generate(LONG, handle_long_generation="hole", max_new_tokens=4, **options)
    kept = torch.tensor([generate.tokenizer(LONG)["input_ids"][4 - LIMIT :]])
    expected = generate.model.generate(kept, max_new_tokens=4, do_sample=False)[0, LIMIT - 4 :]
    assert found["generated_text"] == generate.tokenizer.decode(expected, skip_special_tokens=True)


@pytest.mark.slow
def test_trl_cuts_at_its_own_length(folder: str, tmp_path: Path) -> None:
    """SFTConfig's max_length is 1,024 unless given, whatever tokenizer and model say."""
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": [LONG] * 4})
    for given in ({}, {"max_length": AutoTokenizer.from_pretrained(folder).model_max_length}):
        fields = {"output_dir": str(tmp_path), "max_steps": 1, "use_cpu": True, "report_to": "none", **given}
        trainer = trl.SFTTrainer(folder, trl.SFTConfig(**fields, save_strategy="no", bf16=False), train_dataset=rows)
        if given:
            assert trainer.train().training_loss > 0
        else:
            with pytest.raises(ValueError, match=f"positions 0 to {LIMIT - 1}"):
                trainer.train()


@pytest.mark.slow
def test_sentence_transformers_cuts_by_the_configuration(tmp_path: Path) -> None:
    """Where the tokenizer names no limit, it takes `max_position_embeddings`."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    tokenizer = small_tokenizer()
    small_model("gpt1", tokenizer, max_position_embeddings=LIMIT).model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    encoder = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
    assert encoder.max_seq_length == LIMIT
    assert encoder.encode(LONG).shape == (32,)


def test_transformers_trainer_saves_the_tokenizer_as_it_is(tmp_path: Path) -> None:
    """The way round is in docs/clients.md: `with_input_limit` before it is handed over."""
    tokenizer = small_tokenizer()
    model = small_model("gpt1", tokenizer, max_position_embeddings=LIMIT)
    arguments = TrainingArguments(str(tmp_path / "run"), report_to="none", use_cpu=True)
    for given, limited in ((tokenizer, False), (with_input_limit(tokenizer, model), True)):
        Trainer(model, arguments, processing_class=given).save_model(str(tmp_path / "saved"))
        assert (AutoTokenizer.from_pretrained(tmp_path / "saved").model_max_length == LIMIT) is limited
