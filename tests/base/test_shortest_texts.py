# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`generate()` with our processors of the shortest length beside transformers' own, with options of all kinds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers.generation.logits_process import (
    LogitsProcessorList,
    MinLengthLogitsProcessor,
    MinNewTokensLengthLogitsProcessor,
)
from transformers.generation.stopping_criteria import StoppingCriteria

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    RecurrentConfig,
    RecurrentForCausalLM,
)
from hf_lecture_models.base.guards import model as guards
from hf_lecture_models.base.guards.shortest_texts import MinLength, MinNewTokens, replace_processors

WORDS = 12
SMALL = {"vocab_size": WORDS, "hidden_size": 8, "num_hidden_layers": 2, "eos_token_id": [1, 2], "pad_token_id": 0}


class Streamer:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.tokens: list[list[int]] = []

    def put(self, value: torch.Tensor) -> None:
        self.tokens.append(value.flatten().tolist())

    def end(self) -> None:
        self.tokens.append([])


class SixTokens(StoppingCriteria):
    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        return torch.full((len(input_ids),), input_ids.shape[1] >= 6)


def doubled(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    return 2 * scores


def models() -> dict[str, Any]:
    torch.manual_seed(0)
    found: dict[str, Any] = {
        "gpt1": Gpt1ForCausalLM(Gpt1Config(**SMALL, num_attention_heads=2, max_position_embeddings=40)),
        "recurrent": RecurrentForCausalLM(RecurrentConfig(**SMALL)),
        "transformer": LectureTransformerForConditionalGeneration(
            LectureTransformerConfig(**SMALL, num_attention_heads=2, intermediate_size=16, decoder_start_token_id=0)
        ),
    }
    for model in found.values():
        # So that a text would end soon.
        model.lm_head.weight.data.normal_()
    return {name: model.eval() for name, model in found.items()}


MODELS = models()
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "top-k, top-p, temperature": {"do_sample": True, "top_k": 5, "top_p": 0.9, "temperature": 0.7},
    "min-p, typical": {"do_sample": True, "min_p": 0.05, "typical_p": 0.9},
    "beams": {"num_beams": 3},
    "beams, several": {"num_beams": 3, "num_return_sequences": 2, "early_stopping": True, "length_penalty": 2.0},
    "beams, sampling": {"num_beams": 3, "do_sample": True},
    "penalties": {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2},
    "no words": {"bad_words_ids": [[3], [4, 5]], "suppress_tokens": [6]},
    "forced": {"forced_eos_token_id": 1, "forced_bos_token_id": 3},
    "bias": {"sequence_bias": [[[3], 2.0]]},
    "prefixes": {"prefix_allowed_tokens_fn": lambda row, ids: [1, 3, 4, 5]},
    "no cache": {"use_cache": False},
    "several": {"do_sample": True, "num_return_sequences": 3},
    "one end": {"eos_token_id": 2},
    "an end that is no token": {"eos_token_id": [2, WORDS + 3]},
    "time": {"max_time": 60.0},
    "own criterion": {"stopping_criteria": [SixTokens()]},
    "own processor": {"logits_processor": LogitsProcessorList([doubled])},
    "renormalised": {"renormalize_logits": True, "num_beams": 2},
    "decay": {"exponential_decay_length_penalty": (2, 1.5)},
}
SHORTEST: list[dict[str, int]] = [{"min_new_tokens": 4}, {"min_length": 6}, {"min_new_tokens": 2, "min_length": 7}, {}]
KEPT = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}


def written(model: Any, options: dict[str, Any]) -> list[Any]:
    """The tokens, scores and logits, and what a streamer is given."""
    torch.manual_seed(0)
    streamer = None if "num_beams" in options or "num_return_sequences" in options else Streamer()
    options = {"max_new_tokens": 8, "do_sample": False} | options
    prompt = torch.tensor([[3, 4, 5], [5, 3, 9]][: 1 + (streamer is None)])
    outputs = model.generate(prompt, attention_mask=torch.ones_like(prompt), streamer=streamer, **options, **KEPT)
    kept = [tensor for tensors in (outputs.scores, outputs.logits) for tensor in tensors]
    return [outputs.sequences, *kept, streamer and streamer.tokens]


@pytest.mark.parametrize("shortest", SHORTEST, ids=str)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_texts_and_scores_are_those_of_transformers_own_processors(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any], shortest: dict[str, int]
) -> None:
    ours = written(MODELS[name], options | shortest)
    monkeypatch.setattr(guards, "replace_processors", lambda processors: None)
    theirs = written(MODELS[name], options | shortest)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


@pytest.mark.parametrize("shortest", SHORTEST, ids=str)
def test_an_assistants_text_is_that_of_transformers_own_processors(
    monkeypatch: pytest.MonkeyPatch, shortest: dict[str, int]
) -> None:
    model = MODELS["gpt1"]
    options: dict[str, Any] = {"assistant_model": model, "do_sample": False, "max_new_tokens": 8} | shortest
    prompt = torch.tensor([[3, 4, 5]])
    ours = model.generate(prompt, **options)
    monkeypatch.setattr(guards, "replace_processors", lambda processors: None)
    assert torch.equal(ours, model.generate(prompt, **options))


def test_some_texts_would_be_shorter() -> None:
    """Else the tests above say nothing: in some, a token that ends them is among the first four new ones."""
    ended = set()
    for name, model in MODELS.items():
        begin = 1 if name == "transformer" else 3
        for options in ("greedy", "sampling", "several"):
            free, bound = (written(model, OPTIONS[options] | one)[0][:, begin:] for one in ({}, SHORTEST[0]))
            assert not torch.isin(bound[:, :4], torch.tensor([1, 2])).any()
            if torch.isin(free[:, :4], torch.tensor([1, 2])).any():
                ended.add(name)
    assert len(ended) >= 2


def test_scores_of_a_caller_do_not_change() -> None:
    """A loop of one's own may go on with them."""
    scores = torch.zeros(2, WORDS)
    for processor in (
        MinLength(MinLengthLogitsProcessor(5, 1)),
        MinNewTokens(MinNewTokensLengthLogitsProcessor(1, 4, 1)),
    ):
        found = processor(torch.zeros(2, 4, dtype=torch.long), scores)
        assert found[:, 1].tolist() == [-torch.inf] * 2
        assert not scores.any()
        assert processor(torch.zeros(2, 5, dtype=torch.long), scores) is scores


def test_a_subclass_and_other_processors_stay() -> None:
    class Own(MinLengthLogitsProcessor):
        pass

    given: list[Any] = [Own(3, 1), doubled, MinLengthLogitsProcessor(3, 1)]
    found = list(given)
    replace_processors(found)
    assert found[:2] == given[:2]
    assert type(found[2]) is MinLength
    assert isinstance(found[2], MinLengthLogitsProcessor)
