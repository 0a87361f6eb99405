# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ELMo: what every model must do, and what only it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import AutoModelForPreTraining, PreTrainedModel

from hf_lecture_models import (
    ElmoConfig,
    ElmoForPreTraining,
    ElmoForQuestionAnswering,
    ElmoForSequenceClassification,
    ElmoForTokenClassification,
    ElmoModel,
    ElmoTokenizer,
    RecurrentCache,
)
from tests.model_tests import (
    ClassifierTests,
    HeadTests,
    QuestionAnsweringTests,
    TaggerTests,
    Tensors,
    TokenTests,
    cross_entropies,
    gradients,
)
from tests.models.elmo.small_elmo import CHARACTERS, layers_of, small, task_states, words
from tests.models.recurrent_steps import OnTorchKernels

TEXTS = ["a cat sat on the mat", "the dog", "Zoë sat"]
FULL = {"vocab_size": 262, "max_characters_per_token": CHARACTERS}


class ElmoTests(OnTorchKernels, TokenTests):
    """Not collected by itself: what all of them declare in common."""

    sequence_inputs = ("input_ids", "attention_mask")
    bidirectional = True
    contradictory_configs = (
        {"projection_size": 7},
        {"char_filters": [[1, 2], [10, 3]]},
        {"char_filters": []},
        {"char_filters": [[1, 2, 3]]},
        {"cell_clip": 0},
        {"projection_clip": -1.0},
        {"max_characters_per_token": 2, "char_filters": [[1, 2]]},
        {"dropout": 1.0},
    )

    def config(self) -> ElmoConfig:
        return small(num_labels=3)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return words(lengths)

    @torch.no_grad()
    def test_more_characters(self, tmp_path: Path) -> None:
        """All that read characters grow, the output layer, which is of words, does not; the model can be saved."""
        model, inputs = self.build(), self.make_inputs(2, (5, 3))
        before, characters = self.outputs(model, inputs), model.config.vocab_size
        model.resize_token_embeddings(characters + 3)
        self.assert_equal(self.outputs(model, inputs), before, "after resizing", 0.0)
        inputs["input_ids"][0, 0, 0] = characters + 2
        model.save_pretrained(tmp_path)
        loaded = self.auto_class.from_pretrained(tmp_path)
        self.assert_equal(self.outputs(loaded, inputs), self.outputs(model, inputs), "reloaded", 0.0)


class WithTokenizer:
    """Models that a tokenizer's ids fit."""

    def config(self) -> ElmoConfig:
        return small(num_labels=3, **FULL)

    def processing_class(self) -> ElmoTokenizer:
        return ElmoTokenizer(max_characters_per_token=CHARACTERS, padding_side="left")

    def pipeline_inputs(self) -> list[Any]:
        return TEXTS


class TestElmoModel(WithTokenizer, ElmoTests):
    model_class = ElmoModel
    pipeline_task = "feature-extraction"

    def reference(self, model: ElmoModel, inputs: Tensors) -> Tensors:
        layers = layers_of(model, inputs["input_ids"])
        return {"last_hidden_state": layers[-1], "layer_states": torch.cat(layers, -1)}


class TestClippedElmoModel(TestElmoModel):
    """Most of what it computes is clipped: the cell written out, forwards and backwards, where padding is and not."""

    def config(self) -> ElmoConfig:
        return small(cell_clip=0.4, projection_clip=0.3, num_hidden_layers=3, char_activation="tanh", **FULL)


class TestClassifier(WithTokenizer, ElmoTests, ClassifierTests):
    model_class = ElmoForSequenceClassification
    bidirectional = None

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        states = task_states(model, inputs["input_ids"]).max(1).values
        return {"logits": states @ model.classifier.weight.T + model.classifier.bias}


