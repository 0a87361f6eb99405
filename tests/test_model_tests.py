# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The checks of model_tests.py pass for a right model, and each fails for the model that breaks its promise."""

import ast
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.io.compat import CACHE, cache_of, with_past_key_values
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from tests.base.heads import test_heads
from tests.model_tests import CausalLMTests, RecurrentCacheTests, Tensors, package_models
from tests.stand_in import (
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    StandInCache,
    StandInConfig,
    StandInForCausalLM,
    stand_in_tokenizer,
)

Arguments = dict[str, Any]
FAILURES = (AssertionError, pytest.fail.Exception)


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


class LSTMTests(RecurrentCacheTests):
    """Not collected by itself: tests/models/recurrent holds the LSTM's own tests."""

    model_class = RecurrentForCausalLM

    def config(self) -> RecurrentConfig:
        ids = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
        return RecurrentConfig(vocab_size=20, hidden_size=8, num_hidden_layers=2, cell_type="lstm", **ids)


def altered(
    base: Any,
    given: Callable[[Arguments], Arguments] = lambda k: {},
    returned: Callable[[Arguments, Any, Any], Arguments] = lambda k, out, model: {},
) -> Any:
    """A model that reads its arguments `k` but for those of `given(k)`, and returns its outputs but for `returned`."""

    class Broken(base):
        def forward(self, input_ids: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:
            k = with_past_key_values({"input_ids": input_ids, "attention_mask": attention_mask, **kwargs})
            k |= given(k)
            outputs = super().forward(**k)
            for name, value in returned(k, outputs, self).items():
                setattr(outputs, name, value)
            return outputs

    return Broken


def relabelled(base: Any, change: Callable[[Tensor], Tensor], name: str = "labels") -> Any:
    """A model that changes the labels that it is given."""
    return altered(base, lambda k: {} if k.get(name) is None else {name: change(k[name])})


def recounted(base: Any, loss: Callable[[Arguments, Any], Tensor]) -> Any:
    """A model with another loss wherever there is one."""
    return altered(base, returned=lambda k, out, model: {} if out.loss is None else {"loss": loss(k, out)})


def rescored(change: Callable[[Tensor, Any], Tensor]) -> Any:
    """A stand-in with other logits."""
    return altered(StandInForCausalLM, returned=lambda k, out, model: {"logits": change(out.logits, model)})


def recached(change: Callable[[StandInCache], Any]) -> Any:
    """A stand-in that returns another cache."""

    def returned(k: Arguments, out: Any, model: Any) -> Arguments:
        cache = cache_of(out)
        return {} if cache is None else {CACHE: change(cache)}

    return altered(StandInForCausalLM, returned=returned)


class ForgetsPadding(StandInForCausalLM):
    def real_tokens(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        return torch.ones_like(input_ids, dtype=torch.bool)


class ReadsTheMasksBeginning(StandInForCausalLM):
    def real_tokens(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        return super().real_tokens(input_ids, attention_mask[:, : input_ids.shape[1]])


class ForgetfulCache(StandInCache):
    def reorder_cache(self, beam_idx: Tensor) -> None:
        pass


class SharesOneCache(StandInForCausalLM):
    shared: ClassVar[StandInCache] = StandInCache(torch.zeros(1), 0)

    def forward(self, input_ids: Tensor, past_key_values: Any = None, **kwargs: Any) -> Any:
        kwargs = with_past_key_values({"past_key_values": past_key_values, **kwargs})
        if kwargs["past_key_values"] is not None:
            kwargs["past_key_values"] = StandInCache(self.shared.state, kwargs["past_key_values"].seen)
        output = super().forward(input_ids, **kwargs)
        if cache_of(output) is not None:
            self.shared.state = cache_of(output).state
        return output


class KeepsState(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        self.last = {"logits": [output.logits]}
        return output


class GrowsWithUse(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> Any:
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
    def forward(self, input_ids: Tensor, **kwargs: Any) -> Any:
        first = super().forward(input_ids[:, :2], use_cache=True)
        cache = StandInCache(cache_of(first).state.detach(), 2)
        rest = super().forward(input_ids[:, 2:], past_key_values=cache)
        rest.logits = torch.cat([first.logits, rest.logits], dim=1)
        return rest


class RecomputesSomethingElse(StandInForCausalLM):
    def step(self, embedding: Tensor, state: Tensor) -> Tensor:
        return super().step(embedding, 0.9 * state if self.gradient_checkpointing else state)


class ClaimsCheckpointing(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> Any:
        asked, self.gradient_checkpointing = self.gradient_checkpointing, False
        output = super().forward(input_ids, **kwargs)
        self.gradient_checkpointing = asked
        return output


class LooksUpTwice(StandInForCausalLM):
    def forward(self, input_ids: Tensor, **kwargs: Any) -> Any:
        self.embed_tokens(input_ids[:, :1])
        return super().forward(input_ids, **kwargs)


class ScoresEverything(StandInForCausalLM):
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        log_probs = self(input_ids, attention_mask).logits.log_softmax(dim=-1)[:, :-1]
        return F.pad(log_probs.gather(2, input_ids[:, 1:, None])[..., 0], (1, 0))


def lost_state(k: Arguments) -> Arguments:
    cache = k.get("past_key_values")
    return {} if cache is None else {"past_key_values": StandInCache(torch.zeros_like(cache.state), cache.seen)}


def nan_at_padding(k: Arguments, out: Any, model: Any) -> Arguments:
    mask = k["attention_mask"]
    return {} if mask is None else {"logits": out.logits / (mask.sum(dim=1) > 0)[:, None, None]}


READ = {"input_ids", "attention_mask", "past_key_values", "labels", "use_cache", "logits_to_keep", "num_items_in_batch"}
looks_ahead = altered(
    StandInForCausalLM,
    returned=lambda k, out, model: {"logits": out.logits + 0.01 * model.embed_tokens(k["input_ids"]).mean()},
)
deaf = altered(StandInForCausalLM, lambda k: {"input_ids": torch.zeros_like(k["input_ids"])})
loses_its_state = altered(StandInForCausalLM, lost_state)
returns_no_cache = altered(StandInForCausalLM, lambda k: {"use_cache": False})

# The mistake, and the checks that it must fail, each with its arguments.
BROKEN: list[tuple[type, *tuple[tuple[Any, ...], ...]]] = [
    (looks_ahead, ("test_causality",)),
    (deaf, ("test_causality",)),
    (altered(StandInForCausalLM, lambda k: dict.fromkeys(k.keys() - READ)), ("test_unknown_arguments_are_refused",)),
    (rescored(lambda logits, model: F.dropout(logits, 0.5, model.training)), ("test_dropout_is_in_modules",)),
    (
        ForgetsPadding,
        ("test_batch_equals_single_rows", "left"),
        ("test_cache_in_beam_search",),
        ("test_generate_behind_equal_padding", {}),
        ("test_ids_and_masks_of_a_wrong_shape_are_refused",),
        ("test_loss_with_padding",),
    ),
    (ReadsTheMasksBeginning, ("test_cache_with_left_padding", (5, 1, 1, 1))),
    (altered(StandInForCausalLM, returned=nan_at_padding), ("test_rows_of_padding_only",)),
    (recached(lambda cache: ForgetfulCache(cache.state, cache.seen)), ("test_cache_in_beam_search",)),
    (
        loses_its_state,
        ("test_cache_equals_no_cache", (4, 1, 1, 1, 1)),
        ("test_generate_greedy",),
        ("test_generate_with_guidance", True, True),
        ("test_generate_with_and_without_a_cache", {"repetition_penalty": 1.5}),
        ("test_what_generate_returns",),
    ),
    (returns_no_cache, ("test_cache_equals_no_cache", (3, 2, 3)), ("test_generate_greedy",)),
    (recached(lambda cache: StandInCache(cache.state, 1)), ("test_cache_equals_no_cache", (3, 2, 3))),
    (SharesOneCache, ("test_two_interleaved_generations_do_not_mix",)),
    (KeepsState, ("test_no_tensor_is_stored_between_calls",)),
    (GrowsWithUse, ("test_no_tensor_is_stored_between_calls",), ("test_same_input_twice_gives_same_output",)),
    (rescored(lambda logits, model: F.dropout(logits, 0.1)), ("test_same_input_twice_gives_same_output",)),
    (BufferWithoutRule, ("test_loading_leaves_nothing_uninitialised",)),
    (UnsavedBuffer, ("test_loading_leaves_nothing_uninitialised",)),
    (UnusedParameter, ("test_every_parameter_learns",)),
    (StopsGradients, ("test_gradients_equal_reference",)),
    (rescored(lambda logits, model: 1.001 * logits), ("test_outputs_equal_reference",)),
    (recounted(StandInForCausalLM, lambda k, out: out.loss + 10.0), ("test_overfits_one_batch",)),
    (RecomputesSomethingElse, ("test_gradient_checkpointing",)),
    (ClaimsCheckpointing, ("test_gradient_checkpointing",)),
    (altered(StandInForCausalLM, lambda k: {"return_dict": True}), ("test_outputs_as_a_tuple",)),
    (altered(StandInForCausalLM, lambda k: {"output_hidden_states": False}), ("test_hidden_states_on_request",)),
    (altered(StandInForCausalLM, lambda k: {"use_cache": True}), ("test_use_cache_changes_no_output",)),
    (rescored(lambda x, model: x * torch.inf if x.dtype == torch.bfloat16 else x), ("test_bf16_autocast",)),
    (
        recounted(StandInForCausalLM, lambda k, out: out.loss.float().to(out.loss.dtype)),
        ("test_float64_is_computed_in_float64",),
    ),
    (
        altered(StandInForCausalLM, lambda k: {"input_ids": torch.as_tensor(k["input_ids"]).long().clamp(0, 19)}),
        ("test_ids_that_are_none_are_refused",),
    ),
    (LooksUpTwice, ("test_word_vectors_are_looked_up_once",)),
    (
        relabelled(StandInForCausalLM, lambda labels: labels.long().clamp(-100, 19)),
        ("test_labels_that_are_none_are_refused", False),
    ),
    (altered(StandInForCausalLM, lambda k: {"logits_to_keep": 0}), ("test_logits_to_keep",)),
    (altered(StandInForCausalLM, lambda k: {"num_items_in_batch": None}), ("test_labels_and_num_items_in_batch",)),
    (
        relabelled(StandInForCausalLM, lambda labels: F.pad(labels, (1, 0), value=-100)[:, :-1]),
        ("test_labels_and_num_items_in_batch",),
    ),
    (
        recounted(
            StandInForCausalLM,
            lambda k, out: cross_entropy(out.logits[:, :-1], k["labels"][:, 1:], k.get("num_items_in_batch")),
        ),
        ("test_loss_with_padding",),
    ),
    (ScoresEverything, ("test_score_equals_logits",)),
]


def checks_of(tests: type, model_class: type, **attributes: Any) -> Any:
    """The checks of a test class, for another model."""
    return type("Tests", (tests,), {"model_class": model_class, **attributes})()


def cases(broken: list[Any]) -> list[Any]:
    """A parameter for each mistake and check."""
    return [
        pytest.param(*row[: -len(checks)], check, arguments, id=f"{number}-{check}")
        for number, row in enumerate(broken)
        for checks in [[one for one in row if isinstance(one, tuple)]]
        for check, *arguments in checks
    ]


@pytest.mark.parametrize(("model_class", "check", "arguments"), cases(BROKEN))
def test_broken_models_fail(model_class: type, check: str, arguments: list[Any]) -> None:
    with pytest.raises(FAILURES):
        getattr(checks_of(TestStandIn, model_class), check)(*arguments)


def test_a_model_that_asks_for_values_fails() -> None:
    asks = altered(StandInForCausalLM, lambda k: {"input_ids": k["input_ids"] + (int(k["input_ids"].sum()) == 0)})
    with pytest.raises(RuntimeError, match="data-dependent"):
        checks_of(TestStandIn, asks).test_compiles_in_one_piece()


@pytest.mark.parametrize(
    ("model_class", "bidirectional"), [(StandInForCausalLM, True), (looks_ahead, False), (deaf, False)]
)
def test_declared_directions_are_checked(model_class: type[StandInForCausalLM], bidirectional: bool) -> None:
    checks_of(TestStandIn, StandInForCausalLM, bidirectional=False).test_reading_direction()
    with pytest.raises(AssertionError, match="direction|does not read"):
        checks_of(TestStandIn, model_class, bidirectional=bidirectional).test_reading_direction()


@pytest.mark.parametrize("model_class", [BufferWithoutRule, UnsavedBuffer])
def test_buffers_that_are_not_saved_fail(model_class: type[StandInForCausalLM], tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="scale"):
        checks_of(TestStandIn, model_class, auto_class=model_class).test_save_and_reload(tmp_path)


class SetsVectorsAnew(StandInForCausalLM):
    def set_input_embeddings(self, value: nn.Module) -> None:
        super().set_input_embeddings(nn.Embedding.from_pretrained(1.01 * value.weight, freeze=False))


class GrowsOnlyItsVectors(StandInForCausalLM):
    def get_output_embeddings(self) -> None:
        pass


class GrowsWithoutNumbers(StandInForCausalLM):
    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> Any:
        vectors = super().resize_token_embeddings(*args, **kwargs)
        self.lm_head.weight.data[20:] = torch.inf
        return vectors


@pytest.mark.parametrize(
    ("model_class", "error", "message"),
    [
        (SetsVectorsAnew, AssertionError, "after setting what was there: logits"),
        (GrowsOnlyItsVectors, ValueError, r"lm_head.weight has shape \(20, 8\), .* asks for \(23, 8\)"),
        (GrowsWithoutNumbers, AssertionError, "logits after {'new_num_tokens': 23}"),
    ],
)
def test_a_model_that_is_resized_wrongly_fails(
    model_class: type[StandInForCausalLM], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        checks_of(TestStandIn, model_class).test_resizing_keeps_what_was_there(False, tmp_path)


@pytest.mark.parametrize(
    ("model_class", "message"), [(StandInForCausalLM, "returned one"), (returns_no_cache, "in pieces of")]
)
def test_declared_context_lengths_are_checked(model_class: type[StandInForCausalLM], message: str) -> None:
    """A model that is said to read two tokens back must neither return a cache nor depend on a third token."""
    with pytest.raises(AssertionError, match=message):
        checks_of(TestStandIn, model_class, context_length=2).test_cache_equals_no_cache((3, 2, 3))


def test_weights_read_where_no_hook_fetches_them_fail() -> None:
    reads_elsewhere = rescored(lambda logits, model: logits + 0 * model.lm_head.weight.sum())
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        checks_of(TestStandIn, reads_elsewhere).test_offloaded("memory", Path())


class LooksAfterwards(StandInForCausalLM):
    @classmethod
    def _load_pretrained_model(cls, model: Any, state_dict: Any, checkpoint_files: Any, load_config: Any) -> Any:
        return PreTrainedModel._load_pretrained_model(model, state_dict, checkpoint_files, load_config)


def test_sizes_compared_after_loading_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 268 MB; without these, all of the memory.
    monkeypatch.setattr(StandInConfig, "positive_fields", ())
    monkeypatch.setattr(StandInConfig, "largest_values", {"vocab_size": 2**22})
    with pytest.raises(AssertionError, match="'vocab_size': .* MB"):
        checks_of(TestStandIn, LooksAfterwards, auto_class=LooksAfterwards).test_other_sizes_take_no_memory(tmp_path)


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


class ScoresAfterHoles(RecurrentForCausalLM):
    """By the column before each token, a real one or not."""

    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None, wanted: Any = None) -> Tensor:
        scores = super().score(input_ids, attention_mask, wanted)
        log_probs = self(input_ids, attention_mask).logits.log_softmax(-1)[:, :-1]
        chosen = F.pad(log_probs.gather(2, input_ids[:, 1:, None])[..., 0], (1, 0))
        return chosen.where(scores != 0, scores)


class DetachesTheWords(RecurrentForCausalLM):
    """Where the loss is computed in pieces."""

    def forward(self, input_ids: Any = None, logits_to_keep: Any = 0, **kwargs: Any) -> Any:
        if isinstance(logits_to_keep, int) and logits_to_keep == 1:
            kwargs["inputs_embeds"], input_ids = self.get_input_embeddings()(input_ids).detach(), None
        return super().forward(input_ids, logits_to_keep=logits_to_keep, **kwargs)


class WritesIntoTheCache(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, past_key_values: Any = None, **kwargs: Any) -> Any:
        kwargs = with_past_key_values({"past_key_values": past_key_values, **kwargs})
        output = super().forward(input_ids, **kwargs)
        if kwargs["past_key_values"] is not None:
            kwargs["past_key_values"].layers = cache_of(output).layers
        return output


class KeepsAllStates(RecurrentForCausalLM):
    def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        for layer in cache_of(output).layers:
            layer.state = (*layer.state, output.logits)
        return output


def only_kept_labels(k: Arguments) -> Arguments:
    labels, keep = k.get("labels"), k.get("logits_to_keep", 0)
    if labels is None or not isinstance(keep, int) or not keep:
        return {}
    return {"labels": F.pad(labels[:, -keep:], (labels.shape[1] - keep, 0), value=-100)}


starts_anew = altered(RecurrentForCausalLM, lambda k: {"past_key_values": None})


BROKEN_LSTMS: list[tuple[type, *tuple[tuple[Any, ...], ...]]] = [
    (
        altered(RecurrentForCausalLM, lambda k: {} if k["input_ids"] is None else {"inputs_embeds": None}),
        ("test_word_vectors_in_place_of_ids",),
    ),
    (
        altered(RecurrentForCausalLM, lambda k: {"attention_mask": None}),
        ("test_inputs_of_a_wrong_shape_are_refused",),
        ("test_gradients_with_padding", 0, False),
        ("test_gradients_with_padding", 1, True),
        ("test_a_padded_row_keeps_its_state",),
    ),
    (
        altered(RecurrentForCausalLM, only_kept_labels),
        ("test_loss_without_all_logits", torch.float32),
        ("test_loss_does_not_depend_on_the_logits_kept",),
    ),
    (
        DetachesTheWords,
        ("test_loss_without_all_logits", torch.float32),
        ("test_gradients_with_padding", 1, False),
    ),
    (ScoresAfterHoles, ("test_score_with_holes",)),
    (
        starts_anew,
        ("test_carried_state_equals_the_uncut_forward",),
        ("test_generation_goes_on_from_a_cache",),
        ("test_foreign_caches_are_refused",),
    ),
    (WritesIntoTheCache, ("test_the_callers_cache_is_not_changed",)),
    (KeepsAllStates, ("test_state_is_of_constant_size",)),
    (altered(RecurrentForCausalLM, lambda k: {"use_cache": True}), ("test_cache_is_asked_for_or_configured",)),
]


@pytest.mark.parametrize(("model_class", "check", "arguments"), cases(BROKEN_LSTMS))
def test_broken_recurrent_models_fail(model_class: type, check: str, arguments: list[Any]) -> None:
    getattr(LSTMTests(), check)(*arguments)
    with pytest.raises(FAILURES):
        getattr(checks_of(LSTMTests, model_class), check)(*arguments)


def test_a_model_that_loses_its_saved_state_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="from a file"):
        checks_of(LSTMTests, starts_anew).test_a_saved_cache_goes_on_where_it_stopped(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "message"), [("lm_head.*", "declared zero"), ("no.such.parameter", "do not exist")]
)
def test_declared_zero_gradients_are_checked(pattern: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        checks_of(TestStandIn, StandInForCausalLM, zero_gradients={pattern: "not so"}).test_every_parameter_learns()


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


@pytest.mark.parametrize("check", ["unknown_values", "misspelt_names", "contradictions"])
def test_a_configuration_without_rules_fails(check: str, tmp_path: Path) -> None:
    tests = checks_of(TestStandIn, StandInForCausalLM, config=lambda self: LaxConfig())
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        getattr(tests, f"test_config_refuses_{check}")(*([tmp_path] if check == "misspelt_names" else []))


class PoolsTheLastColumn(EncoderForSequenceClassification):
    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        return outputs.last_hidden_state[:, -1]


class PoolsPadding(EncoderForSequenceClassification):
    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        return outputs.last_hidden_state.mean(dim=1)


class WritesIntoTheConfiguration(EncoderForSequenceClassification):
    def forward(self, input_ids: Tensor | None = None, **kwargs: Any) -> Any:
        self.config.problem_type = "single_label_classification"
        return super().forward(input_ids, **kwargs)


HIDDEN = {"output_hidden_states": False, "output_attentions": False}
TEXTS, TAGS, WORDS = test_heads.TestSequenceClassification, test_heads.TestTokenClassification, test_heads.TestMaskedLM
ANSWERS, CHOICES = test_heads.TestQuestionAnswering, test_heads.TestMultipleChoice
BROKEN_HEADS: list[tuple[type, type, *tuple[tuple[Any, ...], ...]]] = [
    (
        TEXTS,
        altered(EncoderForSequenceClassification, lambda k: {"num_items_in_batch": None}),
        ("test_loss_is_the_mean_over_what_counts",),
        ("test_micro_batches_add_up",),
    ),
    (
        TEXTS,  # divides by the rows
        altered(
            EncoderForSequenceClassification,
            lambda k: {"num_items_in_batch": k.get("num_items_in_batch") or len(k["attention_mask"])},
        ),
        ("test_loss_is_the_mean_over_what_counts",),
    ),
    (
        TEXTS,  # NaN without items
        recounted(EncoderForSequenceClassification, lambda k, out: F.cross_entropy(out.logits, k["labels"])),
        ("test_a_batch_in_which_nothing_counts",),
    ),
    (TEXTS, PoolsTheLastColumn, ("test_batch_equals_single_rows", "right")),
    (TEXTS, PoolsPadding, ("test_batch_equals_single_rows", "left"), ("test_loss_with_padding",)),
    (
        TEXTS,
        altered(EncoderForSequenceClassification, lambda k: {"position_ids": None}),
        ("test_inputs_are_read_or_refused",),
    ),
    (TEXTS, WritesIntoTheConfiguration, ("test_forward_leaves_the_configuration_alone",)),
    (
        TEXTS,
        relabelled(EncoderForSequenceClassification, lambda labels: labels.clamp(-100, 2)),
        ("test_bad_labels_are_refused",),
    ),
    (
        TEXTS,
        recounted(EncoderForSequenceClassification, lambda k, out: (out.logits - k["labels"]).square().mean()),
        ("test_problem_types", "multi_label_classification", 3),
    ),
    (TEXTS, altered(EncoderForSequenceClassification, lambda k: HIDDEN), ("test_states_on_request",)),
    (
        TAGS,
        relabelled(EncoderForTokenClassification, lambda labels: labels.clamp(min=0)),
        ("test_loss_is_the_mean_over_what_counts",),
    ),
    (
        TAGS,
        altered(EncoderForTokenClassification, lambda k: {"attention_mask": None}),
        ("test_pipeline_joins_tokens", "simple"),
    ),
    (
        WORDS,
        relabelled(EncoderForMaskedLM, lambda labels: labels.roll(-1, 1)),
        ("test_loss_is_the_mean_over_what_counts",),
    ),
    (
        ANSWERS,  # from padding
        recounted(EncoderForQuestionAnswering, lambda k, out: out.loss + out.start_logits.logsumexp(dim=1).sum()),
        ("test_loss_with_padding",),
    ),
    (
        ANSWERS,  # with the first token, as transformers does, where there is no answer
        relabelled(EncoderForQuestionAnswering, lambda start: start.clamp(min=0), "start_positions"),
        ("test_loss_is_the_mean_over_what_counts",),
    ),
    (
        CHOICES,  # compared with each other
        altered(
            EncoderForMultipleChoice,
            returned=lambda k, out, model: {"logits": out.logits - out.logits.mean(dim=1, keepdim=True)},
        ),
        ("test_choices_are_scored_apart",),
    ),
]


@pytest.mark.parametrize(("tests", "model_class", "check", "arguments"), cases(BROKEN_HEADS))
def test_broken_heads_fail(tests: type, model_class: type, check: str, arguments: list[Any]) -> None:
    with pytest.raises(FAILURES):
        getattr(checks_of(tests, model_class), check)(*arguments)


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
    with pytest.raises(AssertionError):
        getattr(checks_of(TEXTS, model_class, auto_class=model_class), check)(tmp_path)
