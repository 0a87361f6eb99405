# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Characters and byte-pair encoding under a language model: measures that compare, and readable generated text."""

import math

import pytest
from transformers import pipeline

from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.unigram import UnigramTokenizer

TEXTS = ["the cat saw the dog", "a dog saw the lower cat", "the newer dog is wider than the lower cat", "a cat"] * 3
TOKENIZERS = {
    "characters": CharTokenizer.train(TEXTS),
    "words in pieces": BpeTokenizer.train(TEXTS, merges=20),
    "bytes in pieces": BpeTokenizer.train(TEXTS, merges=20, form="bytes"),
    "unigram pieces": UnigramTokenizer.train(TEXTS),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def fitted(request):
    tokenizer = TOKENIZERS[request.param]
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=8, smoothing="add_alpha", alpha=0.01, progress=False), tokenizer


def test_measures_count_words_and_bytes_of_the_text(fitted):
    model, tokenizer = fitted
    texts = ["the lower dog saw a cat", "", "a new  dog"]
    found = evaluate_language_model(model, tokenizer, texts)
    assert found["unknown"] == 0
    assert found["words"] == 6 + 0 + 3 + 3
    assert found["bytes"] == sum(len(text.encode()) + 1 for text in texts)
    assert found["tokens"] == sum(len(tokenizer.tokenize(text)) + 1 for text in texts if text) + 1
    nats = -found["log_prob"]
    assert 0 < nats < math.inf
    assert found["bits_per_byte"] == pytest.approx(nats / math.log(2) / found["bytes"])
    assert found["word_perplexity"] == pytest.approx(math.exp(nats / found["words"]))
    assert found["perplexity"] == pytest.approx(math.exp(nats / found["tokens"]))


def test_unknown_characters_are_spelled_or_charged(fitted):
    model, tokenizer = fitted
    found = evaluate_language_model(model, tokenizer, ["the né 語dog saw"])
    assert found["words"] == 5
    assert 0 < found["bits_per_byte"] < math.inf
    if tokenizer.unk_token is None:
        assert found["unknown"] == 0
    else:
        # Two words hold an unknown character, and are charged whole: 3 and 6 bytes, and one for the end of each.
        assert found["unknown"] == 2
        spelled = (found["bits_per_byte"] - found["bits_per_byte_excluding_oov"]) * found["bytes"]
        assert spelled == pytest.approx(8 * (4 + 7))


def test_the_pipeline_writes_plain_text(fitted, tmp_path):
    model, tokenizer = fitted
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    generate = pipeline("text-generation", model=str(tmp_path))
    # The pipeline joins prompt and completion as they are, and words of BpeTokenizer have no space of their own.
    prompt = "the newer dog " if tokenizer.unk_token and isinstance(tokenizer, BpeTokenizer) else "the newer dog"
    written = generate(prompt, max_new_tokens=40, do_sample=False)[0]["generated_text"]
    assert written.startswith("the newer dog is wider")
    assert set(written.split()) <= set(" ".join(TEXTS).split())
