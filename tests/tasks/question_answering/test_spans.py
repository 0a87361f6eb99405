# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Windows of long texts with any tokenizer, where answers stand in them, and the best spans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import TokenizersBackend

from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tasks.question_answering.spans import (
    Window,
    answer_tokens,
    best_spans,
    cut_windows,
    distinct,
    find_answers,
)
from tests.tasks.small_answerer import ROWS, small_tokenizer
from tests.tokenization.spaced_bytes import KINDS, spaced_bytes

# One character that is several bytes, and one that is two in UTF-16.
TEXT = "The Élan cat — sleeps, on a mat in New York. \U0001f600 It reads  naïve books at night."
ANSWERS = ["The Élan cat", "a mat", "New York", "York", "\U0001f600", "naïve books", "night."]
TOKENIZERS: dict[str, dict[str, Any]] = {
    "word": {"type": "word"},
    "word of BERT's template": {"type": "word", "template": "bert"},
    "word of the template of pairs": {"type": "word", "template": "pair"},
    "spelled": {"type": "word", "min_count": 2, "unknown_words": "spelled"},
    "bpe": {"type": "bpe", "merges": 20},
    "bpe of bytes": {"type": "bpe", "merges": 20, "form": "bytes"},
    "char": {"type": "char"},
    "byte": {"type": "byte"},
    "wordpiece": {"type": "wordpiece", "vocab_size": 80},
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return make_tokenizer(TOKENIZERS[request.param], [TEXT, TEXT, "who sleeps where"])


@pytest.mark.parametrize("side", ["left", "right"])
def test_windows_of_any_tokenizer(tokenizer: Any, side: str) -> None:
    """Together they hold every token of the text in its order, each with the whole question."""
    tokenizer.padding_side = side
    specials = tokenizer.num_special_tokens_to_add(pair=True)
    question, text = (
        tokenizer(each, add_special_tokens=False, return_offsets_mapping=True) for each in ("who sleeps", TEXT)
    )
    asked = len(question["input_ids"])
    length = asked + specials + max(4, asked, len(text["input_ids"]) // 4)
    for stride in (0, 2):
        (windows,) = cut_windows(tokenizer, ["  who sleeps "], [TEXT], length, stride)
        assert len(windows) > 1
        joined: list[int] = []
        for window in windows:
            ids = window.inputs["input_ids"].tolist()
            own = ids[window.first : window.first + len(window.offsets)]
            shared = stride if joined else 0
            assert joined[len(joined) - shared :] == own[:shared]
            joined += own[shared:]
            # The question stands in front of the text, or behind it.
            rest = ids[: window.first] if side == "right" else ids[window.first + len(own) :]
            assert [id_ for id_ in rest if id_ in question["input_ids"]] == question["input_ids"]
            assert len(ids) <= length
            assert len(ids) == len(own) + asked + specials
        assert joined == text["input_ids"]


@pytest.mark.parametrize("side", ["left", "right"])
def test_answers_are_where_they_are_with_any_tokenizer(tokenizer: Any, side: str) -> None:
    """Trained and found: the tokens of an answer give its text again, or more of it where its words are whole."""
    tokenizer.padding_side = side
    tokens = len(tokenizer(TEXT, add_special_tokens=False)["input_ids"])
    for length, at_least in ((400, 1), (5 + tokens // 2, 2)):
        (windows,) = cut_windows(tokenizer, ["who"], [TEXT], length, doc_stride=tokens // 6)
        assert len(windows) >= at_least
        for answer in ANSWERS:
            start = TEXT.index(answer)
            places = answer_tokens(windows, start, start + len(answer))
            found = 0
            for window, (first, last) in zip(windows, places, strict=True):
                if first == last == window.no_answer:
                    continue
                found += 1
                scores = np.full((2, len(window)), -9.0)
                scores[0, first] = scores[1, last] = 1.0
                (best,) = find_answers(window, TEXT, *scores, max_length=40)
                text = TEXT[best.start : best.end]
                # Some tokens hold a full stop too.
                assert text.removesuffix(".") == answer.removesuffix(".")
            assert found, (answer, length)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_no_answer_lacks_its_first_letter(kind: str, side: str) -> None:
    """RobBERT's tokenizer says that the text's first word begins at 1, others say it of words after a mask or of all.

    The right offsets are those of the word in the text, also of a word of one letter, which had no token.
    """
    text = "A Jan slaapt<mask>Élan slaapt (in Gent)."
    tokenizer = spaced_bytes(kind, [text, text, "wie slaapt"])
    tokenizer.padding_side = side
    words = ["A", "Jan", "slaapt", "<mask>", "Élan", "in", "Gent", "A Jan", "Élan slaapt", "Gent)."]
    for length in (400, 14):
        (windows,) = cut_windows(tokenizer, ["wie"], [text], length, doc_stride=4)
        for answer in words:
            start = text.index(answer)
            places = answer_tokens(windows, start, start + len(answer))
            own = [(w, place) for w, place in zip(windows, places, strict=True) if place[0] != w.no_answer]
            assert own or length < 400, answer
            for window, (first, last) in own:
                scores = np.full((2, len(window)), -9.0)
                scores[0, first] = scores[1, last] = 1.0
                for aligned in (False, True):
                    (best,) = find_answers(window, text, *scores, max_length=40, align_to_words=aligned)
                    assert text[best.start : best.end].startswith(answer)
                    assert text[best.start : best.end].rstrip(").") == answer.rstrip(").")
    assert len(windows) > 1


def test_an_answer_that_is_cut_is_none() -> None:
    """A window that holds a part of the answer points to [CLS], as one that holds nothing of it."""
    tokenizer = small_tokenizer()
    text = ROWS[0]["context"]
    (windows,) = cut_windows(tokenizer, ["who"], [text], max_length=12, doc_stride=2)
    start = text.index("Charles Babbage")
    places = answer_tokens(windows, start, start + len("Charles Babbage"))
    for window, place in zip(windows, places, strict=True):
        tokens = tokenizer.convert_ids_to_tokens(window.inputs["input_ids"])
        is_whole = " charles bab ##bage " in f" {' '.join(tokens)} "
        assert place == ((tokens.index("charles"), tokens.index("##bage")) if is_whole else (0, 0))
    assert {first > 0 for first, _ in places} == {True, False}


def _without_cls(single: str, pair: str, **specials: str) -> TokenizersBackend:
    vocab = {token: index for index, token in enumerate(["<unk>", "<s>", "</s>", "<cls>", "a", "b", "c"])}
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens = [(token, vocab[token]) for token in ("<s>", "</s>", "<cls>")]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=tokens)
    return TokenizersBackend(tokenizer_object=backend, unk_token="<unk>", **specials)


@pytest.mark.parametrize(
    ("pair", "specials", "place"),
    [
        ("<s> $A </s> $B </s>", {"cls_token": "<s>"}, 0),  # RoBERTa
        ("$A </s> $B </s> <cls>", {"cls_token": "<cls>", "padding_side": "left"}, 6),  # XLNet
        ("<s> $A $B </s>", {"bos_token": "<s>"}, 0),
        ("$A $B", {}, 0),  # a word of the question
        ("$A </s> <s> $B", {"bos_token": "<s>"}, 2),
    ],
)
def test_the_token_of_no_answer(pair: str, specials: dict[str, str], place: int) -> None:
    tokenizer = _without_cls("$A", pair, **specials)
    ((window,),) = cut_windows(tokenizer, ["a"], ["b c b"])
    assert window.no_answer == place
    assert answer_tokens([window], 100, 101) == [(place, place)]
    assert [tokenizer.decode(window.inputs["input_ids"][window.first + index]) for index in range(3)] == ["b", "c", "b"]


def test_long_questions_are_cut_and_leave_room() -> None:
    tokenizer = small_tokenizer()
    question = "who met " * 50
    short, long = cut_windows(tokenizer, ["who", question], [ROWS[0]["context"]] * 2, max_length=23, doc_stride=128)
    asked = [
        tokenizer.decode(window.inputs["input_ids"][: window.first], skip_special_tokens=True)
        for window in (*short, *long)
    ]
    assert asked == ["who"] * len(short) + ["who met " * 4 + "who met"] * len(long)
    assert len(long) > len(short)
    alone = cut_windows(tokenizer, ["who"], [ROWS[0]["context"]], max_length=23, doc_stride=128)
    assert [window.inputs["input_ids"].tolist() for window in alone[0]] == [
        window.inputs["input_ids"].tolist() for window in short
    ], "a long question beside it changes nothing"
    with pytest.raises(ValueError, match="max_length 4 leaves no room for a question and a text"):
        cut_windows(tokenizer, ["who"], ["met"], max_length=4)


def test_a_text_without_tokens_has_no_answer() -> None:
    tokenizer = _without_cls("$A", "$A $B")
    ((window,),) = cut_windows(tokenizer, ["a"], ["\t "])
    assert (window.first, len(window.offsets)) == (0, 0)
    assert answer_tokens([window], 0, 1) == [(0, 0)]
    assert find_answers(window, "\t ", np.zeros(1), np.zeros(1), 5) == []
    assert cut_windows(tokenizer, [], []) == []


def test_a_tokenizer_without_places_is_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(ValueError, match="Slow does not say where its tokens stand in a text"):
        cut_windows(Slow(), ["a"], ["b"])


# Spans


@pytest.mark.parametrize("count", [1, 3, 20, None])
@pytest.mark.parametrize("max_length", [1, 3, 50])
def test_spans_are_those_of_a_search_over_all(max_length: int, count: int | None) -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 7):
        start, end = rng.normal(size=(2, size))
        pairs = [(i, j) for i in range(size) for j in range(i, min(i + max_length, size))]
        expected = sorted(pairs, key=lambda pair: -(start[pair[0]] + end[pair[1]]))[:count]
        assert [tuple(span) for span in best_spans(start, end, max_length, count).tolist()] == expected


def test_of_equal_spans_the_first_is_first() -> None:
    assert best_spans(np.zeros(3), np.zeros(3), 2, 4).tolist() == [[0, 0], [0, 1], [1, 1], [1, 2]]
    assert best_spans(np.zeros(0), np.zeros(0), 2).tolist() == []


def test_blanks_and_words() -> None:
    text = "a Lovelace  b"
    offsets = np.array([[0, 1], [1, 6], [6, 10], [10, 13]])
    window = Window({}, 0, offsets, np.array([0.0, 1.0, 1.0, 2.0]), 0)
    start, end = np.array([0.0, 0.0, 5.0, 0.0]), np.array([0.0, 0.0, 5.0, 1.0])

    def found(count: int | None, **options: Any) -> list[str]:
        return [text[one.start : one.end] for one in find_answers(window, text, start, end, 2, count, **options)]

    assert found(2) == ["lace", "lace  b"]
    assert found(2, align_to_words=True) == ["Lovelace", "Lovelace  b"]
    # One that takes the whole text for a word, as those do that split no words.
    whole = Window({}, 0, offsets, np.zeros(4), 0)
    (answer,) = find_answers(whole, text, start, end, 2, 1, align_to_words=True)
    assert text[answer.start : answer.end] == "lace"
    all_of_them = find_answers(window, text, start, end, 2, None, align_to_words=True)
    assert len(distinct(all_of_them)) < len(all_of_them)
    blanks = Window({}, 0, np.array([[10, 12]]), np.array([np.nan]), 0)
    assert find_answers(blanks, text, np.zeros(1), np.zeros(1), 2) == []
