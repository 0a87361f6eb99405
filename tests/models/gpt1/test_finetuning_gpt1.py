# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A language model's folder becomes a classifier: its tokenizer gets the template, its vocabulary the new tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import (
    AutoTokenizer,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    OpenAIGPTTokenizer,
    Trainer,
    TrainingArguments,
    default_data_collator,
    pipeline,
)

from hf_lecture_models import Gpt1ForCausalLM, Gpt1ForSequenceClassification, Gpt1Model, WordTokenizer
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe, encode_examples
from hf_lecture_models.tasks.core.factories import add_template
from tests.model_tests import perturb
from tests.models.gpt1.test_modeling_gpt1 import small

TASK = TextClassification()
WORDS = ["red", "blue", "green", "cat", "dog", "bird"]
# Whether both texts name one colour.
TRIPLES = [(colour, animal, other) for colour in WORDS[:3] for animal in WORDS[3:] for other in (*WORDS[:3], colour)]
PAIRS = [
    {"text": f"{one} {animal}", "text_pair": f"{other} {WORDS[5 - i % 3]}", "label": "yes" if one == other else "no"}
    for i, (one, animal, other) in enumerate(TRIPLES)
]
SINGLES = [{"text": row["text"], "label": str("cat" in row["text"])} for row in PAIRS]
NO_DROPOUT = dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout"), 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A language model and its tokenizer."""
    tokenizer = WordTokenizer.train([" ".join(WORDS)], progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model = Gpt1ForCausalLM(small(vocab_size=len(tokenizer), max_position_embeddings=16, **ids, **NO_DROPOUT))
    perturb(model, 0.3)
    model.tie_weights()
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "lm")
    return tmp_path / "lm"


