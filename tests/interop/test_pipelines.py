# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' pipelines, with the options that their users have; and a vocabulary that grows under a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from hf_lecture_models import BagOfWordsConfig, BagOfWordsForSequenceClassification, WordTokenizer
from tests.interop.small_models import save_small_model
from tests.interop.trained_models import TEXTS, TOKENIZERS

pytestmark = pytest.mark.slow

PROMPTS = ["the cat", "a", "one bird sang", "the"]
OPTIONS: dict[str, Any] = {"max_new_tokens": 8, "do_sample": False}
# Those whose words carry no blank: the pipeline writes prompt and completion one behind the other.
JOINED = ("self_attention", "recurrent", "feed_forward", "ngram")


def by_hand(folder: str, prompt: str) -> str:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(prompt, return_tensors="pt")
    ids = model.generate(**inputs, **OPTIONS)[0, inputs["input_ids"].shape[1] :]
    return tokenizer.decode(ids, skip_special_tokens=True)


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_text_generation(name: str, folders: dict[str, str]) -> None:
    generate = pipeline("text-generation", model=folders[name])
    expected = [by_hand(folders[name], prompt) for prompt in PROMPTS]
    for batch_size in (1, 3):
        found = generate(PROMPTS, batch_size=batch_size, return_full_text=False, **OPTIONS)
        assert [answer["generated_text"] for (answer,) in found] == expected
    (answer,) = generate("", return_full_text=False, **OPTIONS)
    assert answer["generated_text"] == by_hand(folders[name], "")
    (ids,) = generate(PROMPTS[0], return_tensors=True, **OPTIONS)
    assert ids["generated_token_ids"][0] == generate.tokenizer.bos_token_id
    # The whole text: as it should be behind a prompt that ends with the blank, where words carry none.
    text = "the cat sat on the mat ."
    (whole,), (blank,) = generate("the cat", **OPTIONS), generate("the cat ", **OPTIONS)
    assert whole["generated_text"] == "the cat" + expected[0]
    assert (blank["generated_text"] == text) is (name in JOINED)
    (chat,) = generate([{"role": "user", "content": "the cat sat"}], **OPTIONS)
    assert chat["generated_text"][-1] == {"role": "assistant", "content": "on the mat ."}
    (prefixed,) = generate("cat", prefix="the ", return_full_text=False, **OPTIONS)
    assert prefixed["generated_text"] == expected[0]
    (first, second) = generate(
        "the cat", num_beams=2, num_return_sequences=2, max_new_tokens=4, do_sample=False, return_full_text=False
    )
    assert first != second


@pytest.mark.parametrize("name", [name for name in TOKENIZERS if name != "ngram"])
def test_the_feature_of_each_token(name: str, folders: dict[str, str]) -> None:
    features = pipeline("feature-extraction", model=folders[name])
    (vectors,) = features("the cat")
    assert torch.tensor(vectors).shape == (3, 32)
    # A batch is padded; the padding has its vectors as well.
    assert torch.allclose(
        torch.tensor(features(["the cat", "one bird sang in a tree ."], batch_size=2)[0])[0][-3:],
        torch.tensor(vectors),
        atol=1e-5,
    )


def test_text_classification(tmp_path: Path) -> None:
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    torch.manual_seed(0)
    names = {0: "bad", 1: "so so", 2: "good"}
    config = BagOfWordsConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, id2label=names)
    model = BagOfWordsForSequenceClassification(config)
    torch.nn.init.normal_(model.model.embed_tokens.weight)
    model.save_pretrained(tmp_path), tokenizer.save_pretrained(tmp_path)
    classify = pipeline("text-classification", model=str(tmp_path))
    long = " ".join(TEXTS * 100)
    for text in ("the cat", "", long):
        scores = model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0]
        found = classify(text, top_k=None)
        assert [entry["score"] for entry in found] == pytest.approx(sorted(scores.tolist(), reverse=True), abs=1e-6)
        assert {entry["label"] for entry in found} == set(names.values())
        assert classify(text, top_k=2) == found[:2]
        (best,) = classify(text)
        assert best["label"] == names[int(scores.argmax())]
    batch = classify(["the cat", "a", long], batch_size=3, top_k=1)
    assert batch == [classify(text, top_k=1) for text in ("the cat", "a", long)]


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", ["gpt1", "self_attention", "recurrent", "feed_forward"])
def test_a_vocabulary_grows_under_a_model(name: str, tmp_path: Path) -> None:
    folder = save_small_model(tmp_path / "before", name)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    old = tokenizer("the cat", return_tensors="pt")["input_ids"]
    before = model(old).logits
    assert tokenizer.add_tokens(["zebra", "gnu"]) == 2
    model.resize_token_embeddings(len(tokenizer))
    torch.testing.assert_close(model(old).logits[..., : before.shape[-1]], before)
    ids = tokenizer("the zebra", return_tensors="pt")["input_ids"]
    assert int(ids[0, -1]) == before.shape[-1]
    assert torch.isfinite(model(ids, labels=ids).loss)
    model.save_pretrained(tmp_path / "after"), tokenizer.save_pretrained(tmp_path / "after")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "after")
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    assert AutoTokenizer.from_pretrained(tmp_path / "after").decode(ids[0], skip_special_tokens=True) == "the zebra"
