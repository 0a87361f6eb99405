# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1's heads: what every head must do, with transformers' own classes as the reference, and what only they do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import (
    OpenAIGPTConfig,
    OpenAIGPTDoubleHeadsModel,
    OpenAIGPTForSequenceClassification,
)

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForMultipleChoice,
    Gpt1ForSequenceClassification,
    WordTokenizer,
)
from tests.model_tests import ClassifierTests, MultipleChoiceTests, Tensors, left_padded, perturb
from tests.models.gpt1.test_modeling_gpt1 import WORDS, official_weights, small
from tests.models.official_checkpoints import assert_same_dependence

START, DELIM, EXTRACT = 32, 33, 34


def config(**changes: Any) -> Gpt1Config:
    """The tiny GPT-1, which drops nothing; behind its words and special tokens come Start, Delim and Extract."""
    rates = dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout", "classifier_dropout"), 0.0)
    return small(**{"vocab_size": 35, "num_labels": 3, **rates, **changes})


def official(model: Any, inputs: Tensors, head_class: type, head: Tensors, **options: Any) -> Any:
    """What transformers' class with this head computes with the model's weights."""
    shape = {name: getattr(model.config, name) for name in ("n_embd", "n_layer", "n_head", "n_positions", "vocab_size")}
    theirs = head_class(OpenAIGPTConfig(**shape, num_labels=3, pad_token_id=31)).eval()
    mask = inputs["attention_mask"]
    options["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    return functional_call(theirs, official_weights(model.model) | head, kwargs={**inputs, **options})


class Gpt1ClassifierTests(ClassifierTests):
    model_class = Gpt1ForSequenceClassification
    overfit = {"learning_rate": 0.01}

    def reference(self, model: Gpt1ForSequenceClassification, inputs: Tensors) -> Tensors:
        head = {"score.weight": model.classifier.weight}
        return {
            "logits": official(model, inputs, OpenAIGPTForSequenceClassification, head).logits + model.classifier.bias
        }

    def processing_class(self) -> WordTokenizer:
        return WordTokenizer.train([" ".join(WORDS)])


def with_extract(inputs: Tensors) -> Tensors:
    """The inputs, in which the last real token of each row is Extract, and no other."""
    ids = inputs["input_ids"].clone()
    ids[ids >= START] = 0
    last = inputs["attention_mask"] - F.pad(inputs["attention_mask"][..., 1:], (0, 1))
    return inputs | {"input_ids": torch.where(last.bool(), EXTRACT, ids)}


class TestGpt1ForSequenceClassification(Gpt1ClassifierTests):
    """With the auxiliary loss, which does not change what is predicted; `losses` adds it."""

    contradictory_configs = ({"classifier_dropout": 1.0}, {"auxiliary_lm_weight": -0.5}, {"auxilary_lm_weight": 0.5})

    def config(self) -> Gpt1Config:
        return config(extract_token_id=EXTRACT, auxiliary_lm_weight=0.5)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return with_extract(super().make_inputs(batch, lengths))

    def processing_class(self) -> WordTokenizer:
        tokenizer = super().processing_class()
        tokenizer.set_template("gpt1")
        return tokenizer

    def pipeline_inputs(self) -> list[Any]:
        return ["w1 w2 w3", "w4", {"text": "w5 w6", "text_pair": "w7"}]

    def build_with(self, **fields: Any) -> Any:
        """Without it: what else a loss depends on, these checks know better alone."""
        return super().build_with(**{"auxiliary_lm_weight": 0.0, **fields})

    def losses(self, model: Gpt1ForSequenceClassification, inputs: Tensors, labels: Tensors) -> Tensor:
        own = lm_losses(model, inputs)[labels["labels"] != -100]
        return super().losses(model, inputs, labels) + 0.5 * own


class TestWithoutExtract(Gpt1ClassifierTests):
    """The last real token is read; any tokenizer will do."""

    def config(self) -> Gpt1Config:
        return config()


def lm_losses(model: Any, inputs: Tensors) -> Tensor:
    """The mean of -ln P over the tokens of each text but the first, in float64; 0 where there is none."""
    logits = F.linear(model.model(**inputs).last_hidden_state, model.model.embed_tokens.weight).double()
    found = []
    for row, ids, real in zip(logits, inputs["input_ids"], inputs["attention_mask"].bool(), strict=True):
        losses = F.cross_entropy(row[real][:-1], ids[real][1:], reduction="none")
        found.append(losses.mean() if len(losses) else losses.sum())
    return torch.stack(found)


class TestGpt1ForMultipleChoice(MultipleChoiceTests):
    model_class = Gpt1ForMultipleChoice
    overfit = {"learning_rate": 0.01}
    zero_gradients = MultipleChoiceTests.zero_gradients | {"model.layers.1.ffn_norm.bias": "it, too, moves all choices"}

    def config(self) -> Gpt1Config:
        return config(extract_token_id=EXTRACT)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return with_extract(super().make_inputs(batch, lengths))

    def reference(self, model: Gpt1ForMultipleChoice, inputs: Tensors) -> Tensors:
        head = {
            "lm_head.weight": model.model.embed_tokens.weight,
            "multiple_choice_head.summary.weight": model.classifier.weight,
            "multiple_choice_head.summary.bias": model.classifier.bias,
        }
        # Their class wants ids and places with the axis of choices, and all else without.
        mask = inputs["attention_mask"].flatten(0, 1)
        given = {"input_ids": inputs["input_ids"], "attention_mask": mask}
        places = inputs["attention_mask"].sum(-1) - 1
        found = official(model, given, OpenAIGPTDoubleHeadsModel, head, mc_token_ids=places)
        return {"logits": found.mc_logits}


# Both orders of a pair


def pairs(*lengths: tuple[int, int]) -> Tensors:
    """Start a Delim b Extract for each pair of lengths, padded on the right."""
    rows = []
    for a, b in lengths:
        text, other = torch.randint(28, (a,)), torch.randint(28, (b,))
        rows.append(torch.cat((tensor(START), text, tensor(DELIM), other, tensor(EXTRACT))))
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=31)
    return {"input_ids": ids, "attention_mask": (ids != 31).long()}