def recipe(folder: Path | str, rows: list[dict[str, Any]] = PAIRS, **fields: Any) -> TextClassificationRecipe:
    plain = {"epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None, "learning_rate": 0.1, "log_every": 1}
    model = {"classifier_dropout": 0.0, **fields.pop("model", {})}
    return TextClassificationRecipe(train_rows=rows, from_pretrained=str(folder), model=model, **plain | fields)


def parts(chosen: TextClassificationRecipe) -> tuple[Any, Any, Any]:
    data = TASK.read(chosen, "train")
    tokenizer = TASK.processor(chosen, data)
    return TASK.model(chosen, tokenizer, data), tokenizer, data


def test_the_tokenizer_gets_the_template_and_the_model_its_tokens(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    model, tokenizer, data = parts(recipe(folder))
    said = capsys.readouterr().err
    assert "gets the template 'gpt1', a pair is <start> <delim> <extract>; new tokens start anew" in said
    assert "classifier.bias, classifier.weight" in said
    assert tokenizer(data.columns["text"][0]).tokens() == ["<start>", "red", "cat", "<extract>"]
    assert len(tokenizer) == len(before) + 3 == model.config.vocab_size == model.get_input_embeddings().num_embeddings
    ids = [model.config.extract_token_id, model.config.delim_token_id]
    assert ids == tokenizer.convert_tokens_to_ids(["<extract>", "<delim>"])
    rows = model.get_input_embeddings().weight
    assert torch.equal(rows[: len(before)], before)
    assert 0.005 < rows[len(before) :].std() < 0.05, "as the model's first weights: N(0, 0.02)"
    other = parts(recipe(folder, seed=1))[0]
    assert not torch.equal(other.get_input_embeddings().weight[len(before) :], rows[len(before) :])


@pytest.mark.parametrize("max_length", [4, 5, 7])
def test_extract_survives_truncation(folder: Path, max_length: int) -> None:
    long = [{**row, "text": " ".join([row["text"]] * 9)} for row in PAIRS]
    for rows in (long, [{"text": row["text"], "label": row["label"]} for row in long]):
        chosen = recipe(folder, rows, max_length=max_length)
        model, tokenizer, data = parts(chosen)
        for side in ("right", "left"):
            tokenizer.truncation_side = side
            for example in encode_examples(model, tokenizer, data, chosen.max_length):
                assert len(example["input_ids"]) == max_length
                assert example["input_ids"][-1] == model.config.extract_token_id


def by_hand(model: Any, tokenizer: Any, chosen: TextClassificationRecipe, step_rows: list[list[int]]) -> list[float]:
    """Plain descent, text by text: the mean over texts of the loss and λ times the mean over a text's tokens."""
    losses, weight = [], model.config.auxiliary_lm_weight
    for rows in step_rows:
        total = torch.zeros(())
        for row in (chosen.train_rows[index] for index in rows):
            inputs = tokenizer(row["text"], row.get("text_pair"), return_tensors="pt")
            states = model.model(**inputs).last_hidden_state[0]
            label = torch.tensor(model.config.label2id[row["label"]])
            total = total + F.cross_entropy(model.classifier(states[-1]), label)
            if weight:
                logits = F.linear(states[:-1], model.model.embed_tokens.weight)
                total = total + weight * F.cross_entropy(logits, inputs["input_ids"][0, 1:])
        mean = total / len(rows)
        model.zero_grad()
        mean.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= chosen.learning_rate * parameter.grad
        losses.append(mean.item())
    return losses


@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize("accumulation_steps", [1, pytest.param(2, marks=pytest.mark.slow), 4])
def test_training_is_that_of_a_loop_of_our_own(
    folder: Path, tmp_path: Path, weight: float, accumulation_steps: int
) -> None:
    """With the auxiliary loss too: however a step is cut, each text weighs the same, however long it is."""
    rows = [{**row, "text": " ".join([row["text"]] * (1 + i % 3))} for i, row in enumerate(PAIRS)][:10]
    fields = {"auxiliary_lm_weight": weight}
    chosen = recipe(folder, rows, accumulation_steps=accumulation_steps, model=fields)
    model, tokenizer, data = parts(chosen)
    expected = parts(chosen)[0]
    result = TASK.train(model, tokenizer, data, None, chosen, output_dir=tmp_path / "run", quiet=True)
    orders = [np.random.default_rng((0, epoch)).permutation(10) for epoch in range(2)]
    steps = [list(order[start : start + 4]) for order in orders for start in (0, 4, 8)]
    losses = by_hand(expected, tokenizer, chosen, steps)
    assert [row["loss"] for row in result.history] == pytest.approx(losses, rel=1e-4)
    for name, parameter in expected.named_parameters():
        assert_close(model.get_parameter(name), parameter, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_transformers_trainer_has_equal_losses(folder: Path, tmp_path: Path) -> None:
    chosen = recipe(folder, PAIRS[:8], model={"auxiliary_lm_weight": 0.5})
    expected, tokenizer, _ = parts(chosen)
    losses = by_hand(expected, tokenizer, chosen, [list(range(8))] * 3)
    options = {"optim": "sgd", "learning_rate": 0.1, "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    options |= {"max_steps": 3, "logging_steps": 1, "save_strategy": "no", "report_to": "none", "use_cpu": True}
    for parts_of_step in (1, 2, 4):
        model, tokenizer, _ = parts(chosen)
        examples = [
            tokenizer(row["text"], row["text_pair"], padding="max_length", max_length=9)
            | {"labels": model.config.label2id[row["label"]]}
            for row in PAIRS[:8]
        ]
        sizes = {"per_device_train_batch_size": 8 // parts_of_step, "gradient_accumulation_steps": parts_of_step}
        arguments = TrainingArguments(output_dir=str(tmp_path / "trainer"), disable_tqdm=True, **options, **sizes)
        trainer = Trainer(model, arguments, train_dataset=examples, data_collator=default_data_collator)
        trainer.train()
        logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        assert logged == pytest.approx(losses, rel=1e-3)
        for name, parameter in expected.named_parameters():
            assert_close(model.get_parameter(name), parameter, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("both_orders", [False, True])
@torch.no_grad()
def test_the_pipeline_reads_single_texts_and_pairs(folder: Path, tmp_path: Path, both_orders: bool) -> None:
    """One by one and in batches, which are padded; in fresh processes the checks of all classifiers do so."""
    model, tokenizer, _ = parts(recipe(folder, model={"both_orders": both_orders}))
    for part in (model.eval(), tokenizer):
        part.save_pretrained(tmp_path / "saved")
    texts: list[Any] = [{"text": "red cat bird", "text_pair": "blue"}, {"text": "dog", "text_pair": "green dog"}]
    texts += [] if both_orders else [{"text": "red cat"}, {"text": "a blue bird"}]
    pipe = pipeline("text-classification", model=str(tmp_path / "saved"))
    for found in (pipe(texts, top_k=None), pipe(texts, top_k=None, batch_size=len(texts))):
        for ours, text in zip(found, texts, strict=True):
            probabilities = model(**tokenizer(**text, return_tensors="pt")).logits[0].softmax(0)
            expected = {model.config.id2label[index]: float(value) for index, value in enumerate(probabilities)}
            assert {each["label"]: each["score"] for each in ours} == pytest.approx(expected, abs=1e-5)


def test_fields_of_the_checkpoint_may_be_changed_but_for_its_kind(folder: Path) -> None:
    model = parts(recipe(folder, model={"both_orders": True, "auxiliary_lm_weight": 0.5, "dropout": 0.2}))[0]
    assert (model.config.both_orders, model.config.auxiliary_lm_weight) == (True, 0.5)
    assert model.model.layers[0].dropout.p == 0.2
    assert model.lm_head.weight is model.model.embed_tokens.weight
    for fields, message in (
        ({"both_ordres": True}, "no field model.both_ordres in Gpt1Config; did you mean model.both_orders?"),
        ({"dropout": 2.0}, "dropout is 2.0"),
        ({"dropout": "much"}, "dropout"),
        ({"hidden_act": "swish"}, "hidden_act is 'swish'"),
    ):
        with pytest.raises(ValueError, match=message):
            parts(recipe(folder, model=fields))
    with pytest.raises(ValueError, match="from_pretrained brings its own model; leave model out"):
        recipe(folder, model={"model_type": "lecture_gpt1"})


def test_what_cannot_be_read_is_refused_by_name(folder: Path) -> None:
    chosen = recipe(folder, SINGLES, model={"both_orders": True})
    model, tokenizer, data = parts(chosen)
    message = r"train_rows has no column text_pair, but the model reads pairs \(both_orders\)"
    with pytest.raises(ValueError, match=message):
        encode_examples(model, tokenizer, data, chosen.max_length)
    chosen = recipe(folder)
    model, tokenizer, data = parts(chosen)
    plain = WordTokenizer.from_pretrained(folder)
    with pytest.raises(ValueError, match="template 'gpt1'.*set_template"):
        encode_examples(model, plain, data, chosen.max_length)


def test_a_classifier_trains_on_as_it_is(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its tokenizer has the template, its vocabulary the tokens; nothing is added twice, nothing starts anew."""
    model, tokenizer, _ = parts(recipe(folder))
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "classifier")
    capsys.readouterr()
    again, its_tokenizer, _ = parts(recipe(tmp_path / "classifier"))
    assert capsys.readouterr().err == "2 classes in the recipe's train_rows: no (18), yes (18)\n"
    assert its_tokenizer.get_vocab() == tokenizer.get_vocab()
    assert again.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in again.state_dict().items())


def test_a_new_model_of_a_recipe_has_the_template_too() -> None:
    chosen = TextClassificationRecipe(
        train_rows=PAIRS,
        tokenizer={"type": "word"},
        model={"model_type": "lecture_gpt1", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2},
    )
    model, tokenizer, data = parts(chosen)
    assert type(model) is Gpt1ForSequenceClassification
    assert tokenizer.template == "gpt1"
    assert model.config.extract_token_id == tokenizer.convert_tokens_to_ids("<extract>")
    assert model.config.delim_token_id == tokenizer.convert_tokens_to_ids("<delim>")
    assert model.config.vocab_size == len(tokenizer)
    assert encode_examples(model, tokenizer, data, chosen.max_length)[0].keys() == {"input_ids", "attention_mask"}


def test_an_official_checkpoint_with_its_own_tokenizer(tmp_path: Path) -> None:
    """Loaded and saved by our class, it is fine-tuned with transformers' tokenizer, which keeps the template."""
    vocabulary = {"<unk>": 0} | {f"{letter}{end}": 0 for letter in "abcdefg" for end in ("", "</w>")}
    vocabulary = {token: index for index, token in enumerate(vocabulary)}
    OpenAIGPTTokenizer(vocab=vocabulary, merges=[]).save_pretrained(tmp_path / "ours")
    shape = {"vocab_size": len(vocabulary), "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    OpenAIGPTLMHeadModel(OpenAIGPTConfig(**shape)).save_pretrained(tmp_path / "official")
    Gpt1ForCausalLM.from_pretrained(tmp_path / "official").save_pretrained(tmp_path / "ours")
    rows = [{"text": text, "text_pair": "f", "label": text[0]} for text in ("a b", "c dd", "a e", "c g")]
    chosen = recipe(tmp_path / "ours", rows, epochs=1)
    model, tokenizer, data = parts(chosen)
    result = TASK.train(model, tokenizer, data, None, chosen, output_dir=tmp_path / "run", quiet=True)
    loaded = AutoTokenizer.from_pretrained(result.folder)
    assert type(loaded) is OpenAIGPTTokenizer
    assert loaded("a", "dd").tokens() == ["<start>", "a</w>", "<delim>", "d", "d</w>", "<extract>"]
    assert not add_template(loaded, "gpt1")
    answers = pipeline("text-classification", model=str(result.folder))([{"text": "a b", "text_pair": "g"}])
    assert answers[0]["label"] in ("a", "c")


@contextmanager
def stopped_at(call: int) -> Iterator[None]:
    """Within it, this forward pass in training is interrupted."""
    read, calls = Gpt1Model.read, []

    def stops(self: Any, text: Any) -> Any:
        calls.append(self.training)
        if sum(calls) == call:
            raise KeyboardInterrupt
        return read(self, text)

    with patch.object(Gpt1Model, "read", stops), pytest.raises(KeyboardInterrupt):
        yield


def assert_same_bits(first: Path, second: Path) -> None:
    expected, found = (load_file(folder / "model.safetensors") for folder in (first, second))
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


def test_a_run_from_a_language_model_is_resumed_too(folder: Path, tmp_path: Path) -> None:
    """Begun again from the language model, it grows the same vocabulary and then takes up its checkpoint."""
    chosen = recipe(folder, epochs=2, save_every=3, model={"dropout": 0.3})

    def run(name: str, resume: bool = False) -> None:
        model, tokenizer, data = parts(chosen)
        TASK.train(model, tokenizer, data, None, chosen, output_dir=tmp_path / name, resume=resume, quiet=True)

    run("straight")
    with stopped_at(9):
        run("cut")
    run("cut", resume=True)
    assert_same_bits(tmp_path / "straight", tmp_path / "cut")
