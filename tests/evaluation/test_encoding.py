# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Unknown words of encoded texts, and the places of their tokens."""

import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.encoding import encode_texts, token_ends
from hf_lecture_models.evaluation.surprisal import score_text


@pytest.mark.parametrize("lower_case", [False, True])
def test_a_literal_unknown_word_beside_words_in_pieces(lower_case: bool) -> None:
    """A word `<unk>` is one token, also where the punctuation of other words is split off."""
    texts = ["the cat . sat", "a dog , ran"]
    tokenizer = WordTokenizer.train(texts, split_punctuation=True, lower_case=lower_case, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
    text = "the <unk> cat, <unk>! zebra <unk>"
    (encoded,) = encode_texts(tokenizer, [text])
    assert encoded.unknown_words == ("<unk>!", "zebra")
    assert encoded.unknown_tokens == (4, 5, 6, 7, 8)  # <, unk, >, ! and zebra
    assert token_ends(tokenizer, text) == [3, 9, 13, 14, 16, 19, 20, 21, 27, 33]
    assert [span.text for span in score_text(model, tokenizer, text).spans][:3] == ["the", " <unk>", " cat"]
