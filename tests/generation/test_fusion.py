# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Shallow fusion: the formula, beams against all sequences, padding, zero probabilities, other vocabularies."""

import itertools
import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from hf_lecture_models import (
    FeedForwardConfig,
    FeedForwardForCausalLM,
    NGramForCausalLM,
    NGramLogitsProcessor,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "a cat"]
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)
IDS = {name: getattr(TOKENIZER, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
PROMPTS = ["the cat saw", "a", "", "the dog ran the cat saw a"]


def ngram(smoothing="add_alpha", order=3):
    return NGramForCausalLM.fit(TEXTS, TOKENIZER, order=order, smoothing=smoothing, progress=False)


def network(kind):
    torch.manual_seed(3)
    size = {"vocab_size": len(TOKENIZER), **IDS}
    if kind == "gpt2":
        return GPT2LMHeadModel(
            GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=64, initializer_range=0.5, **size)
        )
    if kind == "recurrent":
        return RecurrentForCausalLM(RecurrentConfig(hidden_size=8, num_hidden_layers=1, initializer_range=0.5, **size))
    if kind == "feed_forward":
        return FeedForwardForCausalLM(FeedForwardConfig(order=3, hidden_size=8, initializer_range=0.5, **size))
    config = SelfAttentionConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, initializer_range=0.5, **size
    )
    return SelfAttentionForCausalLM(config)


KINDS = ["gpt2", "recurrent", "feed_forward", "self_attention"]


def encoded(prompts, width=0):
    rows = [TOKENIZER(prompt)["input_ids"] for prompt in prompts]
    width = max(width, *map(len, rows))
    ids = torch.tensor([[IDS["pad_token_id"]] * (width - len(row)) + row for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != IDS["pad_token_id"]).long()}


def log_prob_of_next(model, ids):
    """ln p of each token after one row, from `score` or plain logits of the row without padding."""
    if not hasattr(model, "score"):
        return model(input_ids=ids[None]).logits[0, -1].log_softmax(-1)
    rows = torch.stack([torch.cat((ids, torch.tensor([word]))) for word in range(len(TOKENIZER))])
    scores = model.score(rows, attention_mask=torch.ones_like(rows))[:, -1]
    scores[IDS["bos_token_id"]] = (
        model(input_ids=ids[None], logits_to_keep=1).logits[0, -1].log_softmax(-1)[IDS["bos_token_id"]]
    )
    return scores


