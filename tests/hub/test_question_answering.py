# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pipeline of answers travels with an exported model, and runs a model of transformers itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, pipeline

from hf_lecture_models.hub import export
from hf_lecture_models.tasks.question_answering.pipeline import ExtractiveQuestionAnsweringPipeline
from tests.hub.card_examples import output_of, output_without_package
from tests.hub.test_trained_models import KINDS, make
from tests.model_tests import equal_json
from tests.tasks.small_answerer import save_small_bert

WITH_PACKAGE = """
import json
import hf_lecture_models
from transformers import pipeline
print(json.dumps(pipeline("extractive-question-answering", model={stock!r})({inputs!r}, **{options!r})))
"""
KIND = KINDS["answers"]
NAME: Any = KIND.pipeline


def test_the_pipeline_travels_with_what_it_runs(tmp_path: Path) -> None:
    folder = make(KIND, tmp_path / "run")
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    export(model, tokenizer, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["custom_pipelines"] == {
        NAME: {
            "impl": "tasks_question_answering_pipeline.ExtractiveQuestionAnsweringPipeline",
            "pt": ["AutoModelForQuestionAnswering"],
            "type": "text",
        }
    }
    assert (tmp_path / "out" / "tasks_question_answering_spans.py").is_file()
    assert not list((tmp_path / "out").glob("*ranking*"))
    served: Any = pipeline(NAME, model=str(tmp_path / "out"))
    assert type(served) is ExtractiveQuestionAnsweringPipeline, "the package's own serves, without the flag"


ANSWER = """
import json
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, pipeline
stock, inputs, options = {stock!r}, {inputs!r}, {options!r}
answer = pipeline("extractive-question-answering", model=".", trust_remote_code=True)
assert type(answer).__module__.startswith("transformers_modules."), type(answer)
model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(stock), AutoTokenizer.from_pretrained(stock)
other = type(answer)(model=model, tokenizer=tokenizer)
print(json.dumps([each(inputs, batch_size=3, **options) for each in (answer, other)]))
"""


@pytest.mark.slow
def test_the_pipeline_runs_where_the_package_is_absent(tmp_path: Path) -> None:
    """Ours by its name; its class runs a model of transformers itself, too."""
    folder, stock = make(KIND, tmp_path / "run"), save_small_bert(tmp_path / "stock")
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    export(model, tokenizer, tmp_path / "out")
    code = ANSWER.format(stock=str(stock), inputs=KIND.inputs, options=KIND.options)
    found = json.loads(output_without_package(code, tmp_path / "out", tmp_path / "modules"))
    expected = [pipeline(NAME, model=str(each))(KIND.inputs, **KIND.options) for each in (tmp_path / "out", stock)]
    assert equal_json(found, expected)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_stock_model_answers_in_a_fresh_process(tmp_path: Path) -> None:
    stock = str(save_small_bert(tmp_path / "stock"))
    code = WITH_PACKAGE.format(stock=stock, inputs=KIND.inputs, options=KIND.options)
    expected = pipeline(NAME, model=stock)(KIND.inputs, **KIND.options)
    assert equal_json(json.loads(output_of(code, tmp_path, tmp_path / "modules")), expected)
