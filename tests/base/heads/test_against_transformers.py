# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Our heads around transformers' own BertModel give the losses, logits and gradients of transformers' own heads."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    set_seed,
)

from hf_lecture_models.base.heads.classification import SequenceClassificationHead, TokenClassificationHead
from hf_lecture_models.base.heads.masked_lm import MaskedLMHead
from hf_lecture_models.base.heads.multiple_choice import MultipleChoiceHead
from hf_lecture_models.base.heads.question_answering import QuestionAnsweringHead


class Around(nn.Module):
    """Our head around the modules of a stock model."""

    def __init__(self, stock: Any) -> None:
        super().__init__()
        self.config = stock.config
        self.model: BertModel = stock.bert
        for name in ("dropout", "classifier", "qa_outputs"):
            if hasattr(stock, name):
                setattr(self, name, getattr(stock, name))
        if hasattr(stock, "cls"):
            self.lm_head = stock.cls


TAGS = torch.tensor([[0, 1, -100, 2, 1], [2, -100, 0, 0, 1], [1, 1, 1, -100, 2]])
CASES: dict[str, tuple[type, type, dict[str, Any], dict[str, Tensor]]] = {
    "classes": (
        BertForSequenceClassification,
        SequenceClassificationHead,
        {"num_labels": 3},
        {"labels": torch.tensor([2, 0, 1])},
    ),
    "two classes": (BertForSequenceClassification, SequenceClassificationHead, {}, {"labels": torch.tensor([1, 0, 1])}),
    "truth values": (
        BertForSequenceClassification,
        SequenceClassificationHead,
        {"num_labels": 3},
        {"labels": torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])},
    ),
    "a number": (
        BertForSequenceClassification,
        SequenceClassificationHead,
        {"num_labels": 1},
        {"labels": torch.tensor([0.5, 4.0, -2.0])},
    ),
    "numbers": (
        BertForSequenceClassification,
        SequenceClassificationHead,
        {"num_labels": 2, "problem_type": "regression"},
        {"labels": torch.tensor([[0.5, 1.0], [4.0, 0.0], [-2.0, 3.0]])},
    ),
    "tags": (BertForTokenClassification, TokenClassificationHead, {"num_labels": 3}, {"labels": TAGS}),
    "answers": (
        BertForQuestionAnswering,
        QuestionAnsweringHead,
        {},
        {"start_positions": torch.tensor([0, 2, 1]), "end_positions": torch.tensor([3, 4, 1])},
    ),
    "choices": (BertForMultipleChoice, MultipleChoiceHead, {}, {"labels": torch.tensor([1, 0, 0])}),
    "masked words": (BertForMaskedLM, MaskedLMHead, {}, {"labels": TAGS}),
}


@pytest.mark.parametrize(("stock_class", "head_class", "fields", "labels"), CASES.values(), ids=CASES)
def test_equal_to_the_stock_head(
    stock_class: type, head_class: type, fields: dict[str, Any], labels: dict[str, Tensor]
) -> None:
    set_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    stock = stock_class(BertConfig(vocab_size=20, max_position_embeddings=8, initializer_range=0.5, **sizes, **fields))
    stock.eval()
    ours = type("Ours", (head_class, Around), {})(stock).eval()
    shape = (3, 2, 5) if stock_class is BertForMultipleChoice else (3, 5)
    inputs = {"input_ids": torch.randint(20, shape), "token_type_ids": torch.randint(2, shape)}
    inputs |= {"position_ids": torch.randint(8, shape)}
    found, gradients = [], []
    for model in (ours, stock):  # ours first: the stock model writes its problem_type into the configuration
        outputs = model(**inputs, **labels, output_hidden_states=True, output_attentions=True)
        gradients.append(torch.autograd.grad(outputs.loss, list(stock.parameters()), allow_unused=True))
        found.append(outputs.to_tuple())
    assert len(found[0]) == len(found[1])
    for mine, theirs in zip(*found, strict=True):
        assert_close(mine, theirs, rtol=1e-6, atol=1e-6)
    for mine, theirs in zip(*gradients, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert_close(mine, theirs, rtol=1e-5, atol=1e-7)
