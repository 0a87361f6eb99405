# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Streams scored with caches and dynamic evaluation: by any model, which stays as it was, with the state handed on."""

import copy

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, JambaConfig, JambaForCausalLM, set_seed

from hf_lecture_models import (
    FeedForwardConfig,
    FeedForwardForCausalLM,
    Gpt1Config,
    Gpt1ForCausalLM,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    WordTokenizer,
    evaluate_language_model,
)
from hf_lecture_models.evaluation.scoring import score_stream
from hf_lecture_models.lab.studies.adaptation import AdaptedScorer, adapt_stream, score_adapted
from hf_lecture_models.lab.studies.cache import ContinuousCache, UnigramCache
from hf_lecture_models.lab.studies.dynamic_evaluation import DynamicEvaluation

TEXTS = ["the cat saw the dog", "a dog ran", "", "the cat ran", "zebra", "a zebra saw a cat", "the dog saw the cat"]
TOKENIZER = WordTokenizer.train(["the cat saw the dog a ran"], progress=False)
IDS = {name: getattr(TOKENIZER, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
CACHE, CONTINUOUS = UnigramCache(0.2, window=9), ContinuousCache(0.2, window=9, theta=0.5)
DYNAMIC = DynamicEvaluation(0.5, decay=0.02, segment=3)


def ngram():
    return NGramForCausalLM.fit(TEXTS[:2], TOKENIZER, order=3, smoothing="add_alpha", progress=False)


def network(kind, config_class, **options):
    set_seed(0)
    return kind(config_class(vocab_size=len(TOKENIZER), **{**IDS, **options})).eval()


def recurrent(**options):
    return network(RecurrentForCausalLM, RecurrentConfig, hidden_size=6, num_hidden_layers=2, **options)


def transformer(kind, config_class):
    """A Transformer that gives `<s>` a probability too."""
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 8}
    return network(kind, config_class, **sizes, bos_token_id=None)


def jamba():
    """A model of transformers that writes into the state that it is given."""
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    few = {"num_key_value_heads": 2, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 1}
    mamba = {"num_experts_per_tok": 1, "use_mamba_kernels": False, "mamba_d_state": 4, "mamba_dt_rank": 2}
    return network(JambaForCausalLM, JambaConfig, **sizes, **few, **mamba)


MODELS = {
    "ngram": ngram,
    "lstm": recurrent,
    "tied lstm": lambda: recurrent(tie_word_embeddings=True),
    "adaptive softmax": lambda: recurrent(output_layer="adaptive", adaptive_cutoffs=[4]),
    "feed-forward": lambda: network(FeedForwardForCausalLM, FeedForwardConfig, order=3, hidden_size=6),
    "gpt1": lambda: transformer(Gpt1ForCausalLM, Gpt1Config),
    "gpt2": lambda: transformer(GPT2LMHeadModel, GPT2Config),
    "jamba": jamba,
}
ALL = (DYNAMIC, CONTINUOUS, CACHE)
SINGLE = [(name, one) for name in ("lstm", "gpt2") for one in (CACHE, CONTINUOUS, DYNAMIC)] + [("ngram", CACHE)]
SUMMED = [*SINGLE, ("adaptive softmax", ALL), ("lstm", ALL), ("gpt2", ALL)]
TOGETHER = [(name, ALL) for name in MODELS if name not in ("ngram", "jamba")]
SLOW = [pytest.param("jamba", ALL, marks=pytest.mark.slow)]


def named(value):
    if isinstance(value, str):
        return value
    return "all" if isinstance(value, tuple) else type(value).__name__


@pytest.mark.cases(5, 8)
@pytest.mark.parametrize(("name", "adaptation"), [*SINGLE, *TOGETHER, *SLOW], ids=named)
def test_the_state_goes_in_and_out_and_the_model_stays(name, adaptation):
    model = MODELS[name]().train()
    weights = copy.deepcopy(model.state_dict())
    whole = np.concatenate([one.log_probs for one in score_adapted(model, TOKENIZER, TEXTS, adaptation)[0]])
    pieces, states = [], [None]
    for texts in (TEXTS[:1], [], TEXTS[1:3], TEXTS[3:]):
        scores, state = score_adapted(model, TOKENIZER, texts, adaptation, states[-1])
        pieces += [one.log_probs for one in scores]
        states.append(state)
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=2e-6)
    again, _ = score_adapted(model, TOKENIZER, TEXTS[3:], adaptation, states[3])  # the state was not written into
    assert [one.log_probs.tolist() for one in again] == [one.log_probs.tolist() for one in scores]
    assert model.training
    assert torch.is_grad_enabled()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_without_adaptation_and_with_one_that_does_nothing(name):
    model = MODELS[name]()
    plain = np.concatenate([one.log_probs for one in score_stream(model, TOKENIZER, TEXTS)])
    nothing = [(), UnigramCache(0.0)]
    if name != "ngram":
        nothing += [ContinuousCache(0.0)]
    if name in ("lstm", "tied lstm", "adaptive softmax", "feed-forward", "jamba"):
        nothing += [DynamicEvaluation(0.0, segment=4)]  # others see more or less context with segments
    for adaptation in nothing:
        scores, _ = score_adapted(model, TOKENIZER, TEXTS, adaptation)
        np.testing.assert_allclose(np.concatenate([one.log_probs for one in scores]), plain, atol=2e-6)


