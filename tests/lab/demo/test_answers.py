# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The numbers behind the demo page, for every kind of model and token."""

import math
import re

import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.generation.completion import complete
from hf_lecture_models.lab.demo.answers import (
    MAX_CHARACTERS,
    LoadedModel,
    Sampling,
    checked_sentences,
    compare,
    continue_text,
    next_tokens,
    rank,
)
from hf_lecture_models.lab.demo.rendering import render_continuation
from hf_lecture_models.models.feed_forward import FeedForwardConfig
from hf_lecture_models.models.gpt1 import Gpt1Config
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig
from hf_lecture_models.models.self_attention import SelfAttentionConfig
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["the cat saw the dog", "a dog saw a cät", "the dog ran", "the cat ran", "a 犬 and a cat"]


def network(config_class, tokenizer, **fields):
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config_class(vocab_size=len(tokenizer), **ids, **fields)).eval()


WORDS = WordTokenizer.train(TEXTS, progress=False)
BPE = BpeTokenizer.train(TEXTS, vocab_size=60, progress=False)
CHARS = CharTokenizer.train(TEXTS, progress=False)
BYTES = ByteTokenizer()
SMALL = {"hidden_size": 8, "num_hidden_layers": 1}
HEADS = {**SMALL, "num_attention_heads": 2, "max_position_embeddings": 64}


def trigram(tokenizer, **options):
    options = {"order": 3, "smoothing": "add_alpha", "alpha": 0.1} | options
    return NGramForCausalLM.fit(TEXTS, tokenizer, progress=False, **options)


MODELS = {
    "trigram words": lambda: LoadedModel("trigram", trigram(WORDS), WORDS),
    "recurrent characters": lambda: LoadedModel("lstm", network(RecurrentConfig, CHARS, **SMALL), CHARS),
    "feed-forward words": lambda: LoadedModel("nplm", network(FeedForwardConfig, WORDS, hidden_size=8), WORDS),
    "gpt1 bpe": lambda: LoadedModel("gpt1", network(Gpt1Config, BPE, **HEADS), BPE),
    "self-attention bytes": lambda: LoadedModel("transformer", network(SelfAttentionConfig, BYTES, **HEADS), BYTES),
    "gpt2 words": lambda: LoadedModel("gpt2", network(GPT2Config, WORDS, n_embd=8, n_layer=1, n_head=2), WORDS),
}
EVERY = pytest.mark.parametrize("name", MODELS)


@EVERY
def test_next_tokens_are_those_of_the_model(name):
    loaded = MODELS[name]()
    ids = torch.tensor([loaded.tokenizer("the cat")["input_ids"]])
    with torch.no_grad():
        expected = loaded.model(input_ids=ids).logits[0, -1].softmax(0)
    found = next_tokens(loaded, "the cat", number=len(expected))
    assert [token.probability for token in found] == pytest.approx(expected.sort(descending=True).values.tolist())
    assert sum(token.probability for token in found) == pytest.approx(1)
    end = next(token for token in found if token.kind == "end")
    assert end.probability == pytest.approx(expected[loaded.tokenizer.eos_token_id].item())
    assert len(next_tokens(loaded, "")) == 10


