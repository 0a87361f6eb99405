# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""transformers' token-classification on saved folders, with every tokenizer: places in the text and whole entities."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from seqeval.metrics.sequence_labeling import get_entities
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from hf_lecture_models import LectureBertConfig, LectureBertForTokenClassification
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.tagging.sentences import encode_sentences, predict_words
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe
from tests.tasks.small_tagger import ROWS as OTHERS
from tests.tasks.small_tagger import TAGS
from tests.tokenization.spaced_bytes import KINDS, spaced_bytes

# É is two bytes, which have one place.
ROWS = [*OTHERS, {"tokens": ["Élan", "met", "Élan", "York"], "tags": ["B-PER", "O", "B-PER", "I-PER"]}]
TASK = TokenClassification()
TOKENIZERS: dict[str, dict[str, Any]] = {
    "word": {"type": "word", "min_count": 2},
    "classes": {"type": "word", "min_count": 2, "unknown_words": "classes"},
    "spelled": {"type": "word", "min_count": 2, "unknown_words": "spelled"},
    "bpe": {"type": "bpe", "merges": 8},
    "bpe_bytes": {"type": "bpe", "merges": 8, "form": "bytes"},
    "char": {"type": "char"},
    "byte": {"type": "byte"},
    "wordpiece": {"type": "wordpiece", "vocab_size": 60},
}
WHOLE_WORDS = ("word", "classes")
SLOW = ("classes", "spelled", "bpe_bytes", "char", "byte", "wordpiece")
STRATEGIES = ("none", "simple", "first", "average", "max")


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in TOKENIZERS]
)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    recipe = TokenClassificationRecipe(
        train_rows=ROWS,
        scheme="entities",
        tokenizer=TOKENIZERS[request.param],
        model={"model_type": "lecture_recurrent", "bidirectional": True, "hidden_size": 16, "num_hidden_layers": 1},
        batch_size=len(ROWS),
    )
    data = TASK.read(recipe, "train")
    assert data is not None
    tokenizer = TASK.processor(recipe, data)
    model = TASK.model(recipe, tokenizer, data)
    (batch,) = TASK.batches(model, tokenizer, data, recipe).next_step()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    loss = torch.ones(())
    while loss > 0.02:
        optimizer.zero_grad()
        loss = model(**batch.inputs).loss
        loss.backward()
        optimizer.step()
    folder = tmp_path_factory.mktemp("taggers") / request.param
    model.save_pretrained(folder), tokenizer.save_pretrained(folder)
    return request.param, folder


def tagger(folder: Path, strategy: str, **options: Any) -> Any:
    return pipeline("token-classification", model=str(folder), aggregation_strategy=strategy, **options)


def quietly(tag: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Tokenizer does not support real words")  # it goes by blanks, as ours do
        return tag(*arguments, **options)


def starts_of(words: list[str]) -> list[int]:
    return [sum(len(word) + 1 for word in words[:number]) for number in range(len(words))]


def in_text(row: dict[str, Any]) -> list[tuple[str, int, int]]:
    """The entities of a sentence by their characters."""
    words, starts = row["tokens"], starts_of(row["tokens"])
    return [
        (kind, starts[first], starts[last] + len(words[last]))
        for kind, first, last in sorted(get_entities(row["tags"]), key=lambda entity: entity[1])
    ]


def found(answer: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(entry["entity_group"], entry["start"], entry["end"]) for entry in answer]


def test_entities_are_whole_and_stand_where_they_are(trained: tuple[str, Path]) -> None:
    """By the first token of each word, which was trained; where words are whole, by every strategy."""
    name, folder = trained
    for strategy in STRATEGIES[1:] if name in WHOLE_WORDS else ("first",):
        tag = tagger(folder, strategy)
        texts = [" ".join(row["tokens"]) for row in ROWS]
        answers = quietly(tag, texts)
        assert [found(answer) for answer in answers] == [in_text(row) for row in ROWS]
        assert quietly(tag, texts, batch_size=4) == [
            [entry | {"score": pytest.approx(entry["score"], abs=1e-5)} for entry in answer] for answer in answers
        ]


def test_tokens_of_a_text_of_unknown_words(trained: tuple[str, Path]) -> None:
    """Without aggregation: places are those of the tokens, tags of first tokens those that the task predicts."""
    name, folder = trained
    words = ["Zed", "saw", "é", "42", "New", "York"]
    text = " ".join(words)
    answer = tagger(folder, "none", ignore_labels=[])(text)
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    sentences = encode_sentences(model, tokenizer, Rows({"tokens": [words]}, [("a.jsonl", 1)]))
    (found,) = predict_words(model, tokenizer, sentences)
    tags = [tag for tag, _ in found]
    by_place = {entry["index"]: entry for entry in answer}
    # All but the special tokens.
    assert len(answer) == len(sentences[0].inputs["input_ids"]) - tokenizer.num_special_tokens_to_add()
    for word, start, place, tag in zip(words, starts_of(words), sentences[0].first_tokens, tags, strict=True):
        entry = by_place[place]
        assert entry["entity"] == TAGS[tag]
        assert text[entry["start"] : entry["end"]].strip() == word[: entry["end"] - start]
        assert name not in WHOLE_WORDS or (entry["start"], entry["end"]) == (start, start + len(word))
    assert answer[-1]["end"] == len(text)


def test_words_that_are_split_already(trained: tuple[str, Path]) -> None:
    """Letters and bytes read blanks: their words have them in front."""
    name, folder = trained
    reads_blanks = name in ("char", "byte", "bpe_bytes")
    tag = tagger(folder, "first")
    for row in ROWS[:4]:
        words, text = row["tokens"], " ".join(row["tokens"])
        if reads_blanks:
            words = [words[0], *(f" {word}" for word in words[1:])]
        (answer,) = quietly(tag, words, is_split_into_words=True, delimiter="" if reads_blanks else " ")
        assert found(answer) == found(quietly(tag, text)) == in_text(row)


@pytest.mark.parametrize("kind", KINDS)
def test_words_keep_their_first_letter(kind: str) -> None:
    """The tokens' places are all letters of the text, where the tokenizer leaves some of them out, too."""
    texts = ["Jan slaapt in Utrecht.", "De kat (Miep) zit op de mat", "Éclair été naïve"]
    tokenizer = spaced_bytes(kind, texts)
    torch.manual_seed(0)
    config = LectureBertConfig(vocab_size=len(tokenizer), hidden_size=12, num_hidden_layers=1, num_labels=2)
    tagger = pipeline("token-classification", model=LectureBertForTokenClassification(config), tokenizer=tokenizer)
    for text in texts:
        places = [range(one["start"], one["end"]) for one in tagger(text)]
        letters = {place for own in places for place in own if not text[place].isspace()}
        assert letters == {place for place, letter in enumerate(text) if not letter.isspace()}