class TestTagger(WithTokenizer, ElmoTests, TaggerTests):
    model_class = ElmoForTokenClassification
    pipeline_task = None
    lora: ClassVar[dict[str, Any]] = {"target_modules": ["projection", "transform", "gate"]}

    def make_labels(self, inputs: Tensors) -> Tensors:
        labels = (inputs["input_ids"].sum(-1) % 3).masked_fill(inputs["attention_mask"] == 0, -100)
        labels[:, 1] = labels[2:, 0] = -100
        return {"labels": labels}

    def tagged_rows(self) -> list[dict[str, Any]]:
        tokenizer, rows = self.processing_class(), []
        for words_of_text in (text.split() for text in TEXTS for _ in range(2)):
            tags = [len(word) % 3 for word in words_of_text]
            rows.append({**tokenizer(words_of_text, is_split_into_words=True), "labels": [-100, *tags, -100]})
        return rows

    def test_pipeline_in_a_fresh_process(self) -> None:  # type: ignore[override]
        """There is none: see below."""

    @pytest.mark.parametrize("strategy", ["none"])
    @pytest.mark.xfail(
        strict=True, raises=(TypeError, ValueError), reason="transformers' pipeline asks for one number per token"
    )
    def test_pipeline_joins_tokens(self, strategy: str) -> None:
        super().test_pipeline_joins_tokens(strategy)

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return {"logits": task_states(model, inputs["input_ids"]) @ model.classifier.weight.T + model.classifier.bias}


class TestTaggerOfSpellings(TestTagger):
    """The tagger without a language model, which reads hashed features of words beside their characters."""

    zero_gradients: ClassVar[dict[str, str]] = {"reader.mix.w": "one layer has the weight 1 in any mix"}

    def config(self) -> ElmoConfig:
        return small(num_labels=3, num_hidden_layers=0, hash_rows=50, **FULL)


class TestAnswerer(WithTokenizer, ElmoTests, QuestionAnsweringTests):
    model_class = ElmoForQuestionAnswering

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        logits = task_states(model, inputs["input_ids"]) @ model.qa_outputs.weight.T + model.qa_outputs.bias
        return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

    def pipeline_inputs(self) -> list[Any]:
        return [{"question": "who sat", "context": text} for text in TEXTS]


class TestPreTraining(ElmoTests, HeadTests):
    model_class = ElmoForPreTraining
    auto_class = AutoModelForPreTraining
    bidirectional = None  # one output is of each direction
    shortest = 2

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        ahead, back = layers_of(model.model, inputs["input_ids"])[-1].chunk(2, -1)
        weight, bias = model.lm_head.weight, model.lm_head.bias
        return {"forward_logits": ahead @ weight.T + bias, "backward_logits": back @ weight.T + bias}

    def make_labels(self, inputs: Tensors) -> Tensors:
        labels = inputs["input_ids"].sum(-1) % self.config().num_words
        return {"labels": labels.masked_fill(inputs["attention_mask"] == 0, -100)}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        labels = self.make_labels(inputs)["labels"]
        return [{"labels": wrong} for wrong in (labels[:, 1:], labels.clamp(min=11), labels.float())]

    def losses(self, model: PreTrainedModel, inputs: Tensors, labels: Tensors) -> Tensor:
        found, numbers, real = model(**inputs), labels["labels"], inputs["attention_mask"].bool()
        ahead = cross_entropies(found.forward_logits[:, :-1], numbers[:, 1:])
        # Behind a text there is nothing from which its last word could be predicted.
        before = numbers[:, :-1].masked_fill(~real[:, 1:], -100)
        return torch.cat((ahead, cross_entropies(found.backward_logits[:, 1:], before)))

    @torch.no_grad()
    def test_each_direction_has_its_mean(self) -> None:
        model, inputs = self.build(), self.make_inputs(3, (6, 4, 5))
        found = model(**inputs, **self.make_labels(inputs))
        assert_close((found.forward_loss + found.backward_loss) / 2, found.loss)
        assert found.forward_logits is None

    def test_sampled_softmax_learns_what_the_whole_one_does(self) -> None:
        """With counts, on many samples, its gradient is near that of the softmax."""
        whole = self.build().train()
        sampled = ElmoForPreTraining(small(softmax_samples=200_000)).train()
        inputs = self.make_inputs(3, (6, 4, 5))
        labels = self.make_labels(inputs)
        with pytest.raises(ValueError, match=r"shape \(3,\)"):
            sampled.set_token_counts(torch.ones(3, dtype=torch.long))
        assert sampled.needs_token_counts
        sampled.set_token_counts(torch.arange(1, 12))
        sampled.load_state_dict(whole.state_dict(), strict=False)
        torch.manual_seed(0)
        ours, theirs = (gradients(model, model(**inputs, **labels).loss) for model in (sampled, whole))
        largest = max(gradient.abs().max().item() for gradient in theirs.values())
        for name, gradient in theirs.items():
            assert_close(ours[name], gradient, rtol=0, atol=0.02 * largest)


