# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Sampled corpora: their distribution, their seeds, and what is estimated from them."""

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

from hf_lecture_models import (
    FeedForwardConfig,
    FeedForwardForCausalLM,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.lab.studies.sampling import draw_tokens, sample_texts

TEXTS = ["the cat saw the dog", "a dog ran", "", "the cat ran", "a cat saw a dog", "the dog saw the cat"]
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)
IDS = {name: getattr(TOKENIZER, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
START, END = IDS["bos_token_id"], IDS["eos_token_id"]


def bigram():
    return NGramForCausalLM.fit(TEXTS, TOKENIZER, order=2, smoothing="add_alpha", alpha=0.1, progress=False)


def network(kind, config_class, **options):
    set_seed(0)
    model = kind(config_class(vocab_size=len(TOKENIZER), **options, **IDS)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(12)  # far from uniform
    return model


def lstm():
    return network(RecurrentForCausalLM, RecurrentConfig, hidden_size=8, num_hidden_layers=2)


def feed_forward():
    """A network of order 2, whose state is the word before."""
    return network(FeedForwardForCausalLM, FeedForwardConfig, order=2, hidden_size=8)


def distributions(model):
    """(vocab, vocab) P(next | word), of what may be drawn."""
    with torch.no_grad():
        probs = model(torch.arange(len(TOKENIZER))[:, None]).logits[:, -1].softmax(-1).double().numpy()
    probs[:, [START, IDS["pad_token_id"]]] = 0
    return probs / probs.sum(1, keepdims=True)


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("make", [bigram, feed_forward], ids=["generate", "state"])
def test_a_distilled_bigram_is_the_model_that_wrote_its_corpus(make):
    """Each estimate within five standard errors of what it estimates; seeded, so that it is so always or never."""
    model = make()
    texts = sample_texts(model, TOKENIZER, tokens=20_000, longest=50, rows=1000)
    distilled = NGramForCausalLM.fit(texts, TOKENIZER, order=2, smoothing="maximum_likelihood", progress=False)
    expected, found = distributions(model), distributions(distilled)
    rows = [[START, *TOKENIZER(text, add_special_tokens=False).input_ids] for text in texts]
    visits = np.bincount([token for row in rows for token in row], minlength=len(TOKENIZER))
    assert visits[START] == len(texts)
    assert visits.sum() >= 20_000
    often = np.flatnonzero(visits > 500)
    assert len(often) > 5
    errors = np.sqrt(expected * (1 - expected) / visits.clip(1)[:, None])[often]
    assert (abs(found - expected)[often] <= 5 * errors + 1e-6).all()
    # The bound is not loose: a somewhat flatter distribution is outside.
    flatter = expected**0.8
    flatter /= flatter.sum(1, keepdims=True)
    assert (abs(flatter - expected)[often] > 5 * errors).any()


def test_rows_with_a_state_write_what_the_whole_stream_predicts():
    """Beside a loop that reads each row from its beginning at every step, without a state."""
    model, generator = lstm(), torch.Generator().manual_seed(3)
    streams, texts, open_rows = [[START], [START]], [], [0, 1]
    while open_rows:
        with torch.no_grad():
            logits = torch.stack([model(torch.tensor([streams[row]])).logits[0, -1] for row in open_rows])
        drawn = draw_tokens(logits, [START, IDS["pad_token_id"]], generator).tolist()
        for row, token in zip(list(open_rows), drawn, strict=True):
            begin = max(place for place, word in enumerate(streams[row]) if word == START)
            if streams[row][-1] == END:
                streams[row].append(START)
            elif token == END or len(streams[row]) - begin == 12:
                texts.append(streams[row][begin + 1 :])
                streams[row].append(END)
            else:
                streams[row].append(token)
        enough = sum(len(text) + 1 for text in texts) >= 60
        open_rows = [row for row in open_rows if not (enough and streams[row][-1] in (START, END))]
    found = sample_texts(model, TOKENIZER, tokens=60, rows=2, longest=12, seed=3)
    assert found == [" ".join(TOKENIZER.convert_ids_to_tokens(text)) for text in texts]
    assert max(map(len, texts)) == 11


@pytest.mark.parametrize("make", [bigram, lstm], ids=["generate", "state"])
def test_seeds(make):
    model = make().train()
    before = torch.get_rng_state()
    texts = sample_texts(model, TOKENIZER, tokens=300, rows=8, longest=20, seed=1)
    assert texts == sample_texts(model, TOKENIZER, tokens=300, rows=8, longest=20, seed=1)
    assert texts != sample_texts(model, TOKENIZER, tokens=300, rows=8, longest=20, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert model.training
    assert sum(len(text.split()) + 1 for text in texts) >= 300
    assert not {"<s>", "</s>", "<pad>"} & {word for text in texts for word in text.split()}


def test_windows_of_a_transformer_end_texts():
    model = network(GPT2LMHeadModel, GPT2Config, n_embd=8, n_layer=1, n_head=2, n_positions=6)
    texts = sample_texts(model, TOKENIZER, tokens=200, rows=16)
    assert max(len(text.split()) for text in texts) == 5


def test_what_is_never_drawn_has_no_share():
    drawn = draw_tokens(torch.zeros(4000, 4), [0, 2], torch.Generator().manual_seed(0))
    counts = torch.bincount(drawn, minlength=4).tolist()
    assert counts[0] == counts[2] == 0
    assert abs(counts[1] - 2000) < 5 * np.sqrt(1000)


@pytest.mark.parametrize("number", ["tokens", "rows", "longest"])
def test_numbers_that_are_not_positive(number):
    with pytest.raises(ValueError, match=f"{number} is 0; it must be at least 1"):
        sample_texts(bigram(), TOKENIZER, **{"tokens": 10, number: 0})


def test_a_tokenizer_without_an_end():
    endless = WordTokenizer.train(TEXTS, progress=False)
    endless.eos_token = None
    with pytest.raises(ValueError, match="no eos_token, so no text can end"):
        sample_texts(bigram(), endless, tokens=10)
