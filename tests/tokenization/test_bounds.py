# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Corpora with `<s>` and `</s>` around their texts are those without them; where only some have them, they are refused.

This is the form that CMUSphinx and IRSTLM ask for. SRILM reads it so; KenLM refuses it.
"""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_lecture_models import NGramForCausalLM
from hf_lecture_models.evaluation.scoring import score_stream, score_texts
from hf_lecture_models.lab.studies.filtering import text_perplexities
from hf_lecture_models.tasks.language_models.blocks import token_stream
from hf_lecture_models.tasks.language_models.documents import encode_documents
from hf_lecture_models.tokenization import (
    BpeTokenizer,
    ByteTokenizer,
    CharTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from hf_lecture_models.tokenization.bounds import TextBounds, plain_texts, strip_bounds
from hf_lecture_models.tokenization.splitting import SplitTexts

PLAIN = ["the cat sat on the mat", "the dog ran", "", "a cat ran"]
FORMS = {
    "marks": ["<s> the cat sat on the mat </s>", "<s> the dog ran </s>", "<s> </s>", "<s> a cat ran </s>"],
    "a blank line": ["<s> the cat sat on the mat </s>", "<s> the dog ran </s>", "", "<s> a cat ran </s>"],
    "other spaces": [
        "\t<s>\tthe cat sat on the mat\u3000</s> ",
        "<s>  the dog ran  </s>",
        " <s>  </s>",
        "<s> a cat ran </s>",
    ],
    "padding": [
        "<s> the cat sat on the mat </s>",
        "<pad> <s> the dog ran </s> <pad>",
        "<s> </s>",
        "<s> a cat ran </s> <pad>",
    ],
    "padding alone": ["the cat sat on the mat", "the dog ran <pad> <pad>", "<pad> <pad>", "<pad> a cat ran"],
    "only <s>": ["<s> the cat sat on the mat", "<s> the dog ran", "<s>", "<s> a cat ran"],
    "a byte order mark": ["\ufeffthe cat sat on the mat", "the dog ran", "", "a cat ran"],
}
MAKERS: dict[str, Any] = {
    "word": WordTokenizer.train,
    "classes": lambda texts: WordTokenizer.train(texts, unknown_words="classes"),
    "char": CharTokenizer.train,
    "byte": ByteTokenizer.train,
    "bpe": BpeTokenizer.train,
    "unigram": lambda texts: UnigramTokenizer.train(texts, vocab_size=30),
    "wordpiece": lambda texts: WordPieceTokenizer.train(texts, bos_token="<s>", eos_token="</s>"),
    "own names": lambda texts: WordTokenizer.train(texts, bos_token="[B]", eos_token="[E]", pad_token="[P]"),
}
WORDS = WordTokenizer.train(PLAIN, progress=False)


def fit(texts: Any, tokenizer: Any = WORDS, **options: Any) -> NGramForCausalLM:
    return NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False, **options)


def same(model: NGramForCausalLM, other: NGramForCausalLM) -> bool:
    pairs = zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(one, two) for one, two in pairs)


@pytest.mark.parametrize("form", [name for name in FORMS if name != "a byte order mark"])
@pytest.mark.parametrize("name", MAKERS)
def test_marks_are_the_bounds_of_texts(name: str, form: str) -> None:
    tokenizer, expected = MAKERS[name](FORMS[form]), MAKERS[name](PLAIN)
    if name != "own names":  # there `<s>` is a word of the vocabulary
        assert tokenizer.get_vocab() == expected.get_vocab()
    assert same(fit(FORMS[form], expected), fit(PLAIN, expected))


def test_a_tokenizers_own_marks() -> None:
    tokenizer = MAKERS["own names"](PLAIN)
    marked = [f"[B] {text} [E] [P]" for text in PLAIN]
    assert same(fit(marked, tokenizer), fit(PLAIN, tokenizer))


@pytest.mark.parametrize("form", FORMS)
def test_every_reader_of_training_texts(form: str, tmp_path: Path) -> None:
    marked = FORMS[form]
    assert list(plain_texts(marked)) == list(plain_texts(iter(marked))) == PLAIN
    for name, content in (("a.txt", bytes), ("a.txt.gz", gzip.compress)):
        (tmp_path / name).write_bytes(content("".join(f"{text}\n" for text in marked).encode()))
        assert same(fit(tmp_path / name), fit(PLAIN))
    assert [part.tolist() for part in token_stream(WORDS, marked)] == [p.tolist() for p in token_stream(WORDS, PLAIN)]
    for rule in ("blank_lines", "texts"):
        assert (
            encode_documents(WORDS, marked, rule).starts.tolist()
            == encode_documents(WORDS, PLAIN, rule).starts.tolist()
        )


def test_out_of_core(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{text}\n" for text in FORMS["marks"]), encoding="utf-8")
    for texts in (FORMS["marks"], path):
        assert same(fit(texts, memory="4GB"), fit(PLAIN))


def test_the_probability_is_that_of_the_words() -> None:
    """A bigram by counts: P(the | <s>) = 1, P(cat | the) = P(dog | the) = 1/2; <unk> was given P(<unk> | <s>) = 1."""
    marked = ["<s> the cat </s>", "<s> the dog </s>"]
    tokenizer = WordTokenizer.train(marked, progress=False)
    model = NGramForCausalLM.fit(marked, tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    assert score_texts(model, tokenizer, ["the cat"])[0].log_prob == pytest.approx(math.log(1 / 2))


MIXED = [
    (["<s> the cat </s>", "the dog"], "text 2 does not begin with <s>, unlike those before it"),
    (["the dog", "", "<s> the cat </s>"], "text 3 begins with <s>, unlike those before it"),
    (["<s> the cat </s>", "<s> the dog"], "text 2 does not end with </s>, unlike those before it"),
    (["the cat", "the dog </s>"], "text 2 ends with </s>, unlike those before it"),
    (["<s> the cat </s> <s> the dog </s>"], "text 1 has </s> inside"),
    (["the cat", "the <s> dog"], "text 2 has <s> inside"),
    (["the <pad> dog"], "text 1 has <pad> inside"),
]


@pytest.mark.parametrize(("texts", "message"), MIXED)
def test_mixed_marks_are_refused(texts: list[str], message: str) -> None:
    for corpus in (texts, SplitTexts(plain_texts(texts)) if "text 2 has" in message else texts):
        with pytest.raises(ValueError, match=message):
            fit(corpus)
        with pytest.raises(ValueError, match=message):
            token_stream(WORDS, corpus)


def test_files_with_mixed_marks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("<s> the cat </s>\n\nthe dog\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"corpus\.txt, line 3 does not begin with <s>.* around every text .* or around"
    ):
        fit(path)


def test_an_open_vocabulary_learns_the_spelling_of_a_mark_inside_a_text() -> None:
    tokenizer = ByteTokenizer()
    assert token_stream(tokenizer, ["a <s> b"])[0].tolist() == [256, *b"a <s> b", 257]


def test_marks_around_texts_to_score_are_their_bounds() -> None:
    """Each text is taken by itself; a mark alone is a word that the vocabulary lacks, as it was."""
    model = fit(PLAIN)
    plain, marked = ["the cat ran", "a dog"], ["<s> the cat ran </s>", "<s> a dog </s> <pad>"]
    for score in (score_texts, score_stream):
        expected = [one.log_prob for one in score(model, WORDS, plain)]
        found = score(model, WORDS, marked)
        assert [one.log_prob for one in found] == expected
        assert [(one.encoded.text, one.encoded.words, one.encoded.unknown_words) for one in found] == [
            ("the cat ran", 3, ()),
            ("a dog", 2, ()),
        ]
    assert score_texts(model, WORDS, ["<s> a dog"])[0].encoded.unknown_words == ("<s>",)
    for measure in ("perplexity", "word_perplexity", "bits_per_byte"):
        assert (
            text_perplexities(model, WORDS, marked, measure).tolist()
            == text_perplexities(model, WORDS, plain, measure).tolist()
        )


def test_texts_that_are_looked_through_together_lose_the_marks_that_each_has():
    texts: list[Any] = ["a cat"] * 3000
    texts[5], texts[1024], texts[2047], texts[2999] = "<s> the dog </s>", "<s>", "the </s>", " <s> </s> "
    for some in (texts, texts[1100:1200], [*texts[:9], 7, None]):
        expected = [TextBounds(WORDS).strip(text) if isinstance(text, str) else text for text in some]
        assert strip_bounds(some, WORDS) == expected
        assert list(strip_bounds(iter(some), WORDS)) == expected
    assert strip_bounds([], WORDS) == []
