# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' own Trainer: every trainable model trains, resumes to the same bits, and is evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)

from hf_lecture_models import (
    ElmoConfig,
    ElmoForPreTraining,
    ElmoTokenizer,
    LayerPerInputConfig,
    LayerPerInputForSequenceClassification,
    LectureBertConfig,
    NGramForCausalLM,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
    Word2VecConfig,
    Word2VecForPreTraining,
    WordTokenizer,
)
from tests.interop.small_models import TEXTS, count_tokens, ids_of, small_model, small_tokenizer

pytestmark = pytest.mark.slow

DROPOUT = {"dropout": 0.2}
MODELS = [
    ("gpt1", {}),  # its three dropouts are on
    ("self_attention", DROPOUT),
    ("efficient_transformer", DROPOUT),
    ("efficient_transformer", DROPOUT | {"attention_kind": "random", "share_layers": True}),
    ("feed_forward", DROPOUT),
    ("recurrent", DROPOUT),
    ("feed_forward", DROPOUT | {"output_layer": "adaptive"}),
    ("recurrent", DROPOUT | {"output_layer": "adaptive"}),
    ("feed_forward", DROPOUT | {"output_layer": "noise_contrastive"}),
    ("recurrent", DROPOUT | {"output_layer": "noise_contrastive"}),
]


