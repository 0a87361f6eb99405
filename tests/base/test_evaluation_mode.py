# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What predicts or measures gives a model back in the mode in which it got it, errors included."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import nn

import hf_lecture_models
from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering, QuestionAnsweringRecipe
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe
from hf_lecture_models.tasks.translation.translate import translate
from tests.tasks import small_answerer, small_tagger, small_translator

PACKAGE = Path(hf_lecture_models.__file__).parent


def test_each_module_gets_its_own_mode_back() -> None:
    """A backbone that is frozen in eval mode stays so, though the whole model is in the mode of training."""
    model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    with pytest.raises(RuntimeError), evaluation_mode(model):
        assert not any(module.training for module in model.modules())
        raise RuntimeError
    assert [module.training for module in model.modules()] == [True, True, False]


def answer(model: Any, tokenizer: Any) -> Any:
    recipe = QuestionAnsweringRecipe(train_rows=small_answerer.ROWS)
    return QuestionAnswering().evaluate(model, tokenizer, QuestionAnswering().read(recipe, "train"), recipe)


def tag(model: Any, tokenizer: Any) -> Any:
    recipe = TokenClassificationRecipe(train_rows=small_tagger.ROWS)
    return TokenClassification().evaluate(model, tokenizer, TokenClassification().read(recipe, "train"), recipe)


PAIRS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "answers": lambda: (small_answerer.small_bert(), small_answerer.small_tokenizer()),
    "tags": lambda: (small_tagger.small_bert(), small_tagger.small_tokenizer()),
    "translations": small_translator.make_translator,
}
USES = {"answers": answer, "tags": tag, "translations": lambda model, tokenizer: translate(model, tokenizer, ["Oui"])}


@pytest.mark.parametrize("kind", PAIRS)
def test_an_error_does_not_leave_a_model_in_eval_mode(kind: str) -> None:
    model, tokenizer = PAIRS[kind]()
    model.train()

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no memory")

    model.register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="no memory"):
        USES[kind](model, tokenizer)
    assert all(module.training for module in model.modules())


@pytest.mark.slow
def test_no_other_code_switches_a_model_that_it_is_given() -> None:
    """Only the context manager, frozen backbones, the loop and the page, which owns its models, call `eval()`."""
    allowed = {"base/evaluation_mode.py", "tasks/core/frozen.py", "trainer/loop.py", "lab/demo/page.py"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "eval":
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= allowed