def run(model: ElmoModel, inputs: Tensors, **options: Any) -> Any:
    with torch.no_grad():
        return model(**inputs, **options)


def build(**changes: Any) -> ElmoModel:
    torch.manual_seed(0)
    model = ElmoModel(small(**changes)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@pytest.mark.parametrize("clips", [(None, 0.3), (0.4, None)])
@torch.no_grad()
def test_clipping_equals_reference(clips: tuple[float | None, float | None]) -> None:
    model, inputs = build(cell_clip=clips[0], projection_clip=clips[1]), words((6, 6))
    free, expected = build(), torch.cat(layers_of(model, inputs["input_ids"]), -1)
    found = model(**inputs).layer_states
    assert_close(found, expected, rtol=0, atol=1e-6)
    assert not torch.allclose(free(**inputs).layer_states, expected, atol=1e-2)


@pytest.mark.parametrize("clip", [None, 0.4])
def test_state_goes_in_and_out(clip: float | None) -> None:
    """Forwards, two halves read one after the other are the whole; backwards, the second half is what comes first."""
    model, inputs = build(cell_clip=clip), words((8, 8))
    whole = run(model, inputs)
    assert whole.past_key_values is None
    left, right = ({name: value[:, part] for name, value in inputs.items()} for part in (slice(0, 5), slice(5, 8)))
    first = run(model, left, use_cache=True)
    ahead = run(model, right, past_key_values=first.past_key_values).last_hidden_state[..., :4]
    assert_close(ahead, whole.last_hidden_state[:, 5:, :4], rtol=0, atol=1e-6)
    behind = run(model, right, use_cache=True).past_key_values
    back = run(model, left, past_key_values=behind).last_hidden_state[..., 4:]
    assert_close(back, whole.last_hidden_state[:, :5, 4:], rtol=0, atol=1e-6)
    assert_close(run(model, left).layer_states, first.layer_states, rtol=0, atol=0)
    assert first.past_key_values.seen_tokens == 5
    with pytest.raises(ValueError, match="of another model or batch"):
        run(model, words((3,)), past_key_values=first.past_key_values)
    with pytest.raises(TypeError, match="RecurrentCache"):
        run(model, left, past_key_values=[1])


def test_a_padded_row_leaves_its_state() -> None:
    model, inputs = build(), words((4, 0))
    before = run(model, words((3, 3), seed=1), use_cache=True).past_key_values
    after = run(model, inputs, past_key_values=before, use_cache=True).past_key_values
    assert isinstance(after, RecurrentCache)
    for old, new in zip(before.states, after.states, strict=True):
        for our, their in zip(old, new, strict=True):
            assert torch.equal(our[1], their[1])
            assert not torch.equal(our[0], their[0])


def test_words_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(batch, seq, 9\) is needed"):
        build()(torch.ones(2, 3, 50, dtype=torch.long))