def tensor(token: int) -> Tensor:
    return torch.tensor([token])


def in_the_other_order(row: Tensor) -> Tensor:
    """Start b Delim a Extract, of one row without padding."""
    middle = row.tolist().index(DELIM)
    return torch.cat((row[:1], row[middle + 1 : -1], tensor(DELIM), row[1:middle], row[-1:]))


def build(model_class: type = Gpt1ForSequenceClassification, **changes: Any) -> Any:
    torch.manual_seed(0)
    given = {"extract_token_id": EXTRACT, "delim_token_id": DELIM, **changes}
    model = model_class(config(**given))
    perturb(model, 0.5)
    model.tie_weights()
    return model.eval()


LENGTHS = ((3, 5), (1, 1), (0, 4), (6, 0), (4, 2))


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("extract", [EXTRACT, None])
def test_states_of_both_orders_are_added(side: str, extract: int | None) -> None:
    """Whatever padding stands where: as two calls without padding, with the gradients of these."""
    model, inputs = build(both_orders=True, extract_token_id=extract), pairs(*LENGTHS)
    lengths = inputs["attention_mask"].sum(1).tolist()
    batch = left_padded(inputs, list(inputs), lengths) if side == "left" else inputs
    found = model(**batch).logits
    vectors = []
    for row, length in zip(inputs["input_ids"], lengths, strict=True):
        orders = (row[:length], in_the_other_order(row[:length]))
        vectors.append(sum(model.model(ids[None]).last_hidden_state[0, -1] for ids in orders))
    expected = model.classifier(torch.stack(vectors))
    assert_same_dependence(model, {"logits": found}, {"logits": expected})


@torch.no_grad()
def test_both_orders_of_choices_and_beside_padding() -> None:
    model, lengths = build(Gpt1ForMultipleChoice, both_orders=True), LENGTHS[:4]
    flat = pairs(*lengths)
    classifier = build(both_orders=True, num_labels=1)
    classifier.load_state_dict(model.state_dict())
    found = model(**{name: values.view(2, 2, -1) for name, values in flat.items()}).logits
    assert_close(found.flatten(), classifier(**flat).logits[:, 0], rtol=0, atol=1e-5)
    nothing = {name: values.clone() for name, values in flat.items()}
    nothing["attention_mask"][1] = 0
    beside = classifier(**nothing).logits
    assert beside.isfinite().all()
    assert_close(beside[[0, 2, 3]], classifier(**flat).logits[[0, 2, 3]], rtol=0, atol=1e-5)


