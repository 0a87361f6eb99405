# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The checks of model_tests.py pass for a right model, and each fails for the model that breaks its promise."""

import ast
import functools
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from tests.base.heads import test_heads
from tests.model_tests import CausalLMTests, HeadTests, RecurrentCacheTests, Tensors, package_models
from tests.stand_in import (
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    StandInCache,
    StandInConfig,
    StandInForCausalLM,
    StandInOutput,
    stand_in_tokenizer,
)


class TestStandIn(CausalLMTests):
    model_class = StandInForCausalLM
    registered_by = "tests.stand_in"

    def config(self) -> StandInConfig:
        return StandInConfig()

    def reference(self, model: StandInForCausalLM, inputs: Tensors) -> Tensors:
        cell = nn.RNN(8, 8, batch_first=True)
        weights = {
            "weight_ih_l0": torch.eye(8),
            "bias_ih_l0": torch.zeros(8),
            "weight_hh_l0": model.get_parameter("recurrent.weight"),
            "bias_hh_l0": model.get_parameter("recurrent.bias"),
        }
        embedded = model.get_parameter("embed_tokens.weight")[inputs["input_ids"]]
        states, _ = torch.func.functional_call(cell, weights, (embedded,))
        return {"logits": states @ model.get_parameter("lm_head.weight").T}

    def processing_class(self) -> PreTrainedTokenizerFast:
        return stand_in_tokenizer()


