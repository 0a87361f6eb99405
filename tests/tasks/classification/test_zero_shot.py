# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' zero-shot-classification on saved classifiers of pairs, as they are and without the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from hf_lecture_models.hub.export import export
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from tests.hub.card_examples import output_without_package

CODE = """
import json
from transformers import pipeline
classify = pipeline("zero-shot-classification", model="{folder}", trust_remote_code=True)
print(json.dumps(classify({texts}, {labels}, hypothesis_template={template!r})))
"""
TEXTS = ["the cat sat on the mat", "a dog sang"]
LABELS = ["cat", "dog", "song"]
ROWS = [
    {"text": text, "text_pair": f"this is about a {label}", "label": name}
    for text, label, name in zip([*TEXTS, "the mat"], LABELS, ["entailment", "contradiction", "neutral"], strict=True)
]
TEMPLATE = "this is about a {}"
SMALL = {"hidden_size": 8, "num_hidden_layers": 1}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bert": ({"type": "word", "template": "bert"}, {"num_attention_heads": 2, "intermediate_size": 16}),
    "gpt1": ({"type": "word"}, {"num_attention_heads": 2, "intermediate_size": 16}),
    "recurrent": ({"type": "word", "template": "pair"}, {"pair_combination": "infersent"}),
}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=() if name == "bert" else pytest.mark.slow) for name in MODELS]
)
def classifier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a classifier of pairs, exported with its code."""
    tokenizer_options, fields = MODELS[request.param]
    fields = {"model_type": f"lecture_{request.param}", **SMALL, **fields}
    recipe = TextClassificationRecipe(
        train_rows=ROWS, tokenizer=tokenizer_options, model=fields, output_dir="unused", seed=3
    )
    task = TextClassification()
    data = task.read(recipe, "train")
    tokenizer = task.processor(recipe, data)
    folder = tmp_path_factory.mktemp("zero_shot") / request.param
    export(task.model(recipe, tokenizer, data), tokenizer, folder)
    return folder


@torch.no_grad()
def by_hand(folder: Path, text: str) -> dict[str, float]:
    """The softmax over the labels of the logit that the text entails the label's sentence."""
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    column = model.config.label2id["entailment"]
    pairs = [tokenizer(text, TEMPLATE.format(label), return_tensors="pt") for label in LABELS]
    logits = torch.stack([model(**pair).logits[0, column] for pair in pairs])
    return dict(zip(LABELS, logits.softmax(0).tolist(), strict=True))


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_scores_are_the_softmax_of_entailment(classifier: Path, batch_size: int) -> None:
    classify = pipeline("zero-shot-classification", model=str(classifier), batch_size=batch_size)
    for text, found in zip(TEXTS, classify(TEXTS, LABELS, hypothesis_template=TEMPLATE), strict=True):
        scores = dict(zip(found["labels"], found["scores"], strict=True))
        assert scores == pytest.approx(by_hand(classifier, text), abs=1e-6)
        assert found["scores"] == sorted(found["scores"], reverse=True)


@pytest.mark.cases(0, 1)
def test_without_the_package(classifier: Path, tmp_path: Path) -> None:
    classify = pipeline("zero-shot-classification", model=str(classifier))
    expected = classify(TEXTS, LABELS, hypothesis_template=TEMPLATE)
    code = CODE.format(folder=classifier, texts=TEXTS, labels=LABELS, template=TEMPLATE)
    found = json.loads(output_without_package(code, tmp_path, tmp_path / "modules").splitlines()[-1])
    for one, other in zip(found, expected, strict=True):
        assert one["labels"] == other["labels"]
        assert one["scores"] == pytest.approx(other["scores"], abs=1e-6)