@torch.no_grad()
def test_what_is_shown_of_both_orders_is_of_the_pairs_as_given() -> None:
    model, inputs = build(both_orders=True), pairs(*LENGTHS)
    shown = model(**inputs, output_hidden_states=True, output_attentions=True)
    expected = model.model(**inputs, output_hidden_states=True, output_attentions=True)
    for name in ("hidden_states", "attentions"):
        for our, their in zip(shown[name], expected[name], strict=True):
            assert_close(our, their, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_both_orders_compile_in_one_piece() -> None:
    model, inputs = build(both_orders=True, auxiliary_lm_weight=0.5), pairs(*LENGTHS)
    labels = torch.tensor([0, 1, 2, 0, 1])
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    found, expected = compiled(**inputs, labels=labels), model(**inputs, labels=labels)
    assert_close(found.logits, expected.logits, rtol=0, atol=1e-5)
    assert_close(found.loss, expected.loss)


# Rows without the tokens that a head looks for


@torch.no_grad()
def test_a_row_without_extract_is_refused() -> None:
    """The last token of a text that was cut after it was encoded is not Extract; nor does one behind the mask count."""
    inputs, message = pairs((3, 5), (2, 2)), r"holds no Extract token \(id 34\).*template 'gpt1' \(Start text Extract"
    cut = {name: values[:, :5] for name, values in inputs.items()}
    masked = inputs | {"attention_mask": inputs["attention_mask"].clone()}
    masked["attention_mask"][1, 6] = 0
    choices = {name: values[None] for name, values in cut.items()}
    for head_class, given, row in (
        (Gpt1ForSequenceClassification, cut, 0),
        (Gpt1ForMultipleChoice, choices, 0),
        (Gpt1ForSequenceClassification, masked, 1),
    ):
        with pytest.raises(ValueError, match=f"input row {row} {message}"):
            build(head_class)(**given)


@torch.no_grad()
def test_the_last_of_several_extracts_is_read() -> None:
    model, inputs = build(), pairs((3, 5))
    inputs["input_ids"][0, 2] = EXTRACT
    expected = model.classifier(model.model(**inputs).last_hidden_state[:, -1])
    assert_close(model(**inputs).logits, expected, rtol=0, atol=1e-6)


@torch.no_grad()
def test_both_orders_of_what_is_no_pair_are_refused() -> None:
    model = build(both_orders=True)
    for middle in ([5, 6], [DELIM, 5, DELIM]):
        ids = torch.tensor([[START, *middle, EXTRACT]])
        with pytest.raises(ValueError, match=r"row 0 holds not one Delim token \(id 33\).*Delim text_pair Extract"):
            model(ids)
    ids = pairs((2, 2))["input_ids"]
    with pytest.raises(TypeError, match="input_ids, not inputs_embeds"):
        model(inputs_embeds=model.get_input_embeddings()(ids))
    with pytest.raises(TypeError, match="needs the configuration's delim_token_id"):
        build(both_orders=True, delim_token_id=None)(ids)
    for wrong in (ids[:, :0], ids[0], ids.tolist()):
        with pytest.raises(ValueError, match="the input has shape|add input_ids|input_ids is a list"):
            model(wrong)


@torch.no_grad()
def test_padding_is_known_by_its_id_without_a_mask() -> None:
    """As transformers' class knows it."""
    model, inputs = build(extract_token_id=None), pairs((3, 5), (1, 1), (2, 4))
    assert_close(model(inputs["input_ids"]).logits, model(**inputs).logits, rtol=0, atol=1e-5)


# The auxiliary loss


@pytest.mark.parametrize("both_orders", [False, True])
def test_auxiliary_loss_is_the_language_models(both_orders: bool) -> None:
    """Of each text a mean over its tokens, over both orders of a pair; gradients too, and of examples that count."""
    inputs, labels = pairs((3, 5), (2, 3), (4, 4)), torch.tensor([2, -100, 1])
    model = build(both_orders=both_orders, auxiliary_lm_weight=0.3)
    loss = model(**inputs, labels=labels).loss
    lengths = inputs["attention_mask"].sum(1)
    rows = [row[:length] for row, length in zip(inputs["input_ids"], lengths, strict=True)]
    expected = 0.0
    for row, label in zip(rows, labels, strict=True):
        if label == -100:
            continue
        orders = [row, in_the_other_order(row)] if both_orders else [row]
        states = [model.model(ids[None]).last_hidden_state[0] for ids in orders]
        logits = model.classifier(sum(state[-1] for state in states))
        own = [F.cross_entropy(model.lm_head(s[:-1]), ids[1:]) for s, ids in zip(states, orders, strict=True)]
        expected = expected + (F.cross_entropy(logits, label) + 0.3 * sum(own) / len(own)) / 2
    assert_same_dependence(model, {"loss": loss}, {"loss": expected})


def test_auxiliary_loss_of_choices_is_theirs() -> None:
    """transformers' class with both heads, on texts of one length, over which its mean over tokens is ours."""
    model, inputs = build(Gpt1ForMultipleChoice, auxiliary_lm_weight=0.5), pairs((3, 2), (4, 1), (1, 4), (2, 3))
    ids = inputs["input_ids"].view(2, 2, 8)
    head = {
        "lm_head.weight": model.lm_head.weight,
        "multiple_choice_head.summary.weight": model.classifier.weight,
        "multiple_choice_head.summary.bias": model.classifier.bias,
    }
    labels = torch.tensor([1, 0])
    places = {"mc_token_ids": torch.full((2, 2), 7), "mc_labels": labels, "labels": ids}
    given = {"input_ids": ids, "attention_mask": inputs["attention_mask"]}
    theirs = official(model, given, OpenAIGPTDoubleHeadsModel, head, **places)
    ours = model(ids, labels=labels).loss
    assert_same_dependence(model, {"loss": ours}, {"loss": theirs.mc_loss + 0.5 * theirs.loss})


def test_auxiliary_loss_counts_each_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a text with several labels, or numbers, as often as it has labels: the loss stays a mean over labels."""
    inputs = pairs((3, 5), (2, 3), (4, 4))
    plain, model = build(), build(auxiliary_lm_weight=0.5)
    unknown = torch.tensor([[1.0, 0.0, 1.0], [0.0, -100.0, -100.0], [1.0, 1.0, 0.0]])
    own = lm_losses(model, inputs)
    for kind, labels, counts in (
        ("multi_label_classification", unknown, [3, 1, 3]),
        ("regression", unknown.abs(), [3, 3, 3]),
    ):
        model.config.problem_type = plain.config.problem_type = kind
        for items in (None, 11):
            expected = plain(**inputs, labels=labels, num_items_in_batch=items).loss
            expected = expected + 0.5 * (own * torch.tensor(counts)).sum() / (items or sum(counts))
            found = model(**inputs, labels=labels, num_items_in_batch=items).loss
            assert_close(found.double(), expected.double())


def test_auxiliary_loss_needs_ids() -> None:
    model, inputs = build(auxiliary_lm_weight=0.5), pairs((2, 2))
    vectors = model.get_input_embeddings()(inputs["input_ids"])
    assert_close(model(inputs_embeds=vectors).logits, model(**inputs).logits, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="inputs_embeds hold no tokens to predict; give input_ids"):
        model(inputs_embeds=vectors, labels=torch.tensor([1]))


# Beside other programs


@pytest.mark.slow
def test_new_tokens_learn_beside_lora(tmp_path: Path) -> None:
    """As the page says; the other words stay as they are."""
    peft = pytest.importorskip("peft")
    build().save_pretrained(tmp_path / "base")
    base, fresh = (Gpt1ForSequenceClassification.from_pretrained(tmp_path / "base") for _ in range(2))
    new = {"trainable_token_indices": {"embed_tokens": [START, DELIM, EXTRACT]}, "modules_to_save": ["classifier"]}
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=2, target_modules=["qkv_proj"], **new))
    inputs = pairs((3, 5), (2, 3))
    adapted(**inputs, labels=torch.tensor([0, 2])).loss.backward()
    torch.optim.SGD([parameter for parameter in adapted.parameters() if parameter.requires_grad], lr=0.5).step()
    adapted.eval().save_pretrained(tmp_path / "adapter")
    before = fresh.get_input_embeddings().weight.detach().clone()
    merged = peft.PeftModel.from_pretrained(fresh, tmp_path / "adapter").merge_and_unload().eval()
    assert_close(merged(**inputs).logits, adapted(**inputs).logits, rtol=0, atol=1e-4)
    moved = (merged.get_input_embeddings().weight != before).any(1).nonzero().flatten().tolist()
    assert moved == [START, DELIM, EXTRACT]
