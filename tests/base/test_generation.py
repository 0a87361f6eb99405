# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Stop strings with every tokenizer: beside a stop by hand, and beside transformers' own where that works."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, StopStringCriteria, pipeline

from hf_lecture_models import (
    BpeTokenizer,
    ByteTokenizer,
    CharTokenizer,
    NGramForCausalLM,
    UnigramTokenizer,
    WordTokenizer,
)
from hf_lecture_models.base.generation import StopStrings

pytestmark = pytest.mark.filterwarnings("ignore:.*discounts")

TEXTS = ["the cat sat on the mat .", "a dog né lower lowest newer wider wide ."]
TOKENIZERS = {
    "word": WordTokenizer.train(TEXTS, progress=False),
    "refused": WordTokenizer.train(TEXTS, unk_token=None, progress=False),
    "classes": WordTokenizer.train(TEXTS, unknown_words="classes", progress=False),
    "spelled": WordTokenizer.train(TEXTS, min_count=2, unknown_words="spelled", progress=False),
    "char": CharTokenizer.train(TEXTS, min_count=2, progress=False),
    "byte": ByteTokenizer(),
    "bpe": BpeTokenizer.train(TEXTS, merges=12, progress=False),
    "unigram": UnigramTokenizer.train(TEXTS, vocab_size=60, progress=False),
    "bpe_bytes": BpeTokenizer.train(TEXTS, merges=12, form="bytes", progress=False),
}
# Those in which transformers finds the text of each token.
OPEN = ("spelled", "char", "byte", "bpe_bytes")
STRINGS = ["cat sat", "é l", "wer", " .", "the", "e", "</s>", "dog né lower"]


def texts_of(seed: int, count: int = 40) -> list[str]:
    generator = random.Random(seed)
    words = sorted({word for text in TEXTS for word in text.split()})
    return [" ".join(generator.choices(words, k=6)) for _ in range(count)] + TEXTS


def by_hand(tokenizer: Any, ids: list[int], strings: list[str]) -> list[bool]:
    """For each token, whether the text with it has a string that the text without it has not, at that place."""
    found = []
    for end in range(1, len(ids) + 1):
        text, before = (tokenizer.decode(ids[:stop]) for stop in (end, end - 1))
        ends = [start + len(s) for s in strings for start in range(len(text)) if text.startswith(s, start)]
        whole = len(before.rstrip("\ufffd"))
        found.append(any(stop > whole for stop in ends))
    return found


def step_by_step(criterion: Any, ids: list[int]) -> list[bool]:
    row = torch.tensor([ids])
    return [bool(criterion(row[:, :end], None)[0]) for end in range(1, len(ids) + 1)]


@pytest.mark.cases(24, 12)
@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("string", STRINGS)
def test_a_row_ends_where_its_text_has_the_string(name: str, string: str) -> None:
    tokenizer = TOKENIZERS[name]
    criterion = StopStrings(tokenizer, string)
    ends = 0
    for text in texts_of(0):
        ids = [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]
        expected = by_hand(tokenizer, ids, [string])
        assert step_by_step(criterion, ids) == expected
        ends += sum(expected)
    assert ends


@pytest.mark.parametrize("name", OPEN)
def test_where_transformers_works_it_agrees(name: str) -> None:
    tokenizer, strings = TOKENIZERS[name], ["cat sat", "né", "wer l", "."]
    ours, theirs = StopStrings(tokenizer, strings), StopStringCriteria(tokenizer, strings)
    for text in texts_of(1):
        ids = tokenizer(text)["input_ids"]
        assert step_by_step(ours, ids) == step_by_step(theirs, ids)


@pytest.mark.parametrize("name", ["word", "refused", "bpe", "char"])
def test_generate_and_the_pipeline_stop(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    order = 8 if name == "char" else 4
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=order, smoothing="absolute_discounting", progress=False)
    prompt = tokenizer("the", return_tensors="pt")
    whole = model.generate(**prompt, max_new_tokens=60, do_sample=False)[0]
    stop = "sat on"
    text = tokenizer.decode(whole)
    assert stop in text
    options = {"max_new_tokens": 60, "do_sample": False}
    stopped = model.generate(**prompt, **options, stop_strings=stop, tokenizer=tokenizer)[0]
    assert by_hand(tokenizer, whole.tolist(), [stop]).index(True) == len(stopped) - 1
    assert whole[: len(stopped)].tolist() == stopped.tolist()
    pipe = pipeline("text-generation", model=model, tokenizer=tokenizer)
    (found,) = pipe("the", stop_sequence=[stop], return_full_text=False, **options)
    assert found["generated_text"].endswith(stop)
    assert found["generated_text"] == tokenizer.decode(
        stopped[prompt["input_ids"].shape[1] :], skip_special_tokens=True
    )
    with pytest.raises(ValueError, match="must pass the model's tokenizer"):
        model.generate(**prompt, **options, stop_strings=stop)


def test_a_model_of_transformers_takes_the_criterion() -> None:
    tokenizer = TOKENIZERS["word"]
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=1, **ids))
    prompt = tokenizer("the", return_tensors="pt")
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": tokenizer.pad_token_id}
    whole = model.generate(**prompt, **options)[0]
    stop = tokenizer.decode(whole[3:5])
    stopped = model.generate(**prompt, **options, stopping_criteria=[StopStrings(tokenizer, stop)])[0]
    assert by_hand(tokenizer, whole.tolist(), [stop]).index(True) == len(stopped) - 1


def test_several_strings_and_rows() -> None:
    tokenizer = TOKENIZERS["word"]
    rows = tokenizer(["the cat sat", "a dog", "the mat"], padding=True, return_tensors="pt")["input_ids"]
    assert StopStrings(tokenizer, ["dog", "cat sat"])(rows, None).tolist() == [True, True, False]
    # The new token may end what the prompt has begun; what was there before does not count.
    assert not StopStrings(tokenizer, "cat")(rows, None).any()
    for nothing in ("", [], ["a", ""]):
        with pytest.raises(ValueError, match="stop_strings is"):
            StopStrings(tokenizer, nothing)


def test_rows_and_beams_stop_for_themselves() -> None:
    tokenizer = TOKENIZERS["word"]
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=4, smoothing="absolute_discounting", progress=False)
    prompts = tokenizer(["the cat", "a"], padding=True, return_tensors="pt")
    options = {"max_new_tokens": 6, "stop_strings": ["sat", "né lower"], "tokenizer": tokenizer, "do_sample": False}
    for beams in (1, 2):
        ids = model.generate(**prompts, **options, num_beams=beams)
        assert tokenizer.batch_decode(ids, skip_special_tokens=True) == ["the cat sat", "a dog né lower"]
