# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Dynamic evaluation beside a loop in numpy that is written from the paper's formulas."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
from hf_lecture_models.lab.studies.adaptation import adapt_stream
from hf_lecture_models.lab.studies.dynamic_evaluation import AdaptedCopy, DynamicEvaluation, gradient_rms

TEXTS = ["the cat saw the dog", "a dog ran", "the cat ran"]
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)


class Bigram(GPT2LMHeadModel):
    """Logits that are a matrix of weights, a row for each word; the gradient of its loss is known by hand."""

    def __init__(self, table):
        sizes = {"n_positions": 8, "n_embd": 2, "n_layer": 0, "n_head": 1}
        super().__init__(GPT2Config(vocab_size=len(table), bos_token_id=None, eos_token_id=None, **sizes))
        del self.transformer, self.lm_head
        self.table = torch.nn.Parameter(torch.tensor(table, dtype=torch.float32))

    @property
    def device(self):
        return self.table.device

    def forward(self, input_ids, attention_mask=None):
        return SimpleNamespace(logits=self.table[input_ids])


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def by_hand(table, ids, predicted, options, rms):
    """ln p of each token from the second on; the table follows, segment by segment."""
    trained, current, found = table.copy(), table.copy(), []
    for begin in range(1, len(ids), options.segment):
        places = range(begin, min(begin + options.segment, len(ids)))
        gradient, count = np.zeros_like(table), sum(predicted[places])
        for place in places:
            probs = softmax(current[ids[place - 1]])
            found.append(math.log(probs[ids[place]]) if predicted[place] else 0.0)
            if predicted[place]:
                probs[ids[place]] -= 1
                gradient[ids[place - 1]] += probs / count
        if len(places) < options.segment or not count:
            continue
        if rms is None:
            current = current - options.learning_rate * gradient + options.decay * (trained - current)
        else:
            rate = np.minimum(options.decay * rms / rms.mean(), 1)
            step = options.learning_rate * gradient / (rms + options.epsilon)
            current = current - step + rate * (trained - current)
    return np.array(found), current


