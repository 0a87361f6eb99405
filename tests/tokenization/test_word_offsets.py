# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What tagging needs of a tokenizer: which word each token is of, and which characters, also where words are given."""

import pytest

from hf_lecture_models.tokenization import (
    BpeTokenizer,
    ByteTokenizer,
    CharTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)

TEXTS = ["the cat saw the dog in Paris", "a dog 12 né don't"]
# Known and unknown words, accents, signs beyond the first plane, a word of one letter, and words cut into pieces.
WORDS = ["the", "Rome", "cat", "né", "zoo", "a", "dog", "𝔘🙂", "catdog", "12,5", "東"]
TOKENIZERS = {
    "word": lambda **options: WordTokenizer.train(TEXTS, **options),
    "classes": lambda **options: WordTokenizer.train(TEXTS, unknown_words="classes", **options),
    "spelled": lambda **options: WordTokenizer.train(TEXTS, unknown_words="spelled", **options),
    "bpe": lambda **options: BpeTokenizer.train(TEXTS, merges=5, **options),
    "bpe_bytes": lambda **options: BpeTokenizer.train(TEXTS, form="bytes", merges=5, **options),
    "unigram": lambda **options: UnigramTokenizer.train(TEXTS, **options),
    "char": lambda **options: CharTokenizer.train(TEXTS, **options),
    "byte": ByteTokenizer.train,
    "wordpiece": lambda **options: WordPieceTokenizer.train(TEXTS, vocab_size=60, **options),
}


def words_of(encoding):
    """The characters from the first token of each word to its last, by the number of the word."""
    spans = {}
    for word, (start, end) in zip(encoding.word_ids(), encoding.offset_mapping, strict=True):
        if word is not None:
            first, last = spans.get(word, (start, end))
            spans[word] = (min(first, start), max(last, end))
    return spans


@pytest.mark.parametrize("template", [None, "bert", "gpt1"])
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_tokens_of_given_words_bear_their_numbers(kind, template):
    tokenizer = TOKENIZERS[kind](template=template)
    encoding = tokenizer(WORDS, is_split_into_words=True, return_special_tokens_mask=True)
    numbers = encoding.word_ids()
    special = [bool(flag) for flag in encoding.special_tokens_mask]
    assert [number is None for number in numbers] == special
    found = [number for number in numbers if number is not None]
    assert found == sorted(found)
    assert set(found) == set(range(len(WORDS)))
    # One word more changes no number before it, and a word cut off leaves the others theirs.
    cut = tokenizer(WORDS, is_split_into_words=True, truncation=True, max_length=8, truncation_side="right")
    kept = [number for number in cut.word_ids() if number is not None]
    assert kept == found[: len(kept)]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_offsets_cover_given_words(kind):
    encoding = TOKENIZERS[kind]()(WORDS, is_split_into_words=True, return_offsets_mapping=True)
    assert words_of(encoding) == {number: (0, len(word)) for number, word in enumerate(WORDS)}


@pytest.mark.parametrize("kind", ["word", "spelled", "bpe", "classes"])
def test_offsets_cover_the_words_of_a_text(kind):
    text = " ".join(WORDS)
    encoding = TOKENIZERS[kind]()(text, return_offsets_mapping=True)
    assert [text[start:end] for start, end in words_of(encoding).values()] == WORDS


@pytest.mark.parametrize("kind", ["word", "bpe", "wordpiece"])
def test_words_of_white_space_have_no_token(kind):
    encoding = TOKENIZERS[kind]()(["the", "", " ", "dog 12"], is_split_into_words=True)
    assert set(encoding.word_ids()) == {None, 0, 3}