@torch.no_grad()
@pytest.mark.parametrize("kind", ["ngram", *KINDS])
def test_the_formula_in_padded_batches(kind):
    model = (ngram() if kind == "ngram" else network(kind)).eval()
    processor = NGramLogitsProcessor(model, TOKENIZER, weight=0.7)
    batch = encoded(PROMPTS, width=12)["input_ids"]
    scores = torch.randn(len(PROMPTS), len(TOKENIZER))
    scores[0, 2] = -math.inf
    fused = processor(batch, scores)
    for row, prompt, before in zip(fused, PROMPTS, scores, strict=True):
        alone = TOKENIZER(prompt, return_tensors="pt")["input_ids"][0]
        expected = before + 0.7 * log_prob_of_next(model, alone)
        torch.testing.assert_close(row, expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(processor(alone[None], before[None])[0], expected, atol=1e-5, rtol=1e-5)
    assert fused[0, 2] == -math.inf


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_beams_find_the_best_of_all_sequences(kind):
    model, added, weight = network(kind).eval(), ngram(), 0.6
    prompt = TOKENIZER("the cat", return_tensors="pt")
    events = [word for word in range(len(TOKENIZER)) if word not in (IDS["bos_token_id"], IDS["pad_token_id"])]
    words = [word for word in events if word != IDS["eos_token_id"]]
    sequences = torch.tensor([(*prompt["input_ids"][0], *pair) for pair in itertools.product(words, words)])
    plain = model(input_ids=sequences).logits.log_softmax(-1)[:, -3:-1].gather(2, sequences[:, -2:, None])[..., 0]
    sums = (plain + weight * added.score(sequences)[:, -2:]).sum(1)
    found = model.generate(
        **prompt,
        num_beams=len(TOKENIZER),
        max_new_tokens=2,
        min_new_tokens=2,
        do_sample=False,
        logits_processor=[NGramLogitsProcessor(added, TOKENIZER, weight)],
        return_dict_in_generate=True,
        output_scores=True,
        length_penalty=0.0,
    )
    assert found.sequences[0].tolist() == sequences[sums.argmax()].tolist()
    assert found.sequences_scores[0].item() == pytest.approx(sums.max().item(), abs=1e-4)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_generates_what_its_rows_do_alone(kind, beams):
    model = network(kind).eval()
    options = {"max_new_tokens": 6, "num_beams": beams, "do_sample": False}
    processor = NGramLogitsProcessor(ngram(), TOKENIZER, weight=0.5)
    batch = encoded(PROMPTS)
    together = model.generate(**batch, logits_processor=[processor], **options)[:, batch["input_ids"].shape[1] :]
    for row, prompt in zip(together, PROMPTS, strict=True):
        one = encoded([prompt])
        alone = model.generate(**one, logits_processor=[processor], **options)[0, one["input_ids"].shape[1] :]
        assert row.tolist()[: len(alone)] == alone.tolist()


def test_padding_that_is_also_the_beginning():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    tokenizer.pad_token = tokenizer.bos_token
    processor = NGramLogitsProcessor(ngram(), tokenizer, weight=1.0)
    start, (the, cat) = tokenizer.bos_token_id, tokenizer("the cat", add_special_tokens=False)["input_ids"]
    expected = log_prob_of_next(processor.model, torch.tensor([start, the]))
    for row in ([the], [start, the], [start, start, start, the]):
        torch.testing.assert_close(processor.log_probs(torch.tensor([row]))[0], expected)
    begun = log_prob_of_next(processor.model, torch.tensor([start]))
    torch.testing.assert_close(processor.log_probs(torch.tensor([[start, start]]))[0], begun)
    torch.testing.assert_close(
        processor.log_probs(torch.tensor([[start, the, cat]]))[0],
        log_prob_of_next(processor.model, torch.tensor([start, the, cat])),
    )


def test_what_has_no_probability_is_excluded():
    model = network("gpt2").eval()
    processor = NGramLogitsProcessor(ngram("maximum_likelihood", order=2), TOKENIZER, weight=0.01)
    texts = model.generate(**encoded([""] * 20), do_sample=True, max_new_tokens=8, logits_processor=[processor])
    pairs = {pair for text in TEXTS for pair in itertools.pairwise(["<s>", *text.split(), "</s>"])}
    for ids in texts.tolist():
        words = TOKENIZER.convert_ids_to_tokens(ids)
        words = words[: words.index("</s>") + 1] if "</s>" in words else words
        assert set(itertools.pairwise(words)) <= pairs
    scores = torch.full((1, len(TOKENIZER)), -math.inf)
    scores[0, TOKENIZER.convert_tokens_to_ids("ran")] = 0.0
    with pytest.raises(ValueError, match="probability 0 to every token that is left"):
        processor(TOKENIZER("the", return_tensors="pt")["input_ids"], scores)


def test_refusals():
    added = ngram()
    other = WordTokenizer.train(["the cat saw another dog", "a dog ran away"], progress=False)
    for weight in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="weight is"):
            NGramLogitsProcessor(added, TOKENIZER, weight=weight)
    with pytest.raises(ValueError, match=r"different vocabularies: \d+ tokens, such as '.+', have"):
        NGramLogitsProcessor(added, TOKENIZER, 0.3, other)
    NGramLogitsProcessor(added, TOKENIZER, 0.3, WordTokenizer.train(TEXTS, progress=False))
    larger = WordTokenizer.train([*TEXTS, "more words than before"], progress=False)
    with pytest.raises(ValueError, match="train the added model with the same tokenizer"):
        NGramLogitsProcessor(added, larger)
    with pytest.raises(ValueError, match="predicts 99 tokens, the added model"):
        NGramLogitsProcessor(added, TOKENIZER)(torch.tensor([[1]]), torch.zeros(1, 99))
