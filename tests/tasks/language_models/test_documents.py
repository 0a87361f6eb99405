# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts joined to documents."""

import numpy as np
import pytest

from hf_lecture_models.tasks.language_models.documents import RULES, document_starts, encode_documents
from hf_lecture_models.tokenization.word import WordTokenizer

# As WikiText-2 has them: a section, a line of a table that looks like a title, an article without text.
ARTICLES = [
    " ",
    " = The Keeper = ",
    " ",
    " a b c ",
    " = = The letter = = ",
    " ",
    " d e ",
    " = Goals ; A = ",
    " Assists ",
    " ",
    " = = = Night = = = ",
    " ",
    " = A Ship = ",
    " ",
    " = The = Sign = ",
    " ",
    " f ",
]


def test_titles_begin_documents() -> None:
    assert document_starts(ARTICLES, "titles").nonzero()[0].tolist() == [0, 1, 12, 14]


def test_blank_lines_part_documents_and_empty_ones_are_none() -> None:
    texts = ["", "", "a b", "c", "", " \t", "", "d", ""]
    tokenizer = WordTokenizer.from_words(list("abcd"))
    documents = encode_documents(tokenizer, texts, "blank_lines")
    assert documents.starts.tolist() == [0, 3]
    assert documents.lengths.tolist() == [3, 1]
    assert tokenizer.convert_ids_to_tokens(documents.ids.tolist()) == list("abcd")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("texts", [[], [""], ["", " "]])
def test_no_text_is_no_document(rule: str, texts: list[str]) -> None:
    assert len(encode_documents(WordTokenizer.from_words(["a"]), texts, rule)) == 0


def test_each_rule_keeps_all_tokens_in_their_order() -> None:
    tokenizer = WordTokenizer.train(ARTICLES, progress=False)
    words = " ".join(ARTICLES).split()
    for rule in RULES:
        documents = encode_documents(tokenizer, ARTICLES, rule)
        assert tokenizer.convert_ids_to_tokens(documents.ids.tolist()) == words
        assert documents.lengths.sum() == len(words)
        assert (documents.lengths > 0).all()
    assert [len(encode_documents(tokenizer, ARTICLES, rule)) for rule in ("titles", "texts")] == [3, 10]


def test_another_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="documents must be one of blank_lines, titles, texts, not 'lines'"):
        document_starts(["a"], "lines")
    assert document_starts(np.array([], dtype=str), "texts").tolist() == []  # type: ignore[arg-type]