def trainer(
    model: Any, folder: Path, tokenizer: Any, rows: list[Any] | None = None, collator: Any = None, **changes: Any
) -> Trainer:
    rows = rows or ids_of(TEXTS, tokenizer)
    options = {"num_train_epochs": 3, "per_device_train_batch_size": 4, "learning_rate": 0.03, "save_steps": 4}
    options |= {"logging_steps": 1, "report_to": "none", "use_cpu": True, "disable_tqdm": True} | changes
    return Trainer(
        model,
        TrainingArguments(output_dir=str(folder), **options),
        train_dataset=rows,
        eval_dataset=rows[:5],
        data_collator=collator or DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize(("name", "fields"), MODELS, ids=lambda value: value if isinstance(value, str) else "-")
def test_trains_and_resumes_to_the_same_bits(name: str, fields: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    model = small_model(name, tokenizer, **fields)
    count_tokens(model, ids_of(TEXTS, tokenizer))
    straight = trainer(model, tmp_path, tokenizer)
    untrained = straight.evaluate()["eval_loss"]
    straight.train()
    assert straight.state.global_step == 15
    # Not the training loss: noise contrast's is no code length.
    loss = straight.evaluate()["eval_loss"]
    assert loss < 0.9 * untrained

    set_seed(99)  # another process's state of chance, other weights, no token counts
    resumed = trainer(small_model(name, tokenizer, **fields), tmp_path, tokenizer)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert resumed.state.global_step == 15
    expected = straight.model.state_dict()
    for key, value in resumed.model.state_dict().items():
        assert torch.equal(value, expected[key]), key

    # All five texts in one batch: the loss is the mean over their tokens, as `score` has it.
    batch = straight.data_collator(straight.eval_dataset)
    scores = model.eval().score(batch["input_ids"], batch["attention_mask"])
    predicted = int(batch["attention_mask"].sum()) - len(scores)  # all but the first of each text
    assert loss == pytest.approx(-scores.sum().item() / predicted, rel=1e-5)

    straight.save_model(str(tmp_path / "saved"))
    reloaded = AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    with torch.no_grad():
        ours, theirs = model(batch["input_ids"]).logits, reloaded(batch["input_ids"]).logits
    assert torch.equal(ours, theirs)


def test_an_ngram_is_evaluated_but_not_trained(tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="absolute_discounting", progress=False)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    counts = trainer(model, tmp_path, tokenizer)
    batch = counts.data_collator(counts.eval_dataset)
    scores = model.score(batch["input_ids"], batch["attention_mask"])
    tokens = int(batch["attention_mask"].sum()) - len(scores)
    assert counts.evaluate()["eval_loss"] == pytest.approx(-scores.sum().item() / tokens, rel=1e-5)
    with pytest.raises(RuntimeError, match="does not require grad"):
        counts.train()
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def other_model(kind: str) -> tuple[Any, list[Any], Any]:
    """A model that is not of language, its rows, and the collator of transformers that makes batches of them."""
    set_seed(0)
    if kind == "elmo":
        texts, shape = ("a cat sat", "the dog", "a dog sat"), {"char_filters": [[1, 2], [2, 3]], "dropout": 0.0}
        characters = ElmoTokenizer.train(texts, max_characters_per_token=9)
        shape |= {"hidden_size": 7, "projection_size": 4, "num_words": len(characters.words)}
        model: Any = ElmoForPreTraining(ElmoConfig(max_characters_per_token=9, **shape))
        torch.nn.init.normal_(model.model.projection.weight)
        rows = [{**characters(text), "labels": characters.word_numbers(characters(text).tokens())} for text in texts]
        return model, rows, DataCollatorForTokenClassification(characters)
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    names = [name for name in ("bos", "eos", "pad", "unk") if kind == "word2vec" or name != "unk"]
    fields = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in names}
    fields |= {"vocab_size": len(tokenizer)}
    rows = [dict(tokenizer(text)) for text in TEXTS]
    if kind == "word2vec":
        model = Word2VecForPreTraining(Word2VecConfig(hidden_size=8, **fields))
        return model, rows, DataCollatorForLanguageModeling(tokenizer, mlm=False)
    fields |= {"embedding_size": 6, "max_position_embeddings": 8}
    if kind == "padded_mlp":
        model = PaddedMlpForSequenceClassification(PaddedMlpConfig(hidden_sizes=[8, 6], **fields))
    else:
        model = LayerPerInputForSequenceClassification(LayerPerInputConfig(hidden_size=8, **fields))
    return model, [row | {"labels": i % 5 // 3} for i, row in enumerate(rows)], DataCollatorWithPadding(tokenizer)


@pytest.mark.parametrize("kind", ["padded_mlp", "layer_per_input", "word2vec", "elmo"])
def test_other_models_train_and_resume(kind: str, tmp_path: Path) -> None:
    """It pads, accumulates, evaluates, saves, and goes on from its own checkpoint."""
    losses = []
    for resume in (False, True):
        model, rows, collator = other_model(kind)
        options = {"num_train_epochs": 20, "gradient_accumulation_steps": 2, "learning_rate": 0.03, "save_steps": 8}
        run = trainer(model, tmp_path, collator.tokenizer, rows=rows, collator=collator, **options)
        losses.append(run.evaluate()["eval_loss"])
        run.train(resume_from_checkpoint=resume)
        losses.append(run.evaluate()["eval_loss"])
    before, after, again_before, again = losses
    assert after < 0.7 * before
    assert again_before == before
    assert again == pytest.approx(after, abs=1e-6)


def test_masked_words_train_by_the_stock_collator(tmp_path: Path) -> None:
    """`DataCollatorForLanguageModeling` with our tokenizer, and transformers' loop with our model."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False, template="bert")
    config = LectureBertConfig(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    set_seed(0)
    model, collate = AutoModelForMaskedLM.from_config(config), DataCollatorForLanguageModeling(tokenizer, seed=0)
    rows = [tokenizer(text, return_special_tokens_mask=True) for text in TEXTS]
    batch = collate(rows * 20)
    masked = batch["labels"] != -100
    assert masked.any()
    assert not torch.isin(batch["labels"][masked], torch.tensor(tokenizer.all_special_ids)).any()
    assert (batch["input_ids"][masked] == tokenizer.mask_token_id).float().mean() == pytest.approx(0.8, abs=0.1)
    options = {"max_steps": 60, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 2, "logging_steps": 20}
    stock = trainer(model, tmp_path, tokenizer, rows, collate, learning_rate=0.02, save_strategy="no", **options)
    stock.eval_dataset = rows * 20
    before = stock.evaluate()["eval_loss"]
    stock.train()
    after = stock.evaluate()["eval_loss"]
    assert after < 0.8 * before
    losses = [row["loss"] for row in stock.state.log_history if "loss" in row]
    assert losses[-1] == pytest.approx(after, rel=0.5), "the mean over masked tokens, whatever the accumulation"
