# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cards and publication of models with any head, ours or transformers' own, also where no task has measured them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import transformers
from huggingface_hub import ModelCard
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models import LectureBertConfig, LectureBertForQuestionAnswering
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import collect_facts, plain_task
from hf_lecture_models.hub.publish import prepare
from tests.interop.small_models import small_tokenizer
from tests.stand_in import (
    EncoderConfig,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    EncoderModel,
    encoder_tokenizer,
)

# The class, what its card is tagged with, and a part of the code there.
HEADS: dict[str, tuple[type, str, str]] = {
    "no head": (EncoderModel, "feature-extraction", 'pipeline("feature-extraction"'),
    "texts": (EncoderForSequenceClassification, "text-classification", 'pipeline("text-classification"'),
    "tokens": (EncoderForTokenClassification, "token-classification", ""),
    "masked words": (EncoderForMaskedLM, "fill-mask", ""),
    "answers": (LectureBertForQuestionAnswering, "question-answering", 'pipeline("extractive-question-answering"'),
    "choices": (EncoderForMultipleChoice, "multiple-choice", "AutoModelForMultipleChoice"),
    "stock answers": (
        transformers.BertForQuestionAnswering,
        "question-answering",
        'pipeline("extractive-question-answering"',
    ),
    "stock choices": (transformers.BertForMultipleChoice, "multiple-choice", "AutoModelForMultipleChoice"),
    "stock sentences": (
        transformers.BertForNextSentencePrediction,
        "text-classification",
        "AutoModelForNextSentencePrediction",
    ),
}


def build(kind: str) -> tuple[Any, Any]:
    model_class = HEADS[kind][0]
    if model_class is LectureBertForQuestionAnswering:  # whose pipeline is the package's
        config = LectureBertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
        return model_class(config).eval(), encoder_tokenizer()
    if not kind.startswith("stock"):
        return model_class(EncoderConfig(num_labels=3)).eval(), encoder_tokenizer()
    tokenizer = small_tokenizer()
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return model_class(transformers.BertConfig(vocab_size=len(tokenizer), **sizes)).eval(), tokenizer


@pytest.mark.cases(4, 5)
@pytest.mark.parametrize("kind", HEADS)
def test_the_card_of_any_head_claims_nothing_and_its_example_runs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, tag, code = HEADS[kind]
    model, tokenizer = build(kind)
    card = ModelCard.load(prepare(model, tokenizer, "somebody/small", tmp_path / "stage") / "README.md")
    assert card.data.pipeline_tag == tag
    assert card.data.eval_results is None
    assert "Nothing was measured." in card.text
    assert "No recipe was recorded." in card.text
    assert type(model).__name__ in card.text
    assert not re.search(r"\n{4,}|[{}]{2}|\{%|None", card.text)
    examples = re.findall(r"```python\n(.*?)```", card.text, flags=re.DOTALL)
    assert len(examples) == (1 if kind.startswith("stock") else 2)
    assert code in examples[0]
    monkeypatch.chdir(tmp_path / "stage")
    exec(compile(examples[0].replace("somebody/small", "."), "README.md", "exec"), {})


@pytest.mark.parametrize("kind", ["no head", "stock sentences"])
def test_the_command_shows_what_it_would_publish(kind: str, tmp_path: Path) -> None:
    model, tokenizer = build(kind)
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    done = CliRunner().invoke(app, ["publish", str(tmp_path / "model"), "somebody/small", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "Nothing was measured." in done.stdout
    assert "the card lacks results: there is no task that measures such a model" in done.stderr
    assert ("modeling_encoder.py" in done.stdout) == (kind == "no head")
    (tmp_path / "rows.jsonl").write_text("{}\n", encoding="utf-8")
    options = ["--evaluate", str(tmp_path / "rows.jsonl"), "--dry-run"]
    done = CliRunner().invoke(app, ["publish", str(tmp_path / "model"), "somebody/small", *options])
    assert done.exit_code == 1
    assert f"{type(model).__name__} is a model of none of the tasks" in done.stderr


def test_results_of_a_task_without_a_name_on_the_hub() -> None:
    """The nearest task then says what was measured, and without a nearest one the task's own name."""
    model, tokenizer = build("stock sentences")
    task = plain_task(model) | {"measures": [{"key": "accuracy", "label": "accuracy"}]}
    data = {"name": "Two Sentences", "hub_id": "somebody/two_sentences"}
    for name, tag in (("next-sentence-prediction", "text-classification"), ("a task of one's own", None)):
        own = task | {"name": name}
        card = render_card(collect_facts(model, tokenizer, {"accuracy": 0.5}, name="one", data=data, task=own))
        (result,) = card.data.eval_results
        assert (result.task_type, result.metric_value) == (tag or name, 0.5)
        assert card.data.pipeline_tag == tag