class LooksAhead(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        output.logits = output.logits + 0.01 * self.embed_tokens(input_ids).mean()
        return output


class Deaf(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        return super().forward(torch.zeros_like(input_ids), **kwargs)


class ShowsNoStates(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        return super().forward(input_ids, **kwargs | {"output_hidden_states": False})


class CachesAnyway(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        return super().forward(input_ids, **kwargs | {"use_cache": True})


class DropsOutByANumber(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        output.logits = nn.functional.dropout(output.logits, 0.5, self.training)
        return output


class SwallowsArguments(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        known = ("attention_mask", "past_key_values", "labels", "use_cache", "logits_to_keep", "num_items_in_batch")
        return super().forward(input_ids, **{name: kwargs[name] for name in known if name in kwargs})


class ForgetsPadding(StandInForCausalLM):
    def real_tokens(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        return torch.ones_like(input_ids, dtype=torch.bool)


class ReadsTheMasksBeginning(StandInForCausalLM):
    def real_tokens(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        return super().real_tokens(input_ids, attention_mask[:, : input_ids.shape[1]])


class FailsOnPadding(StandInForCausalLM):
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, attention_mask, **kwargs)
        if attention_mask is not None:
            output.logits = output.logits / (attention_mask.sum(dim=1) > 0)[:, None, None]
        return output


class ForgetfulCache(StandInCache):
    def reorder_cache(self, beam_idx: Tensor) -> None:
        pass


class ForgetsToReorder(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        if output.past_key_values is not None:
            output.past_key_values = ForgetfulCache(output.past_key_values.state, output.past_key_values.seen)
        return output


class LosesItsState(StandInForCausalLM):
    def forward(self, input_ids: Tensor, past_key_values: Any = None, **kwargs: Any) -> StandInOutput:
        if past_key_values is not None:
            past_key_values.state = torch.zeros_like(past_key_values.state)
        return super().forward(input_ids, past_key_values=past_key_values, **kwargs)


class ReturnsNoCache(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        return super().forward(input_ids, **kwargs | {"use_cache": False})


class CountsWrongly(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        if output.past_key_values is not None:
            output.past_key_values.seen = 1
        return output


class SharesOneCache(StandInForCausalLM):
    shared: ClassVar[StandInCache] = StandInCache(torch.zeros(1), 0)

    def forward(self, input_ids: Tensor, past_key_values: Any = None, **kwargs: Any) -> StandInOutput:
        if past_key_values is not None:
            past_key_values = StandInCache(self.shared.state, past_key_values.seen)
        output = super().forward(input_ids, past_key_values=past_key_values, **kwargs)
        if output.past_key_values is not None:
            self.shared.state = output.past_key_values.state
        return output


class KeepsState(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        self.last = {"logits": [output.logits]}
        return output


class GrowsWithUse(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        self.scale *= 1.01
        return super().forward(input_ids, **kwargs)


class BufferWithoutRule(StandInForCausalLM):
    def _init_weights(self, module: nn.Module) -> None:
        super(StandInForCausalLM, self)._init_weights(module)


class UnsavedBuffer(StandInForCausalLM):
    def __init__(self, config: StandInConfig) -> None:
        super().__init__(config)
        if not self.scale.is_meta:
            self.scale.mul_(2.0)


class UnusedParameter(StandInForCausalLM):
    def __init__(self, config: StandInConfig) -> None:
        super().__init__(config)
        self.unused = nn.Linear(2, 2)


class StopsGradients(StandInForCausalLM):
    def forward(self, input_ids: Tensor, past_key_values: Any = None, **kwargs: Any) -> StandInOutput:
        first = super().forward(input_ids[:, :2], use_cache=True).past_key_values
        rest = super().forward(input_ids[:, 2:], past_key_values=StandInCache(first.state.detach(), 2))
        logits = torch.cat([super().forward(input_ids[:, :2]).logits, rest.logits], dim=1)
        return StandInOutput(logits=logits)


class WrongEquation(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        output.logits = 1.001 * output.logits
        return output


class RandomAtEvaluation(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        output.logits = nn.functional.dropout(output.logits, 0.1)
        return output


class NeverLearns(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        if output.loss is not None:
            output.loss = output.loss + 10.0
        return output


class RecomputesSomethingElse(StandInForCausalLM):
    def step(self, embedding: Tensor, state: Tensor) -> Tensor:
        return super().step(embedding, 0.9 * state if self.gradient_checkpointing else state)


class ClaimsCheckpointing(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        asked, self.gradient_checkpointing = self.gradient_checkpointing, False
        output = super().forward(input_ids, **kwargs)
        self.gradient_checkpointing = asked
        return output


class ReturnsNoTuple(StandInForCausalLM):
    def forward(self, input_ids: Tensor, return_dict: bool | None = None, **kwargs: Any) -> StandInOutput:
        return super().forward(input_ids, **kwargs)


class OverflowsInBf16(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        rounded = output.logits.dtype == torch.bfloat16
        output.logits = output.logits * float("inf") if rounded else output.logits
        return output


class ReadsAnyIds(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        return super().forward(torch.as_tensor(input_ids).long().clamp(0, 19), **kwargs)


class LooksUpTwice(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        self.embed_tokens(input_ids[:, :1])
        return super().forward(input_ids, **kwargs)


class PredictsAnyLabel(StandInForCausalLM):
    def forward(self, input_ids: Tensor, labels: Tensor | None = None, **kwargs: Any) -> StandInOutput:
        labels = labels if labels is None else labels.long().clamp(-100, 19)
        return super().forward(input_ids, labels=labels, **kwargs)


class AsksForValues(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        if int(input_ids.sum()) == 0:
            return self.forward(input_ids + 1, **kwargs)
        return super().forward(input_ids, **kwargs)


class KeepsAllLogits(StandInForCausalLM):
    def forward(self, input_ids: Tensor, logits_to_keep: Any = 0, **kwargs: Any) -> StandInOutput:
        return super().forward(input_ids, **kwargs)


class CountsItsOwnItems(StandInForCausalLM):
    def forward(self, input_ids: Tensor, num_items_in_batch: Any = None, **kwargs: Any) -> StandInOutput:
        return super().forward(input_ids, **kwargs)


class DoesNotShiftLabels(StandInForCausalLM):
    def forward(self, input_ids: Tensor, labels: Tensor | None = None, **kwargs: Any) -> StandInOutput:
        shifted = None if labels is None else nn.functional.pad(labels, (1, 0), value=-100)[:, :-1]
        return super().forward(input_ids, labels=shifted, **kwargs)


class CountsTheFirstToken(StandInForCausalLM):
    def forward(self, input_ids: Tensor, labels: Tensor | None = None, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        if labels is not None:
            output.loss = cross_entropy(output.logits[:, :-1], labels[:, 1:], kwargs.get("num_items_in_batch"))
        return output


class ScoresEverything(StandInForCausalLM):
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        log_probs = self(input_ids, attention_mask).logits.log_softmax(dim=-1)[:, :-1]
        chosen = log_probs.gather(2, input_ids[:, 1:, None])[..., 0]
        return nn.functional.pad(chosen, (1, 0))


BROKEN: list[tuple[type[StandInForCausalLM], str, tuple[Any, ...]]] = [
    (LooksAhead, "test_causality", ()),
    (Deaf, "test_causality", ()),
    (SwallowsArguments, "test_unknown_arguments_are_refused", ()),
    (DropsOutByANumber, "test_dropout_is_in_modules", ()),
    (ForgetsPadding, "test_batch_equals_single_rows", ("left",)),
    (ForgetsPadding, "test_cache_in_beam_search", ()),
    (ReadsTheMasksBeginning, "test_cache_with_left_padding", ((5, 1, 1, 1),)),
    (FailsOnPadding, "test_rows_of_padding_only", ()),
    (ForgetsToReorder, "test_cache_in_beam_search", ()),
    (LosesItsState, "test_cache_equals_no_cache", ((4, 1, 1, 1, 1),)),
    (LosesItsState, "test_generate_greedy", ()),
    (ReturnsNoCache, "test_cache_equals_no_cache", ((3, 2, 3),)),
    (ReturnsNoCache, "test_generate_greedy", ()),
    (CountsWrongly, "test_cache_equals_no_cache", ((3, 2, 3),)),
    (SharesOneCache, "test_two_interleaved_generations_do_not_mix", ()),
    (KeepsState, "test_no_tensor_is_stored_between_calls", ()),
    (GrowsWithUse, "test_no_tensor_is_stored_between_calls", ()),
    (GrowsWithUse, "test_same_input_twice_gives_same_output", ()),
    (RandomAtEvaluation, "test_same_input_twice_gives_same_output", ()),
    (BufferWithoutRule, "test_loading_leaves_nothing_uninitialised", ()),
    (UnsavedBuffer, "test_loading_leaves_nothing_uninitialised", ()),
    (UnusedParameter, "test_every_parameter_learns", ()),
    (StopsGradients, "test_gradients_equal_reference", ()),
    (WrongEquation, "test_outputs_equal_reference", ()),
    (NeverLearns, "test_overfits_one_batch", ()),
    (RecomputesSomethingElse, "test_gradient_checkpointing", ()),
    (ClaimsCheckpointing, "test_gradient_checkpointing", ()),
    (ReturnsNoTuple, "test_outputs_as_a_tuple", ()),
    (ShowsNoStates, "test_hidden_states_on_request", ()),
    (CachesAnyway, "test_use_cache_changes_no_output", ()),
    (ForgetsPadding, "test_generate_behind_equal_padding", ({},)),
    (OverflowsInBf16, "test_bf16_autocast", ()),
    (ReadsAnyIds, "test_ids_that_are_none_are_refused", ()),
    (ForgetsPadding, "test_ids_and_masks_of_a_wrong_shape_are_refused", ()),
    (LooksUpTwice, "test_word_vectors_are_looked_up_once", ()),
    (PredictsAnyLabel, "test_labels_that_are_none_are_refused", (False,)),
    (LosesItsState, "test_generate_with_guidance", (True, True)),
    (LosesItsState, "test_generate_with_and_without_a_cache", ({"repetition_penalty": 1.5},)),
    (LosesItsState, "test_what_generate_returns", ()),
    (KeepsAllLogits, "test_logits_to_keep", ()),
    (CountsItsOwnItems, "test_labels_and_num_items_in_batch", ()),
    (DoesNotShiftLabels, "test_labels_and_num_items_in_batch", ()),
    (CountsTheFirstToken, "test_loss_with_padding", ()),
    (ForgetsPadding, "test_loss_with_padding", ()),
    (ScoresEverything, "test_score_equals_logits", ()),
]


@pytest.mark.parametrize(
    ("model_class", "check", "arguments"), BROKEN, ids=lambda value: getattr(value, "__name__", None)
)
def test_broken_models_fail(model_class: type[StandInForCausalLM], check: str, arguments: tuple[Any, ...]) -> None:
    class Tests(TestStandIn):
        pass

    Tests.model_class = model_class
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(Tests(), check)(*arguments)


def test_a_model_that_asks_for_values_fails() -> None:
    class Tests(TestStandIn):
        model_class = AsksForValues

    with pytest.raises(RuntimeError, match="data-dependent"):
        Tests().test_compiles_in_one_piece()


@pytest.mark.parametrize(
    ("model_class", "bidirectional"), [(StandInForCausalLM, True), (LooksAhead, False), (Deaf, False)]
)
def test_declared_directions_are_checked(model_class: type[StandInForCausalLM], bidirectional: bool) -> None:
    class Tests(TestStandIn):
        bidirectional = False

    Tests().test_reading_direction()
    Tests.model_class, Tests.bidirectional = model_class, bidirectional
    with pytest.raises(AssertionError, match="direction|does not read"):
        Tests().test_reading_direction()


@pytest.mark.parametrize("model_class", [BufferWithoutRule, UnsavedBuffer])
def test_buffers_that_are_not_saved_fail(model_class: type[StandInForCausalLM], tmp_path: Path) -> None:
    class Tests(TestStandIn):
        auto_class = model_class

    Tests.model_class = model_class
    with pytest.raises(AssertionError, match="scale"):
        Tests().test_save_and_reload(tmp_path)


@pytest.mark.parametrize("model_class", [StandInForCausalLM, ReturnsNoCache])
def test_declared_context_lengths_are_checked(model_class: type[StandInForCausalLM]) -> None:
    """A model that is said to read two tokens back must neither return a cache nor depend on a third token."""

    class Tests(TestStandIn):
        context_length = 2

    Tests.model_class = model_class
    expected = "returned one" if model_class is StandInForCausalLM else "in pieces of"
    with pytest.raises(AssertionError, match=expected):
        Tests().test_cache_equals_no_cache((3, 2, 3))


class ReadsWeightsElsewhere(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> StandInOutput:
        output = super().forward(input_ids, **kwargs)
        output.logits = output.logits + 0 * self.lm_head.weight.sum()
        return output


def test_weights_read_where_no_hook_fetches_them_fail() -> None:
    class Tests(TestStandIn):
        model_class = ReadsWeightsElsewhere

    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        Tests().test_offloaded("memory", Path())


class LooksAfterwards(StandInForCausalLM):
    @classmethod
    def _load_pretrained_model(cls, model: Any, state_dict: Any, checkpoint_files: Any, load_config: Any) -> Any:
        return PreTrainedModel._load_pretrained_model(model, state_dict, checkpoint_files, load_config)


def test_sizes_compared_after_loading_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Tests(TestStandIn):
        model_class = auto_class = LooksAfterwards

    # 268 MB; without these, all of the memory.
    monkeypatch.setattr(StandInConfig, "positive_fields", ())
    monkeypatch.setattr(StandInConfig, "largest_values", {"vocab_size": 2**22})
    with pytest.raises(AssertionError, match="'vocab_size': .* MB"):
        Tests().test_other_sizes_take_no_memory(tmp_path)


class LSTMTests(RecurrentCacheTests):
    """Not collected by itself: tests/models/recurrent holds the LSTM's own tests."""

    model_class = RecurrentForCausalLM

    def config(self) -> RecurrentConfig:
        ids = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
        return RecurrentConfig(vocab_size=20, hidden_size=8, num_hidden_layers=2, cell_type="lstm", **ids)


def forget_to_reorder(cache: RecurrentCache, beam_idx: Tensor) -> None:
    pass


def forget_the_cell_state(cache: RecurrentCache, beam_idx: Tensor) -> None:
    for layer in cache.layers:
        layer.state = (layer.state[0][beam_idx], layer.state[1])


def forget_the_second_layer(cache: RecurrentCache, beam_idx: Tensor) -> None:
    cache.layers[0].reorder_cache(beam_idx)


@pytest.mark.parametrize("broken", [forget_to_reorder, forget_the_cell_state, forget_the_second_layer])
def test_a_cache_that_forgets_beams_fails(monkeypatch: pytest.MonkeyPatch, broken: Any) -> None:
    LSTMTests().test_cache_in_beam_search()
    monkeypatch.setattr(RecurrentCache, "reorder_cache", broken)
    with pytest.raises(AssertionError):
        LSTMTests().test_cache_in_beam_search()


class PrefersIds(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, inputs_embeds: Any = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, inputs_embeds=None if input_ids is not None else inputs_embeds, **kwargs)


class ForgetsTheMask(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, None, **kwargs)


class LosesTheLossOfOtherPositions(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, labels: Any = None, logits_to_keep: Any = 0, **kwargs: Any) -> Any:
        if labels is not None and isinstance(logits_to_keep, int) and logits_to_keep:
            labels = labels.clone()
            labels[:, :-logits_to_keep] = -100
        return super().forward(input_ids, labels=labels, logits_to_keep=logits_to_keep, **kwargs)


class DetachesTheWords(RecurrentForCausalLM):
    """Where the loss is computed in pieces."""

    def forward(self, input_ids: Any = None, logits_to_keep: Any = 0, **kwargs: Any) -> Any:
        if isinstance(logits_to_keep, int) and logits_to_keep == 1:
            kwargs["inputs_embeds"], input_ids = self.get_input_embeddings()(input_ids).detach(), None
        return super().forward(input_ids, logits_to_keep=logits_to_keep, **kwargs)


class ScoresAfterHoles(RecurrentForCausalLM):
    """By the column before each token, a real one or not."""

    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None, wanted: Any = None) -> Tensor:
        scores = super().score(input_ids, attention_mask, wanted)
        log_probs = self(input_ids, attention_mask).logits.log_softmax(-1)[:, :-1]
        chosen = nn.functional.pad(log_probs.gather(2, input_ids[:, 1:, None])[..., 0], (1, 0))
        return chosen.where(scores != 0, scores)


class StartsAnew(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, past_key_values: Any = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, **kwargs)


class WritesIntoTheCache(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, past_key_values: Any = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, past_key_values=past_key_values, **kwargs)
        if past_key_values is not None:
            past_key_values.layers = output.past_key_values.layers
        return output


class KeepsAllStates(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        for layer in output.past_key_values.layers:
            layer.state = (*layer.state, output.logits)
        return output


class AlwaysReturnsItsState(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, use_cache: Any = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, use_cache=True, **kwargs)


BROKEN_LSTMS: list[tuple[type[RecurrentForCausalLM], str, tuple[Any, ...]]] = [
    (PrefersIds, "test_word_vectors_in_place_of_ids", ()),
    (ForgetsTheMask, "test_inputs_of_a_wrong_shape_are_refused", ()),
    (LosesTheLossOfOtherPositions, "test_loss_without_all_logits", (torch.float32,)),
    (LosesTheLossOfOtherPositions, "test_loss_does_not_depend_on_the_logits_kept", ()),
    (DetachesTheWords, "test_loss_without_all_logits", (torch.float32,)),
    (DetachesTheWords, "test_gradients_with_padding", (1, False)),
    (ForgetsTheMask, "test_gradients_with_padding", (0, False)),
    (ForgetsTheMask, "test_gradients_with_padding", (1, True)),
    (ForgetsTheMask, "test_a_padded_row_keeps_its_state", ()),
    (ScoresAfterHoles, "test_score_with_holes", ()),
    (StartsAnew, "test_carried_state_equals_the_uncut_forward", ()),
    (StartsAnew, "test_generation_goes_on_from_a_cache", ()),
    (StartsAnew, "test_foreign_caches_are_refused", ()),
    (WritesIntoTheCache, "test_the_callers_cache_is_not_changed", ()),
    (KeepsAllStates, "test_state_is_of_constant_size", ()),
    (AlwaysReturnsItsState, "test_cache_is_asked_for_or_configured", ()),
]


@pytest.mark.parametrize(
    ("model_class", "check", "arguments"), BROKEN_LSTMS, ids=lambda value: getattr(value, "__name__", None)
)
def test_broken_recurrent_models_fail(model_class: type, check: str, arguments: tuple[Any, ...]) -> None:
    getattr(LSTMTests(), check)(*arguments)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(type("Tests", (LSTMTests,), {"model_class": model_class})(), check)(*arguments)


def test_a_model_that_loses_its_saved_state_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="from a file"):
        type("Tests", (LSTMTests,), {"model_class": StartsAnew})().test_a_saved_cache_goes_on_where_it_stopped(tmp_path)


def test_declared_zero_gradients_are_checked() -> None:
    class Tests(TestStandIn):
        zero_gradients: ClassVar = {"lm_head.*": "not so"}

    with pytest.raises(AssertionError, match="declared zero"):
        Tests().test_every_parameter_learns()
    Tests.zero_gradients = {"no.such.parameter": "none"}
    with pytest.raises(AssertionError, match="do not exist"):
        Tests().test_every_parameter_learns()


@functools.cache
def declared_models() -> set[str]:
    """Every `X` for which `model_class = X` stands in a file of tests/models."""
    sources = (path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "models").rglob("test_*.py"))
    return {
        statement.value.id
        for source in sources
        for statement in ast.walk(ast.parse(source))
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Name)
        and any(getattr(target, "id", "") == "model_class" for target in statement.targets)
    }


@pytest.mark.parametrize("model_class", package_models(), ids=lambda cls: cls.__name__)
def test_every_registered_model_is_declared(model_class: type) -> None:
    """Each has a test class, whichever tests run now."""
    assert model_class.__name__ in declared_models(), f"no test class declares model_class = {model_class.__name__}"


class LaxConfig(PreTrainedConfig):
    """Takes any value and any name."""

    model_type = "lecture_lax"
    vocab_size: int = 20
    hidden_size: int = 8
    activation: str = "tanh"
    pad_token_id: int | None = 19


class TestLaxConfig:
    """A configuration without the rules fails every check of them."""

    class Tests(TestStandIn):
        __test__ = False

        def config(self) -> Any:
            return LaxConfig()

    def test_unknown_values(self) -> None:
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            self.Tests().test_config_refuses_unknown_values()

    def test_misspelt_names(self, tmp_path: Path) -> None:
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            self.Tests().test_config_refuses_misspelt_names(tmp_path)

    def test_contradictions(self) -> None:
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            self.Tests().test_config_refuses_contradictions()


class ForgetsTheItems(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, num_items_in_batch: Any = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, **kwargs)


class DividesByTheRows(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, num_items_in_batch: Any = None, **kwargs: Any) -> Any:
        rows = len(kwargs["attention_mask"])
        return super().forward(input_ids, num_items_in_batch=num_items_in_batch or rows, **kwargs)


class IsNaNWithoutItems(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        if labels is not None:
            output.loss = nn.functional.cross_entropy(output.logits, labels)
        return output


class PoolsTheLastColumn(EncoderForSequenceClassification):
    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        return outputs.last_hidden_state[:, -1]


class PoolsPadding(EncoderForSequenceClassification):
    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        return outputs.last_hidden_state.mean(dim=1)


class IgnoresAnInput(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, position_ids: Tensor | None = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, **kwargs)


class WritesIntoTheConfiguration(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, **kwargs: Any) -> Any:
        self.config.problem_type = "single_label_classification"
        return super().forward(input_ids, **kwargs)


class TakesAnyLabel(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any) -> Any:
        labels = labels if labels is None else labels.clamp(-100, self.config.num_labels - 1)
        return super().forward(input_ids, labels=labels, **kwargs)


class AlwaysRegresses(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        if labels is not None:
            output.loss = (output.logits - labels).square().mean()
        return output


class HidesItsStates(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        return SequenceClassifierOutput(loss=output.loss, logits=output.logits)


class CountsPadding(EncoderForTokenClassification):
    def forward(self, input_ids: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, labels=labels if labels is None else labels.clamp(min=0), **kwargs)


class ReadsPadding(EncoderForTokenClassification):
    def forward(self, input_ids: Tensor | None = None, attention_mask: Any = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, **kwargs)


class ShiftsLabels(EncoderForMaskedLM):
    def forward(self, input_ids: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any) -> Any:
        return super().forward(input_ids, labels=labels if labels is None else labels.roll(-1, 1), **kwargs)


class AnswersFromPadding(EncoderForQuestionAnswering):
    def forward(self, input_ids: Tensor | None = None, start_positions: Tensor | None = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, start_positions=start_positions, **kwargs)
        if start_positions is not None:
            output.loss = output.loss + output.start_logits.logsumexp(dim=1).sum()
        return output


class AnswersWithTheFirstToken(EncoderForQuestionAnswering):
    """As transformers does, for an answer that is not in the text."""

    def forward(self, input_ids: Tensor | None = None, start_positions: Tensor | None = None, **kwargs: Any) -> Any:
        start = start_positions if start_positions is None else start_positions.clamp(min=0)
        return super().forward(input_ids, start_positions=start, **kwargs)


class ComparesChoices(EncoderForMultipleChoice):
    def forward(self, input_ids: Tensor | None = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        output.logits = output.logits - output.logits.mean(dim=1, keepdim=True)
        return output


class ForgetsTheItemsOfTheStep(EncoderForMultipleChoice):
    """It takes `**kwargs`, so transformers' Trainer leaves the division to it."""

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Any = None,
        **kwargs: Any,
    ) -> Any:
        return super().forward(input_ids, attention_mask, labels, **kwargs)


BROKEN_HEADS: list[tuple[type[HeadTests], type, str, tuple[Any, ...]]] = [
    (test_heads.TestSequenceClassification, ForgetsTheItems, "test_loss_is_the_mean_over_what_counts", ()),
    (test_heads.TestSequenceClassification, ForgetsTheItems, "test_micro_batches_add_up", ()),
    (test_heads.TestSequenceClassification, DividesByTheRows, "test_loss_is_the_mean_over_what_counts", ()),
    (test_heads.TestSequenceClassification, IsNaNWithoutItems, "test_a_batch_in_which_nothing_counts", ()),
    (test_heads.TestSequenceClassification, PoolsTheLastColumn, "test_batch_equals_single_rows", ("right",)),
    (test_heads.TestSequenceClassification, PoolsPadding, "test_batch_equals_single_rows", ("left",)),
    (test_heads.TestSequenceClassification, PoolsPadding, "test_loss_with_padding", ()),
    (test_heads.TestSequenceClassification, IgnoresAnInput, "test_inputs_are_read_or_refused", ()),
    (
        test_heads.TestSequenceClassification,
        WritesIntoTheConfiguration,
        "test_forward_leaves_the_configuration_alone",
        (),
    ),
    (test_heads.TestSequenceClassification, TakesAnyLabel, "test_bad_labels_are_refused", ()),
    (test_heads.TestSequenceClassification, AlwaysRegresses, "test_problem_types", ("multi_label_classification", 3)),
    (test_heads.TestSequenceClassification, HidesItsStates, "test_states_on_request", ()),
    (test_heads.TestTokenClassification, CountsPadding, "test_loss_is_the_mean_over_what_counts", ()),
    (test_heads.TestTokenClassification, ReadsPadding, "test_pipeline_joins_tokens", ("simple",)),
    (test_heads.TestMaskedLM, ShiftsLabels, "test_loss_is_the_mean_over_what_counts", ()),
    (test_heads.TestQuestionAnswering, AnswersFromPadding, "test_loss_with_padding", ()),
    (test_heads.TestQuestionAnswering, AnswersWithTheFirstToken, "test_loss_is_the_mean_over_what_counts", ()),
    (test_heads.TestMultipleChoice, ComparesChoices, "test_choices_are_scored_apart", ()),
]


@pytest.mark.parametrize(
    ("tests", "model_class", "check", "arguments"), BROKEN_HEADS, ids=lambda value: getattr(value, "__name__", None)
)
def test_broken_heads_fail(tests: type[HeadTests], model_class: type, check: str, arguments: tuple[Any, ...]) -> None:
    broken = type("Tests", (tests,), {"model_class": model_class})
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(broken(), check)(*arguments)


class ForgetsItsLabels(EncoderForSequenceClassification):
    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        self.config.num_labels = 2
        self.config.num_labels = 4
        super().save_pretrained(*args, **kwargs)


class NamesAnotherBaseModel(EncoderForSequenceClassification):
    base_model_prefix = "transformer"


@pytest.mark.parametrize(
    ("model_class", "check"),
    [
        (ForgetsItsLabels, "test_labels_survive_saving"),
        (NamesAnotherBaseModel, "test_new_head_on_a_saved_base_model"),
    ],
)
def test_broken_files_fail(model_class: type, check: str, tmp_path: Path) -> None:
    attributes = {"model_class": model_class, "auto_class": model_class}
    with pytest.raises(AssertionError):
        getattr(type("Tests", (test_heads.TestSequenceClassification,), attributes)(), check)(tmp_path)


def test_a_head_that_forgets_the_items_of_a_step_fails(tmp_path: Path) -> None:
    attributes = {"model_class": ForgetsTheItemsOfTheStep}
    with pytest.raises(AssertionError):
        type("Tests", (test_heads.TestMultipleChoice,), attributes)().test_trainer_in_parts(tmp_path)