@pytest.mark.parametrize(("name", "adaptation"), SUMMED, ids=named)
def test_probabilities_of_the_next_word_sum_to_one(name, adaptation):
    model = MODELS[name]()
    _, state = score_adapted(model, TOKENIZER, TEXTS[:3], adaptation)
    started = np.array([TOKENIZER.bos_token_id, TOKENIZER.convert_tokens_to_ids("the")])
    _, state = adapt_stream(model, started, np.array([False, True]), adaptation, state)
    total = sum(
        np.exp(adapt_stream(model, np.array([word]), np.array([True]), adaptation, state)[0][0])
        for word in range(model.config.vocab_size)
        if name != "ngram" or word != TOKENIZER.bos_token_id  # which is no event of an n-gram model
    )
    assert total == pytest.approx(1, abs=1e-5)


def test_a_cache_in_a_stream_by_hand():
    """`<s>` is in no cache, `</s>` and `<unk>` are; the loop knows words alone."""
    model, seen, expected = ngram(), [], []
    for one in score_stream(model, TOKENIZER, TEXTS):
        for word, log_prob in zip(one.ids.tolist(), one.log_probs.tolist(), strict=True):
            recent = seen[-CACHE.window :]
            cached = recent.count(word) / max(1, len(recent))
            p = np.exp(log_prob)
            expected.append((1 - CACHE.weight) * p + CACHE.weight * cached if recent else p)
            seen.append(word)
    found = np.concatenate([one.log_probs for one in score_adapted(model, TOKENIZER, TEXTS, CACHE)[0]])
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)
    assert TOKENIZER.bos_token_id not in seen
    assert {TOKENIZER.unk_token_id, TOKENIZER.eos_token_id} < set(seen)


def test_the_continuous_cache_compares_the_states_that_predict():
    """Beside a loop over the model's own hidden states."""
    model = recurrent()
    rows = [[IDS["bos_token_id"], *TOKENIZER(text, add_special_tokens=False).input_ids] for text in TEXTS]
    ids = np.array([token for row in rows for token in [*row, IDS["eos_token_id"]]])
    with torch.no_grad():
        output = model(torch.from_numpy(ids[None]), output_hidden_states=True)
    states, log_probs = output.hidden_states[-1][0].numpy(), output.logits[0].log_softmax(-1).numpy()
    pairs, expected = [], []
    for place in np.flatnonzero(ids != IDS["bos_token_id"]):
        p, state = np.exp(log_probs[place - 1, ids[place]]), states[place - 1]
        weights = [(np.exp(CONTINUOUS.theta * float(state @ other)), word) for other, word in pairs[-9:]]
        if weights:
            same = sum(weight for weight, word in weights if word == ids[place])
            p = (1 - CONTINUOUS.weight) * p + CONTINUOUS.weight * same / sum(weight for weight, _ in weights)
        expected.append(p)
        pairs.append((state, ids[place]))
    found = np.concatenate([one.log_probs for one in score_adapted(model, TOKENIZER, TEXTS, CONTINUOUS)[0]])
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)


def test_measures_name_the_adaptation():
    model = recurrent()
    plain = evaluate_language_model(model, TOKENIZER, TEXTS, stream=True)
    measures = evaluate_language_model(model, TOKENIZER, TEXTS, stream=True, score=AdaptedScorer([DYNAMIC, CACHE]))
    assert "adaptation" not in plain
    assert measures["adaptation"] == f"{DYNAMIC!r}, {CACHE!r}"
    assert measures["tokens"] == plain["tokens"]
    assert measures["perplexity"] != plain["perplexity"]
    with pytest.raises(ValueError, match="AdaptedScorer scores texts that follow each other: give stream=True"):
        evaluate_language_model(model, TOKENIZER, TEXTS, score=AdaptedScorer(CACHE))


def test_a_text_that_cannot_be_encoded_is_no_part_of_the_stream():
    closed = WordTokenizer.train(TEXTS[:2], unk_token=None, progress=False)
    model = NGramForCausalLM.fit(TEXTS[:2], closed, order=2, smoothing="add_alpha", progress=False)
    with_it = score_adapted(model, closed, [TEXTS[0], "zebra", TEXTS[1]], CACHE)[0]
    without = score_adapted(model, closed, [TEXTS[0], TEXTS[1]], CACHE)[0]
    assert with_it[1].log_prob == -np.inf
    assert with_it[2].log_prob == without[1].log_prob


def stupid_backoff():
    return NGramForCausalLM.fit(TEXTS, TOKENIZER, order=2, smoothing="stupid_backoff", progress=False)


@pytest.mark.parametrize(
    ("make", "adaptation", "error", "message"),
    [
        (ngram, CONTINUOUS, ValueError, "NGramForCausalLM has no hidden states"),
        (ngram, DYNAMIC, ValueError, "NGramForCausalLM has no weights that learn by gradients"),
        (stupid_backoff, CACHE, ValueError, "do not sum to one"),
        (recurrent, 0.1, TypeError, "it must be a UnigramCache, ContinuousCache or DynamicEvaluation"),
        (recurrent, [CACHE, "cache"], TypeError, "adaptation is 'cache'"),
        (recurrent, [DYNAMIC, DYNAMIC], ValueError, "stands twice"),
        (MODELS["gpt2"], DynamicEvaluation(0.1, segment=8), ValueError, "a segment of 8 tokens and one before it"),
    ],
)
def test_what_an_adaptation_needs(make, adaptation, error, message):
    with pytest.raises(error, match=message):
        score_adapted(make(), TOKENIZER, TEXTS, adaptation)


def test_a_state_of_another_adaptation():
    model = recurrent()
    _, state = score_adapted(model, TOKENIZER, TEXTS, DYNAMIC)
    for other, given in (([DYNAMIC, CACHE], state), ((), state), (DYNAMIC, "what came before")):
        with pytest.raises(ValueError, match="the state is of another adaptation"):
            score_adapted(model, TOKENIZER, TEXTS, other, given)
    with pytest.raises(ValueError, match="the state is of another model"):
        score_adapted(recurrent(tie_word_embeddings=True), TOKENIZER, TEXTS, DYNAMIC, state)