@EVERY
def test_texts_continue_as_on_the_command_line(name):
    loaded = MODELS[name]()
    greedy = continue_text(loaded, "the cat", Sampling(5, sample=False))
    assert greedy == complete(loaded.model, loaded.tokenizer, ["the cat"], max_new_tokens=5, do_sample=False)[0]
    drawn = [continue_text(loaded, "a", Sampling(20, temperature=2.0, seed=seed))["text"] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_continuation_stops_where_the_model_can_read_no_more():
    loaded = MODELS["gpt1 bpe"]()
    text = "a " * 50
    length = len(loaded.tokenizer(text)["input_ids"])
    results = (continue_text(loaded, text, Sampling(60, seed=seed)) for seed in range(20))
    result = next(one for one in results if not one["finished"])
    assert result["tokens"] == 65 - length < 60
    assert "the model can read no more" in render_continuation(result)
    assert "no more" not in render_continuation(continue_text(loaded, text, Sampling(2)))


def test_sampling_leaves_other_random_numbers_alone():
    loaded = MODELS["trigram words"]()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    continue_text(loaded, "the", Sampling(3, seed=1))
    assert torch.equal(torch.rand(3), expected)


@EVERY
def test_ranking_accounts_for_every_bit(name):
    loaded = MODELS[name]()
    sentences = ["dog the ran cat", "the cat ran", "a 犬 ran  twice", "ä"]
    ranking = rank(loaded, sentences)
    assert [one.bits for one in ranking] == sorted(one.bits for one in ranking)
    for one in ranking:
        expected = evaluate_language_model(loaded.model, loaded.tokenizer, [one.text])
        assert one.bits == pytest.approx(-expected["log_prob"] / math.log(2), rel=1e-5)
        assert sum(span.bits for span in one.spans) == pytest.approx(one.bits)
        assert "".join(span.text for span in one.spans) == one.text
    means = [one.bits / one.measures["tokens"] for one in rank(loaded, sentences, per_token=True)]
    assert means == sorted(means)


def test_unknown_words_are_marked():
    (one,) = rank(MODELS["trigram words"](), ["the zebra ran"])
    assert [(span.text, span.unknown) for span in one.spans] == [
        ("the", False),
        (" zebra", True),
        (" ran", False),
        ("", False),
    ]


@EVERY
def test_two_models_are_compared_word_by_word(name):
    text = "the cät  saw\na 犬 there "
    models = [MODELS[name](), MODELS["recurrent characters"]()]
    scored = compare(models, text)
    for loaded, one in zip(models, scored, strict=True):
        assert [span.text.strip() for span in one.spans] == [*text.split(), ""]
        assert one.measures == evaluate_language_model(loaded.model, loaded.tokenizer, [text])
        assert sum(span.bits for span in one.spans) == pytest.approx(one.bits)


def test_a_text_without_blanks_is_compared_where_both_tokenizers_cut():
    models = [MODELS["recurrent characters"](), MODELS["self-attention bytes"]()]
    for one in compare(models, "犬が走る"):
        assert [span.text for span in one.spans] == ["犬", "が", "走", "る", ""]
    models[0] = MODELS["trigram words"]()
    for one in compare(models, "犬が走る"):
        assert [span.text for span in one.spans] == ["犬が走る", ""]


def test_a_closed_vocabulary_gives_probability_0_and_no_spans():
    tokenizer = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    closed = LoadedModel("closed", trigram(tokenizer), tokenizer)
    first, last = rank(closed, ["the zebra", "the cat"])
    assert (first.text, first.possible, last.bits, last.possible) == ("the cat", True, math.inf, False)
    scored = compare([closed, MODELS["trigram words"]()], "the zebra")
    assert not scored[0].possible
    assert [span.text for span in scored[1].spans] == ["the", " zebra", ""]
    with pytest.raises(ValueError, match="zebra"):
        continue_text(closed, "the zebra", Sampling())


def test_a_tokenizer_without_a_beginning_of_text():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    tokenizer.bos_token = None
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=2)).eval()
    assert len(next_tokens(LoadedModel("gpt2", model, tokenizer), "")) == 10


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda loaded: compare([loaded], "a" * 1_000_000), "has 1,000,000 characters; this page takes at most"),
        (lambda loaded: next_tokens(loaded, "a" * (MAX_CHARACTERS + 1)), "5,001 characters"),
        (lambda loaded: checked_sentences("a\n" * 51), "51 sentences; this page takes at most 50"),
        (lambda loaded: checked_sentences(" \n\t\n"), "nothing to rank"),
        (lambda loaded: continue_text(loaded, "a", Sampling(1_000_000)), "between 1 and 200"),
        (lambda loaded: continue_text(loaded, "a", Sampling(0)), "between 1 and 200"),
        (lambda loaded: continue_text(loaded, "a", Sampling(temperature=0.0)), "temperature"),
        (lambda loaded: continue_text(loaded, "a", Sampling(temperature=math.nan)), "temperature"),
        (lambda loaded: continue_text(loaded, "a", Sampling(top_k=-1)), "top-k"),
        (lambda loaded: continue_text(loaded, "a", Sampling(seed=10**30)), "seed"),
        (lambda loaded: continue_text(loaded, "a", Sampling(top_p=2.0)), "top-p"),
        (lambda loaded: continue_text(loaded, "a " * 90, Sampling(60)), "the model's longest input, 64; shorten the"),
    ],
)
def test_what_is_too_much_is_refused_in_one_sentence(act, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        act(MODELS["gpt1 bpe"]())
    assert "\n" not in str(caught.value)