@pytest.mark.parametrize("decay", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("rule", ["gradient descent", "rms"])
def test_each_rule_equals_its_formula(rule, decay):
    random = np.random.default_rng(0)
    table, ids = random.normal(size=(5, 5)), random.integers(0, 5, 23)
    predicted = ids != 3
    rms = None if rule == "gradient descent" else random.uniform(0.01, 2, (5, 5))
    given = None if rms is None else {"table": torch.tensor(rms, dtype=torch.float32)}
    options = DynamicEvaluation(0.3, decay, segment=4, epsilon=0.01, gradient_rms=given)
    expected, weights = by_hand(table, ids, predicted, options, rms)
    log_probs, state = adapt_stream(Bigram(table), ids, predicted, options)
    np.testing.assert_allclose(log_probs[1:], expected, atol=1e-5)
    np.testing.assert_allclose(state.weights["table"].numpy(), weights, atol=1e-5)
    if rms is not None:
        assert (decay * rms.max() / rms.mean() > 1) == (decay == 0.9), "the rates that are bounded by 1 are tested, too"
    plain, _ = adapt_stream(Bigram(table), ids, predicted, ())
    assert abs(plain - log_probs).max() > 0.01


def test_weights_without_gradients_in_training_stay():
    """Where R is 0 throughout, its mean is divided by all the same."""
    zeros = {"table": torch.zeros(5, 5)}
    options = DynamicEvaluation(0.0, 0.1, segment=4, gradient_rms=zeros)
    table = np.random.default_rng(0).normal(size=(5, 5))
    _, state = adapt_stream(Bigram(table), np.arange(23) % 5, np.ones(23, bool), options)
    np.testing.assert_allclose(state.weights["table"].numpy(), table, atol=1e-6)


def test_the_root_mean_square_of_gradients():
    """One batch of all pieces of a stream, in which each bigram counts as often as it occurs."""
    table = np.random.default_rng(0).normal(size=(len(TOKENIZER), len(TOKENIZER)))
    found = gradient_rms(Bigram(table), TOKENIZER, TEXTS, batches=3, batch_size=2, length=5, seed=1)["table"]
    random, squares = np.random.default_rng(1), np.zeros_like(table)
    rows = [TOKENIZER(text, add_special_tokens=False).input_ids for text in TEXTS]
    stream = [token for row in rows for token in (TOKENIZER.bos_token_id, *row, TOKENIZER.eos_token_id)]
    for _ in range(3):
        starts = random.integers(0, len(stream) - 5, 2)
        pairs = [(stream[s + i], stream[s + i + 1]) for s in starts for i in range(5)]
        pairs = [pair for pair in pairs if pair[1] != TOKENIZER.bos_token_id]
        gradient = np.zeros_like(table)
        for before, word in pairs:
            probs = softmax(table[before])
            probs[word] -= 1
            gradient[before] += probs / len(pairs)
        squares += gradient**2
    np.testing.assert_allclose(found.numpy(), np.sqrt(squares / 3), atol=1e-6)


def lstm(**options):
    set_seed(0)
    return RecurrentForCausalLM(RecurrentConfig(vocab_size=len(TOKENIZER), hidden_size=6, **options))


def test_a_text_that_repeats_itself_gets_more_probable():
    model = lstm(tie_word_embeddings=True)
    ids = np.array(TOKENIZER(TEXTS[0]).input_ids * 20)
    rms = gradient_rms(model, TOKENIZER, TEXTS, batches=4)
    assert {name: tensor.shape for name, tensor in rms.items()} == {n: p.shape for n, p in model.named_parameters()}
    by_rms = DynamicEvaluation(0.02, 0.01, segment=6, epsilon=0.1, gradient_rms=rms)
    for options in (DynamicEvaluation(0.5, segment=6), by_rms):
        adapted, _ = adapt_stream(model, ids, ids != TOKENIZER.bos_token_id, options)
        plain, _ = adapt_stream(model, ids, ids != TOKENIZER.bos_token_id, ())
        assert adapted[-30:].sum() > plain[-30:].sum() + 1


def test_a_model_in_half_precision_learns_in_float32():
    copied = AdaptedCopy(lstm().to(torch.bfloat16), DynamicEvaluation(0.1))
    assert {parameter.dtype for parameter in copied.parameters.values()} == {torch.float32}


def test_frozen_weights_stay():
    model = lstm()
    model.lm_head.requires_grad_(False)
    _, state = adapt_stream(model, np.arange(1, 30) % 6, np.ones(29, bool), DynamicEvaluation(0.5, segment=5))
    assert state.weights.keys() == {name for name, _ in model.model.named_parameters(prefix="model")}


def offloaded():
    model = lstm()
    model.lm_head.weight = torch.nn.Parameter(torch.empty(len(TOKENIZER), 6, device="meta"))
    return model


def quantised():
    model = lstm()
    model.is_quantized = True
    return model


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (offloaded, {}, "are offloaded: load it without device_map"),
        (quantised, {}, "are quantised, and cannot learn"),
        (lstm, {"gradient_rms": {"table": torch.ones(2)}}, "gradient_rms is of another model"),
    ],
)
def test_models_that_cannot_learn(make, options, message):
    with pytest.raises(ValueError, match=message):
        adapt_stream(make(), np.array([1, 2]), np.ones(2, bool), DynamicEvaluation(0.1, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate is -1.0"),
        ({"learning_rate": 0.1, "decay": 2.0}, "decay is 2.0"),
        ({"learning_rate": 0.1, "segment": 0}, "segment is 0"),
        ({"learning_rate": 0.1, "epsilon": 0.0}, "epsilon is 0.0"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        DynamicEvaluation(**options)


def test_no_training_text():
    with pytest.raises(ValueError, match="fewer than two tokens"):
        gradient_rms(lstm(), TOKENIZER, [])
