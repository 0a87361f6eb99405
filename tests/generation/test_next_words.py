# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Next words: probabilities beside sums over all ways to spell a word, for tokens of every kind."""

import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from hf_lecture_models import BpeTokenizer, CharTokenizer, NGramForCausalLM, WordTokenizer
from hf_lecture_models.generation.next_words import NextWordFinder

TEXTS = ["the cat saw the car", "a dog saw a cat", "the dog ran", "the cat ran", "a cart", "that cat"] * 2

TOKENIZERS = {
    "words": lambda: WordTokenizer.train(TEXTS, progress=False),
    "spelled": lambda: WordTokenizer.train(TEXTS, unknown_words="spelled", min_count=3, progress=False),
    "char": lambda: CharTokenizer.train(TEXTS, progress=False),
    "bpe words": lambda: BpeTokenizer.train(TEXTS, merges=12, progress=False),
    "bpe bytes": lambda: BpeTokenizer.train(TEXTS, merges=12, form="bytes", progress=False),
}


def bigram(tokenizer):
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", alpha=0.001, progress=False)


def spellings(tokenizer, text, start):
    """All sequences of tokens that begin with `start` and decode to `text`, by what each token adds to a prefix."""
    found, open_ = [], [tuple(start)]
    tokens = [token for token in range(len(tokenizer)) if token not in tokenizer.all_special_ids]
    while open_:
        ids = open_.pop()
        before = tokenizer.decode(list(ids))
        for token in tokens:
            decoded = tokenizer.decode([*ids, token])
            if decoded == text:
                found.append((*ids, token))
            if text.startswith(decoded) and len(ids) < len(text) and decoded > before:
                open_.append((*ids, token))
    return found


def log_prob(model, tokenizer, ids):
    row = torch.tensor([[tokenizer.bos_token_id, *ids]])
    return model.score(row, torch.ones_like(row)).sum().item()


def test_words_by_hand():
    tokenizer = TOKENIZERS["words"]()
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    finder = NextWordFinder(model, tokenizer)
    found = finder.find("a dog saw the ", number=3)
    # After "the": cat 4, car 2, dog 2 of 8.
    assert found.words[0] == ("cat", pytest.approx(4 / 8))
    assert {word: round(p, 5) for word, p in found.words[1:]} == {"car": 0.25, "dog": 0.25}
    assert (found.begun, found.end) == ("", 0.0)
    assert finder.find("that cat ", number=1).end == pytest.approx(4 / 8)
    begun = finder.find("the ca", number=5)
    assert (begun.begun, begun.end) == ("ca", None)
    assert [(word, pytest.approx(p)) for word, p in begun.words if p > 0] == [("cat", 0.5), ("car", 0.25)]
    assert finder.find("the cat", number=1).words == [("cat", pytest.approx(0.5))]
    assert finder.find("the xyz").words == []
    assert finder.find("", number=1).words == [("the", pytest.approx(6 / 12))]
    assert finder.find(" \t\n", number=1) == finder.find("", number=1)


@pytest.mark.parametrize("kind", ["char", "bpe bytes", "bpe words", "spelled"])
@pytest.mark.parametrize("begun", ["", "c", "ca"])
def test_probabilities_are_sums_over_spellings(kind, begun):
    """After "the", whose own spelling is the tokenizer's: P(word) sums over the word's spellings and what ends it."""
    tokenizer = TOKENIZERS[kind]()
    model = bigram(tokenizer)
    found = dict(NextWordFinder(model, tokenizer).find(f"the {begun}", number=12).words)
    context = tokenizer("the", add_special_tokens=False)["input_ids"]
    start = log_prob(model, tokenizer, context)
    assert found
    assert all(word.startswith(begun) for word in found)
    assert kind == "char" or max(found, key=found.get) == "cat"
    spoken = tokenizer.decode(context)
    for word in list(found)[:2]:
        total = 0.0
        for ids in spellings(tokenizer, f"{spoken} {word}", context):
            probability = math.exp(log_prob(model, tokenizer, ids) - start)
            following = model(input_ids=torch.tensor([[tokenizer.bos_token_id, *ids]]), logits_to_keep=1).logits[0, 0]
            total += probability * over(tokenizer, ids, following.exp())
        assert found[word] == pytest.approx(total, rel=1e-3)
    assert sum(found.values()) <= 1 + 1e-5


def over(tokenizer, ids, following):
    """P(the word ends behind `ids`): 1 where the last token says so, else that of the end and of what begins a word."""
    spoken = tokenizer.decode(list(ids))
    usual = [token for token in range(len(tokenizer)) if token not in tokenizer.all_special_ids]
    added = {token: tokenizer.decode([*ids, token])[len(spoken) :] for token in usual}
    if all(text[:1] == " " for text in added.values()):
        return 1.0
    if not any(text[:1].isspace() for text in added.values()):
        return 0.0
    begins = [token for token, text in added.items() if text[:1].isspace()]
    return float(following[[*begins, tokenizer.eos_token_id]].sum())


def test_any_model_of_transformers_and_long_texts():
    torch.manual_seed(0)
    tokenizer = TOKENIZERS["bpe bytes"]()
    config = GPT2Config(vocab_size=len(tokenizer) + 3, n_positions=32, n_embd=8, n_layer=1, n_head=1)
    finder = NextWordFinder(GPT2LMHeadModel(config), tokenizer)
    found = finder.find("the cat saw " * 30 + "th", number=4)
    assert len(found.words) == 4
    assert all(word.startswith("th") and " " not in word for word, _ in found.words)
    probabilities = [p for _, p in found.words]
    assert probabilities == sorted(probabilities, reverse=True)


def test_a_closed_vocabulary_says_what_it_lacks():
    tokenizer = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    finder = NextWordFinder(bigram(tokenizer), tokenizer)
    assert finder.find("the zeb").words == []
    with pytest.raises(ValueError, match="'zebra' is not in the vocabulary"):
        finder.find("the zebra ")


def test_unknown_and_special_tokens_are_no_words():
    texts = [*TEXTS, "the <unk> 12 <unk>"]
    tokenizer = WordTokenizer.train(texts, unknown_words="classes", progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=1, smoothing="add_alpha", progress=False)
    words = {word for word, _ in NextWordFinder(model, tokenizer).find("", number=99).words}
    assert words == {word for text in texts for word in text.split()} - {"<unk>"}
